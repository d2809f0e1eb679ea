//! Files of vectors by `ir encode`: how they were encoded, of which texts, and for which queries.

mod files;
mod origin;
mod queries;
mod text_hashes;

pub use files::open_vectors;
pub use origin::{COMPARED_FIELDS, VectorOrigin};
pub use queries::QueryVectors;
pub use text_hashes::{TextHashes, text_hash};
