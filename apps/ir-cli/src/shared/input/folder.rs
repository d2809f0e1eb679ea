//! Documents in a folder: a collection, or files of one kind.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ir_core::{Flow, Progress};
use ir_data::beir::BeirFolder;
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics};
use ir_data::sgml::SgmlCorpus;
use ir_data::smart::SmartFolder;
use ir_data::{ColumnarFormat, DocumentFiles, has_json_extension, is_trec_file};

use super::document_options::DocumentOptions;
use super::document_source::{
    BEIR_FOLDER, COLUMNAR_FILES, DocumentSource, JSON_RECORDS, format_of, from_records, unjudged,
    with_defaults, with_options,
};
use super::notes::{NotesCorpus, file_stamp, find, is_note};
use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::signals::Interrupted;

pub(super) fn from_folder(
    path: &Path,
    options: &DocumentOptions,
    console: &Console,
) -> Result<DocumentSource> {
    let encoding = options.read.encoding;
    let corpus = BeirFolder::corpus_files(path)?;
    if !corpus.is_empty() {
        let collection = BeirFolder::open(path)?.into_collection();
        let stamp = corpus.iter().map(|file| file_stamp(file)).collect();
        return Ok(with_defaults(collection, stamp, BEIR_FOLDER));
    }
    if let Some(folder) = SmartFolder::find(path)? {
        let folder = folder.with_encoding(encoding);
        let stamp = folder.files().map(file_stamp).collect();
        return Ok(with_defaults(
            folder.into_collection(),
            stamp,
            "SMART folder",
        ));
    }
    if let Some(topics) = BioCaddieTopics::find(path) {
        let name = path.display().to_string();
        let Some(records) = BioCaddieCorpus::find(path) else {
            let collection = topics.into_collection(name, None);
            return Ok(with_defaults(collection, String::new(), JSON_RECORDS));
        };
        let (records, stamp) = with_options(records, options);
        let format = format_of(&records)?;
        let collection = topics.into_collection(name, Some(records));
        return Ok(with_defaults(collection, stamp, format));
    }
    if let Some(records) = BioCaddieCorpus::detect(path)? {
        return from_records(path, records, options);
    }
    let mut bar = console.bar();
    let found = find(path, &|_| true, &mut bar)?;
    found.warn(path, console);
    let files = found.files;
    let (mut trec, mut columnar, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (read, file) in (0..).zip(&files) {
        if bar.report("detecting formats", read, Some(files.len() as u64)) == Flow::Stop {
            return Err(Interrupted.into());
        }
        if is_trec_file(file) {
            trec.push(file);
        } else if ColumnarFormat::detect(file)?.is_some() {
            columnar.push(file);
        } else {
            others.push(file);
        }
    }
    bar.finish();
    let notes = others.iter().filter(|file| is_note(file)).count();
    let warn_of_others = |others: &[&PathBuf], what: &str| {
        if let Some(other) = others.first() {
            console.warn(format_args!(
                "{}: {} of {} files {what} and are skipped, such as {}",
                path.display(),
                grouped(others.len() as u64),
                grouped(files.len() as u64),
                other.display(),
            ));
        }
    };
    if trec.len() > notes {
        others.extend(columnar);
        warn_of_others(&others, "do not start with <DOC>");
        check_no_records(path, &trec)?;
        let stamps: String = trec.iter().map(|file| file_stamp(file)).collect();
        let corpus = SgmlCorpus::from_files(trec.into_iter().cloned()).with_encoding(encoding);
        return Ok(unjudged(path, encoding, &stamps, corpus, "TREC files"));
    }
    // A dataset of the Hugging Face hub has a README beside its files.
    if !columnar.is_empty() && columnar.len() >= notes {
        warn_of_others(&others, "are neither Parquet nor Arrow");
        let stamps: String = columnar.iter().map(|file| file_stamp(file)).collect();
        let corpus = DocumentFiles::open(columnar.into_iter().cloned(), &options.read)?;
        return Ok(unjudged(path, encoding, &stamps, corpus, COLUMNAR_FILES));
    }
    check_collections_below(path, &files, console)?;
    let json = files.iter().find(|file| has_json_extension(file)).cloned();
    let files: Vec<_> = files.into_iter().filter(|file| is_note(file)).collect();
    if let (Some(json), true) = (json, files.is_empty()) {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl), in SMART format (*.ALL), with records of bioCADDIE, with TREC files (<DOC>), with Parquet or Arrow files or with notes (*.md, *.txt), found JSON files such as {}; give one file, or add each to an index with `ir index FILE -o FOLDER --add`",
            path.display(),
            json.display()
        );
    }
    if files.is_empty() {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl), in SMART format (*.ALL), with records of bioCADDIE, with TREC files (<DOC>), with Parquet or Arrow files or with notes (*.md, *.txt), found none of them",
            path.display()
        );
    }
    let stamps: String = files.iter().map(|file| file_stamp(file)).collect();
    let notes = NotesCorpus::new(path, files, encoding, console);
    Ok(unjudged(path, encoding, &stamps, notes, "notes"))
}

/// Rejects records of bioCADDIE among TREC files: their METADATA is no text.
fn check_no_records(path: &Path, trec: &[&PathBuf]) -> Result<()> {
    let Some(first) = trec.first() else {
        return Ok(());
    };
    let is_record = BioCaddieCorpus::detect(first)?.is_some();
    let Some(folder) = first.parent().filter(|_| is_record) else {
        return Ok(());
    };
    if folder == path {
        bail!(
            "{}: expected records of bioCADDIE only (.xml or .json files), found also other files before them, such as {}",
            path.display(),
            first.display()
        );
    }
    bail!(
        "{}: expected TREC files, found records of bioCADDIE in {}; give that folder",
        path.display(),
        folder.display()
    )
}

/// Names of a file with all documents of a BEIR folder.
const BEIR_CORPUS: [&str; 3] = ["corpus.jsonl", "corpus.jsonl.zst", "corpus.jsonl.gz"];
/// Minimum number of notes that are indexed from a folder that also has collections in subfolders.
const MIN_NOTES: usize = 10;
/// Number of subfolders that are named in an error.
const NAMED_FOLDERS: usize = 5;

/// Rejects a folder of collections with fewer than [`MIN_NOTES`] notes: its notes are files such as
/// `README.md`. With more notes, prints which collections are not read.
fn check_collections_below(path: &Path, files: &[PathBuf], console: &Console) -> Result<()> {
    let is_corpus = |file: &&PathBuf| BEIR_CORPUS.iter().any(|name| file.ends_with(name));
    let mut collections: Vec<_> = files.iter().filter(is_corpus).collect();
    collections.dedup_by_key(|file| file.parent());
    let mut folders = collections.iter().filter_map(|file| file.parent());
    let Some(first) = folders.clone().next() else {
        return Ok(());
    };
    let count = folders.clone().count();
    let named = folders.by_ref().take(NAMED_FOLDERS);
    let named: Vec<_> = named.map(|folder| folder.display().to_string()).collect();
    let mut named = named.join(", ");
    if let Some(more @ 1..) = count.checked_sub(NAMED_FOLDERS) {
        named.push_str(&format!(" and {more} more"));
    }
    let (path, notes) = (path.display(), files.iter().filter(|file| is_note(file)));
    let notes = notes.count();
    if notes < MIN_NOTES {
        bail!("{path}: expected a collection, found folders that are collections: {named}");
    }
    console.log(format_args!(
        "note: {path}: read as a folder of {} notes, without the collections below it: {named} (`ir search {}` searches one)",
        grouped(notes as u64),
        first.display()
    ));
    Ok(())
}
