//! Files are opened by what is in them: plain, gzip or zstd.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;

use crate::DataError;
use crate::error::name_of;
use crate::zstd::ZstdReader;

/// A form of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Gzip, of one or several members.
    Gzip,
    /// Zstandard, of one or several frames.
    Zstd,
}

impl Compression {
    /// The form of a file, by its first bytes; `None` for a plain one.
    ///
    /// ```
    /// use ir_data::Compression;
    /// let path = std::env::temp_dir().join(format!("ir-data-form-{}.gz", std::process::id()));
    /// std::fs::write(&path, "not compressed at all")?;
    /// assert_eq!(Compression::of_file(&path)?, None);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Option<Self>, DataError> {
        let path = path.as_ref();
        let mut head = Vec::with_capacity(4);
        File::open(path)
            .and_then(|file| file.take(4).read_to_end(&mut head))
            .map_err(|source| DataError::Read {
                path: name_of(path),
                source,
            })?;
        Ok(Self::of_head(&head))
    }

    fn of_head(head: &[u8]) -> Option<Self> {
        match *head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a frame to be skipped.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The form that the name of a file promises.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The error inside an [`io::Error`] of a compressed stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("{path}: expected more {compression} data, found the end of the file")]
    Truncated {
        path: String,
        compression: Compression,
    },
    #[error("{path}: expected {compression} data, found it damaged ({found})")]
    Damaged {
        path: String,
        compression: Compression,
        found: String,
    },
}

impl StreamError {
    pub(crate) fn truncated(path: &str, compression: Compression) -> io::Error {
        let path = path.to_owned();
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            Self::Truncated { path, compression },
        )
    }

    pub(crate) fn damaged(path: &str, compression: Compression, found: String) -> io::Error {
        let path = path.to_owned();
        io::Error::new(
            io::ErrorKind::InvalidData,
            Self::Damaged {
                path,
                compression,
                found,
            },
        )
    }
}

/// Opens a file for reading: plain, gzip or zstd, recognised by its first bytes and not by its
/// name.
///
/// Several gzip members or zstd frames in a row are read as one. Checksums are verified. An error
/// of the stream names the file, and says whether the data is cut short or damaged.
///
/// ```
/// use std::io::Read;
/// let path = std::env::temp_dir().join(format!("ir-data-open-{}.txt.gz", std::process::id()));
/// let mut file = ir_data::create(&path)?;
/// std::io::Write::write_all(&mut file, b"tea and milk")?;
/// file.commit()?;
/// let mut text = String::new();
/// ir_data::open(&path)?.read_to_string(&mut text)?;
/// assert_eq!(text, "tea and milk");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there is no such file, or a folder in its place, or its head cannot be read; and when a
/// file called `.gz` or `.zst` holds nothing at all.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn BufRead + Send>, DataError> {
    let path = path.as_ref();
    let name = name_of(path);
    let read = |source| DataError::Read {
        path: name.clone(),
        source,
    };
    let file = File::open(path).map_err(read)?;
    if file.metadata().map_err(read)?.is_dir() {
        return Err(DataError::Folder { path: name });
    }
    let mut reader = BufReader::with_capacity(1 << 16, file);
    if let Some(compression) = Compression::of_name(path)
        && reader.fill_buf().map_err(read)?.is_empty()
    {
        // No compressed file is empty; a failed copy is.
        return Err(DataError::Truncated {
            path: name,
            line: 1,
            compression,
        });
    }
    decode(reader, &name).map_err(read)
}

/// Decompresses a source as [`open`] does with a file. `source` names it in errors.
///
/// # Errors
/// When its head cannot be read.
pub fn decode<'a>(
    mut reader: impl BufRead + Send + 'a,
    source: &str,
) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let mut head = Vec::with_capacity(4);
    reader.by_ref().take(4).read_to_end(&mut head)?;
    let whole = head.len() < 4;
    match *head {
        [0x1f] if whole => return Err(StreamError::truncated(source, Compression::Gzip)),
        [0x28, 0xb5] | [0x28, 0xb5, 0x2f] if whole => {
            return Err(StreamError::truncated(source, Compression::Zstd));
        }
        _ => {}
    }
    let compression = Compression::of_head(&head);
    let reader = Cursor::new(head).chain(reader);
    Ok(match compression {
        None => Box::new(reader),
        Some(Compression::Gzip) => Box::new(BufReader::with_capacity(
            1 << 16,
            GzipReader {
                decoder: Some(GzDecoder::new(reader)),
                path: source.to_owned(),
                failed: false,
            },
        )),
        Some(Compression::Zstd) => Box::new(BufReader::with_capacity(
            1 << 16,
            ZstdReader::new(reader, source),
        )),
    })
}

/// Decompresses one member after another.
struct GzipReader<R> {
    /// `None` between two members, never seen from outside.
    decoder: Option<GzDecoder<R>>,
    path: String,
    failed: bool,
}

impl<R: BufRead> GzipReader<R> {
    fn next(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buf)?;
            if count > 0 || buf.is_empty() {
                return Ok(count);
            }
            match decoder.get_mut().fill_buf()?.first() {
                None => break,
                Some(0x1f) => {
                    let decoder = self.decoder.take().map(GzDecoder::into_inner);
                    self.decoder = decoder.map(GzDecoder::new);
                }
                Some(_) => {
                    let behind = "other data behind the end";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, behind));
                }
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.failed {
            return Err(StreamError::truncated(&self.path, Compression::Gzip));
        }
        self.next(buf).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            self.failed = true;
            match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    StreamError::truncated(&self.path, Compression::Gzip)
                }
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    StreamError::damaged(&self.path, Compression::Gzip, error.to_string())
                }
                _ => error,
            }
        })
    }
}
