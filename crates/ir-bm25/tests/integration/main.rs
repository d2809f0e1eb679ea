//! Tests of analysis, indexes and searches. One program, which is linked once.

mod analysis;
mod analysis_properties;
mod analysis_streams;
mod bm25_f;
#[cfg(feature = "ciff")]
mod ciff;
mod common;
mod contract;
mod feedback;
mod feedback_first_search;
mod forged_sections;
mod index_file;
mod indexer;
mod initial_threshold;
mod integer_sums;
mod large_inputs;
mod lucene;
mod merged_indexes;
mod models;
mod pruning;
mod query_likelihood;
mod round_trips;
mod search;
mod sequential_dependence;
mod sloppy_phrases;
mod structured;
mod top_windows;
mod unicode;
