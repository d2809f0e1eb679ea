//! Readers: the last commit of a segmented index.

use std::io;
use std::path::Path;

use super::files::{MANIFEST_NAME, is_index_file};
use super::manifest::{has_lost_manifest, read_manifest};
use super::segment::{Segment, SegmentIndex};
use crate::store::{OpenIndexError, Verify};

/// Returns `true` if a folder contains a segmented index of any type, cannot be read, or contains
/// an index without its manifest. Opening reports the latter two.
#[must_use]
pub fn exists(folder: &Path) -> bool {
    match folder.join(MANIFEST_NAME).metadata() {
        Ok(manifest) => manifest.is_file(),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied || has_lost_manifest(folder),
    }
}

/// Returns the folder of a file that has the name of a manifest, a segment or deleted documents;
/// [`None`] for other names. The file may be missing.
#[must_use]
pub fn folder_of(file: &Path) -> Option<&Path> {
    let name = file.file_name()?.to_str()?;
    file.parent().filter(|_| is_index_file(name))
}

/// Open commit of a segmented index. Later commits do not change it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Commit<I: SegmentIndex> {
    /// Configuration of the index.
    pub config: I::Config,
    /// Number of commits and merges since the index was created.
    pub number: u64,
    /// Segments from the oldest to the newest.
    pub segments: Vec<Segment<I>>,
}

impl<I: SegmentIndex> Commit<I> {
    /// Opens the last commit of the index in a folder.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open(folder: &Path, verify: Verify) -> Result<Self, OpenIndexError> {
        let mut manifest = read_manifest::<I>(folder)?;
        loop {
            match manifest.open_segments(folder, verify) {
                Ok(segments) => {
                    return Ok(Self {
                        config: manifest.config,
                        number: manifest.commit,
                        segments,
                    });
                }
                Err(OpenIndexError::Io { source, path })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    // A later commit may have removed the file.
                    let newer = read_manifest::<I>(folder)?;
                    if newer.commit == manifest.commit {
                        return Err(OpenIndexError::Io { path, source });
                    }
                    manifest = newer;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
