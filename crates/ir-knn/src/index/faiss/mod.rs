//! Indexes of the C++ library FAISS.

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
