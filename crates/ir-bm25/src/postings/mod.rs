//! Posting lists: encoding and decoding.
//!
//! A posting list starts at an offset of the section `postings`. Varints have seven bits per byte.
//! - document frequency `df`, and the total term frequency minus `df` (varints);
//! - if the index has positions: the sizes in bytes of the rest of the list and of the positions
//!   ([`positions`]), which follow the blocks (varints);
//! - if `df` > 1: the impacts of the whole list (see below): their number (1), then two bytes each;
//! - for each of the depths 10, 100 and 1000 that is at most `df`, and each of the minimum
//!   frequencies 1, 2 and 4: the length (1) that as many postings with this frequency do not
//!   exceed, 255 if there are fewer;
//! - if `df` >= 128: an 18-byte entry for every block: last document (4), end offset of the block
//!   from the start of the first (4), bits per document gap and per frequency (1 + 1), and four
//!   impacts (8);
//! - the blocks: 128 postings as bit-packed gaps and frequencies minus one; the last, incomplete
//!   block as varints (twice the gap, plus one if the frequency is one; else the frequency
//!   follows).
//!
//! An *impact* is a pair of a frequency (rounded up) and a length (rounded down), one byte each.
//! The impacts of a block are a skyline: every posting is dominated by an impact with no lower
//! frequency and no greater length. They bound every score that increases with the frequency and
//! decreases with the length: BM25 for all `k1` >= 0, 0 <= `b` <= 1 and both length encodings.

mod cursor;
mod decoded_block;
mod encode;
mod impacts;
mod kth_impacts;
mod positions;
mod unpack;

pub(crate) use cursor::{PostingsCursor, PostingsSlice};
pub(crate) use encode::{encode, write_gap};
pub(crate) use impacts::Impact;
pub(crate) use positions::{read_gaps, write_gaps};

/// Document number past the last posting.
pub(crate) const END: u32 = u32::MAX;
/// Number of postings in a full block.
pub(crate) const BLOCK: usize = 128;
/// Bytes per block entry.
const ENTRY: usize = 18;
/// Impacts per block entry.
const BLOCK_IMPACTS: usize = 4;
/// Maximum number of impacts of a whole list.
const LIST_IMPACTS: usize = 12;
/// Marks a block of varints in place of the bits per document gap.
const VARINTS: u8 = u8::MAX;

/// An entry of a posting list: document number and term frequency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting {
    pub(crate) doc: u32,
    pub(crate) tf: u32,
}
