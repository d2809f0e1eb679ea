//! Shared test helpers: collections in the BEIR format.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::borrow::Borrow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ir_bm25::{Index, IndexConfig};
use ir_core::{Document, NoProgress};
use serde::Deserialize;

/// Builds an index in memory.
pub(crate) fn built(documents: &[Document], config: impl Borrow<IndexConfig>) -> Index {
    Index::build(documents, config.borrow(), &mut NoProgress).unwrap()
}

/// The directory of real collections (`IR_DATA`), if it is set.
pub(crate) fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("IR_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: IR_DATA is not set");
    }
    folder
}

#[derive(Deserialize)]
pub(crate) struct Record {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) text: String,
}

/// The records of `name.jsonl` or `name.jsonl.zst`.
pub(crate) fn records(folder: &Path, name: &str) -> Vec<Record> {
    let plain = folder.join(format!("{name}.jsonl"));
    let reader: Box<dyn Read> = if plain.exists() {
        Box::new(File::open(plain).unwrap())
    } else {
        let file = File::open(folder.join(format!("{name}.jsonl.zst"))).unwrap();
        Box::new(ruzstd::decoding::StreamingDecoder::new(file).unwrap())
    };
    let lines = BufReader::new(reader).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

pub(crate) fn corpus(folder: &Path) -> Vec<Document> {
    let records = records(folder, "corpus").into_iter();
    records
        .map(|record| {
            Document::new(record.id)
                .with_title(record.title)
                .with_text(record.text)
        })
        .collect()
}
