//! A tiny encoder trained from scratch in seconds, for runs without a model folder.

use std::path::Path;

use anyhow::Result;
use ir_core::Progress;
use ir_core::training::{TrainingExample, TrainingText};
use ir_data::{Collection, DocTemplate};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{EncoderConfig, RandomModel, SideConfig};

use crate::task::training;

/// Writes a randomly initialized model to `folder/untrained`, trains it, and writes it to
/// `folder/trained`. Test queries are not used.
pub fn train(
    collection: &Collection,
    text: &DocTemplate,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<()> {
    let datasets: Vec<_> = collection.corpus().docs()?.collect::<Result<_, _>>()?;
    let texts: Vec<String> = datasets
        .iter()
        .map(|dataset| text.render(dataset))
        .collect();
    let forms = training(collection)?;
    let queries = || forms.iter().flatten();

    // WordPiece vocabulary from the datasets and the training queries.
    let words = queries().map(|query| &query.text).chain(&texts);
    let words: Vec<&str> = words.map(String::as_str).collect();
    let model = RandomModel::default()
        .with_shape(64, 1, 2)
        .with_vocab_size(2000);
    model.create(folder.join("untrained"), &words)?;

    // Training queries as sentences and as keyphrases, with their relevant datasets.
    let positive = |id: &String| {
        let at = datasets.iter().position(|dataset| dataset.id == *id)?;
        Some(TrainingText::new(&texts[at]).with_id(id))
    };
    let mut examples: Vec<TrainingExample> = queries()
        .map(|query| {
            let mut example = TrainingExample::new(&query.text);
            example.positives = query.relevant.iter().filter_map(positive).collect();
            example
        })
        .collect();
    // Pairs from the collection: a paper's title and the description of the dataset it introduced.
    let titled = datasets.iter().filter(|dataset| !dataset.title.is_empty());
    examples.extend(titled.map(|dataset| {
        let description = TrainingText::new(&dataset.text).with_id(&dataset.id);
        TrainingExample::new(&dataset.title).positive(description)
    }));

    // Hyperparameters were chosen on held-out training queries (two splits of a quarter).
    let mut config = TrainingConfig::small_data();
    config.encoder = EncoderConfig::default()
        .with_query(SideConfig::default().with_max_tokens(48))
        .with_document(SideConfig::default().with_max_tokens(128));
    config.epochs = 10;
    config.learning_rate = 3e-3;
    let trainer = Trainer::open(folder.join("untrained"), &config)?;
    let trained = trainer.train(&examples, progress)?;
    trained.encoder.save(folder.join("trained"))?;
    Ok(())
}
