//! Training of an encoder on the training queries, with hard negatives of BM25.

use std::path::Path;

use anyhow::Result;
use ir_bm25::{Bm25, Index};
use ir_core::training::mining::{MiningConfig, MiningQuery};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Distinct, DocNum, NoProgress};
use ir_data::{Collection, DocTemplate};
use ir_dense::train::{Loss, Trainer, TrainingConfig};
use ir_dense::{BiEncoder, EncoderConfig, RandomModel, SideConfig};

use crate::task::training;

/// Training data and hyperparameters.
pub struct Recipe {
    pub config: TrainingConfig,
    /// Whether the title of a dataset's paper is a query, too.
    pub titles: bool,
}

impl Recipe {
    /// Seconds for [`tiny_model`] on the bundled collection. The learning rate was chosen on
    /// held-out training queries (two splits of a quarter).
    pub fn tiny() -> Self {
        let mut config = TrainingConfig::small_data();
        config.encoder = limits(48, 128);
        config.epochs = 6;
        config.hard_negatives = 1;
        config.learning_rate = 3e-3;
        Self {
            config,
            titles: true,
        }
    }

    /// Training examples: every training query in both forms, with its datasets as positives and
    /// seven hard negatives, as in the paper: the best of BM25's 500 hits that are no positives.
    pub fn examples(
        &self,
        collection: &Collection,
        index: &Index,
        text: &DocTemplate,
    ) -> Result<Vec<TrainingExample>> {
        let ids = index.ids();
        let documents = (0..ids.len() as u32).map(|doc| index.document(DocNum::new(doc)));
        let documents: Vec<_> = documents.collect::<Result<_, _>>()?;
        let texts: Vec<String> = documents.iter().map(|doc| text.render(doc)).collect();
        let text_of = |doc: DocNum| texts.get(doc.index()).map(String::as_str);
        let passage =
            |doc: DocNum| TrainingText::new(text_of(doc).unwrap_or_default()).with_id(ids.id(doc));
        let bm25 = Distinct(index.searcher(Bm25::ANSERINI)?);
        let mut examples = Vec::new();
        for query in training(collection)?.iter().flatten() {
            let positives: Vec<&str> = query.relevant.iter().map(String::as_str).collect();
            let question = MiningQuery {
                text: &query.text,
                positives: &positives,
                within: None,
            };
            let mined = MiningConfig::DATAFINDER.mine(&bm25, &[question], &text_of)?;
            let mut example = TrainingExample::new(&query.text);
            let found = positives.iter().filter_map(|id| ids.get(id));
            example.positives = found.map(passage).collect();
            example.negatives = mined
                .iter()
                .flat_map(|mined| mined.docs())
                .map(passage)
                .collect();
            examples.push(example);
        }
        let titled = documents
            .iter()
            .filter(|doc| self.titles && !doc.title.is_empty());
        examples.extend(titled.map(|doc| {
            let description = TrainingText::new(&doc.text).with_id(&doc.id);
            TrainingExample::new(&doc.title).positive(description)
        }));
        // Queries whose datasets are not in the collection, or without keyphrases.
        examples.retain(|example| example.check().is_ok());
        Ok(examples)
    }

    /// Fine-tunes the model of a folder.
    pub fn train(&self, model: &Path, examples: &Vec<TrainingExample>) -> Result<BiEncoder> {
        let trainer = Trainer::open(model, &self.config)?;
        Ok(trainer.train(examples, &mut NoProgress)?.encoder)
    }

    /// Data and hyperparameters, for the note below the table.
    pub fn describe(&self, examples: &[TrainingExample]) -> String {
        let config = &self.config;
        let tokens = |side: &SideConfig| side.max_tokens.unwrap_or_default();
        let loss = match config.loss {
            Loss::Softmax { temperature } => format!("softmax, temperature {temperature}"),
            other => format!("{other:?}"),
        };
        let pooling = config.encoder.pooling;
        let pooling = pooling.map_or(String::new(), |it| format!(", {it:?} pooling"));
        let titles = if self.titles { ", paper titles" } else { "" };
        format!(
            "fine-tuned for {} steps of {} queries ({} epochs, {} examples): training queries in both forms{titles}.\n\
             {} of 7 hard negatives of BM25 per query; learning rate {:e}; {loss}; {} similarity{pooling};\n\
             {} tokens per query, {} per document.",
            config.steps(examples.len()),
            config.batch_size,
            config.epochs,
            examples.len(),
            config.hard_negatives,
            config.learning_rate,
            format!("{:?}", config.similarity).to_lowercase(),
            tokens(&config.encoder.query),
            tokens(&config.encoder.document),
        )
    }
}

/// Encoder configuration with maximum sequence lengths of queries and documents.
fn limits(query: usize, document: usize) -> EncoderConfig {
    EncoderConfig::default()
        .with_query(SideConfig::default().with_max_tokens(query))
        .with_document(SideConfig::default().with_max_tokens(document))
}

/// Writes a tiny encoder with random weights to a folder. Its WordPiece vocabulary is trained on
/// the datasets and the training queries.
pub fn tiny_model(collection: &Collection, text: &DocTemplate, folder: &Path) -> Result<()> {
    let mut words = Vec::new();
    for dataset in collection.corpus().docs()? {
        words.push(text.render(&dataset?));
    }
    words.extend(
        training(collection)?
            .into_iter()
            .flatten()
            .map(|query| query.text),
    );
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let model = RandomModel::default()
        .with_shape(64, 1, 2)
        .with_vocab_size(2000);
    Ok(model.create(folder, &words)?)
}
