//! scikit-learn, in a Python process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// One round: seconds by the clock and of the processor, and what came out.
#[derive(Deserialize)]
pub(crate) struct Timed {
    pub(crate) fit: (f64, f64),
    pub(crate) folds: (f64, f64),
    pub(crate) accuracies: Vec<f64>,
}

pub(crate) struct Sklearn {
    pub(crate) version: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Sklearn {
    pub(crate) fn start(python: &Path, folder: &Path) -> Result<Self> {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/classification/sklearn_folds.py"
        );
        let mut process = Command::new(python)
            .arg(script)
            .arg(folder.join("texts.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", python.display()))?;
        let input = process.stdin.take().context("its input")?;
        let output = BufReader::new(process.stdout.take().context("its output")?);
        let mut sklearn = Self {
            version: String::new(),
            process,
            input,
            output,
        };
        sklearn.version = sklearn.line()?.trim().to_owned();
        Ok(sklearn)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "scikit-learn ended");
        Ok(line)
    }

    pub(crate) fn round(&mut self) -> Result<Timed> {
        writeln!(self.input)?;
        self.input.flush()?;
        let line = self.line()?;
        serde_json::from_str(&line).context(line)
    }
}

impl Drop for Sklearn {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
