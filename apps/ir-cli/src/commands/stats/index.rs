//! `ir stats` of an index: settings, statistics of the fields, segments.

use std::path::Path;

use anyhow::{Result, bail};
use indicatif::HumanBytes;
use ir_bm25::{DocOrder, FieldStats, Index, SegmentedIndex, StoredFields};
use ir_core::segments::SegmentStats;
use ir_core::store::{OpenIndexError, Verify};
use ir_data::TextEncoding;
use ir_knn::{FlatIndex, SegmentedTokenStore, SegmentedVectorIndex, TokenCodebook};
use ir_system::saved_vectors::open_tokens;
use serde_json::{Value, json};

use super::{Args, Row};
use crate::shared::console::bail_usage;
use crate::shared::format::{counted, grouped, table_with_text};
use crate::shared::input::check_not_segment;
use crate::shared::options::first_set;
use crate::shared::output::print;

/// Prints the statistics of the index in a file or folder.
pub(super) fn run_index(args: &Args) -> Result<()> {
    let name = &args.collection;
    let without_effect = first_set([
        ("--split", args.split.is_some()),
        ("--level", args.level.is_some()),
        ("--analysis", args.analysis.is_some()),
        ("--communities", args.communities),
        ("--by", !args.by.is_empty()),
        ("--plots", args.plots.is_some()),
        ("--encoding", args.text.encoding != TextEncoding::Utf8),
    ]);
    if let Some(option) = without_effect {
        bail_usage!("{option}: expected a collection, found the index {name}");
    }
    let (rows, object) = match open(Path::new(name))? {
        AnyIndex::Bm25(index) => (bm25_rows(name, &index), bm25_object(name, &index)),
        AnyIndex::Vectors(index) => (vector_rows(name, &index), vector_object(name, &index)),
        AnyIndex::Tokens(store) => (token_rows(name, &store), token_object(name, &store)),
    };
    let text = if args.json {
        object.to_string()
    } else {
        table_with_text(rows, 1)
    };
    print(text)
}

enum AnyIndex {
    Bm25(SegmentedIndex),
    Vectors(SegmentedVectorIndex),
    Tokens(SegmentedTokenStore),
}

