//! A tiny encoder with random weights, and its training.

use std::path::Path;

use anyhow::Result;
use ir_core::training::TrainingSet;
use ir_core::{DocIds, Encoded, Encoder, NoProgress, Retriever, Side};
use ir_data::DocTemplate;
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, RandomModel};
use ir_knn::{FlatIndex, VectorSimilarity};

use crate::collection::Files;

/// Writes an encoder with random weights. Its WordPiece vocabulary is trained on the texts of
/// datasets and queries.
pub(crate) fn create(
    folder: &Path,
    files: &Files,
    examples: &dyn TrainingSet,
    template: &DocTemplate,
) -> Result<()> {
    let mut texts: Vec<String> = files
        .datasets
        .iter()
        .map(|it| template.render(it))
        .collect();
    for n in 0..examples.len() {
        texts.push(examples.get(n)?.query);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let model = RandomModel::default()
        .with_shape(64, 1, 2)
        .with_vocab_size(1000);
    Ok(model.create(folder, &texts)?)
}

/// Fine-tunes the encoder and prints the loss.
pub(crate) fn train(untrained: &Path, trained: &Path, examples: &dyn TrainingSet) -> Result<()> {
    let mut config = TrainingConfig::small_data();
    config.epochs = 20;
    config.batch_size = 16;
    config.hard_negatives = 2;
    config.learning_rate = 2e-3;
    let result = Trainer::open(untrained, &config)?.train(examples, &mut NoProgress)?;
    result.encoder.save(trained)?;
    let losses = &result.history.steps;
    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        let steps = losses.len();
        println!(
            "training: {steps} steps, loss {:.3} to {:.3}\n",
            first.loss, last.loss
        );
    }
    Ok(())
}

/// Dense retrieval of the datasets.
pub(crate) fn system(
    folder: &Path,
    files: &Files,
    template: &DocTemplate,
) -> Result<impl Retriever<Query = str>> {
    let encoder = BiEncoder::open(folder)?;
    let texts: Vec<String> = files
        .datasets
        .iter()
        .map(|it| template.render(it))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ids: DocIds = files.datasets.iter().map(|it| it.id.as_str()).collect();
    let vectors = Encoder::encode(&encoder, Side::Document, &texts)?;
    let similarity = VectorSimilarity::InnerProduct;
    let index = FlatIndex::from_row_major(ids, encoder.dim(), vectors, similarity)?;
    Ok(Encoded::new(encoder, index))
}
