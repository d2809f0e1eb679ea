#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("the index format is read in place on little-endian machines only");

pub mod analysis;
mod bm25;
mod build;
mod codec;
mod config;
mod error;
mod file;
mod index;
mod norm;
mod postings;
mod search;
mod stored;

pub use analysis::{Analysis, Pipeline};
pub use bm25::{Bm25, Lengths};
pub use build::{DEFAULT_MEMORY, IndexBuilder};
pub use config::{Blank, DocOrder, Duplicates, Fields, IndexConfig, Store};
pub use error::{BuildError, OpenError, SearcherError, StoreError};
pub use file::{Bytes, FieldStats, Verify};
pub use index::{Index, Stats, TermStats};
pub use search::{Pruning, Searcher};
