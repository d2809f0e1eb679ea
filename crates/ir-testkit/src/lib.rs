#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// This crate exists to fail tests: its functions panic by design.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod contract;
pub mod oracle;
mod reranking;
pub mod segments;
pub mod toy;

pub use contract::{Contract, check_text, check_text_saved, check_vectors, check_vectors_saved};
pub use reranking::{RerankedContract, RerankerContract, check_reranker};
