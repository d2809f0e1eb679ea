//! Compressed files: reading by content, writing by file name.

mod gzip;
mod read;
mod write;
mod zstd;

pub use crate::compression_format::Compression;
pub use read::{
    byte_order_mark, decompress, detect_compression, is_plain, open, open_bytes,
    unsupported_compression,
};
pub use write::{DataFile, create};
