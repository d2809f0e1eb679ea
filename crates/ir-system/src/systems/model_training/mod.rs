//! Training of models on the labeled queries of a split, and model folders as stages of the cache.

mod examples;
mod stage;
mod teacher;

pub(super) use examples::{ExampleSource, SplitQueries};
pub(super) use stage::{ModelStage, train};
