//! Tests of experiments, from files to results. One program, which is linked once.

mod bad_input;
mod biocaddie_topics;
mod common;
mod costs;
mod datafinder;
mod dense;
mod documentation;
mod expansion_of_queries;
mod files;
mod generated_questions;
mod injected_faults;
mod keys_of_systems;
mod late_interaction_training;
mod models_of_bm25;
mod nearest_words_of_encoders;
mod overlap;
mod queries_of_bm25;
mod random_indexing;
mod reranker_training;
mod run;
mod shared_parts;
mod smart_scores;
mod smart_sequential_dependence;
mod tasks;
mod trained_rerankers;
mod training;
