//! Query files; the format is detected from the content.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ir_core::{Qrels, Query};
use ir_data::tsv::{self, Column};
use ir_data::{Collection, DataError, RecordKind, TextEncoding};
use ir_data::{datafinder, indri, jsonl, sgml, smart};

use super::head::FileHead;
use super::{is_collection, open_documents, split_of_collection};
use crate::shared::console::{Console, bail_usage};

/// Maximum size of a query file, after decompression: all queries are kept in memory.
const MAX_BYTES: u64 = 500_000_000;

/// Queries to search, with their judgments if they come from a collection.
pub(crate) struct TestQueries {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Option<Qrels>,
}

/// Reads queries from a file or `-` as [`read`], or from a collection as [`of_collection`]. A
/// collection is a name or folder, or `COLLECTION:SPLIT`.
pub(crate) fn read_any(
    path: &Path,
    split: Option<&str>,
    encoding: TextEncoding,
    console: &Console,
) -> Result<TestQueries> {
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
            queries: read(path, encoding, console)?,
            qrels: None,
        });
    };
    if let (Some(_), Some(own)) = (split, own_split) {
        bail_usage!("--split: expected no split in --queries, found {own:?}");
    }
    let split = split.or(own_split);
    let documents = open_documents(name, encoding, console)?;
    match of_collection(&documents.collection, split, console)? {
        Some(queries) => Ok(queries),
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

/// Reads queries. Formats: JSON lines or a JSON array, with the names of
/// [`ir_data::JsonFields::detect`] or of DataFinder (`query`, `documents`); TREC topics; Indri
/// topics; SMART; lines `id TAB text`. `encoding` applies to formats other than JSON. `-` reads
/// standard input.
pub(crate) fn read(path: &Path, encoding: TextEncoding, console: &Console) -> Result<Vec<Query>> {
    let (mut reader, name) = super::open(path, console)?;
    let mut head = FileHead::read(&mut reader, &name)?;
    if head.is_empty() {
        bail!("{name}: expected queries, found none");
    }
    let reader = Cursor::new(std::mem::take(&mut head.bytes)).chain(reader);
    let reader = LimitedReader::new(reader, MAX_BYTES);
    let (mut reader, mut array) = (reader, Vec::new());
    let is_array = head.line.starts_with('[');
    if is_array {
        reader.read_to_end(&mut array).context(name.clone())?;
        head.first_of_array(&array);
    }
    let reader = Cursor::new(array).chain(reader);
    let fields = head.fields();
    let has = |name: &str| fields.contains_key(name);
    let has_id = RecordKind::Query.id_names().any(has);
    let is_datafinder = has("query") && (has("documents") || !has_id);
    let queries = if is_datafinder {
        let rows = datafinder::read_test_queries(reader, &name, "q")?;
        rows.into_iter().map(|row| row.query).collect()
    } else if head.is_smart() {
        // Cranfield's numbers have leading zeros and gaps; its judgments have positions.
        let is_cranfield = head.line.trim_start_matches(".I").trim() == "001";
        if is_cranfield {
            smart::read_cranfield_queries(encoding.decode(reader), &name)?
        } else {
            smart::read_queries(encoding.decode(reader), &name)?
        }
    } else if head.is_element("parameters") {
        indri::read_queries(encoding.decode(reader), &name)?
    } else if head.line.starts_with('<') {
        sgml::read_topics(encoding.decode(reader), &name)?
    } else if is_array || head.is_json(path) {
        let fields = head.json_fields(&name, RecordKind::Query)?;
        jsonl::read_queries(reader, &name, &fields)?
    } else {
        head.warn_of_column_names(&name, console);
        let layout = [Column::Id, Column::Text];
        let read = tsv::read_queries(encoding.decode(reader), &name, &layout);
        read.map_err(|error| match error {
            DataError::Columns { .. } => head.queries_error(error),
            error => error.into(),
        })?
    };
    if queries.is_empty() {
        bail!("{name}: expected queries, found none");
    }
    Ok(queries)
}

/// Reader that fails after a number of bytes.
struct LimitedReader<R> {
    inner: R,
    limit: u64,
    rest: u64,
}

impl<R: BufRead> LimitedReader<R> {
    const fn new(inner: R, limit: u64) -> Self {
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
