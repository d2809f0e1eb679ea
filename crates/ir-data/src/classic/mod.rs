//! The classic test collections in their own format: Cranfield and CISI.
//!
//! Records in the format of the SMART system, one after another:
//!
//! ```text
//! .I 1
//! .T
//! experimental investigation of the aerodynamics of a
//! wing in a slipstream .
//! .A
//! brenckman,m.
//! .W
//! an experimental study of a wing in a propeller slipstream ...
//! ```
//!
//! | mark | what | where it goes |
//! |---|---|---|
//! | `.I` | number, on the same line | the id |
//! | `.T` | title, wrapped | the title; lines joined by a blank |
//! | `.W` | text | the text, line by line |
//! | `.A` | author | attribute `author`; several joined by `; ` |
//! | `.B` | where it was published | attribute `bibliography` |
//! | `.K` `.C` `.N` | keywords, classes, notes | attributes `keywords`, `classes`, `notes` |
//! | `.X` | citations, three numbers a line | attribute `citations` |
//!
//! A line is a mark when it is a full stop and one capital letter, and perhaps blanks after them.
//!
//! - Cranfield's judgments call queries by their place in the file, from 1, and not by their
//!   numbers; in their codes lower is better ([`Codes`]), and each query has one document with
//!   code -1 ([`SourceDocument`]).
//! - Two of Cranfield's texts have marks inside where a page was set wrongly: a mark that a record
//!   has had already does not end the text. In CISI a repeated `.A` is another author.
//! - Cranfield repeats the title at the head of the text; documents 471 and 995 are empty.
//! - 55 queries of CISI are whole papers: their text is the abstract (`.W`), the title is an
//!   attribute.
//!
//! ```
//! use ir_core::Corpus;
//! let text = ".I 7\n.T\na wing in\na slipstream\n.A\nbrenckman,m.\n.W\nan experimental study\n";
//! let docs = ir_data::classic::read_documents(text.as_bytes(), "cran.all")?;
//! assert_eq!((docs[0].id.as_str(), docs[0].title.as_str()), ("7", "a wing in a slipstream"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

mod collections;
mod judgments;
mod smart;

pub use collections::{Cisi, ClassicCorpus, Cranfield, read_documents, read_queries};
pub use judgments::{Codes, SourceDocument, read_cisi_judgments, read_cranfield_judgments};
