//! Exact search by scanning all vectors.

mod codes;
mod index;
mod search;
mod writer;

pub use index::FlatIndex;
pub use writer::{FlatIndexWriteError, FlatIndexWriter};
