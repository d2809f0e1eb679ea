//! Documents in a folder: a collection, or files of one kind.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use ir_core::{Flow, Progress};
use ir_data::beir::{self, BeirFolder};
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics};
use ir_data::sgml::SgmlCorpus;
use ir_data::smart::SmartFolder;
use ir_data::{ColumnarFormat, DocumentFiles, has_json_extension, is_trec_file, parser_message};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::document_options::DocumentOptions;
use super::document_source::{
    BEIR_FOLDER, COLUMNAR_FILES, DocumentSource, JSON_FILES, JSON_RECORDS, format_of, from_records,
    unjudged, with_defaults, with_options,
};
use super::notes::{NotesCorpus, file_stamp, find, format_by_name, is_note};
use crate::shared::console::Console;
use crate::shared::format::{counted, grouped};
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
        warn_of_unread_qrels(path, console)?;
        let stamp = corpus.iter().map(|file| file_stamp(file)).collect();
        return Ok(DocumentSource {
            sample: corpus.into_iter().next(),
            ..with_defaults(collection, stamp, BEIR_FOLDER)
        });
    }
    check_no_splits(path)?;
    if let Some(files) = saved_dataset(path)? {
        return from_files(path, files, COLUMNAR_FILES, options);
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
    let skipped_others = |others: &[&PathBuf], what: &str| {
        let first = others.first()?;
        // A compressed file may have what is read.
        let compressed = others.iter().find_map(|file| {
            let found = ir_data::unsupported_compression(file).ok()??;
            Some(format!("{} ({found})", file.display()))
        });
        Some(format!(
            "{}: {} of {} files {what} and are skipped, such as {}",
            path.display(),
            grouped(others.len() as u64),
            grouped(files.len() as u64),
            compressed.unwrap_or_else(|| first.display().to_string()),
        ))
    };
    if trec.len() > notes {
        others.extend(columnar);
        let skipped = skipped_others(&others, "do not start with <DOC>");
        check_no_records(path, &trec)?;
        let stamps: String = trec.iter().map(|file| file_stamp(file)).collect();
        let corpus = SgmlCorpus::from_files(trec.into_iter().cloned()).with_encoding(encoding);
        let source = unjudged(path, encoding, &stamps, corpus, "TREC files");
        return Ok(source.with_skipped(skipped, console));
    }
    // A dataset of the Hugging Face hub has a README beside its files.
    if !columnar.is_empty() && columnar.len() >= notes {
        check_no_datasets_below(path, &columnar)?;
        ir_data::check_parts(&columnar)?;
        let skipped = skipped_others(&others, "are neither Parquet nor Arrow");
        let files = columnar.into_iter().cloned().collect();
        let source = from_files(path, files, COLUMNAR_FILES, options)?;
        return Ok(source.with_skipped(skipped, console));
    }
    let collections = check_collections_below(path, &files, console)?;
    if !files.is_empty() && files.iter().all(|file| has_json_extension(file)) {
        return from_files(path, files, JSON_FILES, options);
    }
    let trec: HashSet<&PathBuf> = trec.into_iter().collect();
    let mut skipped = BTreeMap::<&str, Vec<&PathBuf>>::new();
    let mut extensions = BTreeMap::<String, u64>::new();
    for file in &files {
        if is_note(file) || file.ancestors().any(|it| collections.contains(it)) {
            continue;
        }
        let format = Some("TREC").filter(|_| trec.contains(file));
        match format.or_else(|| format_by_name(file)) {
            Some(format) => skipped.entry(format).or_default().push(file),
            None => *extensions.entry(extension_of(file)).or_default() += 1,
        }
    }
    if !files.iter().any(|file| is_note(file)) {
        let found = match skipped.iter().next() {
            Some((format, files)) => {
                format!("{format} files such as {}; {ONE_FILE}", files[0].display())
            }
            None => "none of them".to_owned(),
        };
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl), in SMART format (*.ALL), with records of bioCADDIE, with TREC files (<DOC>), with Parquet or Arrow files, with JSON files only or with notes (*.md, *.txt), found {found}",
            path.display()
        );
    }
    let skipped = skipped.into_iter().map(|(format, skipped)| {
        let (are, such_as) = match skipped.len() {
            1 => ("is", ": "),
            _ => ("are", ", such as "),
        };
        let count = counted(skipped.len() as u64, &format!("{format} file"));
        let (path, first) = (path.display(), skipped[0].display());
        format!("{path}: {count} {are} skipped{such_as}{first}; {ONE_FILE}")
    });
    let skipped: Vec<String> = skipped
        .chain(skipped_extensions(path, extensions))
        .collect();
    let files: Vec<_> = files.into_iter().filter(|file| is_note(file)).collect();
    let stamps: String = files.iter().map(|file| file_stamp(file)).collect();
    let notes = NotesCorpus::new(path, files, encoding, console);
    let source = unjudged(path, encoding, &stamps, notes, "notes");
    Ok(source.with_skipped(skipped, console))
}

