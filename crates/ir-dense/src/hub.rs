//! Models that Hugging Face's tools have downloaded.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder where Python's `huggingface_hub` keeps what it has downloaded, read as it stands:
/// nothing is downloaded here.
///
/// ```no_run
/// use ir_dense::{BiEncoder, ModelCache};
///
/// let cache = ModelCache::from_env().ok_or("no home directory")?;
/// let folder = cache.find("sentence-transformers/all-MiniLM-L6-v2");
/// let encoder = BiEncoder::open(folder.ok_or("not downloaded yet")?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCache {
    folder: PathBuf,
}

impl ModelCache {
    /// The cache where Hugging Face's tools look for it: the variable `HF_HUB_CACHE`; `hub` in
    /// `HF_HOME`; `huggingface/hub` in `XDG_CACHE_HOME`, or in `.cache` of the home directory. `None`
    /// when none of these is set.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        let variable = |name| variable(name).map(PathBuf::from);
        let home = || {
            let cache = variable("XDG_CACHE_HOME");
            let cache = cache.or_else(|| Some(env::home_dir()?.join(".cache")));
            Some(cache?.join("huggingface"))
        };
        let folder = variable("HF_HUB_CACHE")
            .or_else(|| Some(variable("HF_HOME").or_else(home)?.join("hub")))?;
        Some(Self { folder })
    }

    /// The cache in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a model by its name on the hub, `organisation/name`, or `name` alone for the oldest.
    /// `@` and a branch, a tag or a commit may follow; without, it is the branch `main`. `None` when the
    /// cache does not have it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
        let part = |part: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(known)
        };
        let mut parts = name.split('/');
        if name.split('/').count() > 2 || !parts.all(part) || !revision.split('/').all(part) {
            return None;
        }
        let model = self
            .folder
            .join(format!("models--{}", name.replace('/', "--")));
        let snapshots = model.join("snapshots");
        let commit = fs::read_to_string(model.join("refs").join(revision)).ok();
        let commit = commit.as_deref().map_or(revision, str::trim);
        let folder = snapshots.join(commit);
        (part(commit) && folder.is_dir()).then_some(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_name_branch_and_commit() {
        let here = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = here.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // As huggingface_hub lays them out; files are links into `blobs`, or copies on Windows.
        write("models--org--small/refs/main", "0123abc\n");
        write("models--org--small/refs/pr/7", "4567def");
        write("models--org--small/snapshots/0123abc/config.json", "{}");
        write("models--org--small/snapshots/4567def/config.json", "{}");
        write("models--bert/refs/main", "89ab");
        write("models--bert/snapshots/89ab/config.json", "{}");
        write("models--org--part/refs/main", "ffff");
        write("models--org--evil/refs/main", "../../../..");
        let cache = ModelCache::at(here.path());
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
