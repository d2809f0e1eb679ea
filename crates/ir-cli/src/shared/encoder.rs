//! Encoder options and model lookup, shared by `ir encode`, `ir search` and `ir train`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ir_core::Side;
use ir_dense::{Backend, EncoderConfig, KnownModel, ModelCache, Pooling, SideConfig};

use ir_knn::VectorSimilarity;

use crate::shared::options::{choice, first_set, positive};

/// Encoder options. The command that flattens them sets the help heading.
#[derive(Debug, clap::Args)]
pub(crate) struct EncoderOptions {
    /// Prefix of every text, such as 'query: ' [default: from the model]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Maximum sequence length in tokens, special tokens included [default: from the model]
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "N")]
    max_tokens: Option<usize>,

    /// Pooling of token vectors [default: from the model]
    #[arg(long, value_parser = choice(POOLINGS), value_name = "HOW")]
    pooling: Option<Pooling>,

    /// Normalize vectors to unit length [default: from the model]
    #[arg(long, value_name = "true|false")]
    normalize: Option<bool>,

    /// Backend: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N; all but cpu need the feature of the
    /// same name [default: cpu]
    #[arg(long, value_name = "NAME")]
    backend: Option<Backend>,
}

impl EncoderOptions {
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        first_set([
            ("--prefix", self.prefix.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
            ("--pooling", self.pooling.is_some()),
            ("--normalize", self.normalize.is_some()),
            ("--backend", self.backend.is_some()),
        ])
    }

    /// Encoder configuration in which the options apply to `side`.
    pub(crate) fn config(&self, side: Side) -> EncoderConfig {
        let mut of = SideConfig::default();
        of.prefix.clone_from(&self.prefix);
        of.max_tokens = self.max_tokens;
        let mut config = EncoderConfig::default();
        config.backend = self.backend.unwrap_or(config.backend);
        config.pooling = self.pooling;
        config.normalize = self.normalize;
        match side {
            Side::Query => config.with_query(of),
            Side::Document => config.with_document(of),
        }
    }
}

pub(crate) const POOLINGS: [(&str, &str, Pooling); 4] = [
    ("cls", "Vector of the first token", Pooling::Cls),
    ("mean", "Mean of the token vectors", Pooling::Mean),
    ("max", "Elementwise maximum", Pooling::Max),
    (
        "mean-sqrt",
        "Sum divided by the square root of the number of tokens",
        Pooling::MeanSqrt,
    ),
];

/// A model argument, resolved to a folder.
pub(crate) struct ModelFolder {
    pub(crate) folder: PathBuf,
    /// Catalog entry, if the model was given by name. A folder is loaded by its own files alone.
    known: Option<&'static KnownModel>,
}

impl ModelFolder {
    /// Fills unset fields of `config` from the catalog entry.
    pub(crate) fn with_catalog_defaults(&self, mut config: EncoderConfig) -> EncoderConfig {
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

/// Resolves a model argument: a folder, or a name in the model cache.
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
            known: known_model(name),
        }),
        Some((cache, None)) => bail!(
            "{}: expected a model folder or the name of a model in {}, found neither \
             (`ir models` lists the models that can be fetched)",
            argument.display(),
            cache.folder().display()
        ),
        None => bail!(
            "{}: expected a model folder, found none",
            argument.display()
        ),
    }
}

/// Catalog entry of `name@revision`.
pub(crate) fn known_model(name: &str) -> Option<&'static KnownModel> {
    KnownModel::find(name.split('@').next().unwrap_or(name))
}

/// Vector similarity of an index for a model's vectors: the one it was trained with; inner product
/// if unknown.
pub(crate) fn similarity(trained: Option<ir_dense::SimilarityFunction>) -> VectorSimilarity {
    match trained {
        Some(ir_dense::SimilarityFunction::Cosine) => VectorSimilarity::Cosine,
        _ => VectorSimilarity::InnerProduct,
    }
}
