//! Retrievers made of several: sums of scores, fused lists, re-ranked candidates.
//!
//! | what | score of a document | exact |
//! |---|---|---|
//! | [`Blend`] | the weighted sum of the scores that the parts give it: cos + α·BM25 | yes: no document outside the lists can be better |
//! | [`Fused`] | a [`Fusion`](crate::fuse::Fusion) of the parts' lists: reciprocal ranks, normalised sums | of the lists: their depth is part of the definition |
//! | [`Prior`] | one of its own, whatever is asked: a part of a blend | yes |
//! | [`Reranked`] | that of the second part, among the first hits of the first | of the candidates, likewise |
//!
//! The parts may number documents as they like: documents are the same whose ids are the same, and
//! several records of one id are one document, with its best score. The hybrid numbers them anew
//! (`ids`): those of the first part in their order, then what only later parts have. Filters speak
//! of these numbers.
//!
//! ```
//! use ir_core::hybrid::Blend;
//! use ir_core::{Retriever, Search};
//! # use ir_core::SearchError;
//! # use ir_core::hybrid::Prior;
//! # let cosine = Prior::new([("a", 0.9), ("b", 0.8), ("c", 0.1)])?;
//! # let bm25 = Prior::new([("c", 4.0), ("b", 12.0)])?;
//! // cosine: a 0.9, b 0.8, c 0.1; bm25: b 12, c 4.
//! let hybrid = Blend::new([(cosine, 1.0), (bm25, 0.05)])?;
//! let ranking = hybrid.search("tea", &Search::top(2))?;
//! let found: Vec<&str> = ranking.iter().map(|hit| hybrid.ids().id(hit.doc)).collect();
//! assert_eq!(found, ["b", "a"]); // 0.8 + 0.05 * 12, 0.9 + 0
//! # Ok::<(), SearchError>(())
//! ```

mod blend;
mod fused;
mod part;
mod prior;
mod reranked;

pub use blend::Blend;
pub use fused::Fused;
pub use prior::Prior;
pub use reranked::Reranked;

#[cfg(test)]
mod tests;
