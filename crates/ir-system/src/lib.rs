#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod attributes;
mod cache;
mod collection;
mod entries;
mod entry;
mod error;
mod graph;
mod grid;
mod hash;
mod index_data;
mod index_keys;
mod index_needs;
mod indexes;
mod lookup;
mod memory;
#[cfg(feature = "dense")]
pub mod model;
mod observer;
mod parameter;
mod range;
mod readable;
mod registry;
pub mod saved_vectors;
mod schema;
mod shared_rankings;
mod source;
mod spec;
mod string_or_table;
pub mod suggest;
mod system;
mod system_data;
pub mod systems;
mod table_schema;
mod toml_file;
mod trec_file;

pub use attributes::unknown_query_attribute;
pub use cache::{CACHE_VERSION, Cache, Record, Stage};
pub use collection::open_named;
pub use entry::{COMMON_KEYS, DocumentOrder, FilterName, ScoreFormatName, SystemEntry};
pub use error::{Location, SpecError, SystemError};
pub use graph::{max_hits, order};
pub use grid::{MAX_POINTS, check_points, grid_positions};
pub use hash::{ContentHash, FileHashes, file_hash};
pub use index_data::IndexData;
pub use index_needs::IndexNeeds;
pub use lookup::{EntryLock, Lookup, find_or_lock};
pub use observer::{Observer, StageReport, StageStatus};
pub use parameter::{Parameter, ParameterValues};
pub use readable::readable;
pub use registry::{Registry, SystemType};
pub use schema::system_schema;
pub use source::{SourceMap, line_at};
pub use spec::{Resources, SystemSpec, check_encoders};
pub use string_or_table::string_or_table;
pub use system::{
    CandidateModel, OpenReranker, OpenSystem, ParsedSystem, PreparedSystem, Session,
    SharedRetriever, System, SystemContext, TrainingSet, Validation,
};
pub use system_data::SystemData;
pub use table_schema::check_ranges;
pub use toml_file::{FILE_VERSION, MAX_TEXT, parse_versioned_toml, read_text};
pub use trec_file::{TrecFile, TrecFileError};
