//! Collections of the catalogue out of their public archives.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use ir_core::{AtomicFile, Progress};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::download::go_on;
use super::{Download, FetchError};
use crate::DataError;
use crate::catalogue::{Archive, Catalogue, Content, Entry, FileEntry, IR_DATA, hex};
use crate::error::name_of;

impl Catalogue {
    /// Downloads a collection from its public address into the folder of the catalogue and
    /// verifies every file; decompressed, since the archives hold them so. Files that are there
    /// with the right size stay.
    ///
    /// # Errors
    /// When the name is unknown, the collection has no public address, no folder is known, or as
    /// [`Download::to`]. Files appear whole or not at all.
    pub fn fetch(&self, name: &str, progress: &mut dyn Progress) -> Result<(), FetchError> {
        let entry = self.entry(name)?;
        match &entry.archive {
            _ if entry.files.is_empty() => Ok(()),
            Some(archive) => self.fetch_from(entry, archive, progress),
            None => Err(FetchError::NoAddress {
                collection: entry.name.clone(),
                origin: entry.source.clone(),
            }),
        }
    }

    /// As [`Catalogue::fetch`], from another address than the entry's: a mirror.
    ///
    /// # Errors
    /// As [`Catalogue::fetch`].
    pub fn fetch_mirror(
        &self,
        name: &str,
        url: &str,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let entry = self.entry(name)?;
        let Some(archive) = &entry.archive else {
            return self.fetch(name, progress);
        };
        let archive = Archive {
            url: url.to_owned(),
            ..archive.clone()
        };
        self.fetch_from(entry, &archive, progress)
    }

    fn fetch_from(
        &self,
        entry: &Entry,
        archive: &Archive,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let root = self.root().ok_or_else(|| DataError::NoDataFolder {
            collection: entry.name.clone(),
            variable: IR_DATA,
        })?;
        let missing: Vec<&FileEntry> = entry
            .files
            .iter()
            .filter(|file| self.locate(entry, file).is_err())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let folder = root.join(&entry.name);
        let new: Vec<&Path> = folder.ancestors().take_while(|at| !at.exists()).collect();
        make_folder(&folder)?;
        let fetched = download_into(&folder, entry, archive, root, &missing, progress);
        if fetched.is_err() {
            // What a later run can go on with stays, and a folder that holds something with it.
            for folder in new {
                let _ = fs::remove_dir(folder);
            }
        }
        fetched
    }
}

fn download_into(
    folder: &Path,
    entry: &Entry,
    archive: &Archive,
    root: &Path,
    missing: &[&FileEntry],
    progress: &mut dyn Progress,
) -> Result<(), FetchError> {
    let path = folder.join(".archive.zip");
    Download::new(&archive.url)
        .resuming()
        .attempts(5, Duration::from_secs(1))
        .to(&path, progress)?;
    let unpacked = unpack(&path, entry, archive, root, missing, progress);
    // Right or wrong, the archive has done its duty; a wrong one must not be gone on with.
    if !matches!(unpacked, Err(FetchError::Data(DataError::Cancelled))) {
        let _ = fs::remove_file(&path);
    }
    unpacked
}

fn make_folder(folder: &Path) -> Result<(), DataError> {
    fs::create_dir_all(folder).map_err(|source| DataError::Write {
        path: name_of(folder),
        source,
    })
}

fn unpack(
    path: &Path,
    entry: &Entry,
    archive: &Archive,
    root: &Path,
    files: &[&FileEntry],
    progress: &mut dyn Progress,
) -> Result<(), FetchError> {
    let fault =
        |member: &str, source: Box<dyn std::error::Error + Send + Sync>| FetchError::Archive {
            path: archive.url.clone(),
            expected: member.to_owned(),
            source,
        };
    let file = File::open(path).map_err(|source| DataError::Read {
        path: name_of(path),
        source,
    })?;
    let mut zip = ZipArchive::new(BufReader::new(file))
        .map_err(|error| fault(&archive.root, error.into()))?;
    for file in files {
        let (plain, content) = file.content();
        let inner = plain
            .strip_prefix(entry.name.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(plain);
        let name = format!("{}/{inner}", archive.root);
        let mut member = zip
            .by_name(&name)
            .map_err(|error| fault(&name, error.into()))?;
        let destination = root.join(plain);
        if let Some(folder) = destination.parent() {
            make_folder(folder)?;
        }
        extract(&mut member, &destination, &content, progress).map_err(|error| {
            if let Some(folder) = destination.parent() {
                let _ = fs::remove_dir(folder);
            }
            error.into_fetch(&archive.url, &name, &destination)
        })?;
    }
    Ok(())
}

/// What can go wrong with one file.
enum Extract {
    Read(io::Error),
    Write(io::Error),
    Size { expected: u64, found: u64 },
    Sha256 { expected: String, found: String },
    Cancelled(DataError),
}

impl Extract {
    fn into_fetch(self, url: &str, member: &str, destination: &Path) -> FetchError {
        let url = format!("{url}#{member}");
        match self {
            Self::Read(error) => FetchError::Archive {
                path: url,
                expected: member.to_owned(),
                source: error.into(),
            },
            Self::Write(source) => FetchError::Data(DataError::Write {
                path: name_of(destination),
                source,
            }),
            Self::Size { expected, found } => FetchError::Size {
                url,
                expected,
                found,
            },
            Self::Sha256 { expected, found } => FetchError::Sha256 {
                url,
                expected,
                found,
            },
            Self::Cancelled(error) => FetchError::Data(error),
        }
    }
}

fn extract(
    member: &mut impl Read,
    destination: &Path,
    content: &Content,
    progress: &mut dyn Progress,
) -> Result<(), Extract> {
    let mut out = AtomicFile::create(destination).map_err(Extract::Write)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        let count = match member.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Extract::Read(error)),
        };
        length += count as u64;
        if length > content.bytes {
            break;
        }
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(Extract::Write)?;
        go_on(progress.report("unpacking", length, Some(content.bytes)))
            .map_err(Extract::Cancelled)?;
    }
    if length != content.bytes {
        return Err(Extract::Size {
            expected: content.bytes,
            found: length,
        });
    }
    let found = hex(&hasher.finalize());
    if found != content.sha256 {
        return Err(Extract::Sha256 {
            expected: content.sha256.clone(),
            found,
        });
    }
    out.commit().map_err(Extract::Write)
}
