//! Hard negatives, and training of encoders.

use std::path::PathBuf;

use ir_bm25::StoredFields;
use ir_core::training::TrainingExample;
use ir_core::training::mining::{MiningConfig, MiningQuery};
use ir_core::{DocNum, Flow, Progress};
use ir_dense::ModelFolder;
use ir_dense::train::{Trainer, TrainingConfig};
use pyo3::prelude::*;

use crate::encoder::with_overrides;
use crate::error::raise;
use crate::evaluation::from_json;
use crate::system::Retriever;
use crate::work::interruptible;

/// Queries that are mined between two looks for Ctrl-C.
const QUERIES: usize = 256;

/// Mines negatives of queries; `irrs.mine` describes the parameters. Returns the ids of hard
/// negatives with their scores, and of random ones.
#[pyfunction]
#[pyo3(signature = (retriever, queries, positives, config, progress = None))]
#[allow(clippy::type_complexity, reason = "lists of lists for Python")]
pub(crate) fn mine_negatives(
    py: Python<'_>,
    retriever: &Retriever,
    queries: Vec<String>,
    positives: Vec<Vec<String>>,
    config: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(Vec<(String, f32)>, Vec<String>)>> {
    let config: MiningConfig = with_overrides("mining", &MiningConfig::DATAFINDER, config)?;
    interruptible(py, None, progress, |task| {
        let (searcher, index) = (retriever.shared(), &retriever.index().index);
        let ids = searcher.ids();
        // By their texts, copies of positives under other ids are no negatives.
        let mut texts: Vec<String> = Vec::new();
        if index.config().store == StoredFields::Everything {
            for doc in (0..index.len() as u32).map(DocNum::new) {
                texts.push(index.document(doc).map_err(raise)?.text);
            }
        }
        let text = |doc: DocNum| texts.get(doc.index()).map(String::as_str);
        let positives: Vec<Vec<&str>> = positives
            .iter()
            .map(|ids| ids.iter().map(String::as_str).collect())
            .collect();
        let all: Vec<MiningQuery<'_>> = queries
            .iter()
            .zip(&positives)
            .map(|(text, positives)| MiningQuery {
                text,
                positives,
                within: None,
            })
            .collect();
        let mut mined = Vec::with_capacity(all.len());
        for chunk in all.chunks(QUERIES) {
            for found in config.mine(&**searcher, chunk, &text).map_err(raise)? {
                let hard = found
                    .hard
                    .iter()
                    .map(|hit| (ids.id(hit.doc).to_owned(), hit.score));
                let random = found.random.iter().map(|doc| ids.id(*doc).to_owned());
                mined.push((hard.collect(), random.collect()));
            }
            let (done, total) = (mined.len() as u64, all.len() as u64);
            if task.report("mining", done, Some(total)) == Flow::Stop {
                break;
            }
        }
        Ok(mined)
    })
}

/// Trains an encoder; `irrs.train` describes the parameters. `examples` are JSON, one per line.
/// Returns the history as JSON.
#[pyfunction]
#[pyo3(signature = (model, output, examples, config, checkpoints = None, threads = None, progress = None))]
#[allow(clippy::too_many_arguments, reason = "parameters of irrs.train")]
pub(crate) fn train_encoder(
    py: Python<'_>,
    model: PathBuf,
    output: PathBuf,
    examples: Vec<String>,
    config: String,
    checkpoints: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    interruptible(py, threads, progress, move |task| {
        let examples = examples
            .iter()
            .enumerate()
            .map(|(n, json)| from_json::<TrainingExample>(&format!("example {n}"), json));
        let examples: Vec<TrainingExample> = examples.collect::<PyResult<_>>()?;
        let found = ModelFolder::find(&model).map_err(raise)?;
        let mut base = TrainingConfig::small_data();
        if let Some(known) = found.known {
            base.encoder = known.config();
        }
        let config: TrainingConfig = with_overrides("training", &base, &config)?;
        let mut trainer = Trainer::open(&found.folder, &config).map_err(raise)?;
        if let Some(folder) = checkpoints {
            trainer = trainer.with_checkpoints(folder);
        }
        let trained = trainer.train(&examples, task).map_err(raise)?;
        trained.encoder.save(&output).map_err(raise)?;
        serde_json::to_string(&trained.history).map_err(raise)
    })
}
