//! Catalog of encoders on the Hugging Face hub.
//!
//! A catalog name implies prefixes, a model folder does not. E5 without `query: ` is silently
//! wrong, and its files do not contain the prefix: a name means the model as trained, a folder
//! means its files, as in Python.

use serde::Serialize;

use crate::encode::{EncoderConfig, Pooling, SideConfig};

/// Encoder of the Hugging Face hub, with the settings that it was trained with, which its own files
/// do not always have.
///
/// ```no_run
/// use ir_dense::{BiEncoder, KnownModel, ModelCache};
///
/// let known = KnownModel::find("e5-small-v2").ok_or("not in the catalog")?;
/// assert_eq!((known.dim, known.query_prefix), (384, "query: "));
/// let cache = ModelCache::from_env().ok_or("no home directory")?;
/// let folder = cache.find(known.name).ok_or("not downloaded yet")?;
/// let encoder = BiEncoder::open_with(folder, &known.config())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The values come from the models' pages and files on the hub. Tests compare the entry of
/// all-MiniLM-L6-v2 with its files; the other entries are not tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KnownModel {
    /// Name on the hub: `organization/name`.
    pub name: &'static str,
    /// Intended use, in one line.
    pub about: &'static str,
    /// Dimension of the vectors.
    pub dim: usize,
    /// Maximum sequence length in tokens, with special tokens.
    pub max_tokens: usize,
    /// Pooling of token vectors.
    pub pooling: Pooling,
    /// If `true`, vectors are L2-normalized, so that the inner product is the cosine. If `false`,
    /// the similarity function is the inner product.
    pub normalize: bool,
    /// Prefix of queries, empty for none.
    pub query_prefix: &'static str,
    /// Prefix of documents, empty for none.
    pub document_prefix: &'static str,
    /// License according to the model's page.
    pub license: &'static str,
}

impl KnownModel {
    /// Returns all models, in the order in which to try them.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &MODELS
    }

    /// Finds a model by name, with or without organization and revision (`name@revision`).
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.split('@').next().unwrap_or(name);
        MODELS
            .iter()
            .find(|known| known.name == name || known.short_name() == name)
    }

    /// Returns the name without organization.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Returns the encoder configuration: pooling, normalization and prefixes. The maximum sequence
    /// length stays as in the folder.
    #[must_use]
    pub fn config(&self) -> EncoderConfig {
        EncoderConfig::default()
            .with_pooling(self.pooling)
            .with_normalize(self.normalize)
            .with_query(SideConfig::default().with_prefix(self.query_prefix))
            .with_document(SideConfig::default().with_prefix(self.document_prefix))
    }
}

/// Query prefix of BGE and Arctic Embed.
const BGE_QUERY_PREFIX: &str = "Represent this sentence for searching relevant passages: ";

/// Most frequent values; the entries below override them.
const DEFAULT_MODEL: KnownModel = KnownModel {
    name: "",
    about: "",
    dim: 384,
    max_tokens: 512,
    pooling: Pooling::Mean,
    normalize: true,
    query_prefix: "",
    document_prefix: "",
    license: "Apache-2.0",
};

static MODELS: [KnownModel; 13] = [
    KnownModel {
        name: "sentence-transformers/all-MiniLM-L6-v2",
        about: "small and fast, for any short text; where to start",
        max_tokens: 256,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "sentence-transformers/all-MiniLM-L12-v2",
        about: "the same with twice the layers, and for shorter texts",
        max_tokens: 128,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "sentence-transformers/all-mpnet-base-v2",
        about: "the same training, a larger model: better and slower",
        dim: 768,
        max_tokens: 384,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "BAAI/bge-small-en-v1.5",
        about: "retrieval in English, small",
        pooling: Pooling::Cls,
        query_prefix: BGE_QUERY_PREFIX,
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "BAAI/bge-base-en-v1.5",
        about: "retrieval in English",
        dim: 768,
        pooling: Pooling::Cls,
        query_prefix: BGE_QUERY_PREFIX,
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "intfloat/e5-small-v2",
        about: "retrieval in English, small",
        query_prefix: "query: ",
        document_prefix: "passage: ",
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "intfloat/e5-base-v2",
        about: "retrieval in English",
        dim: 768,
        query_prefix: "query: ",
        document_prefix: "passage: ",
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "thenlper/gte-small",
        about: "retrieval and similarity in English, small, no prefixes",
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "Snowflake/snowflake-arctic-embed-xs",
        about: "retrieval in English, as small as MiniLM",
        pooling: Pooling::Cls,
        query_prefix: BGE_QUERY_PREFIX,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "Snowflake/snowflake-arctic-embed-s",
        about: "retrieval in English, small",
        pooling: Pooling::Cls,
        query_prefix: BGE_QUERY_PREFIX,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "sentence-transformers/msmarco-distilbert-base-tas-b",
        about: "TAS-B: passages that answer questions (MS MARCO)",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "OpenMatch/cocodr-base-msmarco",
        about: "COCO-DR: trained on MS MARCO and on BEIR's texts",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        license: "MIT",
        ..DEFAULT_MODEL
    },
    KnownModel {
        name: "allenai/scibert_scivocab_uncased",
        about: "SciBERT: scientific text; a start for training, not for search",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        license: "Apache-2.0 (its repository; the hub states none)",
        ..DEFAULT_MODEL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_with_and_without_organization() {
        for known in KnownModel::all() {
            assert_eq!(KnownModel::find(known.name), Some(known));
            assert_eq!(KnownModel::find(known.short_name()), Some(known));
            assert_eq!(known.name.split('/').count(), 2, "{}", known.name);
        }
        assert_eq!(KnownModel::find("all-minilm"), None);
        assert_eq!(KnownModel::find(""), None);
    }

    #[test]
    fn config_has_all_values_of_the_entry() {
        let known = KnownModel::find("e5-base-v2").unwrap();
        let config = known.config();
        assert_eq!(config.query.prefix.as_deref(), Some("query: "));
        assert_eq!(config.document.prefix.as_deref(), Some("passage: "));
        assert_eq!(config.pooling, Some(Pooling::Mean));
        assert_eq!(config.normalize, Some(true));
        assert_eq!(config.query.max_tokens, None);
    }
}
