//! Token vectors of documents, for late interaction (ColBERT): stores, MaxSim, reranking.
//!
//! A [`TokenStore`] is one file; a [`SegmentedTokenStore`] is a folder of them in which documents
//! are added, replaced and deleted ([`ir_core::segments`]). Neither searches: candidates come from
//! another retriever, and [`LateInteraction`] scores them.
//!
//! # Exactness
//! Products are computed 16 query tokens at a time, one per SIMD lane, with one fused multiply-add
//! per dimension. So there is no horizontal sum, and the scores have the bits of the naive loop on
//! every CPU. Codes are decoded document by document into f32 first: one kernel serves all
//! encodings, and a score is exactly the MaxSim of the decoded vectors.
//!
//! # Why one codebook for all segments?
//! Centroids per segment would need new codes when segments are merged, and each merge would add
//! errors. With one codebook, merging copies bytes.
//!
//! # Early termination
//! [`SegmentedTokenStore::top`] bounds a score by the maxima of some query tokens and the lengths
//! of the other ones. The angles of tokens and their centroids would give tighter bounds, at 1 to 5
//! bytes per token, but an exact bound cannot use that residuals point into random directions. At a
//! cosine of .8 of tokens and centroids, such bounds excluded nothing and took more time than the
//! products.
//!
//! # File
//! A file in the container format of [`ir_core::store`]; numbers are little-endian.
//!
//! | section | content |
//! |---|---|
//! | `documents` | bytes of the documents, in order ([`codec`]) |
//! | `table` | per document: end of the bytes, u64; number of tokens, u32; CRC-32 of the bytes |
//! | `centroids` | with a codebook: `[centroids, dim]`, row-major, f32 |
//! | `buckets` | with a codebook: cutoffs and weights of 2 bits (3 + 4), of 4 bits (15 + 16), f32 |
//! | `ids` | document ids ([`ir_core::DocIds::write_section`]) |
//! | `metadata` | dimension, encoding, encoder, spans and number of documents, as JSON |

mod buckets;
mod codebook;
mod codec;
mod config;
mod documents;
mod encoding;
mod error;
mod file;
mod lanes;
mod late_interaction;
mod matched_words;
mod query;
mod segment;
mod segmented_store;
mod segmented_writer;
mod store;
mod top;
mod writer;

pub use codebook::{TokenCodebook, TokenCodebookConfig};
pub use config::TokenStoreConfig;
pub use encoding::TokenEncoding;
pub use error::TokenStoreError;
pub use late_interaction::{LateInteraction, LateInteractionError, explain_max_sim};
pub use matched_words::matched_words;
pub use query::max_sim;
pub use segmented_store::SegmentedTokenStore;
pub use segmented_writer::SegmentedTokenStoreWriter;
pub use store::TokenStore;
pub use top::TopCandidates;
pub use writer::TokenStoreWriter;
