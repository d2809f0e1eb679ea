//! Compressed files: reading by content, writing by file name.

mod error;
mod format;
mod gzip;
mod read;
mod write;
mod zstd;

pub(crate) use error::StreamError;
pub use format::Compression;
pub use read::{decompress, detect_compression, open};
pub use write::{DataFile, create};
