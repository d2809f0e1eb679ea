//! Experiment files: TOML, the structs they are read into, and their JSON Schema.

mod classification;
mod comparison;
mod experiment;
mod measure;
mod parse;
mod schema;
mod selection;
mod validate;

pub use classification::ClassificationEntry;
pub use comparison::{ComparisonEntry, TestName};
pub use experiment::{
    ExpectedValues, Experiment, ExperimentInput, OutputEntry, OutputFormat, PublishedValues,
    QuerySet, ReproductionEntry, SearchEntry, TaskEntry, ValueOrigin,
};
pub use schema::{json_schema, json_schema_with};
pub use selection::{SelectionEntry, SelectionMethod};
