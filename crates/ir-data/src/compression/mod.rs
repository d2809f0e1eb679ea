//! Compressed files: reading by content, writing by file name.

mod gzip;
mod read;
mod write;
mod zstd;

pub use crate::compression_format::Compression;
pub(crate) use read::open_bytes;
pub use read::{
    byte_order_mark, decompress, detect_compression, is_plain, open, unsupported_compression,
};
pub use write::{DataFile, create};
