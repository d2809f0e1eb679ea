//! [`KnownModel`]: encoders by name, and how each wants to be used.

use crate::{EncoderConfig, Pooling, SideConfig};

/// An encoder of the Hugging Face hub that this crate loads: what it is, and how it was trained to be
/// used, which its own files do not always say.
///
/// ```no_run
/// use ir_dense::{BiEncoder, KnownModel, ModelCache};
///
/// let known = KnownModel::find("e5-small-v2").ok_or("not in the catalogue")?;
/// assert_eq!((known.dim, known.query_prefix), (384, "query: "));
/// let cache = ModelCache::from_env().ok_or("no home directory")?;
/// let folder = cache.find(known.name).ok_or("not downloaded yet")?;
/// let encoder = BiEncoder::open_with(folder, &known.config())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is stated here is what the models' pages and files on the hub say. Of all-MiniLM-L6-v2 this
/// project's tests check it; the others were not at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownModel {
    /// Its name on the hub: `organisation/name`.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// Numbers of a vector.
    pub dim: usize,
    /// Tokens of a text that are read, special ones included.
    pub max_tokens: usize,
    /// How tokens' vectors become a text's.
    pub pooling: Pooling,
    /// Whether its vectors have length 1. If so they are compared by cosine, which the inner product
    /// then is; if not, by the inner product.
    pub normalize: bool,
    /// What is put before every query.
    pub query_prefix: &'static str,
    /// What is put before every document.
    pub document_prefix: &'static str,
    /// The licence that its page states.
    pub licence: &'static str,
}

impl KnownModel {
    /// All of them, in the order in which one would try them.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &MODELS
    }

    /// The model of a name, with its organisation or without.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        MODELS
            .iter()
            .find(|known| known.name == name || known.short_name() == name)
    }

    /// Its name without the organisation.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// How it is to be loaded, whatever its folder says of pooling, normalisation and prefixes. The
    /// length limit stays the folder's.
    #[must_use]
    pub fn config(&self) -> EncoderConfig {
        EncoderConfig::default()
            .with_pooling(self.pooling)
            .with_normalize(self.normalize)
            .with_query(SideConfig::default().with_prefix(self.query_prefix))
            .with_document(SideConfig::default().with_prefix(self.document_prefix))
    }
}

/// What BGE and Arctic Embed put before queries.
const REPRESENT: &str = "Represent this sentence for searching relevant passages: ";

/// What most models are, so that an entry below shows what is special.
const USUAL: KnownModel = KnownModel {
    name: "",
    about: "",
    dim: 384,
    max_tokens: 512,
    pooling: Pooling::Mean,
    normalize: true,
    query_prefix: "",
    document_prefix: "",
    licence: "Apache-2.0",
};

static MODELS: [KnownModel; 13] = [
    KnownModel {
        name: "sentence-transformers/all-MiniLM-L6-v2",
        about: "small and fast, for any short text; where to start",
        max_tokens: 256,
        ..USUAL
    },
    KnownModel {
        name: "sentence-transformers/all-MiniLM-L12-v2",
        about: "the same with twice the layers, and for shorter texts",
        max_tokens: 128,
        ..USUAL
    },
    KnownModel {
        name: "sentence-transformers/all-mpnet-base-v2",
        about: "the same training, a larger model: better and slower",
        dim: 768,
        max_tokens: 384,
        ..USUAL
    },
    KnownModel {
        name: "BAAI/bge-small-en-v1.5",
        about: "retrieval in English, small",
        pooling: Pooling::Cls,
        query_prefix: REPRESENT,
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "BAAI/bge-base-en-v1.5",
        about: "retrieval in English",
        dim: 768,
        pooling: Pooling::Cls,
        query_prefix: REPRESENT,
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "intfloat/e5-small-v2",
        about: "retrieval in English, small",
        query_prefix: "query: ",
        document_prefix: "passage: ",
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "intfloat/e5-base-v2",
        about: "retrieval in English",
        dim: 768,
        query_prefix: "query: ",
        document_prefix: "passage: ",
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "thenlper/gte-small",
        about: "retrieval and similarity in English, small, no prefixes",
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "Snowflake/snowflake-arctic-embed-xs",
        about: "retrieval in English, as small as MiniLM",
        pooling: Pooling::Cls,
        query_prefix: REPRESENT,
        ..USUAL
    },
    KnownModel {
        name: "Snowflake/snowflake-arctic-embed-s",
        about: "retrieval in English, small",
        pooling: Pooling::Cls,
        query_prefix: REPRESENT,
        ..USUAL
    },
    KnownModel {
        name: "sentence-transformers/msmarco-distilbert-base-tas-b",
        about: "TAS-B: passages that answer questions (MS MARCO)",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        ..USUAL
    },
    KnownModel {
        name: "OpenMatch/cocodr-base-msmarco",
        about: "COCO-DR: trained on MS MARCO and on BEIR's texts",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        licence: "MIT",
        ..USUAL
    },
    KnownModel {
        name: "allenai/scibert_scivocab_uncased",
        about: "SciBERT: scientific text; a start for training, not for search",
        dim: 768,
        pooling: Pooling::Cls,
        normalize: false,
        licence: "Apache-2.0 (its repository; the hub states none)",
        ..USUAL
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_organisation() {
        for known in KnownModel::all() {
            assert_eq!(KnownModel::find(known.name), Some(known));
            assert_eq!(KnownModel::find(known.short_name()), Some(known));
            assert_eq!(known.name.split('/').count(), 2, "{}", known.name);
        }
        assert_eq!(KnownModel::find("all-minilm"), None);
        assert_eq!(KnownModel::find(""), None);
    }

    #[test]
    fn a_configuration_says_all_that_the_entry_says() {
        let known = KnownModel::find("e5-base-v2").unwrap();
        let config = known.config();
        assert_eq!(config.query.prefix.as_deref(), Some("query: "));
        assert_eq!(config.document.prefix.as_deref(), Some("passage: "));
        assert_eq!(config.pooling, Some(Pooling::Mean));
        assert_eq!(config.normalize, Some(true));
        assert_eq!(config.query.max_tokens, None);
    }
}
