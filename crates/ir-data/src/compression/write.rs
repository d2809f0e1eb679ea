use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use ir_core::store::AtomicFile;
use ir_core::trec::TrecWriteError;

use super::zstd::ZstdWriter;
use crate::compression_format::Compression;
use crate::error::{DataError, name_of, write_error};
use ir_core::excerpt;

/// Creates a file for an atomic write: gzip if its name ends in `.gz`, zstd if it ends in `.zst`,
/// uncompressed otherwise. [`DataFile::commit`] completes it.
///
/// # Errors
/// `path` is a directory, or its directory does not exist or is not writable.
pub fn create(path: impl AsRef<Path>) -> Result<DataFile, DataError> {
    let path = path.as_ref();
    let file = AtomicFile::create(path).map_err(write_error(path))?;
    let writer = match Compression::from_extension(path) {
        Some(Compression::Gzip) => CompressionWriter::Gzip(Box::new(GzipWriter::new(file))),
        Some(Compression::Zstd) => CompressionWriter::Zstd(ZstdWriter::new(file)),
        None => CompressionWriter::Plain(file),
    };
    Ok(DataFile {
        path: path.to_owned(),
        writer,
    })
}

/// Writer of a file that is compressed if its name says so; see [`create`]. Without
/// [`DataFile::commit`] no file is left.
#[derive(Debug)]
pub struct DataFile {
    path: PathBuf,
    writer: CompressionWriter,
}

#[derive(Debug)]
enum CompressionWriter {
    Plain(AtomicFile),
    Gzip(Box<GzipWriter>),
    Zstd(ZstdWriter<AtomicFile>),
}

impl DataFile {
    /// Path of the completed file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes the data to disk and renames the temporary file to its final name.
    ///
    /// # Errors
    /// The data cannot be written. No file is left.
    pub fn commit(self) -> Result<(), DataError> {
        let finish = || match self.writer {
            CompressionWriter::Plain(file) => file.commit(),
            CompressionWriter::Gzip(encoder) => encoder.finish()?.commit(),
            CompressionWriter::Zstd(encoder) => encoder.finish()?.commit(),
        };
        finish().map_err(write_error(&self.path))
    }

    /// Writes all of `data`.
    pub(crate) fn append(&mut self, data: &[u8]) -> Result<(), DataError> {
        self.write_all(data).map_err(write_error(&self.path))
    }

    /// Error of a value that the format cannot represent.
    pub(crate) fn unwritable(&self, line: u64, expected: &'static str, found: &str) -> DataError {
        DataError::Unwritable {
            path: name_of(&self.path),
            line,
            expected,
            found: excerpt(found),
        }
    }

    pub(crate) fn trec_error(&self, error: TrecWriteError) -> DataError {
        match error {
            TrecWriteError::Io(source) => write_error(&self.path)(source),
            source => DataError::WriteTrec {
                path: name_of(&self.path),
                source,
            },
        }
    }
}

/// Writer of gzip. The encoder gets blocks of a fixed size: its output depends on the sizes of
/// writes.
#[derive(Debug)]
struct GzipWriter {
    encoder: GzEncoder<AtomicFile>,
    block: Vec<u8>,
}

impl GzipWriter {
    const BLOCK: usize = 1 << 16;

    fn new(file: AtomicFile) -> Self {
        Self {
            encoder: GzEncoder::new(file, flate2::Compression::default()),
            block: Vec::with_capacity(Self::BLOCK),
        }
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.encoder.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<AtomicFile> {
        self.write_block()?;
        self.encoder.finish()
    }
}

impl Write for GzipWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(Self::BLOCK - self.block.len());
        self.block.extend_from_slice(&data[..taken]);
        if self.block.len() == Self::BLOCK {
            self.write_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_block()?;
        self.encoder.flush()
    }
}

impl CompressionWriter {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }
}

impl Write for DataFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer.as_write().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_write().flush()
    }
}
