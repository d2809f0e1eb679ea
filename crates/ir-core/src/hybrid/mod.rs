//! Retrievers made of several: sums of scores, fused lists, re-ranked candidates.
//!
//! | what | score of a document | exact |
//! |---|---|---|
//! | [`Blend`] | the weighted sum of the scores that the parts give it: cos + α·BM25 | yes: no document outside the lists can be better |
//! | [`Fused`] | a [`Fusion`](crate::fuse::Fusion) of the parts' lists: reciprocal ranks, normalised sums | of the lists: their depth is part of the definition |
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
//! # use ir_core::{DocIds, DocNum, Ranking, SearchError, TopK};
//! # struct Fixed(DocIds, Vec<f32>);
//! # impl Retriever for Fixed {
//! #     type Query = str;
//! #     fn ids(&self) -> &DocIds { &self.0 }
//! #     fn search(&self, _: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
//! #         let mut best = TopK::new(how.k());
//! #         for (doc, &score) in (0..).map(DocNum::new).zip(&self.1) {
//! #             if score != 0.0 && how.allows(doc) { best.push(doc, score); }
//! #         }
//! #         best.finish()
//! #     }
//! # }
//! # let cosine = Fixed(["a", "b", "c"].into_iter().collect(), vec![0.9, 0.8, 0.1]);
//! # let bm25 = Fixed(["c", "b"].into_iter().collect(), vec![4.0, 12.0]);
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
mod reranked;

pub use blend::Blend;
pub use fused::Fused;
pub use reranked::Reranked;

#[cfg(test)]
mod tests;
