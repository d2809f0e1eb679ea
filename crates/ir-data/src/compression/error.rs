use std::io;

use super::format::Compression;

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
    pub(super) fn truncated(path: &str, compression: Compression) -> io::Error {
        let path = path.to_owned();
        let error = Self::Truncated { path, compression };
        io::Error::new(io::ErrorKind::UnexpectedEof, error)
    }

    pub(super) fn corrupt(path: &str, compression: Compression, found: String) -> io::Error {
        let error = Self::Corrupt {
            path: path.to_owned(),
            compression,
            found,
        };
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
