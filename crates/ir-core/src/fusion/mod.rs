//! Rank fusion and hybrid retrieval: several rankings or retrievers combined into one.
//!
//! | task | item | score of a document |
//! |---|---|---|
//! | fuse run files | [`fuse_runs`] | a [`Fusion`]: reciprocal ranks, CombSUM, Borda, ... |
//! | fuse run files with weights | [`fuse_weighted_runs`] | the same, weighted by run |
//! | fuse retrievers | [`Fused`] | the same, over the first hits of each retriever |
//! | hybrid search, cos + α·BM25 | [`WeightedSum`] | exact weighted sum of the retrievers' scores |
//! | re-rank candidates | [`Reranked`] | score of a [`Reranker`](crate::Reranker) |
//! | re-rank by a second retriever | [`RetrieverScores`] | score of the second retriever |
//! | repository prior | [`RepositoryPrior`] | score and prior of its repository |
//! | document prior | [`DocumentPrior`] | query-independent constant |
//! | compare systems by clicks | [`interleave`] | none: documents keep their rank |
//!
//! The retrievers may index different collections. Documents are matched by id: records that share
//! an id count as one document, with the best score of its records. The combined retriever has its
//! own document numbers: first the documents of the first retriever in order, then the documents
//! that only later retrievers contain. Filters refer to these numbers.
//!
//! The filter contract of [`Retriever`](crate::Retriever) holds for [`WeightedSum`],
//! [`RepositoryPrior`] and [`DocumentPrior`]. [`Fused`] and [`Reranked`] are exempt by design: they
//! apply the filter before ranks and candidates are determined, so a filtered search is not a
//! filtered unfiltered search.
//!
//! ```
//! use ir_core::fusion::WeightedSum;
//! use ir_core::{Retriever, Search};
//! # use ir_core::fusion::DocumentPrior;
//! # let cosine = DocumentPrior::new([("a", 0.9), ("b", 0.8), ("c", 0.1)])?;
//! # let bm25 = DocumentPrior::new([("c", 4.0), ("b", 12.0)])?;
//! // bm25: b 12, c 4; cosine: a 0.9, b 0.8, c 0.1.
//! let hybrid = WeightedSum::new([(bm25, 0.05), (cosine, 1.0)])?;
//! let ranking = hybrid.search("tea", &Search::top(2))?;
//! let found: Vec<&str> = ranking.iter().map(|hit| hybrid.ids().id(hit.doc)).collect();
//! assert_eq!(found, ["b", "a"]); // 0.05 * 12 + 0.8, 0 + 0.9
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A weighted sum is exact because cos + α·BM25 is defined for every document: candidates of the
//! lists are scored by every component through a filter, and the lists are extended until no other
//! document can have a higher score. Ranks and normalized scores are defined by lists of a given
//! depth, a parameter of [`Fused`].

mod error;
mod fuse;
mod fused;
pub mod interleave;
mod numbering;
mod prior;
mod repository;
mod repository_prior;
mod reranked;
mod retriever_scores;
#[cfg(test)]
mod tests;
mod weighted_sum;

pub use error::FusionError;
pub use fuse::{Fusion, ScoreCombination, ScoreNormalization, fuse_runs, fuse_weighted_runs};
pub use fused::Fused;
pub use prior::DocumentPrior;
pub use repository::{DocumentRepositories, RepositoryPriors};
pub use repository_prior::{PriorCombination, PriorEstimate, RepositoryPrior};
pub use reranked::{Reranked, RerankedHits};
pub use retriever_scores::RetrieverScores;
pub use weighted_sum::WeightedSum;
