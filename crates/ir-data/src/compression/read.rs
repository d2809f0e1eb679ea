use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::gzip::GzipReader;
use super::zstd::ZstdReader;
use crate::compression_format::{
    Compression, MAGIC, StreamError, TAR_HEADER, is_tar, other_compression, unsupported_format,
};
use crate::error::{DataError, name_of, read_error};
use crate::utf16;

/// Detects the compression format of a file by its first bytes; `None` for an uncompressed file or
/// one in a format that [`open`] does not read.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ir-data-detect-{}.gz", std::process::id()));
/// std::fs::write(&path, "not compressed")?;
/// assert_eq!(ir_data::detect_compression(&path)?, None);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read.
pub fn detect_compression(path: impl AsRef<Path>) -> Result<Option<Compression>, DataError> {
    Ok(Compression::from_magic(&read_head(path.as_ref())?))
}

/// Detects an archive or a format of compression that [`open`] does not read, by the first bytes of
/// a file: `a tar archive`, `bzip2 data`. `None` for other files.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ir-data-xz-{}.jsonl", std::process::id()));
/// std::fs::write(&path, b"\xfd7zXZ\0\0\x04")?;
/// assert_eq!(ir_data::unsupported_compression(&path)?, Some("xz data"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read.
pub fn unsupported_compression(path: impl AsRef<Path>) -> Result<Option<&'static str>, DataError> {
    Ok(unsupported_content(&read_head(path.as_ref())?))
}

/// First bytes of a file, which show compression, archives and UTF-16.
fn read_head(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(TAR_HEADER).read_to_end(&mut head))
        .map_err(read_error(path))?;
    Ok(head)
}

fn unsupported_content(head: &[u8]) -> Option<&'static str> {
    other_compression(head).or(is_tar(head).then_some(TAR))
}

/// Returns `true` if [`open`] returns the bytes of a file as they are: a file, not a pipe, that is
/// neither compressed, an archive nor UTF-16.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ir-data-plain-{}.txt", std::process::id()));
/// std::fs::write(&path, "tea")?;
/// assert!(ir_data::is_plain(&path)?);
/// std::fs::write(&path, b"\xff\xfet\0e\0a\0")?;
/// assert!(!ir_data::is_plain(&path)?);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read.
pub fn is_plain(path: impl AsRef<Path>) -> Result<bool, DataError> {
    let path = path.as_ref();
    if !path.is_file() {
        return Ok(false);
    }
    let head = read_head(path)?;
    Ok(Compression::from_magic(&head).is_none()
        && utf16::unit_of(&head).is_none()
        && unsupported_content(&head).is_none())
}

/// Opens a file for reading: uncompressed, gzip or zstd, detected by its first bytes and not by
/// its name.
///
/// Consecutive gzip members or zstd frames are concatenated. Checksums are verified. An error of
/// the stream names the file and distinguishes truncated from corrupt data. Text in UTF-16 that
/// starts with a byte order mark, as editors of Windows write it, is converted to UTF-8. The mark
/// is kept; readers of texts skip it.
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
/// The file does not exist, is a directory or cannot be read, a `.gz` or `.zst` file is empty, or
/// the file is a tar archive or compressed in another format, such as bzip2, xz, lz4 or zip.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn BufRead + Send>, DataError> {
    let path = path.as_ref();
    utf16::decode(open_bytes(path)?).map_err(read_error(path))
}

/// Encoding that the byte order mark of a file shows, possibly compressed: `UTF-8`, `UTF-16`.
/// `None` without a mark.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ir-data-mark-{}.txt", std::process::id()));
/// std::fs::write(&path, "\u{feff}tea")?;
/// assert_eq!(ir_data::byte_order_mark(&path)?, Some("UTF-8"));
/// std::fs::write(&path, "tea")?;
/// assert_eq!(ir_data::byte_order_mark(&path)?, None);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read, as in [`open`].
pub fn byte_order_mark(path: impl AsRef<Path>) -> Result<Option<&'static str>, DataError> {
    let path = path.as_ref();
    let mut head = Vec::new();
    let read = open_bytes(path)?.take(utf16::MARK).read_to_end(&mut head);
    read.map_err(read_error(path))?;
    if head.starts_with(utf16::UTF8_MARK) {
        return Ok(Some("UTF-8"));
    }
    Ok(utf16::unit_of(&head).map(|_| "UTF-16"))
}

/// Opens a binary file as [`open`] does, without conversion of UTF-16.
///
/// # Errors
/// Returns the errors of [`open`].
pub fn open_bytes(path: &Path) -> Result<Box<dyn BufRead + Send>, DataError> {
    let name = name_of(path);
    let file = File::open(path).map_err(read_error(path))?;
    if file.metadata().map_err(read_error(path))?.is_dir() {
        return Err(DataError::Directory { path: name });
    }
    let mut reader = BufReader::with_capacity(1 << 16, file);
    if let Some(compression) = Compression::from_extension(path)
        && reader.fill_buf().map_err(read_error(path))?.is_empty()
    {
        // Compressed data is never empty, but a failed copy may be.
        return Err(DataError::Truncated {
            path: name,
            line: 1,
            compression,
        });
    }
    decompress_bytes(reader, &name).map_err(|error| match unsupported_format(&error) {
        Some(found) => DataError::UnsupportedCompression { path: name, found },
        None => read_error(path)(error),
    })
}

/// Decompresses a reader and converts UTF-16 as [`open`] does with a file. `source` names it in
/// errors.
///
/// # Errors
/// The first bytes cannot be read, or belong to another format of compression or a tar archive,
/// possibly compressed.
pub fn decompress<'a>(
    reader: impl BufRead + Send + 'a,
    source: &str,
) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    utf16::decode(decompress_bytes(reader, source)?)
}

fn decompress_bytes<'a>(
    mut reader: impl BufRead + Send + 'a,
    source: &str,
) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let is_archive = matches!(reader.fill_buf(), Ok(start) if is_tar(start));
    let mut head = Vec::new();
    reader.by_ref().take(MAGIC).read_to_end(&mut head)?;
    if let Some(found) = other_compression(&head) {
        return Err(StreamError::unsupported(source, found));
    }
    let whole = head.len() < 4;
    match *head {
        [0x1f] if whole => return Err(StreamError::truncated(source, Compression::Gzip)),
        [0x28, 0xb5] | [0x28, 0xb5, 0x2f] if whole => {
            return Err(StreamError::truncated(source, Compression::Zstd));
        }
        _ => {}
    }
    let compression = Compression::from_magic(&head);
    let reader = Cursor::new(head).chain(reader);
    let mut reader = match compression {
        None if is_archive => return Err(StreamError::unsupported(source, TAR)),
        None => return Ok(Box::new(reader)),
        Some(Compression::Gzip) => buffered(GzipReader::new(reader, source)),
        Some(Compression::Zstd) => buffered(ZstdReader::new(reader, source)),
    };
    // Errors persist: the reader of lines reports this one, with its number.
    if matches!(reader.fill_buf(), Ok(start) if is_tar(start)) {
        return Err(StreamError::unsupported(source, TAR));
    }
    Ok(reader)
}

/// Name of an archive that is read neither as it is nor decompressed.
const TAR: &str = "a tar archive";

fn buffered<'a>(reader: impl Read + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
    Box::new(BufReader::with_capacity(1 << 16, reader))
}
