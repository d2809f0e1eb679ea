//! Approximate search with a hierarchical navigable small world graph (HNSW).

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
