//! Query files; the format is detected from the content.

use std::io::{self, BufRead, Read};
use std::path::Path;

use anyhow::{Result, bail};
use ir_core::{Qrels, Query};
use ir_data::{Collection, ColumnarFormat, QueryFormat};

use super::document_options::DocumentOptions;
use super::query_fields::{joined, several, with_field};
use super::{is_collection, note_byte_order_mark, open_documents, split_of_collection};
use crate::shared::console::{Console, bail_usage};
use crate::shared::stream::is_stream;

/// Maximum size of a query file, after decompression: all queries are kept in memory.
pub(crate) const MAX_QUERY_BYTES: u64 = 500_000_000;

/// Queries to search, with their judgments if they come from a collection.
pub(crate) struct TestQueries {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Option<Qrels>,
}

/// Reads queries from a file or `-` as [`read`], or from a collection as [`of_collection`]. A
/// collection is a name or folder, or `COLLECTION:SPLIT`. The options are the encoding, or also the
/// names of the fields.
pub(crate) fn read_any(
    path: &Path,
    split: Option<&str>,
    options: impl Into<DocumentOptions>,
    console: &Console,
) -> Result<TestQueries> {
    let options: DocumentOptions = options.into();
    let collection = path.to_str().filter(|_| !path.is_file());
    let collection = collection.and_then(|name| {
        if path.is_dir() || is_collection(name) {
            Some((name, None))
        } else {
            split_of_collection(name).map(|(name, split)| (name, Some(split)))
        }
    });
    let Some((name, own_split)) = collection else {
        if split.is_some() {
            bail_usage!("--split: expected a collection, found a query file");
        }
        return Ok(TestQueries {
            queries: read(path, options, console)?,
            qrels: None,
        });
    };
    if let (Some(_), Some(own)) = (split, own_split) {
        bail_usage!("--split: expected no split in --queries, found {own:?}");
    }
    let split = split.or(own_split);
    let documents = open_documents(name, options.read.encoding, console)?;
    match of_collection(&documents.collection, split, console)? {
        Some(found) => Ok(TestQueries {
            queries: with_field(found.queries, &options.read.names, name)?,
            ..found
        }),
        None => bail!("{name}: expected a collection with queries, found none"),
    }
}

/// Judged queries of a split (default: `test`). Without judgments and `split`: all queries. `None`
/// if the collection has no queries.
pub(crate) fn of_collection(
    collection: &Collection,
    split: Option<&str>,
    console: &Console,
) -> Result<Option<TestQueries>> {
    if split.is_some() || !collection.splits().is_empty() {
        for note in collection.notes() {
            console.note(format_args!("note: {note}"));
        }
        let split = split.unwrap_or("test");
        if let Some(note) = collection.left_out_note(split)? {
            console.note(format_args!("note: {note}"));
        }
        return Ok(Some(TestQueries {
            queries: collection.queries(split)?,
            qrels: Some(collection.qrels(split)?),
        }));
    }
    let all = collection.all_queries()?;
    if all.is_empty() {
        return Ok(None);
    }
    console.note("no judgments; searching all queries");
    Ok(Some(TestQueries {
        queries: all,
        qrels: None,
    }))
}

/// Reads queries in any format of [`ir_data::read_queries`]. `-` reads standard input. The options
/// are the encoding of formats other than JSON, or also the names of the fields. A file is read
/// once per field of the text.
pub(crate) fn read(
    path: &Path,
    options: impl Into<DocumentOptions>,
    console: &Console,
) -> Result<Vec<Query>> {
    let options: DocumentOptions = options.into();
    if let Some(fields) = several(&options.read.names) {
        if path == Path::new("-") || is_stream(path) {
            bail_usage!(
                "--query-field: expected a file, which is read once per field, found {}",
                path.display()
            );
        }
        return joined(fields, |field| {
            let mut options = options.clone();
            options.read.names.text = Some(field.to_owned());
            read(path, options, console)
        });
    }
    note_byte_order_mark(path, options.read.encoding, console)?;
    let read = if ColumnarFormat::detect(path)?.is_some() {
        ir_data::read_queries(path, &options.read)
    } else {
        let (reader, name) = super::open(path, console)?;
        let reader = LimitedReader::new(reader, MAX_QUERY_BYTES);
        ir_data::read_queries_from(reader, &name, &options.read)
    };
    let names = ["--query-id-field", "", "--query-field"];
    let (queries, format) = read.map_err(|error| options.with_advice(error, names))?;
    match &format {
        QueryFormat::Json { .. } | QueryFormat::Columnar(_) => Ok(queries),
        QueryFormat::Csv { .. } => {
            let path = path.display();
            console.log(format_args!("note: {path}: read as {}", format.name()));
            Ok(queries)
        }
        _ => {
            let found = format!("{} ({})", path.display(), format.name());
            let mut names = options.read.names.clone();
            if format == QueryFormat::Topics {
                // The reader has read this field.
                names.text = None;
            }
            with_field(queries, &names, &found)
        }
    }
}

/// Reader that fails after a number of bytes.
pub(crate) struct LimitedReader<R> {
    inner: R,
    limit: u64,
    rest: u64,
}

impl<R: BufRead> LimitedReader<R> {
    pub(crate) const fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            limit,
            rest: limit,
        }
    }
}

impl<R: BufRead> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.fill_buf()?;
        let n = found.len().min(buffer.len());
        buffer[..n].copy_from_slice(&found[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for LimitedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let found = self.inner.fill_buf()?;
        if self.rest == 0 && !found.is_empty() {
            let message = format!(
                "expected at most {} bytes of queries, found more",
                self.limit
            );
            return Err(io::Error::other(message));
        }
        let n = usize::try_from(self.rest).unwrap_or(usize::MAX);
        Ok(&found[..found.len().min(n)])
    }

    fn consume(&mut self, bytes: usize) {
        self.rest -= bytes as u64;
        self.inner.consume(bytes);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use ir_data::TextEncoding;

    use super::*;

    #[test]
    fn file_name_that_is_not_utf8() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"q\xff.tsv"));
        std::fs::write(&path, "q1\tgreen tea\n").unwrap();
        assert_eq!(
            read(&path, TextEncoding::Utf8, &Console::new(true)).unwrap()[0].text,
            "green tea"
        );
    }
}
