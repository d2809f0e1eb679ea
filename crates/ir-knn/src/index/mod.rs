//! Vector indexes: exact search (flat, sparse), approximate search (HNSW), and FAISS.

mod buffer;
mod error;
#[cfg(feature = "faiss")]
mod faiss;
mod file;
mod flat;
mod hnsw;
mod similarity;
mod sparse;
mod validate;

pub use error::{SaveVectorIndexError, VectorError};
#[cfg(feature = "faiss")]
pub use faiss::{FaissError, FaissIndex, FaissNativeError, FaissSearcher};
pub use flat::{FlatIndex, FlatIndexWriteError, FlatIndexWriter};
pub use hnsw::{EfSearch, HnswConfig, HnswError, HnswIndex, HnswSearcher};
pub use similarity::VectorSimilarity;
pub use sparse::{EncodedSparse, EncodedSparseError, SparseIndex, SparseVector, SparseVectorError};
