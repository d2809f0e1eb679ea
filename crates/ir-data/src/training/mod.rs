//! Training examples: queries with positive and negative texts.
//!
//! Formats and readers:
//!
//! - Tevatron ([`TrainingFile::open`]): `query_id`, `query`, `positive_passages` and
//!   `negative_passages`, arrays of objects with `docid`, `title` and `text`.
//! - Plain ([`TrainingFile::open`]): `query`, `positives` and `negatives`, arrays of strings or
//!   of objects with `id`, `text` and `score`.
//! - sentence-transformers ([`TrainingFile::open`]): the columns `anchor` (or `query`), `positive`
//!   and, optionally, `negative`, one text each.
//! - DataFinder and MAKG ([`TrainingFile::open_with`] and [`TrainingFormat::with_texts`]):
//!   `query`, `keyphrase_query`, `positives` and `negatives`, arrays of ids of documents in a
//!   collection.
//! - Judged splits, for example of BEIR ([`JudgedTrainingSet::from_split`]): queries, qrels,
//!   corpus.
//!
//! All are [`TrainingSet`](ir_core::training::TrainingSet)s. [`TrainingWriter`] writes the Tevatron
//! format.
//!
//! - **One line, one query.** Only the positions of the lines are kept in memory. Opening parses
//!   the complete file, so that an invalid line is an error before training starts.
//! - **Compressed files** do not support seeking and are decompressed into memory. Decompress
//!   large files on disk.
//! - **Title and text** of a passage are joined by a space, as in Tevatron.
//! - **Query ids** are in `query_id`, `id`, `_id` or `n`. They are optional.
//! - **Invalid examples** have no query or no positive, a text that is both positive and
//!   negative, or an unknown document id. They are errors by default ([`OnInvalidExample`]).
//!   DataFinder's labeled queries contain one: its only dataset is in no corpus.
//! - **Long texts** are not truncated. Encoders truncate by tokens.

mod document_texts;
mod file;
mod format;
mod ids_by_text;
mod judged;
mod write;

pub use document_texts::DocumentTexts;
pub use file::TrainingFile;
pub use format::{OnInvalidExample, TrainingFormat};
pub use ids_by_text::{ids_by_text, text_key};
pub use judged::JudgedTrainingSet;
pub use write::{TrainingWriter, write_example};

#[cfg(test)]
mod tests;
