#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod best_record;
mod classification;
mod costs;
mod data_error;
mod documents;
mod evaluation;
mod file;
mod file_name;
mod overlap;
mod queries;
mod reproduction;
mod results;
mod runner;
mod search;
mod selection;
pub mod suggest;
mod tables;
mod task;
mod task_results;

pub use classification::ClassificationResults;
pub use costs::SystemCosts;
pub use evaluation::{RoundScoresError, round_scores};
pub use file::{
    ClassificationEntry, ComparisonEntry, ExpectedValues, Experiment, ExperimentInput, OutputEntry,
    OutputFormat, PublishedValues, QuerySet, ReproductionEntry, SearchEntry, SelectionEntry,
    SelectionMethod, TaskEntry, TestName, ValueOrigin, json_schema, json_schema_with,
};
pub use file_name::{portable_file_name, run_tag};
#[cfg(feature = "dense")]
pub use ir_system::model;
pub use ir_system::{
    Cache, DocumentOrder, FilterName, Location, Observer, OpenSystem, Registry, ScoreFormatName,
    SharedRetriever, SourceMap, SpecError, Stage, StageReport, StageStatus, System, SystemContext,
    SystemData, SystemEntry, SystemError, SystemSpec, SystemType, TrecFile, systems,
};
pub use overlap::RankingOverlap;
pub use reproduction::{ReproducedValue, Reproduction, WallTime};
pub use results::{ExperimentResults, ResultFile, ResultsError};
pub use runner::{Plan, Runner, SearchTask, SearchableSystem};
pub use selection::{SelectedPoint, SelectionResult};
pub use task::TaskData;
pub use task_results::TaskResults;
