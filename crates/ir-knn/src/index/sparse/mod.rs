//! Exact search of sparse vectors with an inverted index.

mod file;
mod index;
mod search;
mod texts;
mod vector;

pub use index::SparseIndex;
pub use texts::{EncodedSparse, EncodedSparseError};
pub use vector::{SparseVector, SparseVectorError};
