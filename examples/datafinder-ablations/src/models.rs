//! Untrained and trained encoders, and text representations of datasets.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ir_core::training::mining::{MiningConfig, MiningQuery, NegativeSelection};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{CachedEncoder, Distinct, DocIds, Document, Encoded, Encoder, Flow, Retriever, Side};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_knn::{FlatIndex, VectorSimilarity};

use crate::sources::Sources;

/// Text representation of a dataset, as in the paper's Table 3.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Representation {
    /// Description of the dataset.
    Description,
    /// Description, and the title of the paper that introduced the dataset.
    Title,
    /// Popularity, description and title. The paper's popularity is from Papers with Code; here it
    /// is the number of texts that mention the dataset.
    Uses,
}

impl Representation {
    pub(crate) const ALL: [Self; 3] = [Self::Description, Self::Title, Self::Uses];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Title => "+ title",
            Self::Uses => "+ title, uses",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Title => "title",
            Self::Uses => "uses",
        }
    }

    /// Representation of a dataset that a number of texts mention.
    pub(crate) fn text(self, dataset: &Document, uses: u64) -> String {
        let (text, title) = (&dataset.text, &dataset.title);
        match self {
            Self::Description => text.clone(),
            Self::Title => format!("{text} [SEP] {title}"),
            Self::Uses => {
                let uses = match uses {
                    0..2 => "Very rarely used",
                    2..5 => "Rarely used",
                    5..10 => "Moderately used",
                    10..20 => "Quite popular",
                    20.. => "Extremely popular",
                };
                format!("{uses} dataset. [SEP] {text} [SEP] {title}")
            }
        }
    }
}

/// An encoder and the vectors of all datasets.
pub(crate) struct Model {
    pub(crate) encoder: Arc<CachedEncoder<BiEncoder>>,
    pub(crate) index: FlatIndex,
}

impl Model {
    /// Opens the vector file, or encodes the datasets and writes it.
    pub(crate) fn open(
        folder: &Path,
        file: &Path,
        texts: &[String],
        datasets: &[Document],
    ) -> Result<Self> {
        let config = EncoderConfig::default().with_max_tokens(256);
        let encoder = BiEncoder::open_with(folder, &config)?;
        let index = if file.exists() {
            FlatIndex::open(file)?
        } else {
            let mut rows = Vec::new();
            for (n, some) in texts.chunks(512).enumerate() {
                show_progress("datasets encoded", n * 512, texts.len());
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                rows.extend(encoder.encode(Side::Document, &some)?);
            }
            show_progress("datasets encoded", texts.len(), texts.len());
            let ids: DocIds = datasets.iter().map(|dataset| &dataset.id).collect();
            let index =
                FlatIndex::from_row_major(ids, encoder.dim(), rows, VectorSimilarity::Cosine)?;
            index.save(file)?;
            index
        };
        Ok(Self {
            encoder: Arc::new(CachedEncoder::new(encoder)),
            index,
        })
    }

    pub(crate) fn retriever(&self) -> impl Retriever<Query = str> + '_ {
        Distinct(Encoded::new(&*self.encoder, &self.index))
    }
}

/// Trains the model on every training query in both forms and writes it to `work`, unless it
/// exists. An interrupted training resumes.
pub(crate) fn train(
    folder: &Path,
    untrained: &Model,
    work: &Path,
    representation: Representation,
    sources: &Sources,
    datasets: &[Document],
) -> Result<Model> {
    let file = |name: &str| work.join(format!("{}{name}", representation.file()));
    let texts: Vec<String> = datasets
        .iter()
        .map(|d| representation.text(d, sources.uses(&d.id)))
        .collect();
    let output = file("");
    if !output.exists() {
        let examples = examples(untrained, sources, &texts)?;
        let trainer = Trainer::open(folder, &config())?;
        let checkpoints = file(".checkpoints");
        let trainer = trainer.with_checkpoints(&checkpoints);
        let mut progress = |stage: &str, done: u64, all: Option<u64>| {
            show_progress(stage, done as usize, all.unwrap_or(done) as usize);
            Flow::Continue
        };
        let trained = trainer.train(&examples, &mut progress)?;
        trained.encoder.save(&output)?;
        fs::remove_dir_all(&checkpoints)?;
    }
    Model::open(&output, &file(".ir"), &texts, datasets)
}

/// Hyperparameters for minutes of training on two cores.
fn config() -> TrainingConfig {
    let mut config = TrainingConfig::small_data();
    config.encoder.query.max_tokens = Some(40);
    config.encoder.document.max_tokens = Some(64);
    config.batch_size = 16;
    config.hard_negatives = 2;
    config.epochs = 2;
    config.learning_rate = 5e-5;
    config.dropout = 0.0;
    config
}

/// Training examples: every query as a sentence and as keyphrases, with ten hard negatives from the
/// top 50 of the untrained encoder.
fn examples(model: &Model, sources: &Sources, texts: &[String]) -> Result<Vec<TrainingExample>> {
    let retriever = model.retriever();
    let ids = retriever.ids();
    let mining = MiningConfig {
        hard: 10,
        last_rank: 50,
        selection: NegativeSelection::Random,
        ..MiningConfig::DATAFINDER
    };
    let mut examples = Vec::new();
    for asked in &sources.training {
        let positives: Vec<&str> = asked.datasets.iter().map(String::as_str).collect();
        for text in [&asked.sentence, &asked.keyphrases] {
            if text.is_empty() {
                continue;
            }
            let question = MiningQuery {
                text,
                positives: &positives,
                within: None,
            };
            let text_of = |doc: ir_core::DocNum| texts.get(doc.index()).map(String::as_str);
            let passage = |doc: ir_core::DocNum| {
                let text = TrainingText::new(text_of(doc).unwrap_or_default());
                text.with_id(ids.id(doc))
            };
            let mut example = TrainingExample::new(text.as_str());
            for doc in positives.iter().filter_map(|id| ids.get(id)) {
                example = example.positive(passage(doc));
            }
            for mined in mining.mine(&retriever, &[question], &text_of)? {
                for doc in mined.docs() {
                    example = example.negative(passage(doc));
                }
            }
            examples.push(example);
        }
    }
    Ok(examples)
}

/// Prints a progress line that the next one overwrites.
fn show_progress(label: &str, done: usize, all: usize) {
    let end = if done == all { "\n" } else { "\r" };
    eprint!("{label}: {done} of {all}   {end}");
}