/// Number of files that are named in a warning about judgments.
const NAMED_QRELS: usize = 3;

/// Warns about files of a BEIR folder that may be judgments and are not read.
pub(super) fn warn_of_unread_qrels(folder: &Path, console: &Console) -> Result<()> {
    let unread = beir::unread_qrels(folder)?;
    if unread.is_empty() {
        return Ok(());
    }
    let names = unread.iter().take(NAMED_QRELS).map(|file| {
        let name = file.strip_prefix(folder).unwrap_or(file);
        name.display().to_string()
    });
    let mut names = names.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = unread.len().checked_sub(NAMED_QRELS) {
        names.push_str(&format!(" and {} more", grouped(more as u64)));
    }
    console.warn(format_args!(
        "{}: not read as judgments: {names} (name a file after its split, such as qrels/test.tsv, or give the file itself)",
        folder.display()
    ));
    Ok(())
}

/// Extension of a file in lower case, such as `.pdf`.
fn extension_of(file: &Path) -> String {
    match file.extension() {
        Some(extension) => format!(".{}", extension.to_string_lossy().to_lowercase()),
        None => "without extension".to_owned(),
    }
}

/// Counts the files that are neither notes nor files of records, the most frequent extensions
/// first. `None` without such files.
fn skipped_extensions(path: &Path, counts: BTreeMap<String, u64>) -> Option<String> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let (format, are) = match counts.iter().map(|(_, count)| count).sum::<u64>() {
        0 => return None,
        1 => ("1 file of another format".to_owned(), "is"),
        all => (format!("{} files of other formats", grouped(all)), "are"),
    };
    let named = counts.iter().take(NAMED_EXTENSIONS);
    let mut named: Vec<String> = named
        .map(|(extension, count)| format!("{} {extension}", grouped(*count)))
        .collect();
    let unnamed = counts.iter().skip(NAMED_EXTENSIONS);
    match unnamed.map(|(_, count)| count).sum::<u64>() {
        0 => {}
        unnamed => named.push(format!("{} with other extensions", grouped(unnamed))),
    }
    let (path, named) = (path.display(), named.join(", "));
    Some(format!("{path}: {format} {are} skipped: {named}"))
}

/// How files of several formats are read, at the end of messages.
const ONE_FILE: &str =
    "give one file, or add each to an index with `ir index FILE -o FOLDER --add`";

/// Files with names of fields, in the order in which they are read.
fn from_files(
    path: &Path,
    files: Vec<PathBuf>,
    format: &'static str,
    options: &DocumentOptions,
) -> Result<DocumentSource> {
    let stamps: String = files.iter().map(|file| file_stamp(file)).collect();
    let stamps = format!("{stamps}{}", options.names_stamp());
    let sample = files.first().cloned();
    let corpus = DocumentFiles::open(files, &options.read)?;
    let encoding = options.read.encoding;
    Ok(DocumentSource {
        sample,
        ..unjudged(path, encoding, &stamps, corpus, format)
    })
}

