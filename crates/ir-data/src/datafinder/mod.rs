//! DataFinder: datasets as documents, research ideas as queries (Viswanathan et al., ACL 2023).
//! MAKG and the bundled collection have the same form.
//!
//! | file | form | read by |
//! |---|---|---|
//! | search collection | JSON lines: `id` (the dataset's name, with blanks), `contents`, `title`, `year`, `date`, `variants`, ... | [`DatasetCorpus`] |
//! | test queries | JSON lines, or one JSON array: `query`, `keyphrase_query`, `documents`, `year`, `task`, `modality`, ... | [`read_test_queries`] |
//! | qrels | query, `Q0`, document, grade between tabs; written by a CSV writer | [`read_qrels`] |
//! | run | query, `Q0`, document, rank, score, tag between tabs; likewise | [`read_run`] |
//! | training queries | JSON lines: `query`, `keyphrase_query`, and `positives` where they are labelled | [`read_training_queries`] |
//!
//! What to mind:
//!
//! - **Ids.** Qrels and runs write the name of a dataset, and the whole text of a query, with `_`
//!   for white space ([`underscored`]). [`DatasetCorpus`] gives documents that id and keeps the
//!   name as attribute [`NAME`].
//! - **Quotes.** The CSV writer puts quotes round an id that contains quotes, and doubles those.
//!   Read the qrels and the run by the same [`Quoting`]: raw as trec_eval does, or as CSV.
//! - **Header lines.** One of the two qrels files has one, the other does not; trec_eval takes it
//!   for a query called `QueryID` ([`Header`]).
//! - **Repeated ids.** 38 datasets stand twice in the collection, with other descriptions: they
//!   are read as they are, so an index has to be told ([`Repeats`](crate::Repeats) is `Keep` here).
//!   A pair that the qrels repeat counts once and is reported.
//! - **Missing queries.** The file of test queries with one JSON object per line lacks five of the
//!   judged queries; the one with a JSON array has all.
//! - **No positives.** 19 test queries have none and are not judged.
//! - **Years.** The year of a dataset may be absent or `null`; MAKG writes 0 for unknown. All
//!   three are the absence of the attribute `year`.

mod corpus;
mod files;
mod keyphrase;
mod queries;
mod rows;

pub use corpus::{DatasetCorpus, IdForm, NAME, underscored};
pub use files::{Header, Quoting, read_qrels, read_run};
pub use keyphrase::{keyphrase_query, keyphrase_query_of};
pub use queries::{PUBLISHED_ID, Positives, TestQuery, read_test_queries, read_training_queries};
pub use rows::in_order_of_row_text;
