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
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
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

/// Number of bytes by which compression is detected.
pub(crate) const MAGIC: u64 = 10;

/// Content of a file in a format of compression that is not read, by its first [`MAGIC`] bytes.
pub(crate) fn other_compression(head: &[u8]) -> Option<&'static str> {
    const FORMATS: [(&[u8], &str); 11] = [
        (b"\xfd7zXZ\0", "xz data"),
        (b"\x04\x22\x4d\x18", "lz4 data"),
        (b"\x02\x21\x4c\x18", "lz4 data"),
        (b"LZIP\x01", "lzip data"),
        (b"\x1f\x9d", "data of compress (.Z)"),
        (b"\xff\x06\0\0sNaPpY", "snappy data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"PK\x07\x08", "a part of a zip archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a rar archive"),
    ];
    // A block or the end follows the level.
    let is_bzip2 = matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
        if rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17rE8P\x90"));
    let known = FORMATS.iter().find(|(magic, _)| head.starts_with(magic));
    known
        .map(|(_, name)| *name)
        .or(is_bzip2.then_some("bzip2 data"))
}

/// Number of bytes by which a tar archive is detected.
pub(crate) const TAR_HEADER: u64 = 512;

/// Returns `true` for the start of a tar archive in POSIX or GNU format: `ustar` in the header of
/// the first file.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    const OFFSET: usize = 257;
    start
        .get(OFFSET..)
        .is_some_and(|rest| rest.starts_with(b"ustar"))
}

/// Advice about a file with content of [`other_compression`] or a tar archive.
pub(crate) fn unpacking(found: &str) -> &'static str {
    if found.contains("archive") {
        "extract its files first"
    } else {
        "decompress the file first"
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
    #[error("{path}: expected uncompressed, gzip or zstd data, found {found}")]
    Unsupported { path: String, found: &'static str },
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
    pub(crate) fn unsupported(path: &str, found: &'static str) -> io::Error {
        let path = path.to_owned();
        io::Error::new(
            io::ErrorKind::InvalidData,
            Self::Unsupported { path, found },
        )
    }

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

/// Failure of the reader of a compressed stream. It persists: every later read returns its error.
pub(crate) enum StreamFailure {
    Source(io::ErrorKind, String),
    Truncated,
    Corrupt(String),
    OutOfMemory,
}

impl StreamFailure {
    pub(crate) fn error(&self, path: &str, compression: Compression) -> io::Error {
        match self {
            Self::Source(kind, message) => io::Error::new(*kind, message.as_str()),
            Self::Truncated => StreamError::truncated(path, compression),
            Self::Corrupt(found) => StreamError::corrupt(path, compression, found.clone()),
            Self::OutOfMemory => io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!("not enough memory to decompress {compression} data"),
            ),
        }
    }
}

/// Format of an error of [`StreamError::unsupported`].
pub(crate) fn unsupported_format(error: &io::Error) -> Option<&'static str> {
    match error.get_ref()?.downcast_ref()? {
        StreamError::Unsupported { found, .. } => Some(found),
        _ => None,
    }
}
