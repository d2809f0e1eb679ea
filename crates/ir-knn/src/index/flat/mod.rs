//! Exact search by scanning all vectors.

mod codes;
mod index;
mod row_numbers;
mod rows;
mod search;
mod shared_floor;
mod writer;

pub use index::FlatIndex;
pub(in crate::index) use row_numbers::RowNumbers;
pub(in crate::index) use rows::{VectorRows, write_sections};
pub(in crate::index) use search::{FlatScan, ScanSegment};
pub use writer::{FlatIndexWriteError, FlatIndexWriter};
