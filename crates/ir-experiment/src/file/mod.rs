//! Experiment files: TOML, the structs they are read into, and their JSON Schema.

mod classification;
mod comparison;
mod experiment;
mod parse;
mod schema;
mod selection;
mod source;
mod string_or_table;
mod system;
mod trec_file;
mod validate;

pub use classification::ClassificationEntry;
pub use comparison::{ComparisonEntry, TestName};
pub use experiment::{
    DocumentOrder, ExpectedValues, Experiment, ExperimentInput, FilterName, OutputEntry,
    OutputFormat, PublishedValues, QuerySet, ReproductionEntry, ScoreFormatName, SearchEntry,
    TaskEntry, ValueOrigin,
};
pub(crate) use parse::readable;
pub use schema::{json_schema, json_schema_with};
pub use selection::{SelectionEntry, SelectionMethod};
pub use source::SourceMap;
pub(crate) use string_or_table::string_or_table;
pub(crate) use system::COMMON_KEYS;
pub use system::SystemEntry;
pub use trec_file::TrecFile;
pub(crate) use trec_file::TrecFileError;
