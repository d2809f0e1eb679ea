//! FAISS, in a Python process of its own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ir_core::Ranking;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Seconds {
    /// By the clock.
    pub(crate) wall: f64,
    /// Of the processor, of one thread.
    pub(crate) cpu: f64,
}

pub(crate) struct Faiss {
    pub(crate) version: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Faiss {
    pub(crate) fn start(python: &Path, folder: &Path, singles: usize) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/faiss_flat.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder)
            .arg(singles.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", python.display()))?;
        let input = process.stdin.take().context("its input")?;
        let output = BufReader::new(process.stdout.take().context("its output")?);
        let mut faiss = Self {
            version: String::new(),
            process,
            input,
            output,
            folder: folder.to_owned(),
        };
        #[derive(Deserialize)]
        struct About {
            version: String,
            options: String,
        }
        let about: About = serde_json::from_str(&faiss.line()?)?;
        faiss.version = format!("FAISS {} ({})", about.version, about.options.trim());
        Ok(faiss)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "FAISS ended");
        Ok(line)
    }

    fn ask(&mut self, command: &str) -> Result<String> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        self.line()
    }

    pub(crate) fn time(&mut self, k: usize, threads: usize, how: &str) -> Result<Seconds> {
        let answer = self.ask(&format!("{k} {threads} {how}"))?;
        serde_json::from_str(&answer).context(answer)
    }

    /// Fails unless the scores agree, place by place, within the rounding of 32 bits; gives the
    /// number of places where the documents differ.
    pub(crate) fn compare(&mut self, k: usize, ours: &[Ranking]) -> Result<usize> {
        self.ask(&format!("answers {k}"))?;
        let scores = values(&self.folder.join("scores.npy"))?;
        let docs = values(&self.folder.join("docs.npy"))?;
        let (scores, _) = scores.as_chunks::<4>();
        let (docs, _) = docs.as_chunks::<8>();
        let hits = ours.iter().flatten();
        ensure!(
            scores.len() == k * ours.len()
                && docs.len() == scores.len()
                && hits.count() == docs.len()
        );
        let mut differing = 0;
        for ((hit, score), doc) in ours.iter().flatten().zip(scores).zip(docs) {
            let score = f32::from_le_bytes(*score);
            // The vectors have length one.
            ensure!(
                (hit.score - score).abs() < 1e-6,
                "{} here, {score} there",
                hit.score
            );
            differing += usize::from(i64::from_le_bytes(*doc) != i64::from(hit.doc.get()));
        }
        Ok(differing)
    }
}

impl Drop for Faiss {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The bytes after the head of a file in NumPy's format, version 1.0.
fn values(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = fs::read(path)?;
    ensure!(bytes.starts_with(b"\x93NUMPY\x01\x00"), "not a NumPy file");
    let head = 10 + usize::from(bytes[8]) + 256 * usize::from(bytes[9]);
    Ok(bytes.split_off(head))
}
