//! Options, input, output and console shared by the subcommands.

pub(crate) mod answer_options;
pub(crate) mod answer_reader;
pub(crate) mod console;
pub(crate) mod document_reader;
#[cfg(feature = "dense")]
pub(crate) mod encoder;
pub(crate) mod experiment;
pub(crate) mod feedback_collection;
pub(crate) mod filter;
pub(crate) mod format;
#[cfg(feature = "serve")]
pub(crate) mod generation_options;
pub(crate) mod indexing;
pub(crate) mod input;
pub(crate) mod list_style;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod paper_folder;
pub(crate) mod papers;
pub(crate) mod plots;
pub(crate) mod qrels;
pub(crate) mod question_options;
#[cfg(feature = "remote")]
pub(crate) mod remote;
pub(crate) mod rules;
pub(crate) mod runs;
pub(crate) mod shards;
pub(crate) mod suggest;
pub(crate) mod systems;
pub(crate) mod terminal;
#[cfg(feature = "dense")]
pub(crate) mod text_hashes;
#[cfg(feature = "dense")]
pub(crate) mod training_runs;
pub(crate) mod updates;
#[cfg(any(feature = "dense", feature = "remote"))]
#[cfg_attr(not(feature = "dense"), allow(dead_code))]
pub(crate) mod vector_files;
