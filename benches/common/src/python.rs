//! Python child processes that speak a line protocol.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

/// Running Python script. Prints a line with its version, then one response line per input line.
/// Dropping the value kills the process.
#[derive(Debug)]
pub struct Python {
    script: &'static str,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Python {
    /// Starts a script, given relative to `benches/`, such as `flat/faiss_flat.py`.
    ///
    /// # Errors
    /// If the interpreter cannot be started.
    pub fn start<S: AsRef<OsStr>>(
        interpreter: &Path,
        script: &'static str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let mut process = Command::new(interpreter)
            .arg(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("..")
                    .join(script),
            )
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: cannot start the interpreter", interpreter.display()))?;
        let input = process.stdin.take().context("standard input")?;
        let output = BufReader::new(process.stdout.take().context("standard output")?);
        Ok(Self {
            script,
            process,
            input,
            output,
        })
    }

    /// Reads the next output line.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "{}: the process ended", self.script);
        Ok(line.trim_end().to_owned())
    }

    /// Reads the next output line as JSON.
    ///
    /// # Errors
    /// If the process has ended or the line is not JSON of the type.
    pub fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.line()?;
        serde_json::from_str(&line)
            .with_context(|| format!("{}: expected JSON, found {line:?}", self.script))
    }

    /// Sends a request line and reads the response.
    ///
    /// # Errors
    /// As for [`json`](Self::json).
    pub fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T> {
        writeln!(self.input, "{line}")
            .with_context(|| format!("{}: the process ended", self.script))?;
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
