//! Models of the Hugging Face hub: catalog, cache, and download with the feature `hub`.

mod catalog;
#[cfg(feature = "hub")]
mod connection;
#[cfg(feature = "hub")]
mod error;
#[cfg(feature = "hub")]
mod fetch;
mod find;
#[cfg(feature = "hub")]
mod listing;
#[cfg(feature = "hub")]
mod snapshot;

use std::fs;
use std::path::{Path, PathBuf};

pub use catalog::KnownModel;
#[cfg(feature = "hub")]
pub use connection::Hub;
#[cfg(feature = "hub")]
pub use error::HubError;
pub use find::{FindModelError, ModelFolder};

#[cfg(feature = "hub")]
use crate::model_folder::hub_cache::folder_name;
use crate::model_folder::hub_cache::{self, is_plain};

/// Cache of the Hugging Face hub, in the layout of Python's `huggingface_hub`. Only
/// `ModelCache::fetch`, which needs the feature `hub`, downloads.
///
/// ```
/// use std::fs;
///
/// use ir_dense::ModelCache;
///
/// let here = tempfile::tempdir()?;
/// // Python's huggingface_hub or `ModelCache::fetch` writes these files.
/// let model = here.path().join("models--intfloat--e5-small-v2");
/// fs::create_dir_all(model.join("refs"))?;
/// fs::create_dir_all(model.join("snapshots/ffb93f3"))?;
/// fs::write(model.join("refs/main"), "ffb93f3")?;
///
/// let cache = ModelCache::new(here.path());
/// assert_eq!(cache.names(), ["intfloat/e5-small-v2"]);
/// let folder = cache.find("e5-small-v2").ok_or("not downloaded yet")?;
/// assert_eq!(folder, model.join("snapshots/ffb93f3"));
/// assert_eq!(cache.find("intfloat/e5-base-v2"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCache {
    folder: PathBuf,
}

impl ModelCache {
    /// Cache at the default location of `huggingface_hub`: the environment variable `HF_HUB_CACHE`,
    /// or `hub` in `HF_HOME`, or `huggingface/hub` in `XDG_CACHE_HOME` or in `.cache` of the home
    /// directory. `None` if none of these is set.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let folder = hub_cache::default_folder()?;
        Some(Self { folder })
    }

    /// Cache in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// Folder of the cache.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of a model; `None` if the cache does not have it.
    ///
    /// `name` is `organization/name`, or `name` alone for models without organization and for those
    /// of [`KnownModel`], optionally followed by `@` and a branch, tag or commit. Default: the
    /// branch `main`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let ModelReference { name, revision } = ModelReference::parse(name)?;
        hub_cache::find(&self.folder, name, revision)
    }

    /// Returns the names of all models with the branch `main`, sorted, whether or not they are
    /// encoders.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let name = name.strip_prefix("models--")?.replacen("--", "/", 1);
                self.find(&name)?;
                Some(name)
            })
            .collect();
        names.sort();
        names
    }

    /// Folder of all versions of a model.
    #[cfg(feature = "hub")]
    fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(folder_name(name))
    }
}

#[derive(Debug, Clone, Copy)]
struct ModelReference<'a> {
    name: &'a str,
    revision: &'a str,
}

impl<'a> ModelReference<'a> {
    /// Parses `organization/name@revision`.
    fn parse(text: &'a str) -> Option<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let name = KnownModel::find(name).map_or(name, |known| known.name);
        let valid = name.split('/').count() <= 2 && name.split('/').all(is_plain);
        (valid && revision.split('/').all(is_plain)).then_some(Self { name, revision })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_models_by_name_branch_and_commit() {
        let here = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = here.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // The layout of huggingface_hub; files are links into `blobs`, or copies on Windows.
        write("models--org--small/refs/main", "0123abc\n");
        write("models--org--small/refs/pr/7", "4567def");
        write("models--org--small/snapshots/0123abc/config.json", "{}");
        write("models--org--small/snapshots/4567def/config.json", "{}");
        write("models--bert/refs/main", "89ab");
        write("models--bert/snapshots/89ab/config.json", "{}");
        write("models--org--part/refs/main", "ffff");
        write("models--org--evil/refs/main", "../../../..");
        let cache = ModelCache::new(here.path());
        let find = |name: &str| {
            let found = cache.find(name)?;
            let model = here.path().join("models--");
            let model = model.to_str().unwrap();
            Some(
                found
                    .to_str()
                    .unwrap()
                    .strip_prefix(model)
                    .unwrap()
                    .to_owned(),
            )
        };
        let first = Some("org--small/snapshots/0123abc".to_owned());
        let second = Some("org--small/snapshots/4567def".to_owned());
        assert_eq!(find("org/small"), first);
        assert_eq!(find("org/small@main"), first);
        assert_eq!(find("org/small@0123abc"), first);
        assert_eq!(find("org/small@pr/7"), second);
        assert_eq!(find("org/small@4567def"), second);
        assert_eq!(find("bert"), Some("bert/snapshots/89ab".to_owned()));
        assert_eq!(cache.names(), ["bert", "org/small"]);
        write("models--intfloat--e5-small-v2/refs/main", "cdef");
        write(
            "models--intfloat--e5-small-v2/snapshots/cdef/config.json",
            "{}",
        );
        let known = Some("intfloat--e5-small-v2/snapshots/cdef".to_owned());
        assert_eq!(find("e5-small-v2"), known);
        assert_eq!(find("e5-small-v2@cdef"), known);
        for absent in [
            "org/large",
            "org/small@next",
            "org/part",
            "org/evil",
            "org/small@../refs",
            "../org/small",
            "org/small/more",
            "",
            "/",
        ] {
            assert_eq!(find(absent), None, "{absent}");
        }
    }
}
