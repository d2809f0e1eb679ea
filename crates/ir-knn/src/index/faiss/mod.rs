//! Indexes of the C++ library FAISS.
//!
//! The C API has no efSearch per search of a graph: it is set under a lock. The file of FAISS and
//! the ids are saved separately, so that other programs can read the first.

#[allow(
    unsafe_code,
    reason = "calls of a C interface; the module documents their soundness"
)]
mod engine;
mod error;
mod family;
mod file;
mod index;

pub use error::{FaissError, FaissNativeError};
pub use index::{FaissIndex, FaissSearcher};
