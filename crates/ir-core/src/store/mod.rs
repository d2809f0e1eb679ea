//! Index files: atomic writes, and a container of checksummed sections.
//!
//! Every saved index of this workspace is one file in the same container format. An
//! [`IndexFormat`] identifies the type of index. An [`IndexFileWriter`] writes a file sequentially.
//! An [`IndexFile`] opens it: memory-mapped with the feature `mmap`, otherwise read into memory.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | 64 | magic (8), format version (4), CRC-32 of these 12 bytes, zeros |
//! | sections | | each starts at a multiple of 64 and is padded with zeros |
//! | table | | count (4); each: name length (1), name, length (8), CRC-32 with padding (4) |
//! | footer | 24 | table offset (8), length (4), CRC-32 of table and both (4), `\nir-end\n` |
//!
//! Integers are little-endian. Every byte is covered by a checksum or compared with a constant, so
//! a single flipped byte is always detected.
//!
//! A section of [`IndexFileWriter::begin_paged`] is followed by the section `NAME-pages`: a CRC-32
//! (4) for each of its 16 KiB pages. A [`PagedSection`] verifies the pages that are read.
//!
//! # Examples
//! ```
//! use std::io::Write;
//! use ir_core::store::{AtomicFile, IndexFile, IndexFileWriter, IndexFormat, Verify};
//!
//! static FORMAT: IndexFormat = IndexFormat {
//!     magic: *b"ir-test\n",
//!     version: 1,
//!     name: "a test index",
//!     large_sections: &["vectors"],
//! };
//! # let path = std::env::temp_dir().join(format!("ir-core-store-{}", std::process::id()));
//! let mut writer = IndexFileWriter::new(&FORMAT, AtomicFile::create(&path)?)?;
//! writer.section("meta", b"{}")?;
//! writer.begin("vectors")?;
//! writer.write_all(&[1, 2])?;
//! writer.write_all(&[3])?;
//! writer.finish()?.commit()?;
//!
//! let file = IndexFile::open(&FORMAT, &path, Verify::SmallSections)?;
//! assert_eq!(file.section("vectors").unwrap().as_ref(), [1, 2, 3]);
//! file.verify()?;
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic_file;
mod bytes;
mod codec;
mod container;
mod error;
mod lock_file;
#[cfg(feature = "mmap")]
#[allow(
    unsafe_code,
    reason = "memory mapping is unsafe; the module states why it is sound"
)]
mod mmap;
mod pages;
mod writer;

#[cfg(all(test, feature = "segments"))]
pub(crate) use atomic_file::tests::SYNC_FAILS;
pub use atomic_file::{
    AtomicFile, AtomicFolder, remove_abandoned, remove_temporary_files, resolve_links,
};
#[cfg(feature = "segments")]
pub(crate) use atomic_file::{create_folders, sync_folder};
pub use bytes::{IndexBytes, SectionBytes};
pub use codec::{ByteReader, write_sized, write_varint};
pub use container::{HEADER_LEN, IndexFile, IndexFormat, Verify};
pub use error::OpenIndexError;
pub use lock_file::is_file_at;
pub use pages::PagedSection;
pub use writer::IndexFileWriter;
