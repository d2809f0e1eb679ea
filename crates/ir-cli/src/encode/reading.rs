//! How an encoder reads texts: the options that `ir encode` and `ir search` share.

use clap::ValueEnum;
use ir_core::Side;
use ir_dense::{Backend, EncoderConfig, Pooling, SideConfig};

use crate::args::positive;

/// The options. Whoever flattens them gives the heading.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// Put before every text [default: as the model's name or folder says]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Tokens of a text that are kept, special ones included [default: as the folder says]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N")]
    max_tokens: Option<usize>,

    /// How tokens' vectors become a text's [default: as the folder says]
    #[arg(long, value_enum, value_name = "HOW")]
    pooling: Option<Pool>,

    /// Whether vectors have length 1 [default: as the folder says]
    #[arg(long, value_name = "true|false")]
    normalize: Option<bool>,

    /// What computes: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N, as far as compiled in [default:
    /// cpu]
    #[arg(long, value_name = "NAME")]
    backend: Option<Backend>,
}

impl Reading {
    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--prefix", self.prefix.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
            ("--pooling", self.pooling.is_some()),
            ("--normalize", self.normalize.is_some()),
            ("--backend", self.backend.is_some()),
        ];
        given
            .iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| *name)
    }

    /// An encoder that reads the texts of this side so.
    pub(crate) fn config(&self, side: Side) -> EncoderConfig {
        let mut of = SideConfig::default();
        of.prefix.clone_from(&self.prefix);
        of.max_tokens = self.max_tokens;
        let mut config = EncoderConfig::default();
        config.backend = self.backend.unwrap_or(config.backend);
        config.pooling = self.pooling.map(Pooling::from);
        config.normalize = self.normalize;
        match side {
            Side::Query => config.with_query(of),
            Side::Document => config.with_document(of),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pool {
    /// The first token's vector
    Cls,
    /// The mean of all
    Mean,
    /// The greatest, element by element
    Max,
    /// The sum divided by the root of the number of tokens
    MeanSqrt,
}

impl From<Pool> for Pooling {
    fn from(pool: Pool) -> Self {
        match pool {
            Pool::Cls => Self::Cls,
            Pool::Mean => Self::Mean,
            Pool::Max => Self::Max,
            Pool::MeanSqrt => Self::MeanSqrt,
        }
    }
}
