//! Resolves a collection argument: a saved index, or documents in any supported format.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use ir_bm25::{Index, IndexedFields, SegmentedIndex};
use ir_core::segments::{LOCK_NAME, folder_of};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{Corpus, Document, Flow, Progress};
use ir_data::beir::BeirFolder;
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics, RecordForm, TextRule};
use ir_data::catalog::{Catalog, CatalogEntry};
use ir_data::sgml::SgmlCorpus;
use ir_data::smart::SmartFolder;
use ir_data::training::DocumentTexts;
use ir_data::{
    Collection, DataError, DocTemplate, DocumentFile, DocumentFormat, InMemoryJudgedQueries,
    TextEncoding, has_json_extension, is_trec_file,
};

use super::document_options::DocumentOptions;
use super::notes::{NotesCorpus, file_stamp, find, is_note};
use super::{fingerprint, names, split_of_collection, suggested_collection};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::grouped;
use crate::shared::signals::Interrupted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentOrder {
    /// Ascending id, compared as bytes
    Id,
    /// Order of the collection
    Insertion,
    /// Lexicographic order of the row number, so that 10 precedes 9: reproduces runs that used the
    /// row number as document id. Loads the whole collection into memory
    RowText,
}

pub(crate) enum CollectionSource {
    Index(SegmentedIndex),
    /// Documents, with queries and judgments if the collection has them.
    Documents(DocumentSource),
}

/// A collection and its indexing defaults.
pub(crate) struct DocumentSource {
    pub(crate) collection: Collection,
    pub(crate) fields: IndexedFields,
    pub(crate) order: DocumentOrder,
    pub(crate) duplicate_ids: bool,
    /// Cache key of the documents: changes whenever they do.
    pub(crate) fingerprint: String,
    /// Detected format, for messages.
    pub(crate) format: &'static str,
    /// If `true`, the documents are records of bioCADDIE.
    is_biocaddie: bool,
    /// If `true`, the format is UTF-8 by definition.
    is_utf8: bool,
}

impl DocumentSource {
    /// Order of the documents of a task of an experiment.
    pub(crate) fn task_order(&self) -> ir_experiment::DocumentOrder {
        match self.order {
            DocumentOrder::RowText => ir_experiment::DocumentOrder::LexicographicRow,
            _ => ir_experiment::DocumentOrder::Collection,
        }
    }

    /// Rejects an `--encoding` that does not apply to the format of the documents.
    pub(crate) fn check_encoding(&self, encoding: TextEncoding) -> Result<()> {
        if self.is_utf8 && encoding != TextEncoding::Utf8 {
            bail_usage!(
                "--encoding: expected TREC, SMART or TSV files, XML records or notes, found {} ({})",
                self.collection.name(),
                self.format
            );
        }
        Ok(())
    }

    /// Template of a document's text: `--template`, or the default of the collection. An error if
    /// no document has a field of `--template`.
    pub(crate) fn template(&self, option: Option<&DocTemplate>) -> Result<DocTemplate> {
        Ok(match (option, self.fields) {
            (Some(template), _) => {
                template.check(self.collection.corpus())?;
                template.clone()
            }
            (None, IndexedFields::TextOnly) => DocTemplate::text_only(),
            (None, _) => DocTemplate::default(),
        })
    }

    /// Texts of the documents in the form of [`Self::template`].
    pub(crate) fn texts(&self, option: Option<&DocTemplate>) -> Result<DocumentTexts> {
        let template = self.template(option)?;
        Ok(DocumentTexts::from_corpus(
            self.collection.corpus(),
            &template,
        )?)
    }
}

/// Returns `true` if a folder contains files of a segmented index, even without a first commit.
fn has_index_files(folder: &Path) -> bool {
    let is_index_file = |path: &Path| folder_of(path).is_some();
    let mut entries = folder.read_dir().into_iter().flatten().flatten();
    folder.join(LOCK_NAME).is_file() && entries.any(|entry| is_index_file(&entry.path()))
}

/// Resolves `argument` as [`open_collection`], and rejects an index.
pub(crate) fn open_documents(
    argument: &str,
    options: impl Into<DocumentOptions>,
    console: &Console,
) -> Result<DocumentSource> {
    let expected = "a file or folder of documents";
    let verify = Verify::SmallSections;
    match resolve(argument, options.into(), verify, expected, console)? {
        CollectionSource::Documents(documents) => Ok(documents),
        CollectionSource::Index(_) => bail!("{argument}: expected documents, found an index"),
    }
}

