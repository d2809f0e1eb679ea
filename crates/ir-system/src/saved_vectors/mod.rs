//! Files of vectors by `ir encode`: how they were encoded, of which texts, and for which queries;
//! files of other encoders.

mod files;
mod json_records;
mod origin;
mod other_formats;
mod probe;
mod queries;
#[cfg(feature = "dense")]
mod query_encoder;
mod text_comparison;
mod text_hashes;
mod vector_ids;

/// Type of systems that search saved vectors.
pub(crate) const DENSE: &str = "dense";

pub use files::{open_tokens, open_vectors};
pub use origin::{COMPARED_FIELDS, VectorOrigin};
pub(crate) use other_formats::vectors_hash;
pub use probe::{probe, probe_text};
pub use queries::QueryVectors;
#[cfg(feature = "dense")]
pub use query_encoder::QueryEncoder;
pub(crate) use text_comparison::TextComparison;
pub(crate) use text_hashes::grouped;
pub use text_hashes::{TextHashes, text_hash};
