//! Cache of responses to searches.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ir_core::Fnv1a;
use ir_core::store::AtomicFile;
use serde_json::Value;

use crate::RemoteError;

/// Cache of the responses to searches in a folder, by content: the record of the collection and
/// the request.
///
/// A collection with other documents has another fingerprint, so that no entry is stale while all
/// changes are made by this crate. For an approximate index, the first result is kept.
/// An entry contains its request, which is compared: equal hashes are not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultCache {
    folder: PathBuf,
}

impl ResultCache {
    /// Opens the cache in a folder, which is created.
    ///
    /// # Errors
    /// [`RemoteError::File`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, RemoteError> {
        let folder = folder.as_ref().to_owned();
        fs::create_dir_all(&folder).map_err(RemoteError::file(&folder))?;
        Ok(Self { folder })
    }

    /// Result of a request: what `read` returns for the entry of `cache` or else for the response
    /// of `call`. Only responses that `read` accepts become entries.
    pub(crate) fn read<T>(
        cache: Option<&Self>,
        collection: impl FnOnce() -> String,
        request: &str,
        call: impl FnOnce() -> Result<Value, RemoteError>,
        read: impl Fn(&Value) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        let Some(cache) = cache else {
            return read(&call()?);
        };
        let checked = || {
            let response = call()?;
            read(&response).map(|_| response)
        };
        read(&cache.get_or(&collection(), request, checked)?)
    }

    /// Returns the entry of a request, or else the response of `call`, which becomes the entry.
    fn get_or(
        &self,
        collection: &str,
        request: &str,
        call: impl FnOnce() -> Result<Value, RemoteError>,
    ) -> Result<Value, RemoteError> {
        let mut hash = Fnv1a::new();
        hash.write(collection.as_bytes());
        hash.write(&[0]);
        hash.write(request.as_bytes());
        let path = self.folder.join(format!("{:016x}.json", hash.finish()));
        // A damaged entry is replaced.
        let entry = fs::read(&path).ok();
        let entry: Option<(String, String, Value)> =
            entry.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some((known, same, response)) = entry
            && known == collection
            && same == request
        {
            return Ok(response);
        }
        let response = call()?;
        let entry = serde_json::json!([collection, request, response]).to_string();
        let written = AtomicFile::create(&path).and_then(|mut file| {
            file.write_all(entry.as_bytes())?;
            file.commit()
        });
        written.map_err(RemoteError::file(&path))?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_found_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(folder.path().join("a/b")).unwrap();
        let get = |collection, request, value: i32| {
            let called = cache.get_or(collection, request, || Ok(json!(value)));
            called.unwrap()
        };
        assert_eq!(get("c", "q", 1), json!(1));
        assert_eq!(get("c", "q", 2), json!(1));
        assert_eq!(get("d", "q", 3), json!(3));
        assert_eq!(get("c", "r", 4), json!(4));
        // Errors are not kept.
        let failed = cache.get_or("c", "s", || Err(RemoteError::Canceled));
        assert!(failed.is_err());
        assert_eq!(get("c", "s", 5), json!(5));
        for entry in fs::read_dir(folder.path().join("a/b")).unwrap() {
            fs::write(entry.unwrap().path(), "{").unwrap();
        }
        assert_eq!(get("c", "q", 6), json!(6));
    }
}
