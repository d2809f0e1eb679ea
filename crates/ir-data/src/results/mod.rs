//! Result lists of other search engines, converted to a [`Run`](ir_core::Run).
//!
//! Any engine can be compared with the retrievers of this workspace: export its results as text,
//! resolve names and URLs to documents of the collection ([`DocNames`]), and merge the lists of
//! each query ([`ResultImport`]).
//!
//! - TSV ([`read_results_tsv`]): one result per line, in columns of configurable order
//!   ([`ResultColumn`]).
//! - JSON ([`read_results_json`]): JSON lines or an array of objects with `query`, an optional
//!   `search`, and `results`, an array of strings or of objects with `name` or `url`.
//!
//! ```
//! use ir_core::{Document, Query};
//! use ir_data::results::{DocNames, ResultColumn, ResultImport, read_results_tsv};
//!
//! let documents = [
//!     Document::new("SQuAD").with("url", "https://example.org/squad").with("year", 2016_i64),
//!     Document::new("Penn_Treebank").with("year", 1993_i64),
//!     Document::new("CoQA").with("year", 2018_i64),
//! ];
//! let lists = "q1\tqa\thttp://www.example.org/squad/\n\
//!              q1\tqa\tCoQA\n\
//!              q1\tparsing\tpenn treebank\n\
//!              q1\tparsing\tan unknown dataset\n";
//! let columns = [ResultColumn::Query, ResultColumn::Search, ResultColumn::Result];
//! let lists = read_results_tsv(lists.as_bytes(), "engine.tsv", &columns)?;
//!
//! let names = DocNames::new(&documents);
//! let import = ResultImport { not_later_than_query: true, ..ResultImport::default() };
//! let query = Query::new("q1", "question answering").with("year", 2017_i64);
//! let imported = import.run("engine", &lists, &names, &[query])?;
//! let run = imported.run.get("q1").unwrap_or_default();
//! let docs: Vec<&str> = run.iter().map(|hit| hit.doc.as_str()).collect();
//! // CoQA is newer than the query.
//! assert_eq!(docs, ["SQuAD", "Penn_Treebank"]);
//! assert_eq!((imported.newer, imported.unmatched.len()), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod import;
mod names;
mod read;

pub use import::{ImportError, ImportedResults, ResultImport, UnmatchedResult};
pub use names::DocNames;
pub use read::{ResultColumn, ResultList, read_results_json, read_results_tsv};
