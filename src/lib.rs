#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Analysis, the inverted index and BM25: the crate `ir-bm25`.
#[doc(inline)]
pub use ir_bm25 as bm25;
/// The nouns and the seam: the crate `ir-core`.
#[doc(inline)]
pub use ir_core as core;
/// Readers, writers and the catalogue of collections: the crate `ir-data`.
#[doc(inline)]
pub use ir_data as data;
/// Text to vectors by BERT encoders: the crate `ir-dense`.
#[cfg(feature = "dense")]
#[doc(inline)]
pub use ir_dense as dense;
/// Measures and the evaluator: the crate `ir-eval`.
#[doc(inline)]
pub use ir_eval as eval;
/// Vectorisers, neighbours and the accuracy of embeddings: the crate `ir-knn`.
#[doc(inline)]
pub use ir_knn as knn;