/// Resolves `argument`: an index file, a file or folder of documents, or a collection name.
/// The options are the encoding of formats other than JSON, or all of them.
pub(crate) fn open_collection(
    argument: &str,
    options: impl Into<DocumentOptions>,
    verify: Verify,
    console: &Console,
) -> Result<CollectionSource> {
    let expected = "an index, a file or folder of documents";
    resolve(argument, options.into(), verify, expected, console)
}

/// [`open_collection`]. `expected` describes the accepted inputs in errors. A text rule for other
/// documents than records of bioCADDIE is an error.
fn resolve(
    argument: &str,
    options: DocumentOptions,
    verify: Verify,
    expected: &str,
    console: &Console,
) -> Result<CollectionSource> {
    let source = resolve_any(argument, &options, verify, expected, console)?;
    let (found, is_biocaddie) = match &source {
        CollectionSource::Index(_) => ("an index", false),
        CollectionSource::Documents(documents) => (documents.format, documents.is_biocaddie),
    };
    if let Some(option) = options.given_name()
        && !Path::new(argument).is_file()
    {
        bail_usage!(
            "{option}: expected a file with names of fields (JSON, CSV or Parquet), found {argument} ({found})"
        );
    }
    if let Some(rule) = options.text_rule
        && !is_biocaddie
    {
        bail_usage!(
            "--text-rule {}: expected records of bioCADDIE, found {argument} ({found})",
            rule.name()
        );
    }
    Ok(source)
}

/// Rejects a file of an index in a folder.
pub(crate) fn check_not_segment(path: &Path, expected: &str) -> Result<()> {
    let folder = folder_of(path).filter(|_| path.is_file());
    if let Some(folder) = folder.filter(|folder| SegmentedIndex::exists(folder)) {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        bail!(
            "{}: expected {expected}, found one of the files of an index; give its folder {}",
            path.display(),
            folder.display()
        );
    }
    Ok(())
}

fn resolve_any(
    argument: &str,
    options: &DocumentOptions,
    verify: Verify,
    expected: &str,
    console: &Console,
) -> Result<CollectionSource> {
    let encoding = options.read.encoding;
    let path = Path::new(argument);
    check_not_segment(path, expected)?;
    if path.is_file() {
        return match Index::open_with(path, verify) {
            Ok(index) => Ok(CollectionSource::Index(index.into())),
            Err(OpenIndexError::NotAnIndex { .. }) => {
                from_file(path, options, console).map(CollectionSource::Documents)
            }
            Err(error) => Err(error.into()),
        };
    }
    if SegmentedIndex::exists(path) || has_index_files(path) {
        let index = match SegmentedIndex::open(path) {
            Err(OpenIndexError::NotAnIndex { found, .. }) if found == "ir-vecs\n" => {
                bail!("{argument}: expected {expected}, found a vector index: pass it to --vectors")
            }
            opened => opened?,
        };
        if verify == Verify::AllSections {
            index.verify()?;
        }
        return Ok(CollectionSource::Index(index));
    }
    let catalog = Catalog::from_env();
    if let Ok(entry) = catalog.entry(argument)
        && (!path.is_dir() || catalog.has(argument)?)
    {
        let name = variant(entry, argument, options.text_rule)?;
        let documents = from_catalog(&catalog, entry, &name, encoding);
        return documents.map(CollectionSource::Documents);
    }
    if path.is_dir() {
        return from_folder(path, options, console).map(CollectionSource::Documents);
    }
    if path.exists() {
        bail!("{argument}: expected {expected}, found a device or pipe");
    }
    if let Some((collection, split)) = split_of_collection(argument) {
        bail!(
            "{argument}: expected {expected}, or a collection, found a split; the documents of {collection} have no splits (queries: --split {split})"
        );
    }
    bail!(
        "{argument}: expected {expected}, or a collection ({}), found none of them{}",
        names(),
        suggested_collection(argument)
    )
}

/// Name of the collection with a text rule: `biocaddie/fields`. Another rule in the name is an
/// error.
fn variant(entry: &CatalogEntry, name: &str, rule: Option<TextRule>) -> Result<String> {
    let Some(rule) = rule.filter(|_| entry.name == BIOCADDIE) else {
        return Ok(name.to_owned());
    };
    let named = format!("{BIOCADDIE}/{}", rule.name());
    if name != entry.name && name != named {
        bail_usage!(
            "--text-rule {}: expected {BIOCADDIE} or {named}, found {name}",
            rule.name()
        );
    }
    Ok(named)
}