/// `state.json` of a dataset that `Dataset.save_to_disk` of the library datasets wrote. Files with
/// intermediate results, `cache-*.arrow`, may lie beside the listed files.
#[derive(Deserialize)]
struct SavedDataset {
    #[serde(rename = "_data_files")]
    files: Option<Vec<DataFile>>,
}

#[derive(Deserialize)]
struct DataFile {
    filename: String,
}

/// `dataset_dict.json` of a folder that `DatasetDict.save_to_disk` wrote: one folder per split.
#[derive(Deserialize)]
struct SavedSplits {
    splits: Vec<String>,
}

/// Files beside the data files of a saved dataset that are read.
pub(super) const DATASET_FILES: [&str; 3] = [STATE, INFO, SPLITS];
const STATE: &str = "state.json";
const INFO: &str = "dataset_info.json";
const SPLITS: &str = "dataset_dict.json";

/// Files of a saved dataset, in the order of `state.json`; `None` for other folders.
fn saved_dataset(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let state = folder.join(STATE);
    let saved = match read_json::<SavedDataset>(&state) {
        // A file of another program.
        Err(_) if !folder.join(INFO).is_file() => None,
        read => read?,
    };
    let Some(names) = saved.and_then(|saved| saved.files) else {
        return Ok(None);
    };
    let state = state.display();
    if names.is_empty() {
        bail!(
            "{state}: expected the names of files in \"_data_files\", found none: the dataset is empty"
        );
    }
    let files = names.iter().map(|DataFile { filename }| {
        let file = folder.join(filename);
        if Path::new(filename).file_name() != Some(OsStr::new(filename)) {
            bail!("{state}: expected the name of a file beside it in \"_data_files\", found {filename:?}");
        }
        if !file.is_file() {
            bail!("{}: expected a file, which {state} lists, found none", file.display());
        }
        Ok(file)
    });
    files.collect::<Result<_>>().map(Some)
}

/// Rejects a folder with the splits of a dataset: the documents of one are read.
fn check_no_splits(folder: &Path) -> Result<()> {
    let Some(SavedSplits { splits }) = read_json(&folder.join(SPLITS))? else {
        return Ok(());
    };
    let name = folder.display();
    match splits.first() {
        Some(first) => bail!(
            "{name}: expected a dataset, found a DatasetDict with the splits {}; give {}",
            splits.join(", "),
            folder.join(first).display()
        ),
        None => bail!("{name}: expected a dataset, found a DatasetDict without splits"),
    }
}

/// Rejects a folder of folders with saved datasets.
fn check_no_datasets_below(path: &Path, files: &[&PathBuf]) -> Result<()> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    folders.dedup();
    for folder in folders {
        if saved_dataset(folder)?.is_some() {
            bail!(
                "{}: expected a dataset, found folders with datasets of save_to_disk; give one, such as {}",
                path.display(),
                folder.display()
            );
        }
    }
    Ok(())
}

/// Reads a JSON file; `None` if it does not exist.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let read = serde_json::from_reader(BufReader::new(file));
    read.map(Some).map_err(|error| {
        let found = parser_message(&error.to_string(), "an object");
        anyhow!("{}:{}: {found}", path.display(), error.line())
    })
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
/// Number of extensions that are named in a warning.
const NAMED_EXTENSIONS: usize = 8;

/// Rejects a folder of collections with fewer than [`MIN_NOTES`] notes: its notes are files such as
/// `README.md`. With more notes, prints which collections are not read, and returns their folders.
fn check_collections_below(
    path: &Path,
    files: &[PathBuf],
    console: &Console,
) -> Result<HashSet<PathBuf>> {
    let is_corpus = |file: &&PathBuf| BEIR_CORPUS.iter().any(|name| file.ends_with(name));
    let mut collections: Vec<_> = files.iter().filter(is_corpus).collect();
    collections.dedup_by_key(|file| file.parent());
    let mut folders = collections.iter().filter_map(|file| file.parent());
    let all: HashSet<PathBuf> = folders.clone().map(Path::to_owned).collect();
    let Some(first) = folders.clone().next() else {
        return Ok(all);
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
    Ok(all)
}
