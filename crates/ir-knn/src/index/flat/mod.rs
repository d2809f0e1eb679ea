//! Exact search by scanning all vectors.
//!
//! A search compares 8-bit codes first. An f32 matrix product ends at the arithmetic limit of the
//! CPU, in the crates gemm and matrixmultiply as in FAISS; a vector register holds four times as
//! many codes. Their error is bounded per row, so that few candidates need exact scores and the
//! result equals exhaustive search (`cargo bench -p bench-flat`). Exact scores come from one kernel
//! with f64 sums in a fixed order, so that they do not depend on batch size or instruction set.

mod codes;
mod index;
mod row_major;
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