/// Opens the collection of an entry by its name or the name of a variant.
fn from_catalog(
    catalog: &Catalog,
    entry: &CatalogEntry,
    name: &str,
    encoding: TextEncoding,
) -> Result<DocumentSource> {
    let family = entry.name.split('/').next().unwrap_or_default();
    let (fields, order) = match family {
        // DataFinder's title is the paper's title, which the published BM25 run does not index.
        // That run used the row number as document id, because dataset names are not unique.
        "datafinder" => (IndexedFields::TextOnly, DocumentOrder::RowText),
        _ => (IndexedFields::One, DocumentOrder::Id),
    };
    let hashes: String = entry
        .files
        .iter()
        .map(|file| file.sha256.as_str())
        .collect();
    // The catalog has no hashes of records.
    let records = records_beside(catalog, entry);
    let catalog = match encoding {
        TextEncoding::Utf8 => catalog.clone(),
        other => catalog.clone().with_encoding(other),
    };
    let format = match &records {
        Some(records) => format_of(records)?,
        None => NAMED,
    };
    let records = records.map(|records| records_stamp(&records, encoding));
    Ok(DocumentSource {
        collection: catalog.open(name)?,
        fields,
        order,
        duplicate_ids: entry.distinct_ids < entry.documents,
        fingerprint: format!("{name} {hashes}{}", records.unwrap_or_default()),
        format,
        is_biocaddie: entry.name == BIOCADDIE,
        is_utf8: [NAMED, JSON_RECORDS].contains(&format),
    })
}

/// Records of bioCADDIE beside its topics in the data folder.
pub(super) fn records_beside(catalog: &Catalog, entry: &CatalogEntry) -> Option<BioCaddieCorpus> {
    let folder = catalog.root()?.join(&entry.name);
    (entry.name == BIOCADDIE).then(|| BioCaddieCorpus::find(&folder))?
}

/// Paths, sizes and modification times of the files with records and their encoding, as one hash.
fn records_stamp(records: &BioCaddieCorpus, encoding: TextEncoding) -> String {
    let files = records.files().unwrap_or_default();
    let stamps = files.iter().map(|file| file_stamp(file));
    fingerprint(stamps.chain([format!("{encoding:?}")]))
}

/// Format of records, for messages.
fn format_of(records: &BioCaddieCorpus) -> Result<&'static str> {
    Ok(match records.form()? {
        Some(RecordForm::Xml) => XML_RECORDS,
        _ => JSON_RECORDS,
    })
}

fn from_folder(
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
    let (mut trec, mut others) = (Vec::new(), Vec::new());
    for (read, file) in (0..).zip(&files) {
        if bar.report("detecting formats", read, Some(files.len() as u64)) == Flow::Stop {
            return Err(Interrupted.into());
        }
        if is_trec_file(file) {
            trec.push(file);
        } else {
            others.push(file);
        }
    }
    bar.finish();
    let notes = others.iter().filter(|file| is_note(file)).count();
    if trec.len() > notes {
        if let Some(other) = others.first() {
            console.warn(format_args!(
                "{}: {} of {} files do not start with <DOC> and are skipped, such as {}",
                path.display(),
                grouped(others.len() as u64),
                grouped((others.len() + trec.len()) as u64),
                other.display(),
            ));
        }
        check_no_records(path, &trec)?;
        let stamps: String = trec.iter().map(|file| file_stamp(file)).collect();
        let corpus = SgmlCorpus::from_files(trec.into_iter().cloned()).with_encoding(encoding);
        return Ok(unjudged(path, encoding, &stamps, corpus, "TREC files"));
    }
    check_collections_below(path, &files, console)?;
    let json = files.iter().find(|file| has_json_extension(file)).cloned();
    let files: Vec<_> = files.into_iter().filter(|file| is_note(file)).collect();
    if let (Some(json), true) = (json, files.is_empty()) {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl), in SMART format (*.ALL), with records of bioCADDIE, with TREC files (<DOC>) or with notes (*.md, *.txt), found JSON files such as {}; give one file, or add each to an index with `ir index FILE -o FOLDER --add`",
            path.display(),
            json.display()
        );
    }
    if files.is_empty() {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl), in SMART format (*.ALL), with records of bioCADDIE, with TREC files (<DOC>) or with notes (*.md, *.txt), found none of them",
            path.display()
        );
    }
    let stamps: String = files.iter().map(|file| file_stamp(file)).collect();
    let notes = NotesCorpus::new(path, files, encoding, console);
    Ok(unjudged(path, encoding, &stamps, notes, "notes"))
}

