//! Papers from files: plain text, Markdown, HTML, JATS, TEI, SQuAD, SOCO, S2ORC, PDF.
//!
//! | format | extensions | title, authors, year | sections | pages |
//! |---|---|---|---|---|
//! | plain text | `.txt`, `.text` | title | guessed | form feeds |
//! | Markdown | `.md`, `.markdown` | metadata block, first heading | yes | |
//! | HTML | `.html`, `.htm`, `.xhtml` | `citation_*` and `DC.*`, first heading | yes | |
//! | JATS | `.xml`, `.nxml`: root `article`, `pmc-articleset` or `OAI-PMH` | yes | yes | |
//! | TEI (GROBID) | `.xml`, `.tei`: root `TEI` or `teiCorpus` | yes | yes | `coords`, `pb` |
//! | SQuAD | `.json` | title | | |
//! | SOCO (`soco_doc`, `soco_faq`) | `.json`, `.jsonl` | title, fields of the record | yes | yes |
//! | S2ORC | `.json`, `.jsonl` | yes | yes | |
//! | PDF (feature `pdf`) | `.pdf` | title, authors | by font | yes |
//!
//! A further extension `.gz` or `.zst` is compression. Text is UTF-8, has a byte order mark, or
//! declares its encoding (HTML, XML).
//!
//! The language of the text is an attribute, `language`, such as `German`, if the text is long
//! enough and no JSON. DOIs and arXiv ids are attributes without addresses and versions.
//!
//! Lists of references are left out of text, Markdown, HTML, JATS, TEI and PDF; footnotes, hidden
//! elements and affiliations of HTML, too. Acknowledgments have a heading of their own.
//! Superscripts and subscripts are Unicode characters (`10⁴`, `H₂O`), or follow `^` and `_`;
//! numbers of citations that are superscripts, or glued to a word, are left out. Words that are
//! hyphenated at the end of a line are joined in text, Markdown, TEI and PDF, and ligatures are
//! letters. Soft hyphens and zero-width characters are removed, except for JSON, and where the
//! script of a word needs them.
//!
//! Rows of tables are paragraphs of their own, with the names of their columns; at most 200 of a
//! table. Displayed formulas are part of their sentence, and kept with the paper: MathML as it is,
//! without addresses and scripts.
//!
//! Files are not trusted: their decompressed size is limited, XML has at most 2,000,000 elements,
//! nested to a depth of 256, entities of a document type are not expanded, and no file or address
//! is opened for them. Metadata of Markdown have at most 64 KiB and no aliases. PDF is read in a
//! child process with limits on time and memory.

mod decoding;
mod drop_caps;
mod error;
mod folder;
mod format;
mod front_matter;
mod html;
mod hyphens;
mod identifiers;
mod jats;
mod json;
mod language;
mod markdown;
mod mathml;
mod pandoc;
mod paper;
#[cfg(feature = "pdf")]
mod pdf;
mod reader;
mod references;
mod running_text;
mod squad;
mod table;
mod tei;
mod tex;
mod text;
mod xml;

pub use error::{DocumentError, PdfError};
pub use folder::{FileOutcome, FileReport, FolderReport, SkipReason, document_files};
pub use format::DocumentFormat;
pub use identifiers::SeenPapers;
pub use markdown::FrontMatter;
pub use mathml::safe_mathml;
pub use paper::{Paper, Paragraph, Section};
#[cfg(feature = "pdf")]
pub use pdf::{PdfConfig, extract_pdf};
pub use reader::{DocumentReader, MissingPart, ParsedFile};