fn open(path: &Path) -> Result<AnyIndex> {
    check_not_segment(path, "an index")?;
    let verify = Verify::FirstUse;
    let bm25 = if path.is_dir() {
        SegmentedIndex::open(path)
    } else {
        Index::open_with(path, verify).map(SegmentedIndex::from)
    };
    match bm25 {
        Ok(index) => return Ok(AnyIndex::Bm25(index)),
        Err(OpenIndexError::NotAnIndex { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let vectors = if path.is_dir() {
        SegmentedVectorIndex::open_with(path, verify)
    } else {
        FlatIndex::open_with(path, verify).map(SegmentedVectorIndex::from)
    };
    match vectors {
        Ok(index) => return Ok(AnyIndex::Vectors(index)),
        Err(OpenIndexError::NotAnIndex { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    match open_tokens(path) {
        Ok(store) => Ok(AnyIndex::Tokens(store)),
        Err(OpenIndexError::NotAnIndex { .. }) => bail!(
            "{}: expected a collection, a BM25 index (`ir index`) or vectors (`ir encode`), found \
             another index",
            path.display()
        ),
        Err(error) => Err(error.into()),
    }
}

fn row(name: impl Into<String>, value: impl Into<String>) -> Row {
    [name.into(), value.into()]
}

/// Name of the analyzer of an index.
fn analyzer(index: &SegmentedIndex) -> String {
    match index.analyzer() {
        Some(_) => index.config().analysis.to_string(),
        None => "custom".to_owned(),
    }
}

const fn yes_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn bm25_rows(name: &str, index: &SegmentedIndex) -> Vec<Row> {
    let config = index.config();
    let single = index.single().map(Index::stats);
    let order = match config.order {
        DocOrder::Insertion => "insertion",
        _ => "id",
    };
    let stored = match config.store {
        StoredFields::Everything => "title, text and attributes",
        StoredFields::Attributes => "attributes",
        _ => "nothing",
    };
    let mut rows = vec![
        row("BM25 index", name),
        row("documents", grouped(index.len() as u64)),
        row("analyzer", analyzer(index)),
        row("order of equal scores", order),
        row("stored fields", stored),
        row("positions", yes_no(config.positions)),
    ];
    if let Some(stats) = &single {
        rows.push(row("skipped blank documents", grouped(stats.blank_dropped)));
        rows.push(row("written by", &*stats.program));
    }
    for field in index.fields() {
        let mut add = |what: &str, value: String| {
            rows.push(row(format!("field {}: {what}", field.name), value));
        };
        add("documents", grouped(field.docs));
        add("tokens", grouped(field.tokens));
        if single.is_some() {
            add("distinct terms", grouped(field.terms));
            add("postings", grouped(field.postings));
        }
        add("average length", format!("{:.2}", field.average_length()));
    }
    rows.extend(segment_rows(index.segments(), index.commit()));
    rows
}

fn bm25_object(name: &str, index: &SegmentedIndex) -> Value {
    let single = index.single().map(Index::stats);
    let field = |field: &FieldStats| {
        let counted = single.is_some();
        json!({
            "name": field.name,
            "documents": field.docs,
            "tokens": field.tokens,
            "average_length": field.average_length(),
            "distinct_terms": counted.then_some(field.terms),
            "postings": counted.then_some(field.postings),
        })
    };
    json!({
        "index": name,
        "type": "bm25",
        "documents": index.len(),
        "analyzer": analyzer(index),
        "config": index.config(),
        "blank_documents": single.as_ref().map(|stats| stats.blank_dropped),
        "program": single.as_ref().map(|stats| &stats.program),
        "fields": index.fields().iter().map(field).collect::<Vec<_>>(),
        "commit": index.commit(),
        "segments": segments(index.segments()),
    })
}

/// Encoder metadata written by `ir encode`, without hashes of the texts.
fn encoder(index: &SegmentedVectorIndex) -> Option<Value> {
    let recorded = index.config().user_metadata.as_deref()?;
    let mut origin: Value = serde_json::from_str(recorded).ok()?;
    origin.as_object_mut()?.remove("texts");
    Some(origin)
}

fn vector_rows(name: &str, index: &SegmentedVectorIndex) -> Vec<Row> {
    let config = index.config();
    let graph = config.hnsw.map_or_else(
        || "no".to_owned(),
        |hnsw| format!("M {}, efConstruction {}", hnsw.m, hnsw.ef_construction),
    );
    let mut rows = vec![
        row("vector index", name),
        row("vectors", grouped(index.len() as u64)),
        row("dimensions", config.dim.to_string()),
        row("similarity", config.similarity.to_string()),
        row("8-bit codes", yes_no(config.codes)),
        row("HNSW graph", graph),
    ];
    let encoder = encoder(index).unwrap_or_default();
    for (what, key) in [("encoder", "model_name"), ("template", "template")] {
        if let Some(value) = encoder[key].as_str() {
            rows.push(row(what, value));
        }
    }
    rows.extend(segment_rows(index.segments(), index.commit()));
    rows
}

fn vector_object(name: &str, index: &SegmentedVectorIndex) -> Value {
    let config = index.config();
    json!({
        "index": name,
        "type": "vectors",
        "vectors": index.len(),
        "dimensions": config.dim,
        "similarity": config.similarity,
        "codes": config.codes,
        "hnsw": config.hnsw,
        "encoder": encoder(index),
        "commit": index.commit(),
        "segments": segments(index.segments()),
    })
}

fn token_rows(name: &str, store: &SegmentedTokenStore) -> Vec<Row> {
    let config = store.config();
    let mut rows = vec![
        row("token store", name),
        row("documents", grouped(store.len() as u64)),
        row("vectors", grouped(store.tokens())),
        row("dimensions", config.dim.to_string()),
        row("encoding", config.encoding.to_string()),
        row("ranges in the texts", yes_no(config.spans)),
    ];
    if let Some(codebook) = &config.codebook {
        rows.push(row("centroids", grouped(codebook.len() as u64)));
    }
    let encoder = config.encoder.as_deref();
    rows.extend(encoder.map(|encoder| row("encoder", encoder)));
    rows.extend(segment_rows(store.segments(), store.commit()));
    rows
}

fn token_object(name: &str, store: &SegmentedTokenStore) -> Value {
    let config = store.config();
    json!({
        "index": name,
        "type": "tokens",
        "documents": store.len(),
        "vectors": store.tokens(),
        "dimensions": config.dim,
        "encoding": config.encoding,
        "spans": config.spans,
        "centroids": config.codebook.as_ref().map(TokenCodebook::len),
        "encoder": config.encoder,
        "commit": store.commit(),
        "segments": segments(store.segments()),
    })
}

fn segment_rows(segments: impl ExactSizeIterator<Item = SegmentStats>, commit: u64) -> Vec<Row> {
    let segments: Vec<_> = segments.collect();
    let bytes = segments.iter().map(|segment| segment.bytes).sum();
    let mut rows = vec![row("size", HumanBytes(bytes).to_string())];
    if commit == 0 {
        return rows;
    }
    rows.push(row("commit", grouped(commit)));
    for (n, segment) in segments.iter().enumerate() {
        let SegmentStats {
            documents,
            deleted,
            bytes,
            ..
        } = *segment;
        let live = counted((documents - deleted) as u64, "document");
        let deleted = grouped(deleted as u64);
        let value = format!("{live}, {deleted} deleted, {}", HumanBytes(bytes));
        rows.push(row(format!("segment {}", n + 1), value));
    }
    rows
}

fn segments(segments: impl Iterator<Item = SegmentStats>) -> Vec<Value> {
    let object = |segment: SegmentStats| {
        json!({
            "documents": segment.documents - segment.deleted,
            "deleted": segment.deleted,
            "bytes": segment.bytes,
        })
    };
    segments.map(object).collect()
}