/// Records of bioCADDIE in a file or folder.
fn from_records(
    path: &Path,
    records: BioCaddieCorpus,
    options: &DocumentOptions,
) -> Result<DocumentSource> {
    let format = format_of(&records)?;
    let (records, stamp) = with_options(records, options);
    Ok(unjudged(
        path,
        options.read.encoding,
        &stamp,
        records,
        format,
    ))
}

/// Records with the text of `--text-rule`, and their stamp. `--encoding` replaces the declared
/// encoding unless it is UTF-8.
fn with_options(records: BioCaddieCorpus, options: &DocumentOptions) -> (BioCaddieCorpus, String) {
    let rule = options.text_rule.unwrap_or_default();
    let stamp = records_stamp(&records, options.read.encoding);
    let records = records.with_text(rule);
    let records = match options.read.encoding {
        TextEncoding::Utf8 => records,
        other => records.with_encoding(other),
    };
    (records, format!("{stamp} {}", rule.name()))
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

/// Name of the catalog's collection of bioCADDIE.
const BIOCADDIE: &str = "biocaddie";

/// Formats of UTF-8 files.
const NAMED: &str = "collection of `ir datasets`";
const BEIR_FOLDER: &str = "BEIR folder";
const JSON_RECORDS: &str = "JSON records of bioCADDIE";
const XML_RECORDS: &str = "XML records of bioCADDIE";
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

fn from_file(path: &Path, options: &DocumentOptions, console: &Console) -> Result<DocumentSource> {
    let encoding = options.read.encoding;
    let file = DocumentFile::open(path, &options.read);
    // Records of bioCADDIE are JSON or SGML, without the names of an id and a text.
    let may_be_records = file.as_ref().map_or(true, |file| {
        matches!(
            file.format(),
            DocumentFormat::Json { .. } | DocumentFormat::Trec
        )
    });
    if may_be_records && let Some(records) = BioCaddieCorpus::detect(path)? {
        return from_records(path, records, options);
    }
    let file = file.map_err(|error| match error {
        DataError::TsvColumns { error, guess: "" } if is_note(path) => anyhow!(
            "{error} (read as TSV: id, tab, text; notes are read from a folder: give the folder)"
        ),
        DataError::Empty { path, .. } => {
            anyhow!("{path}: expected an index or documents, found an empty file")
        }
        error => error.into(),
    })?;
    if let DocumentFormat::Csv { fields, .. } = file.format() {
        console.log(format_args!(
            "note: {}: read as {} (id {:?}, text {:?})",
            path.display(),
            file.format().name(),
            fields.id,
            fields.text
        ));
    }
    let (stamp, format) = (file_stamp(path), file.format().name());
    let is_utf8 = file.format().is_utf8();
    let encoding = if is_utf8 {
        TextEncoding::Utf8
    } else {
        encoding
    };
    let stamp = format!("{stamp}{}", options.names_stamp());
    Ok(DocumentSource {
        is_utf8,
        ..unjudged(path, encoding, &stamp, file, format)
    })
}

/// A collection without queries. `stamps` identifies its files.
fn unjudged(
    path: &Path,
    encoding: TextEncoding,
    stamps: &str,
    corpus: impl Corpus + 'static,
    format: &'static str,
) -> DocumentSource {
    let fingerprint = match encoding {
        TextEncoding::Utf8 => stamps.to_owned(),
        other => format!("{other:?} {stamps}"),
    };
    let name = path.display().to_string();
    let collection = Collection::new(name, corpus, InMemoryJudgedQueries::default());
    with_defaults(collection, fingerprint, format)
}

fn with_defaults(
    collection: Collection,
    fingerprint: String,
    format: &'static str,
) -> DocumentSource {
    DocumentSource {
        collection,
        fields: IndexedFields::One,
        order: DocumentOrder::Id,
        duplicate_ids: false,
        fingerprint,
        format,
        is_biocaddie: [JSON_RECORDS, XML_RECORDS].contains(&format),
        is_utf8: [BEIR_FOLDER, JSON_RECORDS].contains(&format),
    }
}

/// Reads all documents of a corpus, with progress. An interrupt is an error.
pub(crate) fn for_each_document(
    corpus: &dyn Corpus,
    stage: &str,
    progress: &mut dyn Progress,
    mut read: impl FnMut(&Document),
) -> Result<()> {
    let (total, mut done) = (corpus.len_hint(), 0_u64);
    let mut doc = Document::default();
    let mut reader = corpus.open()?;
    while reader.read(&mut doc)? {
        read(&doc);
        done += 1;
        if done.is_multiple_of(1024) && progress.report(stage, done, total) == Flow::Stop {
            return Err(Interrupted.into());
        }
    }
    Ok(())
}
