//! `ir index --add`, `--delete` and `--compact`: updates of a segmented index.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ir_bm25::{
    DocOrder, DuplicateIds, IndexConfig, IndexWriter, IndexWriterError, PutOutcome, SegmentedIndex,
};
use ir_core::segments::SegmentsError;
use ir_core::{DocFilter, DocIds, DocNum, DocSet, Document, Flow, Progress};
use ir_data::TextEncoding;
use serde_json::json;

use super::{Args, STORED};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::{counted, grouped};
use crate::shared::indexing::{
    DEFAULT_MEMORY, check_fields, name_of_fields, warn_of_invalid_years, warn_of_skipped,
};
use crate::shared::input::{DocumentOrder, DocumentSource, open_documents};
use crate::shared::signals::Interrupted;
use crate::shared::updates::{UpdatedIndex, delete_ids, describe_segments, read_ids};

const INDEX: UpdatedIndex = UpdatedIndex {
    name: "an index",
    verb: "index",
    command: "ir index COLLECTION",
};

/// Number of documents between two progress reports.
const REPORT_DOCS: u64 = 4096;

pub(super) fn run(args: &Args, console: &Console) -> Result<()> {
    let began = Instant::now();
    let shown = args.output()?.display();
    let folder = args.output()?.binary_file("--output")?;
    if let Some(collection) = args.collection.as_ref().filter(|_| !args.add) {
        bail_usage!(
            "{collection}: expected --add to add documents, or no documents to only delete or compact"
        );
    }
    if args.collection.is_none() && args.text.encoding != TextEncoding::Utf8 {
        bail_usage!("--encoding: expected --add with documents");
    }
    if args.collection.is_none() && args.rule.text_rule.is_some() {
        bail_usage!("--text-rule: expected --add with documents");
    }
    INDEX.check_folder(folder)?;
    // Read before the index is locked.
    let deleted = read_ids(args.delete.as_ref(), console)?;
    let (mut writer, documents) = open(args, folder, console)?;
    let before = writer.len() as u64;
    let mut bar = console.bar();
    let mut removed = delete_ids(&deleted, console, |id| writer.delete(id))?;
    let added = match &args.collection {
        Some(collection) => {
            let documents = match documents {
                Some(documents) => documents,
                None => open_documents(collection, args.documents(), console)?,
            };
            // Of the last commit, which no other writer changes.
            let committed = if args.prune && SegmentedIndex::exists(folder) {
                Some(SegmentedIndex::open(folder)?)
            } else {
                None
            };
            let ids = committed.as_ref().map(SegmentedIndex::ids);
            add(&mut writer, &documents, ids, args, &mut bar, console)?
        }
        None => Added::default(),
    };
    removed += added.deleted + added.pruned;
    if args.compact {
        writer.compact_with(&mut bar)?;
    } else {
        writer.commit_with(&mut bar)?;
    }
    bar.finish();
    if added.blank > 0 {
        console.warn(format_args!(
            "{} of the documents have no indexed text and were skipped; {} of them were in the index and are deleted",
            grouped(added.blank),
            grouped(added.deleted)
        ));
    }
    warn_of_invalid_years(added.invalid_years, console);
    let after = writer.len() as u64;
    // The ids of the collection are unique.
    let others = after.saturating_sub(added.written);
    if let (Some(collection), 1..) = (&args.collection, others) {
        console.log(format_args!(
            "note: documents of the index that are not in {collection}: {} (kept; --prune deletes them)",
            grouped(others)
        ));
    }
    if writer.is_empty() {
        console.warn(format_args!("{}: the index is empty", folder.display()));
    }
    console.log(format_args!(
        "{shown}: {} written, {} of them new, {} deleted; now {}, {}, {:.1} s",
        counted(added.written, "document"),
        grouped((after + removed).saturating_sub(before)),
        grouped(removed),
        counted(after, "document"),
        describe_segments(writer.segments()),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Documents of a collection that was added.
#[derive(Default)]
struct Added {
    written: u64,
    blank: u64,
    /// Number of deleted documents: documents of the index with the id of a blank document.
    deleted: u64,
    /// Number of documents that --prune deleted.
    pruned: u64,
    invalid_years: u64,
}

/// Opens the index in the folder, or creates it for --add. Also returns the documents of a new
/// index.
fn open(
    args: &Args,
    folder: &Path,
    console: &Console,
) -> Result<(IndexWriter, Option<DocumentSource>)> {
    let is_locked = |error: &IndexWriterError| {
        matches!(
            error,
            IndexWriterError::Segments(SegmentsError::Locked { .. })
        )
    };
    let (writer, documents) = if SegmentedIndex::exists(folder) {
        let writer = (args.wait).open(console, || IndexWriter::open(folder), is_locked)?;
        (writer, None)
    } else {
        let collection = INDEX.check_new(folder, args.collection.as_ref())?;
        let documents = open_documents(collection, args.documents(), console)?;
        documents.check_encoding(args.text.encoding)?;
        if documents.duplicate_ids {
            bail!(
                "{collection}: expected unique ids, which an index that is updated needs; this \
                 collection repeats some"
            );
        }
        if args.setup.order(&documents) == DocumentOrder::RowText {
            bail_usage!("--order: expected id or insertion with --add, found row-text");
        }
        let config = args.setup.config(&documents, None, args.stored())?;
        let config = config.with_positions(args.positions);
        check_fields(config.fields, documents.collection.corpus())?;
        let config = config.with_duplicates(DuplicateIds::Reject);
        // Another writer may have created the index meanwhile.
        let open = || {
            if SegmentedIndex::exists(folder) {
                IndexWriter::open(folder)
            } else {
                IndexWriter::create(folder, config.clone())
            }
        };
        let writer = (args.wait).open(console, open, is_locked)?;
        (writer, Some(documents))
    };
    check_settings(args, writer.config())?;
    let writer = writer.with_memory(args.setup.memory.unwrap_or(DEFAULT_MEMORY));
    let writer = match args.threads {
        Some(threads) => writer.with_threads(threads),
        None => writer,
    };
    Ok((writer, documents))
}

/// Rejects a setting that differs from the index.
fn check_settings(args: &Args, config: &IndexConfig) -> Result<()> {
    let setup = &args.setup;
    let order = match config.order {
        DocOrder::Insertion => DocumentOrder::Insertion,
        _ => DocumentOrder::Id,
    };
    let positions = args.positions.then_some(true);
    // Lists of stop words are named by their length.
    let name = config.analysis.to_string();
    let changed = setup.changes.first_set();
    let wanted = match (&setup.analysis, changed) {
        (None, None) => None,
        (given, _) => {
            let base = given.clone().unwrap_or_else(|| config.analysis.clone());
            Some(setup.changes.apply(base)?)
        }
    };
    let has_equal_names = wanted.as_ref().is_some_and(|it| it.to_string() == name);
    let analysis_option = match &setup.analysis {
        Some(_) => "--analysis",
        None => changed.unwrap_or("--analysis"),
    };
    let differences = [
        difference(analysis_option, wanted.as_ref(), &config.analysis, |it| {
            if has_equal_names {
                json!(it).to_string()
            } else {
                it.to_string()
            }
        }),
        difference("--fields", setup.fields.as_ref(), &config.fields, |it| {
            name_of_fields(*it)
        }),
        difference("--positions", positions.as_ref(), &config.positions, |it| {
            if *it { "positions" } else { "no positions" }.to_owned()
        }),
        difference("--order", setup.order.as_ref(), &order, |it| {
            it.to_possible_value()
                .map_or_else(String::new, |it| it.get_name().to_owned())
        }),
        difference("--store", args.store.as_ref(), &config.store, |it| {
            let named = STORED.iter().find(|(.., store)| store == it);
            named.map_or_else(String::new, |(name, ..)| (*name).to_owned())
        }),
    ];
    if let Some((option, expected, found)) = differences.into_iter().flatten().next() {
        let folder = args.output()?.display();
        bail_usage!(
            "{option}: expected {expected}, with which {folder} was created, found {found}; an \
             index keeps its settings"
        );
    }
    Ok(())
}

/// Returns the option, the value of the index and the value of the option if they differ.
fn difference<T: PartialEq>(
    option: &'static str,
    set: Option<&T>,
    setting: &T,
    show: impl Fn(&T) -> String,
) -> Option<(&'static str, String, String)> {
    let set = set.filter(|set| *set != setting)?;
    Some((option, show(setting), show(set)))
}

/// Adds the documents of a collection, and deletes the `committed` ids that it does not contain.
fn add(
    writer: &mut IndexWriter,
    documents: &DocumentSource,
    committed: Option<&DocIds>,
    args: &Args,
    bar: &mut dyn Progress,
    console: &Console,
) -> Result<Added> {
    documents.check_encoding(args.text.encoding)?;
    let corpus = documents.collection.corpus();
    let total = corpus.len_hint();
    let mut reader = corpus.open()?;
    let mut document = Document::default();
    let (mut added, mut found) = (Added::default(), DocSet::new());
    while reader.read(&mut document)? {
        match writer.put(&document)? {
            PutOutcome::Dropped => added.blank += 1,
            PutOutcome::Deleted => {
                added.blank += 1;
                added.deleted += 1;
            }
            PutOutcome::Rewritten => bail!(
                "{}: expected unique ids, found {:?} more than once",
                documents.collection.name(),
                document.id
            ),
            _ => {
                added.written += 1;
                added.invalid_years += u64::from(document.attributes.has_invalid_year());
            }
        }
        if let Some(doc) = committed.and_then(|ids| ids.get(&document.id)) {
            found.insert(doc);
        }
        let read = added.written + added.blank;
        if read.is_multiple_of(REPORT_DOCS) && bar.report("indexing", read, total) == Flow::Stop {
            return Err(Interrupted.into());
        }
    }
    let ids = committed.into_iter().flat_map(DocIds::iter);
    for (number, id) in (0..).zip(ids) {
        let is_absent = !found.contains(DocNum::new(number));
        added.pruned += u64::from(is_absent && writer.delete(id)?);
    }
    warn_of_skipped(&documents.collection, console);
    Ok(added)
}
