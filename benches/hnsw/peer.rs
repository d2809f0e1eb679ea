//! A peer library's HNSW in its own Python process.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_common::{Python, Seconds, load};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Built {
    pub(crate) version: String,
    #[serde(flatten)]
    pub(crate) took: Seconds,
    pub(crate) bytes: u64,
}

pub(crate) struct Peer {
    python: Python,
    folder: PathBuf,
}

impl Peer {
    pub(crate) fn build(
        python: &Path,
        engine: &str,
        folder: &Path,
        links: usize,
        build_effort: usize,
    ) -> Result<(Self, Built)> {
        let [links, build_effort] = [links, build_effort].map(|n| n.to_string());
        let arguments = [
            engine.as_ref(),
            folder.as_os_str(),
            links.as_ref(),
            build_effort.as_ref(),
        ];
        let mut python = Python::start(python, "hnsw/peers.py", arguments)?;
        let built = python.json()?;
        let folder = folder.to_owned();
        Ok((Self { python, folder }, built))
    }

    /// CPU time of all queries in seconds.
    pub(crate) fn time(&mut self, effort: usize) -> Result<f64> {
        let seconds: Seconds = self.python.ask(&effort.to_string())?;
        Ok(seconds.cpu)
    }

    /// Result documents of all queries, concatenated.
    pub(crate) fn answers(&mut self, effort: usize) -> Result<Vec<i64>> {
        let _: serde_json::Value = self.python.ask(&format!("answers {effort}"))?;
        let docs = load(&self.folder.join("docs.npy"))?;
        Ok(docs.iter().map(|&doc| doc as i64).collect())
    }
}
