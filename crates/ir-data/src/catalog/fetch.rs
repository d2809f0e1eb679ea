//! Downloads of collections from their public archives (feature `fetch`).

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use ir_core::store::AtomicFile;
use ir_core::{Flow, Progress};
use ir_fetch::{Download, DownloadError, HttpClient};
use zip::ZipArchive;

use super::verify::sha256_of;
use super::{Catalog, CatalogEntry, CatalogFile, FileContent, IR_DATA, PublicArchive};
use crate::error::{DataError, read_error, write_error};

/// Error downloading a collection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum FetchError {
    /// The archive cannot be downloaded.
    #[error(transparent)]
    Download(DownloadError),
    /// The collection has no public archive.
    #[error(
        "expected a collection with a public archive, found {collection:?}, which comes from {origin}"
    )]
    NoArchive { collection: String, origin: String },
    /// The archive is corrupt or lacks a file.
    #[error("{path}: expected {expected:?} in the archive, found it missing or corrupt")]
    Archive {
        path: String,
        expected: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The collection is unknown, a file has the wrong content or cannot be written, or the caller
    /// canceled the download.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl From<DownloadError> for FetchError {
    fn from(error: DownloadError) -> Self {
        match error {
            DownloadError::Canceled => Self::Data(DataError::Canceled),
            error => Self::Download(error),
        }
    }
}

impl Catalog {
    /// Downloads the missing files of a collection from its public archive, decompresses and
    /// verifies them. Every file is written atomically. Existing files of the right size are not
    /// downloaded again.
    ///
    /// # Errors
    /// The name is unknown, the collection has no public archive, there is no data folder, or the
    /// download fails.
    pub fn fetch(&self, name: &str, progress: &mut dyn Progress) -> Result<(), FetchError> {
        self.fetch_from(name, None, progress)
    }

    /// Downloads a collection as [`Catalog::fetch`] does, with the archive at another URL, for
    /// example of a mirror.
    ///
    /// # Errors
    /// The name is unknown, the collection has no public archive, there is no data folder, or the
    /// download fails.
    pub fn fetch_mirror(
        &self,
        name: &str,
        url: &str,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        self.fetch_from(name, Some(url), progress)
    }

    fn fetch_from(
        &self,
        name: &str,
        mirror: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let entry = self.entry(name)?;
        if entry.files.is_empty() {
            return Ok(());
        }
        let archive = entry
            .archive
            .as_ref()
            .ok_or_else(|| FetchError::NoArchive {
                collection: entry.name.clone(),
                origin: entry.source.clone(),
            })?;
        let archive = PublicArchive {
            url: mirror.unwrap_or(&archive.url).to_owned(),
            root: archive.root.clone(),
        };
        let root = self.root().ok_or_else(|| DataError::NoDataFolder {
            collection: entry.name.clone(),
            variable: IR_DATA,
        })?;
        let missing: Vec<&CatalogFile> = entry
            .files
            .iter()
            .filter(|file| self.locate(entry, file).is_err())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let folder = root.join(&entry.name);
        let new: Vec<&Path> = folder.ancestors().take_while(|at| !at.exists()).collect();
        fs::create_dir_all(&folder).map_err(write_error(&folder))?;
        let path = folder.join(".archive.zip");
        // The checksums of the extracted files verify the archive.
        let download = Download {
            unverified_resume: true,
            ..Download::new(archive.url.as_str())
        };
        let downloaded = HttpClient::new().save(&download, &path, progress);
        let fetched = downloaded.map_err(FetchError::from).and_then(|()| {
            let unpacked = unpack(&path, entry, &archive, root, &missing, progress);
            // An archive with wrong content must not be resumed.
            if !matches!(unpacked, Err(FetchError::Data(DataError::Canceled))) {
                let _ = fs::remove_file(&path);
            }
            unpacked
        });
        if fetched.is_err() {
            // Folders with a partial file are not empty and remain.
            for folder in new {
                let _ = fs::remove_dir(folder);
            }
        }
        fetched
    }
}

fn unpack(
    path: &Path,
    entry: &CatalogEntry,
    archive: &PublicArchive,
    root: &Path,
    files: &[&CatalogFile],
    progress: &mut dyn Progress,
) -> Result<(), FetchError> {
    let archive_error = |member: &str, source: Box<dyn Error + Send + Sync>| FetchError::Archive {
        path: archive.url.clone(),
        expected: member.to_owned(),
        source,
    };
    let file = File::open(path).map_err(read_error(path))?;
    let mut zip = ZipArchive::new(BufReader::new(file))
        .map_err(|error| archive_error(&archive.root, error.into()))?;
    for file in files {
        let (plain, content) = file.content();
        let inner = plain
            .strip_prefix(entry.name.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(plain);
        let name = format!("{}/{inner}", archive.root);
        let mut member = zip
            .by_name(&name)
            .map_err(|error| archive_error(&name, error.into()))?;
        let destination = root.join(plain);
        if let Some(folder) = destination.parent() {
            fs::create_dir_all(folder).map_err(write_error(folder))?;
        }
        let extracted = extract(
            &mut member,
            &archive.url,
            &name,
            &destination,
            &content,
            progress,
        );
        extracted.inspect_err(|_| {
            if let Some(folder) = destination.parent() {
                let _ = fs::remove_dir(folder);
            }
        })?;
    }
    Ok(())
}

/// Extracts the file `name` of the archive at `url`.
fn extract(
    member: &mut impl Read,
    url: &str,
    name: &str,
    destination: &Path,
    content: &FileContent,
    progress: &mut dyn Progress,
) -> Result<(), FetchError> {
    let source = format!("{url}#{name}");
    let write = write_error(destination);
    let mut out = AtomicFile::create(destination).map_err(&write)?;
    let wrong_size = |found| DataError::Size {
        path: source.clone(),
        expected: content.bytes,
        found,
    };
    let corrupt = |error: io::Error| FetchError::Archive {
        path: source.clone(),
        expected: name.to_owned(),
        source: error.into(),
    };
    let mut length = 0;
    let found = sha256_of(member, corrupt, |chunk| {
        length += chunk.len() as u64;
        if length > content.bytes {
            return Err(wrong_size(length).into());
        }
        out.write_all(chunk).map_err(&write)?;
        match progress.report("unpacking", length, Some(content.bytes)) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(DataError::Canceled.into()),
        }
    })?;
    if length != content.bytes {
        return Err(wrong_size(length).into());
    }
    if found != content.sha256 {
        return Err(FetchError::Data(DataError::Sha256 {
            path: source,
            expected: content.sha256.clone(),
            found,
        }));
    }
    Ok(out.commit().map_err(write)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CorruptReader;

    impl Read for CorruptReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    #[test]
    fn corrupt_member_is_named_in_full() {
        let folder = tempfile::tempdir().unwrap();
        let content = FileContent {
            bytes: 1,
            sha256: String::new(),
        };
        let extracted = extract(
            &mut CorruptReader,
            "http://host/a.zip",
            "a/c#.jsonl",
            &folder.path().join("c"),
            &content,
            &mut ir_core::NoProgress,
        );
        let error = extracted.unwrap_err();
        assert!(
            matches!(
                &error,
                FetchError::Archive { path, expected, .. }
                    if path == "http://host/a.zip#a/c#.jsonl" && expected == "a/c#.jsonl"
            ),
            "{error}"
        );
    }
}
