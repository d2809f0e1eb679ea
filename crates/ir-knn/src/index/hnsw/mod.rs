//! Approximate search with a hierarchical navigable small world graph (HNSW).
//!
//! hnsw_rs 0.3, instant-distance 0.6, usearch and hnswlib insert from several threads under locks,
//! so that every build differs; filtered searches of usearch and hnswlib may return fewer than k.
//! Here vectors are inserted in batches (ParlayANN) in a random order that is also their numbering,
//! so that upper layers are prefixes. The search compares 8-bit codes relative to the componentwise
//! median; exact scores are computed last. Equal vectors are one node. Pruned neighbor lists are
//! not filled up, as in hnswlib.

mod beam;
mod build;
mod codes;
mod config;
mod distance;
mod documents;
mod graph;
mod index;
mod search;
mod searcher;

pub use config::{EfSearch, HnswConfig, HnswError};
pub use index::HnswIndex;
pub use searcher::HnswSearcher;

#[cfg(test)]
mod tests;
