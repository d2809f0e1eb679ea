//! Output destinations: standard output, or a file written atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::{Context, Result};
use ir_data::DataFile;

use crate::shared::console::check_stopped;

/// An output destination. Opened before a command starts its work, so that an unwritable path is
/// reported at once.
pub(crate) struct OutputSink {
    name: String,
    target: OutputTarget,
}

enum OutputTarget {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// A device or named pipe: written in place, because it cannot be renamed over.
    Stream(BufWriter<File>),
    File(Box<DataFile>),
}

impl OutputSink {
    /// Opens `path`; `None` and `-` are standard output. Files ending in `.gz` or `.zst` are
    /// compressed.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self {
                name: "standard output".to_owned(),
                target: OutputTarget::Stdout(BufWriter::with_capacity(
                    1 << 16,
                    io::stdout().lock(),
                )),
            });
        };
        let target = if is_stream(path) {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .with_context(|| format!("{}: could not be written", path.display()))?;
            OutputTarget::Stream(BufWriter::with_capacity(1 << 16, file))
        } else {
            OutputTarget::File(Box::new(ir_data::create(path)?))
        };
        Ok(Self {
            name: path.display().to_string(),
            target,
        })
    }

    /// Flushes the output and, for a file, renames it into place.
    pub(crate) fn commit(self) -> Result<()> {
        check_stopped()?;
        match self.target {
            OutputTarget::Stdout(mut out) => out.flush(),
            OutputTarget::Stream(mut out) => out.flush(),
            OutputTarget::File(file) => return Ok(file.commit()?),
        }
        .with_context(|| format!("{}: could not be written", self.name))
    }

    /// Name of the destination in error messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Write for OutputSink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            OutputTarget::Stdout(out) => out.write(data),
            OutputTarget::Stream(out) => out.write(data),
            OutputTarget::File(out) => out.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            OutputTarget::Stdout(out) => out.flush(),
            OutputTarget::Stream(out) => out.flush(),
            OutputTarget::File(out) => out.flush(),
        }
    }
}

/// Whether `path` exists and is neither a file nor a folder.
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|what| !what.is_file() && !what.is_dir())
}
