//! Compressed files: reading by content, writing by file name.

mod format;
mod gzip;
mod read;
mod write;
mod zstd;

pub use format::Compression;
pub(crate) use format::StreamError;
pub use read::{decompress, detect_compression, open};
pub use write::{DataFile, create};
