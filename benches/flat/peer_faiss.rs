//! FAISS in its own Python process.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use bench_common::{Python, Seconds, load};
use ir_core::Ranking;
use serde::Deserialize;

pub(crate) struct Faiss {
    pub(crate) version: String,
    python: Python,
    folder: PathBuf,
}

impl Faiss {
    pub(crate) fn start(python: &Path, folder: &Path, singles: usize) -> Result<Self> {
        #[derive(Deserialize)]
        struct FaissInfo {
            version: String,
            options: String,
        }
        let singles = singles.to_string();
        let arguments = [folder.as_os_str(), singles.as_ref()];
        let mut python = Python::start(python, "flat/faiss_flat.py", arguments)?;
        let info: FaissInfo = python.json()?;
        Ok(Self {
            version: format!("FAISS {} ({})", info.version, info.options.trim()),
            python,
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn time(&mut self, k: usize, threads: usize, mode: &str) -> Result<Seconds> {
        self.python.ask(&format!("{k} {threads} {mode}"))
    }

    /// Checks that the scores agree rank by rank within f32 rounding. Returns the number of ranks
    /// with different documents.
    pub(crate) fn compare(&mut self, k: usize, ours: &[Ranking]) -> Result<usize> {
        let _: serde_json::Value = self.python.ask(&format!("answers {k}"))?;
        let scores = load(&self.folder.join("scores.npy"))?;
        let docs = load(&self.folder.join("docs.npy"))?;
        ensure!(scores.nrows() == ours.len() && docs.nrows() == ours.len());
        let mut differing = 0;
        for ((ours, scores), docs) in ours.iter().zip(scores.outer_iter()).zip(docs.outer_iter()) {
            ensure!(ours.len() == k && scores.len() == k && docs.len() == k);
            for ((hit, &score), &doc) in ours.iter().zip(&scores).zip(&docs) {
                // Vectors have unit length.
                ensure!(
                    (f64::from(hit.score) - score).abs() < 1e-6,
                    "expected score {score}, found {}",
                    hit.score
                );
                differing += usize::from(doc != f64::from(hit.doc.get()));
            }
        }
        Ok(differing)
    }
}
