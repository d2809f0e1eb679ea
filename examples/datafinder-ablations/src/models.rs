//! Encoders as they come and trained, and what stands for a dataset.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ir_core::mine::{Draw, Mining, Question};
use ir_core::{
    CachedEncoder, Distinct, DocIds, Document, Encoded, Encoder, Flow, Retriever, Side,
    TrainingExample, TrainingText,
};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_knn::{FlatIndex, Similarity};

use crate::sources::Sources;

/// What is encoded of a dataset; the paper's Table 3 compares such texts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Representation {
    /// Its description.
    Description,
    /// And the title of the paper that introduced it.
    Title,
    /// And, first, how much it is used. The paper has that too, in a sentence made from
    /// Papers with Code; here the number is that of the texts that name it.
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

    /// The text that stands for a dataset.
    pub(crate) fn text(self, dataset: &Document, sources: &Sources) -> String {
        let (text, title) = (&dataset.text, &dataset.title);
        match self {
            Self::Description => text.clone(),
            Self::Title => format!("{text} [SEP] {title}"),
            Self::Uses => {
                let uses = match sources.uses(&dataset.id) {
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
    index: FlatIndex,
}

impl Model {
    /// Encodes the datasets, or opens the file where that was done before.
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
                told("datasets encoded", n * 512, texts.len());
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                rows.extend(encoder.encode(Side::Document, &some)?);
            }
            told("datasets encoded", texts.len(), texts.len());
            let ids: DocIds = datasets.iter().map(|dataset| &dataset.id).collect();
            let index = FlatIndex::new(ids, encoder.dim(), rows, Similarity::Cosine)?;
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

/// Trains the model of a folder on every query of the sources in both its forms, into `work`, unless
/// that was done before. Killed, it goes on where it was.
pub(crate) fn train(
    folder: &Path,
    untrained: &Model,
    work: &Path,
    what: Representation,
    sources: &Sources,
    datasets: &[Document],
) -> Result<Model> {
    let file = |name: &str| work.join(format!("{}{name}", what.file()));
    let texts: Vec<String> = datasets.iter().map(|d| what.text(d, sources)).collect();
    let output = file("");
    if !output.exists() {
        let examples = examples(untrained, sources, &texts)?;
        let trainer = Trainer::open(folder, &config())?;
        let checkpoints = file(".checkpoints");
        let trainer = trainer.with_checkpoints(&checkpoints);
        let mut progress = |stage: &str, done: u64, all: Option<u64>| {
            told(stage, done as usize, all.unwrap_or(done) as usize);
            Flow::Continue
        };
        let trained = trainer.train(&examples, &mut progress)?;
        trained.encoder.save(&output)?;
        fs::remove_dir_all(&checkpoints)?;
    }
    Model::open(&output, &file(".ir"), &texts, datasets)
}

/// The recipe: minutes on two cores.
fn config() -> TrainingConfig {
    let mut config = TrainingConfig::small_data();
    config.encoder.query.max_tokens = Some(40);
    config.encoder.document.max_tokens = Some(64);
    config.batch = 16;
    config.negatives = 2;
    config.epochs = 2;
    config.learning_rate = 5e-5;
    config.dropout = 0.0;
    config
}

/// Every query twice, as a sentence and in keyphrases. Negatives are ten of the first 50 that the
/// untrained encoder finds.
fn examples(model: &Model, sources: &Sources, texts: &[String]) -> Result<Vec<TrainingExample>> {
    let retriever = model.retriever();
    let ids = retriever.ids();
    let mining = Mining {
        hard: 10,
        last: 50,
        draw: Draw::Random,
        ..Mining::datafinder()
    };
    let mut examples = Vec::new();
    for asked in &sources.learnt {
        let positives: Vec<&str> = asked.datasets.iter().map(String::as_str).collect();
        for text in [&asked.sentence, &asked.keyphrases] {
            if text.is_empty() {
                continue;
            }
            let question = Question {
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

/// A line that the next one replaces.
fn told(what: &str, done: usize, all: usize) {
    let end = if done == all { "\n" } else { "\r" };
    eprint!("{what}: {done} of {all}   {end}");
}
