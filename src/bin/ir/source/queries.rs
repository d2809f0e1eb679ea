//! Query files of several forms, told apart by what is in them.

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use anyhow::{Result, bail};
use ir_core::Query;
use ir_data::tsv::{self, Column};
use ir_data::{JsonFields, datafinder, jsonl};

/// Reads queries: JSON lines of BEIR (`_id`, `text`), of the DataFinder family (`query`) or with
/// `id` and `contents`, one JSON array of the latter, or lines `id TAB text`. `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<Query>> {
    let (mut reader, name) = if path == Path::new("-") {
        (super::stdin()?, super::STDIN.to_owned())
    } else {
        (ir_data::open(path)?, path.display().to_string())
    };
    let mut head = Vec::new();
    reader.by_ref().take(1 << 16).read_until(b'\n', &mut head)?;
    let first = String::from_utf8_lossy(&head)
        .trim_start_matches('\u{feff}')
        .trim_start()
        .to_owned();
    let reader = Cursor::new(head).chain(reader);
    let queries = if first.starts_with('[') || (first.starts_with('{') && has(&first, "query")) {
        let rows = datafinder::read_test_queries(reader, &name, "q")?;
        rows.into_iter().map(|row| row.query).collect()
    } else if first.starts_with('{') {
        let fields = if has(&first, "_id") {
            JsonFields::beir()
        } else {
            JsonFields {
                text: "text".to_owned(),
                id: "id".to_owned(),
                ..JsonFields::beir()
            }
        };
        jsonl::read_queries(reader, &name, &fields)?
    } else {
        tsv::read_queries(reader, &name, &[Column::Id, Column::Text])?
    };
    if queries.is_empty() {
        bail!("{name}: expected queries, found none");
    }
    Ok(queries)
}

fn has(line: &str, field: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(line).is_ok_and(|object| object.get(field).is_some())
}
