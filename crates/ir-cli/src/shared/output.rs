//! Output destinations: standard output, or a file written atomically.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use ir_core::store::AtomicFile;
use ir_data::DataFile;

use crate::shared::console::check_stopped;

/// An output destination. Opened before a command starts its work, so that an unwritable path is
/// reported at once.
pub(crate) struct OutputSink {
    name: String,
    target: OutputTarget,
}

enum OutputTarget {
    /// Standard output, or a device or named pipe: written in place, because it cannot be renamed
    /// over.
    Stream(BufWriter<Box<dyn Write>>),
    File(Box<DataFile>),
}

impl OutputSink {
    /// Opens `path`; `None` and `-` are standard output. Files ending in `.gz` or `.zst` are
    /// compressed.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let (name, stream): (_, Box<dyn Write>) = match path {
            Some(path) if is_stream(path) => {
                let file = OpenOptions::new().write(true).open(path);
                let name = path.display().to_string();
                let file = file.with_context(|| failed(&name))?;
                (name, Box::new(file))
            }
            Some(path) if path != Path::new("-") => {
                return Ok(Self {
                    name: path.display().to_string(),
                    target: OutputTarget::File(Box::new(ir_data::create(path)?)),
                });
            }
            _ => ("standard output".to_owned(), Box::new(io::stdout().lock())),
        };
        let target = OutputTarget::Stream(BufWriter::with_capacity(1 << 16, stream));
        Ok(Self { name, target })
    }

    /// Flushes the output and, for a file, renames it into place.
    pub(crate) fn commit(self) -> Result<()> {
        check_stopped()?;
        match self.target {
            OutputTarget::Stream(mut out) => out.flush().with_context(|| failed(&self.name)),
            OutputTarget::File(file) => Ok(file.commit()?),
        }
    }

    /// Writes with `write`, names the destination in its errors, and commits.
    pub(crate) fn write_with<E>(
        mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<()>
    where
        Result<(), E>: Context<(), E>,
    {
        write(&mut self).with_context(|| failed(&self.name))?;
        self.commit()
    }

    /// Name of the destination in error messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.target {
            OutputTarget::Stream(out) => out,
            OutputTarget::File(out) => out,
        }
    }
}

impl Write for OutputSink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Context of an error writing `name`.
pub(crate) fn failed(name: impl Display) -> String {
    format!("{name}: cannot be written")
}

/// Creates a file that is written atomically.
pub(crate) fn create(path: &Path) -> Result<AtomicFile> {
    AtomicFile::create(path).with_context(|| failed(path.display()))
}

/// Whether `path` exists and is neither a file nor a folder.
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|what| !what.is_file() && !what.is_dir())
}
