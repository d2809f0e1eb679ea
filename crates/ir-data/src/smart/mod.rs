//! Collections in the format of the SMART system: ADI, CACM, CISI, Cranfield, MEDLINE.
//!
//! A file is a sequence of records:
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
//! | marker | content | result |
//! |---|---|---|
//! | `.I` | number, on the same line | id |
//! | `.T` | title, wrapped | title; lines joined by a space |
//! | `.W` | text | text, with line breaks |
//! | `.A` | author | attribute `author`; several joined by `; ` |
//! | `.B` | bibliographic reference | attribute `bibliography` |
//! | `.K` `.C` `.N` | keywords, classes, notes | attributes `keywords`, `classes`, `notes` |
//! | `.X` | citations, three numbers per line | attribute `citations` |
//!
//! A record has a title or a text; records of CACM often have no text. Queries have a text.
//!
//! A marker is a line of a period, one upper-case letter and optional spaces.
//!
//! - Cranfield's judgments refer to queries by position in the file, from 1, not by number. Lower
//!   codes are more relevant ([`CranfieldGrades`]); every query has one document with code -1
//!   ([`CranfieldSourceDocument`]).
//! - Two texts of Cranfield contain stray markers: a repeated marker does not end the text. In CISI
//!   a repeated `.A` is another author.
//! - Cranfield repeats the title at the start of the text. Documents 471 and 995 are empty.
//! - 55 queries of CISI are papers: the abstract (`.W`) is the query text, the title an attribute.
//!
//! ```
//! use ir_core::Corpus;
//! let text = ".I 7\n.T\na wing in\na slipstream\n.A\nbrenckman,m.\n.W\nan experimental study\n";
//! let docs = ir_data::smart::read_documents(text.as_bytes(), "cran.all")?;
//! assert_eq!((docs[0].id.as_str(), docs[0].title.as_str()), ("7", "a wing in a slipstream"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

mod collections;
mod folder;
mod records;

pub use crate::qrels::{
    CranfieldGrades, CranfieldSourceDocument, read_cisi_judgments, read_cranfield_judgments,
};
pub use collections::{
    SmartCorpus, SmartQueries, read_cranfield_queries, read_documents, read_queries,
};
pub use folder::SmartFolder;
