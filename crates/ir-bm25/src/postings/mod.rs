//! The lists of documents of the terms: how they are written, and how they are read.
//!
//! One list, at an offset of the section `postings`, with `varint` numbers of seven bits a byte:
//! - the number of documents `df`, and the number of occurrences beyond one a document;
//! - when `df` > 1, the points of the whole list (see below): a byte that counts them, two bytes each;
//! - when `df` >= 128, one entry of 18 bytes for every block: last document (4), where the block
//!   ends from the start of the first (4), bits per document gap and per frequency (1 + 1), and
//!   four points (8);
//! - the blocks: 128 postings as bit-packed gaps and frequencies less one; the last, incomplete
//!   block as varints (twice the gap, and one more when the frequency is one; else the frequency follows).
//!
//! A *point* is a pair (frequency rounded up, length rounded down), a byte each. The points of a
//! block are a skyline: every posting has a point with no smaller frequency and no greater length.
//! Any score that grows with the frequency and falls with the length, so BM25 for all k1 >= 0 and
//! 0 <= b <= 1 and for both forms of lengths, is bounded by its largest value at the points.

mod cursor;
mod encode;
mod skyline;

pub(crate) use cursor::{Cursor, END};
pub(crate) use encode::{Posting, encode};
pub(crate) use skyline::Point;

/// Postings in a block.
pub(crate) const BLOCK: usize = 128;
/// Bytes of the entry of a block.
const ENTRY: usize = 18;
/// Points in the entry of a block.
const BLOCK_POINTS: usize = 4;
/// Points of a whole list.
const LIST_POINTS: usize = 12;
/// Marks a block of varints in the place of the bits per document gap.
const VARINTS: u8 = u8::MAX;
