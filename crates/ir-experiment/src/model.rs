//! Encoders by folder or name.

use std::path::{Path, PathBuf};

use ir_dense::{EncoderConfig, KnownModel, ModelCache, SimilarityFunction};
use ir_knn::VectorSimilarity;

use crate::suggest::did_you_mean;

/// Model folder, found by [`find_model`].
#[derive(Debug, Clone)]
pub struct ModelFolder {
    /// Folder in Hugging Face layout.
    pub folder: PathBuf,
    /// Catalog entry, if the model was given by name. A folder is loaded by its own files alone.
    known: Option<&'static KnownModel>,
}

impl ModelFolder {
    /// Fills unset fields of `config` from the catalog entry.
    #[must_use]
    pub fn with_catalog_defaults(&self, mut config: EncoderConfig) -> EncoderConfig {
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

/// Error of a model that does not exist. The message says how to get it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FindModelError(String);

/// Finds a model: a folder, or a name in the cache of the Hugging Face hub.
///
/// ```
/// use std::path::Path;
/// let folder = std::env::temp_dir();
/// assert_eq!(ir_experiment::model::find_model(&folder)?.folder, folder);
/// assert!(ir_experiment::model::find_model(Path::new("no/such/model")).is_err());
/// # Ok::<(), ir_experiment::model::FindModelError>(())
/// ```
///
/// # Errors
/// There is neither.
pub fn find_model(argument: &Path) -> Result<ModelFolder, FindModelError> {
    if argument.exists() {
        return Ok(ModelFolder {
            folder: argument.to_owned(),
            known: None,
        });
    }
    let name = argument.to_str().unwrap_or_default();
    let cache = ModelCache::from_env();
    let message = match cache.as_ref().map(|cache| (cache, cache.find(name))) {
        Some((_, Some(folder))) => {
            return Ok(ModelFolder {
                folder,
                known: known_model(name),
            });
        }
        Some((cache, None)) => {
            let advice = match known_model(name) {
                Some(known) => format!("; `ir models fetch {}` downloads it", known.name),
                None => format!(
                    " (`ir models` lists the models that can be fetched){}",
                    suggested_model(name, cache)
                ),
            };
            format!(
                "{}: expected a model folder or the name of a model in {}, found neither{advice}",
                argument.display(),
                cache.folder().display(),
            )
        }
        None => format!(
            "{}: expected a model folder, found none",
            argument.display()
        ),
    };
    Err(FindModelError(message))
}

/// Returns the end of an error message with the known or cached model whose name is closest to an
/// unknown one.
#[must_use]
pub fn suggested_model(name: &str, cache: &ModelCache) -> String {
    let cached = cache.names();
    let known = KnownModel::all().iter().map(|known| known.name);
    did_you_mean(name, known.chain(cached.iter().map(String::as_str)))
}

/// Returns the catalog entry of `name` or `name@revision`.
#[must_use]
pub fn known_model(name: &str) -> Option<&'static KnownModel> {
    KnownModel::find(name.split('@').next().unwrap_or(name))
}

/// Returns the vector similarity of an index for a model's vectors: the one it was trained with;
/// inner product if unknown.
#[must_use]
pub fn similarity(trained: Option<SimilarityFunction>) -> VectorSimilarity {
    match trained {
        Some(SimilarityFunction::Cosine) => VectorSimilarity::Cosine,
        _ => VectorSimilarity::InnerProduct,
    }
}
