//! Resolves a collection argument: a saved index, or documents in any supported format.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use ir_bm25::{Index, IndexedFields, SegmentedIndex};
use ir_core::segments::{LOCK_NAME, folder_of};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{Corpus, Document, Flow, Progress};
use ir_data::biocaddie::{BioCaddieCorpus, TextRule};
use ir_data::catalog::{Catalog, CatalogEntry};
use ir_data::squad::{SquadFile, SquadSentences};
use ir_data::{DataError, DocumentFile, DocumentFormat, TextEncoding};

use super::document_options::DocumentOptions;
use super::document_source::{
    COLUMNAR_FILES, DocumentOrder, DocumentSource, JSON_FILES, JSON_RECORDS, NAMED, format_of,
    from_records, records_stamp, unjudged, with_defaults,
};
use super::folder::from_folder;
use super::notes::{file_stamp, is_note};
use super::{names, note_byte_order_mark, split_of_collection, suggested_collection};
use crate::shared::console::{Console, bail_usage};
use crate::shared::signals::Interrupted;

pub(crate) enum CollectionSource {
    Index(SegmentedIndex),
    /// Documents, with queries and judgments if the collection has them.
    Documents(DocumentSource),
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
    let source = resolve_any(argument, &options, verify, expected, console);
    let source = source.map_err(|error| options.with_advice(error, DocumentOptions::NAMES))?;
    let (found, is_biocaddie) = match &source {
        CollectionSource::Index(_) => ("an index", false),
        CollectionSource::Documents(documents) => (documents.format, documents.is_biocaddie),
    };
    if let Some(option) = options.given_name()
        && !Path::new(argument).is_file()
        && ![COLUMNAR_FILES, JSON_FILES].contains(&found)
    {
        bail_usage!(
            "{option}: expected a file with names of fields (JSON, CSV, Parquet or Arrow), found {argument} ({found})"
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

/// Name of the catalog's collection of bioCADDIE.
const BIOCADDIE: &str = "biocaddie";

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
        sample: None,
        is_biocaddie: entry.name == BIOCADDIE,
        is_utf8: [NAMED, JSON_RECORDS].contains(&format),
    })
}

/// Records of bioCADDIE beside its topics in the data folder.
pub(super) fn records_beside(catalog: &Catalog, entry: &CatalogEntry) -> Option<BioCaddieCorpus> {
    let folder = catalog.root()?.join(&entry.name);
    (entry.name == BIOCADDIE).then(|| BioCaddieCorpus::find(&folder))?
}

fn from_file(path: &Path, options: &DocumentOptions, console: &Console) -> Result<DocumentSource> {
    let encoding = options.read.encoding;
    note_byte_order_mark(path, encoding, console)?;
    if options.given_name().is_none()
        && let Some(questions) = SquadFile::detect(path)?
    {
        return Ok(from_questions(path, questions));
    }
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

/// Answer sentences of a file with questions.
fn from_questions(path: &Path, questions: SquadFile) -> DocumentSource {
    let format = questions.format().name();
    let sentences = SquadSentences::from(questions);
    let collection = sentences.into_collection(&path.display().to_string());
    DocumentSource {
        is_utf8: true,
        ..with_defaults(collection, file_stamp(path), format)
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
