//! Compression formats and errors of compressed streams.

use std::path::Path;
use std::{fmt, io};

/// Compression format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Gzip with one or several members.
    Gzip,
    /// Zstandard with one or several frames.
    Zstd,
}

impl Compression {
    pub(crate) fn from_magic(head: &[u8]) -> Option<Self> {
        match *head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame or a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let formats = [("gz", Self::Gzip), ("zst", Self::Zstd)];
        let mut formats = formats.into_iter();
        formats.find_map(|(name, it)| extension.eq_ignore_ascii_case(name).then_some(it))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Error inside an [`io::Error`] of a compressed stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("{path}: expected more {compression} data, found the end of the file")]
    Truncated {
        path: String,
        compression: Compression,
    },
    #[error("{path}: expected {compression} data, found it corrupt ({found})")]
    Corrupt {
        path: String,
        compression: Compression,
        found: String,
    },
}

impl StreamError {
    pub(crate) fn truncated(path: &str, compression: Compression) -> io::Error {
        let path = path.to_owned();
        let error = Self::Truncated { path, compression };
        io::Error::new(io::ErrorKind::UnexpectedEof, error)
    }

    pub(crate) fn corrupt(path: &str, compression: Compression, found: String) -> io::Error {
        let error = Self::Corrupt {
            path: path.to_owned(),
            compression,
            found,
        };
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
