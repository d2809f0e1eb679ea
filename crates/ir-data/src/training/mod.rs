//! What retrievers learn from: files of queries with texts that answer them and texts that do not.
//!
//! | form | a line, or what there is | read by |
//! |---|---|---|
//! | Tevatron's | `query_id`, `query`, `positive_passages` and `negative_passages`: lists of objects `docid`, `title`, `text` | [`TrainingFile::open`] |
//! | plain | `query`, `positives` and `negatives`: lists of texts, or of objects `id`, `text`, `score` | [`TrainingFile::open`] |
//! | DataFinder's and MAKG's | `query` and `keyphrase_query`, `positives` and `negatives`: lists of ids, whose texts are in a collection | [`TrainingFile::open_with`] and [`TrainingForm::with_texts`] |
//! | BEIR's and any other judged split | queries, qrels and corpus | [`Judgements::read`] |
//!
//! All are [`TrainingSet`](ir_core::TrainingSet)s. [`TrainingWriter`] writes Tevatron's form.
//!
//! What to mind:
//!
//! - **One line, one query.** Of a file only the places of its lines are kept in memory. Opening
//!   reads it once from end to end, so that a fault shows then and not in the second epoch.
//! - **Compressed files** have no lines to go to: they are unpacked into memory. Unpack large ones
//!   on the disk.
//! - **Title and text** of a passage are one text, with a blank between, as Tevatron has it.
//! - **Ids.** A query's id is `query_id`, `id`, `_id` or `n`, where there is one.
//! - **Lines of no use**: without a query or positives, with a positive that is also a negative,
//!   with an id that the collection lacks. They are errors, unless told otherwise ([`Unusable`]):
//!   DataFinder's labelled queries have one whose only dataset is in no corpus.
//! - **Long texts** are as they are: whoever encodes them cuts them, by tokens.

mod file;
mod judged;
mod line;
mod texts;
mod write;

pub use file::TrainingFile;
pub use judged::Judgements;
pub use line::{TrainingForm, Unusable};
pub use texts::Texts;
pub use write::{TrainingWriter, write_example};

#[cfg(test)]
mod tests;
