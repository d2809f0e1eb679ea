//! Papers from files: plain text, Markdown, HTML, JATS, TEI, SQuAD.
//!
//! | format | extensions | title, authors, year | sections | pages |
//! |---|---|---|---|---|
//! | plain text | `.txt`, `.text` | title | guessed | form feeds |
//! | Markdown | `.md`, `.markdown` | metadata block, first heading | yes | |
//! | HTML | `.html`, `.htm`, `.xhtml` | `citation_*` and `DC.*`, first heading | yes | |
//! | JATS | `.xml`, `.nxml`: root `article` | yes | yes | |
//! | TEI (GROBID) | `.xml`, `.tei`: root `TEI` | yes | yes | `coords`, `pb` |
//! | SQuAD | `.json` | title | | |
//!
//! A further extension `.gz` or `.zst` is compression. Text is UTF-8, has a byte order mark, or
//! declares its encoding (HTML, XML).
//!
//! Files are not trusted: their decompressed size is limited, XML elements nest to a depth of 256,
//! entities of a document type are not expanded, and no file or address is opened for them.

mod decoding;
mod error;
mod folder;
mod format;
mod html;
mod jats;
mod markdown;
mod paper;
mod reader;
mod squad;
mod tei;
mod text;
mod xml;

pub use error::DocumentError;
pub use folder::{FileOutcome, FileReport, FolderReport, SkipReason, document_files};
pub use format::DocumentFormat;
pub use paper::{Paper, Paragraph, Section};
pub use reader::{DocumentReader, MissingPart, ParsedFile};
