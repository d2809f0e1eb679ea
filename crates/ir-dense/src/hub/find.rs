//! Model folders by path or name.

use std::path::{Path, PathBuf};

use super::{KnownModel, ModelCache};
use crate::encode::EncoderConfig;

/// Model folder, found by path or by name.
///
/// ```
/// use ir_dense::{FindModelError, ModelFolder};
/// let folder = std::env::temp_dir();
/// assert_eq!(ModelFolder::find(&folder)?.folder, folder);
/// assert!(ModelFolder::find("no/such/model".as_ref()).is_err());
/// # Ok::<(), FindModelError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelFolder {
    /// Folder in Hugging Face layout.
    pub folder: PathBuf,
    /// Catalog entry, if the model was found by name. A folder is loaded by its own files alone.
    pub known: Option<&'static KnownModel>,
}

/// Error of a model that does not exist.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum FindModelError {
    /// There is no such folder, and no [cache](ModelCache::from_env) that could have the model.
    #[error("{}: expected a model folder, found none", .path.display())]
    NoFolder { path: PathBuf },
    /// The model of the catalog is not in the cache.
    #[error(
        "{}: expected a model folder or the name of a model in {}, found neither",
        .path.display(), .cache.folder().display()
    )]
    NotCached {
        path: PathBuf,
        cache: ModelCache,
        known: &'static KnownModel,
    },
    /// There is no such folder, and no model of this name in catalog and cache.
    #[error(
        "{}: expected a model folder or the name of a model in {}, found neither",
        .path.display(), .cache.folder().display()
    )]
    Unknown { path: PathBuf, cache: ModelCache },
}

impl ModelFolder {
    /// Finds a model: an existing path, or a name in the [cache](ModelCache::from_env) of the
    /// Hugging Face hub.
    ///
    /// # Errors
    /// There is neither.
    pub fn find(model: &Path) -> Result<Self, FindModelError> {
        let path = model.to_owned();
        if model.exists() {
            let (folder, known) = (path, None);
            return Ok(Self { folder, known });
        }
        let name = model.to_str().unwrap_or_default();
        let Some(cache) = ModelCache::from_env() else {
            return Err(FindModelError::NoFolder { path });
        };
        match (cache.find(name), KnownModel::find(name)) {
            (Some(folder), known) => Ok(Self { folder, known }),
            (None, Some(known)) => Err(FindModelError::NotCached { path, cache, known }),
            (None, None) => Err(FindModelError::Unknown { path, cache }),
        }
    }

    /// Fills unset fields of `config` from the catalog entry.
    #[must_use]
    pub fn with_catalog_defaults(&self, config: EncoderConfig) -> EncoderConfig {
        let mut config = self.with_catalog_prefixes(config);
        if let Some(named) = self.known.map(KnownModel::config) {
            config.pooling = config.pooling.or(named.pooling);
            config.normalize = config.normalize.or(named.normalize);
        }
        config
    }

    /// Fills unset prefixes of `config` from the catalog entry, for a late-interaction model, which
    /// has neither pooling nor normalization of text vectors.
    #[must_use]
    pub fn with_catalog_prefixes(&self, mut config: EncoderConfig) -> EncoderConfig {
        if let Some(named) = self.known.map(KnownModel::config) {
            config.query.prefix = config.query.prefix.or(named.query.prefix);
            config.document.prefix = config.document.prefix.or(named.document.prefix);
        }
        config
    }
}
