//! How an encoder reads texts: the options that `ir encode` and `ir search` share.

use clap::ValueEnum;
use ir_core::Side;
use ir_dense::{Backend, EncoderConfig, Pooling, SideConfig};

use crate::shared::options::positive;

/// The options. Whoever flattens them gives the heading.
#[derive(Debug, clap::Args)]
pub(crate) struct EncoderOptions {
    /// Put before every text [default: as the model's name or folder says]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Tokens of a text that are kept, special ones included [default: as the folder says]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N")]
    max_tokens: Option<usize>,

    /// How tokens' vectors become a text's [default: as the folder says]
    #[arg(long, value_enum, value_name = "HOW")]
    pooling: Option<PoolingOption>,

    /// Whether vectors have length 1 [default: as the folder says]
    #[arg(long, value_name = "true|false")]
    normalize: Option<bool>,

    /// What computes: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N, as far as compiled in [default:
    /// cpu]
    #[arg(long, value_name = "NAME")]
    backend: Option<Backend>,
}

impl EncoderOptions {
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
pub(crate) enum PoolingOption {
    /// The first token's vector
    Cls,
    /// The mean of all
    Mean,
    /// The greatest, element by element
    Max,
    /// The sum divided by the root of the number of tokens
    MeanSqrt,
}

impl From<PoolingOption> for Pooling {
    fn from(pool: PoolingOption) -> Self {
        match pool {
            PoolingOption::Cls => Self::Cls,
            PoolingOption::Mean => Self::Mean,
            PoolingOption::Max => Self::Max,
            PoolingOption::MeanSqrt => Self::MeanSqrt,
        }
    }
}

/// A model that the command line names.
pub(crate) struct ModelFolder {
    pub(crate) folder: PathBuf,
    /// What the catalogue says of its name. A folder is loaded as its own files say.
    known: Option<&'static KnownModel>,
}

impl ModelFolder {
    /// The configuration with what the model's name says where nothing is set.
    pub(crate) fn complete(&self, mut config: EncoderConfig) -> EncoderConfig {
        let Some(named) = self.known.map(KnownModel::config) else {
            return config;
        };
        config.pooling = config.pooling.or(named.pooling);
        config.normalize = config.normalize.or(named.normalize);
        config.query.prefix = config.query.prefix.or(named.query.prefix);
        config.document.prefix = config.document.prefix.or(named.document.prefix);
        config
    }
}

/// The model in a folder, or of a name in the cache.
pub(crate) fn find_model(argument: &Path) -> Result<ModelFolder> {
    if argument.exists() {
        return Ok(ModelFolder {
            folder: argument.to_owned(),
            known: None,
        });
    }
    let name = argument.to_str().unwrap_or_default();
    let cache = ModelCache::from_env();
    match cache.as_ref().map(|cache| (cache, cache.find(name))) {
        Some((_, Some(folder))) => Ok(ModelFolder {
            folder,
            known: known(name),
        }),
        Some((cache, None)) => bail!(
            "{}: expected the folder of a model or the name of one in {}, found neither \
             (`ir models` lists those that can be fetched)",
            argument.display(),
            cache.folder().display()
        ),
        None => bail!(
            "{}: expected the folder of a model, found none",
            argument.display()
        ),
    }
}

/// What the catalogue says of `name@revision`.
fn known(name: &str) -> Option<&'static KnownModel> {
    KnownModel::find(name.split('@').next().unwrap_or(name))
}

/// How an index compares the vectors of a model: as it was trained, by the inner product where that is
/// not known.
pub(crate) fn similarity(trained: Option<ir_dense::Similarity>) -> Similarity {
    match trained {
        Some(ir_dense::Similarity::Cosine) => Similarity::Cosine,
        _ => Similarity::InnerProduct,
    }
}
