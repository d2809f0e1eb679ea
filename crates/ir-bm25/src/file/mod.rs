//! The index file: a head, sections one after another without gaps, a table of them, and a tail.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | head | 16 | `ir-bm25\n`, format version (4), CRC-32 of these 12 |
//! | sections | | see [`section`] |
//! | table | | count (4); for every section: length of its name (1), name, length (8), CRC-32 (4) |
//! | tail | 24 | where the table begins (8), its length (4), CRC-32 of the table and these 12 (4), `\nir-end\n` |
//!
//! All numbers are little-endian. Every byte is under a checksum or compared, so one flipped byte is always noticed.

mod bytes;
mod meta;
#[cfg(feature = "mmap")]
#[allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; the reasons are in the module"
)]
mod mmap;
mod read;
mod write;

pub use bytes::Bytes;
pub(crate) use bytes::{Part, open_bytes};
pub use meta::FieldStats;
pub(crate) use meta::Meta;
pub(crate) use read::Sections;
pub use read::Verify;
pub(crate) use write::FileWriter;

/// How a file begins.
pub(crate) const MAGIC: [u8; 8] = *b"ir-bm25\n";
/// How it ends.
pub(crate) const CLOSING: [u8; 8] = *b"\nir-end\n";
/// The version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
const HEAD: usize = 16;
const TAIL: usize = 24;

/// The names of the sections.
pub(crate) mod section {
    /// JSON: configuration, counts.
    pub(crate) const META: &str = "meta";
    /// The ids in the order of the documents, each after its length as a varint.
    pub(crate) const IDS: &str = "ids";
    /// Years in the order of the documents, as varints: 0 for none, else 1 and the zigzag form. Absent when none has one.
    pub(crate) const YEARS: &str = "years";
    /// For every field the number of tokens of every document, four bytes each.
    pub(crate) const LENGTHS: &str = "lengths";
    /// The same, one byte each, as Lucene rounds them.
    pub(crate) const CODES: &str = "codes";
    /// Finite state transducer from field number and term to the offset in `postings`.
    pub(crate) const TERMS: &str = "terms";
    /// The lists of documents.
    pub(crate) const POSTINGS: &str = "postings";
    /// What is stored of the documents, one after another.
    pub(crate) const STORED: &str = "stored";
    /// Where each of them ends, eight bytes each.
    pub(crate) const STORED_ENDS: &str = "stored-ends";
}
