//! Query files; the format is detected from the content.

use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Result, bail};
use ir_core::Query;
use ir_data::TextEncoding;
use ir_data::tsv::{self, Column};
use ir_data::{datafinder, indri, jsonl, sgml, smart};

use super::head::FileHead;
use crate::shared::console::Console;

/// Reads queries. Formats: JSON lines of BEIR (`_id`, `text`), of DataFinder (`query`) or with `id`
/// and `contents`; a JSON array of DataFinder queries; TREC topics; Indri topics; SMART; lines
/// `id TAB text`. `encoding` applies to formats other than JSON. `-` reads standard input.
pub(crate) fn read(path: &Path, encoding: TextEncoding, console: &Console) -> Result<Vec<Query>> {
    let (mut reader, name) = super::open(path, console)?;
    let mut head = FileHead::read(&mut reader, &name)?;
    if head.is_empty() {
        bail!("{name}: expected queries, found none");
    }
    let reader = Cursor::new(std::mem::take(&mut head.bytes)).chain(reader);
    let queries = if head.line.starts_with('[') || head.has("query") {
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
    } else if head.is_element("top") {
        sgml::read_topics(encoding.decode(reader), &name)?
    } else if head.is_element("parameters") {
        indri::read_queries(encoding.decode(reader), &name)?
    } else if head.is_json(path) {
        jsonl::read_queries(reader, &name, &head.json_fields())?
    } else {
        let layout = [Column::Id, Column::Text];
        tsv::read_queries(encoding.decode(reader), &name, &layout)?
    };
    if queries.is_empty() {
        bail!("{name}: expected queries, found none");
    }
    Ok(queries)
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
