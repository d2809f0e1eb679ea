//! Tests of vector indexes, token stores, TF-IDF, LSI and kNN. One program, which is linked once.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod binary;
mod cases;
#[cfg(feature = "lsi")]
mod explanations;
#[cfg(feature = "faiss")]
mod faiss;
mod flat;
mod flat_file;
mod flat_writer;
#[cfg(all(feature = "lsi", feature = "npy"))]
mod golden;
mod hnsw;
mod hnsw_file;
#[cfg(all(feature = "lsi", feature = "npy"))]
mod iclr;
mod neighbors;
#[cfg(feature = "npy")]
mod npy;
mod random_indexing;
mod recommend;
mod save_errors;
mod segments;
mod sparse;
#[cfg(feature = "lsi")]
mod svd;
#[cfg(feature = "lsi")]
mod tfidf;
mod tokens;
