//! Another library's HNSW, in a Python process of its own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Deserialize)]
struct Seconds {
    cpu: f64,
}

/// What was built.
#[derive(Deserialize)]
pub(crate) struct Built {
    pub(crate) version: String,
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    pub(crate) bytes: u64,
}

pub(crate) struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
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
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/graph/peers.py");
        let mut process = Command::new(python)
            .args([script, engine])
            .arg(folder)
            .args([links, build_effort].map(|n| n.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", python.display()))?;
        let input = process.stdin.take().context("its input")?;
        let output = BufReader::new(process.stdout.take().context("its output")?);
        let mut peer = Self {
            process,
            input,
            output,
            folder: folder.to_owned(),
        };
        let built = serde_json::from_str(&peer.line()?)?;
        Ok((peer, built))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the other library ended");
        Ok(line)
    }

    fn ask(&mut self, command: &str) -> Result<String> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        self.line()
    }

    /// Seconds of the processor for all queries.
    pub(crate) fn time(&mut self, effort: usize) -> Result<f64> {
        let answer = self.ask(&effort.to_string())?;
        let seconds: Seconds = serde_json::from_str(&answer).context(answer)?;
        Ok(seconds.cpu)
    }

    /// The documents that each query finds, one after another.
    pub(crate) fn answers(&mut self, effort: usize) -> Result<Vec<i64>> {
        self.ask(&format!("answers {effort}"))?;
        let bytes = fs::read(self.folder.join("docs.npy"))?;
        ensure!(bytes.starts_with(b"\x93NUMPY\x01\x00"), "not a NumPy file");
        let head = 10 + usize::from(bytes[8]) + 256 * usize::from(bytes[9]);
        let (docs, _) = bytes[head..].as_chunks();
        Ok(docs.iter().map(|&doc| i64::from_le_bytes(doc)).collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
