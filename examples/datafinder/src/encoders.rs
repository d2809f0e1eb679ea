//! The encoders of the bundled collection: a tiny one with random weights, and the same trained.

use anyhow::Result;
use ir_bm25::Index;
use ir_data::Collection;
use ir_knn::TrainingQuery;
use tempfile::TempDir;

use crate::encoder::EncoderSystems;
use crate::systems::System;
use crate::training::{Recipe, tiny_model};

/// An encoder with random weights and a trained one.
pub struct Encoders {
    untrained: EncoderSystems,
    trained: EncoderSystems,
    /// Note below the table.
    pub note: String,
    /// Folder of the models. Their weight files are memory-mapped.
    _scratch: TempDir,
}

impl Encoders {
    /// Creates the encoder, trains it, and encodes the datasets.
    pub fn train(collection: &Collection, index: &Index) -> Result<Self> {
        let text = "{text} [SEP] {title}".parse()?;
        let scratch = tempfile::tempdir()?;
        let folders = ["untrained", "trained"].map(|name| scratch.path().join(name));
        let [untrained, trained] = &folders;
        tiny_model(collection, &text, untrained)?;
        let recipe = Recipe::tiny();
        let examples = recipe.examples(collection, index, &text)?;
        recipe.train(untrained, &examples)?.save(trained)?;
        Ok(Self {
            note: format!("\n{NOTE}\n{}", recipe.describe(&examples)),
            untrained: EncoderSystems::open(untrained, collection, &text)?,
            trained: EncoderSystems::open(trained, collection, &text)?,
            _scratch: scratch,
        })
    }

    /// Systems of the encoders, and the hybrid of BM25 and the trained encoder. `training` has the
    /// same form as the test queries.
    pub fn systems<'a>(
        &'a self,
        index: &'a Index,
        training: &[TrainingQuery],
    ) -> Result<Vec<System<'a>>> {
        Ok(vec![
            self.untrained.knn(training)?,
            self.untrained.dense("untrained encoder"),
            self.trained.dense("bi-encoder"),
            self.trained.hybrid(index)?,
        ])
    }
}

const NOTE: &str = "\
The untrained encoder has one layer of 64 dimensions and random weights. The bi-encoder is the same,";
