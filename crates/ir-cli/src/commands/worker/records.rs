//! Records of a worker: JSON lines on standard input and output.

use std::io::{self, BufReader, Stdin, Write as _};

use anyhow::{Context, Result, bail};
use ir_data::LineReader;
use serde::{Deserialize, Serialize};

use crate::shared::console::check_stopped;
use crate::shared::output::{OutputSink, failed};

const STDIN: &str = "standard input";

/// A record that is read. Other fields are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct InputRecord {
    #[serde(alias = "_id")]
    pub(super) id: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    vector: Option<Vec<f32>>,
    /// Line number, for messages.
    #[serde(skip)]
    line: u64,
}

impl InputRecord {
    /// Id and text, which must be present.
    pub(super) fn into_text(self) -> Result<(String, String)> {
        match self.text {
            Some(text) => Ok((self.id, text)),
            None => bail!(
                "{STDIN}, line {}: expected the field text, found none",
                self.line
            ),
        }
    }

    /// Id and vector, which must be present, finite and of this dimension.
    #[cfg(feature = "dense")]
    pub(super) fn into_vector(self, dim: usize) -> Result<(String, Vec<f32>)> {
        let line = self.line;
        let Some(vector) = self.vector else {
            bail!(
                "{STDIN}, line {line}: expected the field vector (--encoder encodes the field \
                 text), found none"
            );
        };
        if vector.len() != dim {
            let found = vector.len();
            bail!("{STDIN}, line {line}: expected a vector of {dim} dimensions, found {found}");
        }
        if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
            bail!("{STDIN}, line {line}: expected finite values, found {value}");
        }
        Ok((self.id, vector))
    }
}

/// Records of standard input. Blank lines are skipped.
pub(super) struct InputRecords(LineReader<BufReader<Stdin>>);

impl InputRecords {
    pub(super) fn stdin() -> Self {
        let input = BufReader::with_capacity(1 << 16, io::stdin());
        Self(LineReader::new(input, STDIN))
    }

    /// Reads at most `len` records.
    pub(super) fn batch(&mut self, len: usize) -> Result<Vec<InputRecord>> {
        check_stopped()?;
        self.by_ref().take(len).collect()
    }

    fn read(&mut self) -> Result<Option<InputRecord>> {
        while let Some(line) = self.0.read()? {
            if line.text.trim().is_empty() {
                continue;
            }
            let number = line.number;
            let record = serde_json::from_str::<InputRecord>(line.text)
                .with_context(|| format!("{STDIN}, line {number}: expected a record"))?;
            return Ok(Some(InputRecord {
                line: number,
                ..record
            }));
        }
        Ok(None)
    }
}

impl Iterator for InputRecords {
    type Item = Result<InputRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Writes a record as a line.
pub(super) fn write_record(record: &impl Serialize, out: &mut OutputSink) -> Result<()> {
    let line = serde_json::to_vec(record)?;
    out.write_all(&line)
        .and_then(|()| out.write_all(b"\n"))
        .with_context(|| failed(out.name()))
}

/// Passes the written records on.
pub(super) fn flush(out: &mut OutputSink) -> Result<()> {
    out.flush().with_context(|| failed(out.name()))
}
