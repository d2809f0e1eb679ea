//! Models in the cache of the Hugging Face hub.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Default folder of the cache: `HF_HUB_CACHE`, or `hub` in `HF_HOME`, or `huggingface/hub` in
/// `XDG_CACHE_HOME` or in `.cache` of the home directory.
pub(crate) fn default_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let variable = |name| variable(name).map(PathBuf::from);
    let home = || {
        let cache = variable("XDG_CACHE_HOME");
        let cache = cache.or_else(|| Some(env::home_dir()?.join(".cache")));
        Some(cache?.join("huggingface"))
    };
    variable("HF_HUB_CACHE").or_else(|| Some(variable("HF_HOME").or_else(home)?.join("hub")))
}

/// Returns the folder of a revision of a model; `None` if the cache does not have it.
pub(crate) fn find(cache: &Path, name: &str, revision: &str) -> Option<PathBuf> {
    let valid =
        name.split('/').count() <= 2 && name.split('/').chain(revision.split('/')).all(is_plain);
    let model = valid.then(|| cache.join(folder_name(name)))?;
    let commit = fs::read_to_string(model.join("refs").join(revision)).ok();
    let commit = commit.as_deref().map_or(revision, str::trim);
    let folder = model.join("snapshots").join(commit);
    (is_plain(commit) && folder.is_dir()).then_some(folder)
}

/// Name of the folder of all versions of a model.
pub(crate) fn folder_name(name: &str) -> String {
    format!("models--{}", name.replace('/', "--"))
}

/// Returns `true` if a path component is a plain file name, which cannot lead out of its folder.
pub(crate) fn is_plain(part: &str) -> bool {
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !part.is_empty() && !part.starts_with('.') && part.chars().all(valid)
}
