//! Parsed papers in the JSON of S2ORC and its PDF parser: sections, citations and bibliography.

mod keys;
mod paper;
mod read;

pub use keys::PaperKeys;
pub use paper::{BibliographyEntry, CitationSpan, Paper, Paragraph, Section};
pub use read::{PaperReader, read_papers};
