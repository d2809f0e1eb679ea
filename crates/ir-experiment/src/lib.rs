#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod attributes;
mod best_record;
mod cache;
mod classification;
mod documents;
mod error;
mod evaluation;
mod file;
mod graph;
mod hash;
mod lookup;
#[cfg(feature = "dense")]
pub mod model;
mod observer;
mod overlap;
mod queries;
mod registry;
mod reproduction;
mod results;
mod runner;
mod search;
mod selection;
pub mod suggest;
mod system;
pub mod systems;
mod tables;
mod task;

pub use cache::{Cache, Stage};
pub use classification::ClassificationResults;
pub use error::{ExperimentError, Location, SystemError};
pub use file::{
    ClassificationEntry, ComparisonEntry, DocumentOrder, ExpectedValues, Experiment,
    ExperimentInput, FilterName, OutputEntry, OutputFormat, PublishedValues, QuerySet,
    ReproductionEntry, ScoreFormatName, SearchEntry, SelectionEntry, SelectionMethod, SourceMap,
    SystemEntry, TaskEntry, TestName, TrecFile, ValueOrigin, json_schema, json_schema_with,
};
pub use observer::{Observer, StageReport, StageStatus};
pub use overlap::RankingOverlap;
pub use registry::{Registry, SystemType};
pub use reproduction::{ReproducedValue, Reproduction, WallTime};
pub use results::{ExperimentResults, ResultFile, ResultsError, TaskResults, portable_file_name};
pub use runner::{Plan, Runner, SearchableSystem};
pub use selection::{SelectedPoint, SelectionResult};
pub use system::{OpenSystem, SharedRetriever, System, SystemContext};
pub use task::TaskData;
