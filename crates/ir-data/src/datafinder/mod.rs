//! DataFinder (Viswanathan et al., ACL 2023): datasets as documents, research ideas as queries.
//! MAKG and the bundled collection have the same format.
//!
//! Files and readers:
//!
//! - Search corpus ([`DatasetCorpus`]): JSON lines with `id` (dataset name, with spaces),
//!   `contents`, `title`, `year`, `date`, `variants` and others.
//! - Test queries ([`read_test_queries`]): JSON lines or a JSON array with `query`,
//!   `keyphrase_query`, `documents`, `year`, `task`, `modality` and others.
//! - Training queries ([`read_training_queries`]): JSON lines with `query`, `keyphrase_query`
//!   and, if labeled, `positives`.
//! - Qrels ([`read_qrels`]): query, `Q0`, document and grade, tab-separated, from a CSV writer.
//! - Runs ([`read_run`]): query, `Q0`, document, rank, score and tag, tab-separated, from a CSV
//!   writer.
//!
//! Properties:
//!
//! - **Ids.** Qrels and runs write dataset names and query texts with `_` for white space
//!   ([`underscored`]). [`DatasetCorpus`] uses that id and keeps the name as attribute [`NAME`].
//! - **Quotes.** The CSV writer quotes ids that contain quotes and doubles the inner ones. Read
//!   qrels and runs with the same [`Quoting`].
//! - **Header lines.** One of the two qrels files has one. trec_eval reads it as a query
//!   `QueryID` ([`HeaderLine`]).
//! - **Duplicate ids.** 38 datasets occur twice with different descriptions and remain two
//!   documents ([`DuplicateIds::Keep`](crate::DuplicateIds::Keep)). A repeated judgment counts
//!   once and is reported.
//! - **Missing queries.** The JSON lines file of test queries lacks five judged queries; the JSON
//!   array has all.
//! - **No positives.** 19 test queries have none and are not judged.
//! - **Equal queries.** One of the 17,495 training queries, line 1002 from 0, equals a test
//!   query. The split `train` leaves such queries out ([`without_test_queries`]).
//! - **Years.** The attribute `year` is omitted if the field is missing, `null` or, as MAKG
//!   writes unknown years, 0.

mod citances;
mod corpus;
mod files;
mod metadata;
mod queries;
mod tagged;

pub use citances::{CITANCES, MAX_CITANCES};
pub use corpus::{DatasetCorpus, NAME, underscored};
pub use files::{HeaderLine, Quoting, read_qrels, read_run};
pub use metadata::{DatasetMetadata, STRUCTURED_INFO};
pub(crate) use queries::TRAINING_PREFIX;
pub use queries::{
    DatasetQuery, PUBLISHED_ID, read_test_queries, read_training_queries, without_test_queries,
};
pub use tagged::{TaggedDatasetCorpus, TaggedPaper, read_tagged_papers};
