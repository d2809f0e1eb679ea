//! Files are written whole or not at all, compressed if their name says so.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use ir_core::AtomicFile;
use ir_core::trec::WriteError;

use crate::DataError;
use crate::error::name_of;
use crate::zstd::ZstdWriter;

/// Starts a file: gzip when its name ends in `.gz`, zstd when it ends in `.zst`, plain otherwise.
/// It appears under its name when [`DataFile::commit`] is called, and not before.
///
/// # Errors
/// When `path` is a folder, or its folder does not exist or cannot be written.
pub fn create(path: impl AsRef<Path>) -> Result<DataFile, DataError> {
    let path = path.as_ref();
    let file = AtomicFile::create(path).map_err(|source| DataError::Write {
        path: name_of(path),
        source,
    })?;
    let writer = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Writer::Gzip(GzEncoder::new(file, flate2::Compression::default())),
        Some("zst") => Writer::Zstd(ZstdWriter::new(file)),
        _ => Writer::Plain(file),
    };
    Ok(DataFile {
        path: path.to_owned(),
        writer,
    })
}

/// A file that is being written; see [`create`]. Dropped without [`DataFile::commit`], it leaves
/// nothing behind.
#[derive(Debug)]
pub struct DataFile {
    path: PathBuf,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Plain(AtomicFile),
    Gzip(GzEncoder<AtomicFile>),
    Zstd(ZstdWriter<AtomicFile>),
}

impl DataFile {
    /// Where the file will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file appear under its name, complete and on the disk.
    ///
    /// # Errors
    /// When the data cannot be written; then nothing appears.
    pub fn commit(self) -> Result<(), DataError> {
        let path = name_of(&self.path);
        let finish = || match self.writer {
            Writer::Plain(file) => file.commit(),
            Writer::Gzip(encoder) => encoder.finish()?.commit(),
            Writer::Zstd(encoder) => encoder.finish()?.commit(),
        };
        finish().map_err(|source| DataError::Write { path, source })
    }

    /// The error of this file for an error of the system.
    pub(crate) fn fault(&self, source: io::Error) -> DataError {
        DataError::Write {
            path: name_of(&self.path),
            source,
        }
    }

    /// The error of this file for an error of a TREC writer.
    pub(crate) fn unwritable(&self, error: WriteError) -> DataError {
        match error {
            WriteError::Io(source) => self.fault(source),
            source => DataError::WriteTrec {
                path: name_of(&self.path),
                source,
            },
        }
    }
}

impl Write for DataFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Plain(file) => file.write(data),
            Writer::Gzip(encoder) => encoder.write(data),
            Writer::Zstd(encoder) => encoder.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Plain(file) => file.flush(),
            Writer::Gzip(encoder) => encoder.flush(),
            Writer::Zstd(encoder) => encoder.flush(),
        }
    }
}
