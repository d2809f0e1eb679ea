//! A peer library's HNSW in its own Python process.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_common::{Python, Seconds, load};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct PeerBuild {
    pub(crate) version: String,
    #[serde(flatten)]
    pub(crate) time: Seconds,
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
        m: usize,
        ef_construction: usize,
    ) -> Result<(Self, PeerBuild)> {
        let [m, ef_construction] = [m, ef_construction].map(|n| n.to_string());
        let arguments = [
            engine.as_ref(),
            folder.as_os_str(),
            m.as_ref(),
            ef_construction.as_ref(),
        ];
        let mut python = Python::start(python, "hnsw/peers.py", arguments)?;
        let built = python.json()?;
        let folder = folder.to_owned();
        Ok((Self { python, folder }, built))
    }

    /// CPU time of all queries in seconds.
    pub(crate) fn time(&mut self, ef_search: usize) -> Result<f64> {
        let seconds: Seconds = self.python.ask(&ef_search.to_string())?;
        Ok(seconds.cpu)
    }

    /// Result documents of all queries, concatenated.
    pub(crate) fn answers(&mut self, ef_search: usize) -> Result<Vec<i64>> {
        let _: serde_json::Value = self.python.ask(&format!("answers {ef_search}"))?;
        let docs = load(&self.folder.join("docs.npy"))?;
        Ok(docs.iter().map(|&doc| doc as i64).collect())
    }
}
