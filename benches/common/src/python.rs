//! A Python process on the other side of a pipe.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

/// A script that says what it is in one line, then answers each line with one. It ends with this.
#[derive(Debug)]
pub struct Python {
    script: &'static str,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Python {
    /// Starts a script of this folder, as `vectors/faiss_flat.py`; what goes wrong in it goes to
    /// standard error.
    ///
    /// # Errors
    /// When the interpreter cannot be started.
    pub fn start<S: AsRef<OsStr>>(
        interpreter: &Path,
        script: &'static str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let mut process = Command::new(interpreter)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", interpreter.display()))?;
        let input = process.stdin.take().context("its input")?;
        let output = BufReader::new(process.stdout.take().context("its output")?);
        Ok(Self {
            script,
            process,
            input,
            output,
        })
    }

    /// What it says next, without the end of the line.
    ///
    /// # Errors
    /// When it has ended.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "{} ended", self.script);
        Ok(line.trim_end().to_owned())
    }

    /// What it says next, as JSON.
    ///
    /// # Errors
    /// When it has ended, or says something else.
    pub fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.line()?;
        serde_json::from_str(&line).with_context(|| format!("{} said {line:?}", self.script))
    }

    /// Its answer to a line.
    ///
    /// # Errors
    /// Those of [`json`](Self::json).
    pub fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T> {
        writeln!(self.input, "{line}").with_context(|| format!("{} ended", self.script))?;
        self.input.flush()?;
        self.json()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
