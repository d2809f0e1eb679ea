//! Where output goes: standard output, or a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::{Context, Result};
use ir_data::DataFile;

use crate::shared::console::check_stopped;

/// A destination that was opened before the work began, so that a mistake shows at once.
pub(crate) struct Sink {
    name: String,
    to: To,
}

enum To {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// A device or a pipe, which cannot be replaced and has nothing to protect.
    Stream(BufWriter<File>),
    File(Box<DataFile>),
}

impl Sink {
    /// Opens `path`, or standard output for none and for `-`. A name in `.gz` or `.zst` is
    /// compressed.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self {
                name: "standard output".to_owned(),
                to: To::Stdout(BufWriter::with_capacity(1 << 16, io::stdout().lock())),
            });
        };
        let to = if is_stream(path) {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .with_context(|| format!("{}: could not be written", path.display()))?;
            To::Stream(BufWriter::with_capacity(1 << 16, file))
        } else {
            To::File(Box::new(ir_data::create(path)?))
        };
        Ok(Self {
            name: path.display().to_string(),
            to,
        })
    }

    /// Everything is written; makes it appear.
    pub(crate) fn commit(self) -> Result<()> {
        check_stopped()?;
        match self.to {
            To::Stdout(mut out) => out.flush(),
            To::Stream(mut out) => out.flush(),
            To::File(file) => return Ok(file.commit()?),
        }
        .with_context(|| format!("{}: could not be written", self.name))
    }

    /// Says where, for an error of writing.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Stdout(out) => out.write(data),
            To::Stream(out) => out.write(data),
            To::File(out) => out.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::Stream(out) => out.flush(),
            To::File(out) => out.flush(),
        }
    }
}

/// Whether something stands at `path` that is neither a file nor a folder.
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|what| !what.is_file() && !what.is_dir())
}
