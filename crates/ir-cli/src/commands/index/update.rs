//! `ir index --add`, `--delete` and `--compact`: updates of a segmented index.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use ir_bm25::{DuplicateIds, IndexWriter, SegmentedIndex};
use ir_core::{Document, Flow, Progress};
use ir_data::LineReader;

use super::Args;
use crate::shared::console::{Console, Interrupted, bail_usage};
use crate::shared::format::grouped;
use crate::shared::indexing::DEFAULT_MEMORY;
use crate::shared::input::{self, DocumentOrder, open_documents};

/// Number of documents between two progress reports.
const REPORT_DOCS: u64 = 4096;

pub(super) fn run(args: &Args, console: &Console) -> Result<()> {
    let began = Instant::now();
    let folder = args.output.binary_file("--output")?;
    if args.collection.is_some() && !args.add {
        bail_usage!("--delete and --compact: expected --add with documents, found only documents");
    }
    if folder.is_file() {
        bail!(
            "{}: expected the folder of an index, found a file; an index in a file is immutable",
            folder.display()
        );
    }
    // Read before the index is locked.
    let deleted = match &args.delete {
        Some(file) => read_ids(file, console)?,
        None => Vec::new(),
    };
    let mut writer = open(args, folder, console)?;
    let before = writer.len() as u64;
    let mut bar = console.bar();
    let mut unknown = 0_u64;
    for id in &deleted {
        unknown += u64::from(!writer.delete(id)?);
    }
    let added = match &args.collection {
        Some(collection) => add(&mut writer, collection, args, &mut bar, console)?,
        None => 0,
    };
    if args.compact {
        writer.compact_with(&mut bar)?;
    } else {
        writer.commit_with(&mut bar)?;
    }
    drop(bar);
    drop(writer);
    let listed = deleted.len() as u64;
    if unknown > 0 {
        console.warn(format_args!(
            "--delete: {} of {} ids are not in the index",
            grouped(unknown),
            grouped(listed)
        ));
    }
    let index = SegmentedIndex::open(folder)?;
    let bytes: u64 = index.segments().map(|segment| segment.bytes).sum();
    console.log(format_args!(
        "{}: {} documents read, {} deleted by id; {} documents before, {} now, segments: {}, {:.1} MB, {:.1} s",
        args.output.display(),
        grouped(added),
        grouped(listed - unknown),
        grouped(before),
        grouped(index.len() as u64),
        index.segments().len(),
        bytes as f64 / 1e6,
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Opens the index in the folder, or creates it for --add.
fn open(args: &Args, folder: &Path, console: &Console) -> Result<IndexWriter> {
    let exists = SegmentedIndex::exists(folder);
    let writer = if exists {
        let stored = args.store.map(|_| "--store");
        if let Some(option) = args.setup.first_analysis_option().or(stored) {
            bail_usage!(
                "{option} applies only when an index is created, but {} is an index",
                folder.display()
            );
        }
        IndexWriter::open(folder)?
    } else {
        let Some(collection) = &args.collection else {
            bail!(
                "{}: expected the folder of an index (`ir index COLLECTION -o FOLDER --add`), found none",
                folder.display()
            );
        };
        if folder.is_dir() && folder.read_dir()?.next().is_some() {
            bail!(
                "{}: expected an index or an empty folder, found other files",
                folder.display()
            );
        }
        let documents = open_documents(collection, args.text.encoding, console)?;
        if args.setup.order(&documents) == DocumentOrder::RowText {
            bail_usage!("--order: expected id or insertion with --add, found row-text");
        }
        let config = args.setup.config(&documents, args.stored());
        IndexWriter::create(folder, config.with_duplicates(DuplicateIds::Reject))?
    };
    let writer = writer.with_memory(args.setup.memory.unwrap_or(DEFAULT_MEMORY));
    Ok(match args.threads {
        Some(threads) => writer.with_threads(threads),
        None => writer,
    })
}

/// Adds the documents of a collection and returns their number.
fn add(
    writer: &mut IndexWriter,
    collection: &str,
    args: &Args,
    bar: &mut dyn Progress,
    console: &Console,
) -> Result<u64> {
    let documents = open_documents(collection, args.text.encoding, console)?;
    documents.check_encoding(args.text.encoding)?;
    let corpus = documents.collection.corpus();
    let total = corpus.len_hint();
    let mut reader = corpus.open()?;
    let mut document = Document::default();
    let mut read = 0;
    while reader.read(&mut document)? {
        writer.put(&document)?;
        read += 1;
        if read % REPORT_DOCS == 0 && bar.report("indexing", read, total) == Flow::Stop {
            return Err(Interrupted.into());
        }
    }
    Ok(read)
}

/// Reads ids, one per line; empty lines are skipped.
fn read_ids(file: &str, console: &Console) -> Result<Vec<String>> {
    let (reader, name) = input::open(file, console)?;
    let mut lines = LineReader::new(reader, &name);
    let mut ids = Vec::new();
    while let Some(line) = lines.read()? {
        let id = line.text.trim_end_matches('\r');
        if !id.is_empty() {
            ids.push(id.to_owned());
        }
    }
    Ok(ids)
}
