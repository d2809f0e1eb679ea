//! scikit-learn in its own Python process.

use std::path::Path;

use anyhow::Result;
use bench_common::{Python, Seconds};
use serde::Deserialize;

/// Times and accuracies of one round.
#[derive(Deserialize)]
pub(crate) struct RoundResult {
    pub(crate) fit: Seconds,
    pub(crate) folds: Seconds,
    pub(crate) accuracies: Vec<f64>,
}

pub(crate) struct Sklearn {
    pub(crate) version: String,
    python: Python,
}

impl Sklearn {
    pub(crate) fn start(python: &Path, folder: &Path) -> Result<Self> {
        let texts = folder.join("texts.json");
        let mut python = Python::start(python, "classification/sklearn_folds.py", [texts])?;
        let version = python.line()?;
        Ok(Self { version, python })
    }

    pub(crate) fn round(&mut self) -> Result<RoundResult> {
        self.python.ask("")
    }
}
