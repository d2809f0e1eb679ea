//! The command `ir`, run as a user would.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests; skipped tests say so"
)]

mod analysis;
mod ask;
mod ask_system;
mod bad_input;
mod basic;
mod biocaddie;
mod ciff;
mod collections;
mod common;
mod compare;
#[cfg(feature = "dense")]
mod dense_options;
#[cfg(feature = "dense")]
mod dense_search;
#[cfg(feature = "dense")]
mod derived_outputs;
#[cfg(feature = "dense")]
mod encode;
#[cfg(feature = "dense")]
mod encode_tokens;
#[cfg(feature = "dense")]
mod encode_update;
mod eval_input;
mod experiments;
mod file_formats;
mod filter_conditions;
mod frames;
mod import_results;
mod index_update;
mod input_formats;
mod inputs_as_outputs;
mod inspection;
mod knn_accuracy;
mod lexical_search;
mod limits;
mod lsi;
mod manual_pages;
#[cfg(feature = "dense")]
#[path = "../common/many_texts.rs"]
mod many_texts;
mod map;
mod measures;
mod messages;
mod mine;
mod misread_input;
#[cfg(feature = "dense")]
mod models;
mod named_fields;
mod options_without_effect;
mod outputs;
mod plots;
mod pool;
mod published_values;
mod query_expansion;
mod representations;
mod reproduce;
#[cfg(feature = "dense")]
mod rerank;
#[cfg(feature = "dense")]
mod rerank_late_interaction;
mod saved_systems;
mod scoring_models;
mod search_messages;
mod several_runs;
mod shards;
mod signals;
#[cfg(feature = "dense")]
mod small_vectors;
#[cfg(feature = "dense")]
mod sparse_vectors;
mod stats;
mod structured;
mod sweep_grid;
mod sweep_systems;
mod synonyms;
mod system_files;
mod system_types;
#[cfg(feature = "dense")]
mod train;
#[cfg(feature = "dense")]
mod train_late_interaction;
mod train_reader;
#[cfg(feature = "dense")]
mod train_reranker;
mod train_sparse;
mod trec_eval;
mod type_options;
mod unread_files;
#[cfg(feature = "dense")]
mod vector_files;
mod waiting;
mod worker;
