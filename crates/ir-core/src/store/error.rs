use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Error opening a saved index, or reading a section that was not verified when it was opened.
/// Every variant names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum OpenIndexError {
    /// The file cannot be opened or read.
    #[error("{}: cannot read the index file", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The folder contains the segments of an index, but not its manifest.
    #[error("{}: missing, but the folder contains the segments of an index; restore the manifest, or write the index into another folder", manifest.display())]
    MissingManifest { manifest: PathBuf },
    /// The path is a directory.
    #[error("{}: expected an index file, found a directory", path.display())]
    Directory { path: PathBuf },
    /// The file does not start with the magic bytes of the expected kind of index.
    #[error("{}: not {name}: expected it to start with {expected:?}, found {found:?}", path.display())]
    NotAnIndex {
        path: PathBuf,
        name: &'static str,
        expected: String,
        found: String,
    },
    /// The file is in another version of the format.
    #[error("{}: expected version {expected} of the file format, found {found}, written by another version of this program; write the file again (an index with `ir index`, vectors with `ir encode`)", path.display())]
    Version {
        path: PathBuf,
        expected: u32,
        found: u32,
    },
    /// The end of the file is missing. `found` is the file size in bytes.
    #[error("{}: truncated, or damaged at the end: no end marker in the last of its {found} bytes", path.display())]
    Truncated { path: PathBuf, found: u64 },
    /// The bytes of a section, or of one of its pages, have changed since the index was written.
    #[error("{}: damaged: expected checksum {expected:08x} in section {section}, found {found:08x}", path.display())]
    Checksum {
        path: PathBuf,
        section: String,
        expected: u32,
        found: u32,
    },
    /// A section is missing or inconsistent with the other sections.
    #[error("{}: damaged: section {section} does not contain {expected}", path.display())]
    Malformed {
        path: PathBuf,
        section: String,
        expected: &'static str,
    },
    /// The metadata of the index cannot be parsed.
    #[error("{}: the index metadata cannot be parsed", path.display())]
    Metadata {
        path: PathBuf,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl OpenIndexError {
    /// Returns whether the file is an index that was truncated or changed after it was written.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Truncated { .. } | Self::Checksum { .. } | Self::Malformed { .. }
        )
    }
}
