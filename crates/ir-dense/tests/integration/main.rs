//! Tests of encoders, readers and training. One program, which is linked once.

mod adapters;
mod bottleneck_adapters;
mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod config_errors;
mod contract;
mod cross_encoder;
mod cross_encoders;
mod encoder;
mod families;
mod family_settings;
mod folder_settings;
mod golden;
mod late_interaction;
mod late_interaction_settings;
mod losses;
mod model_folder;
mod multi_vector_training;
mod precision;
mod random_model;
mod reader;
mod reranking;
mod same_bytes;
mod saved_folders;
mod sentence_transformers;
mod sparse_encoder;
mod sparse_encoder_training;
mod static_embeddings;
mod training;
