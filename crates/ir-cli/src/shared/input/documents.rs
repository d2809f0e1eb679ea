//! Resolves a collection argument: a saved index, or documents in any supported format.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};
use ir_bm25::Index;
use ir_core::Corpus;
use ir_core::store::{OpenIndexError, Verify};
use ir_data::catalog::{Catalog, CatalogEntry, entries};
use ir_data::{
    Collection, DuplicateIds, InMemoryJudgedQueries, JsonFields, JsonlCorpus, TsvCorpus, tsv,
};

use super::head::FileHead;
use super::names;
use super::notes::NotesCorpus;
use crate::shared::indexing::DocumentOrder;

/// The collection argument, resolved.
pub(crate) enum CollectionSource {
    Index(Box<Index>),
    /// Documents, with queries and judgments if the collection has them.
    Documents(DocumentSource),
}

/// A collection and its indexing defaults.
pub(crate) struct DocumentSource {
    pub(crate) collection: Collection,
    /// Default for `--fields`.
    pub(crate) layout: FieldLayout,
    /// Default for `--order`.
    pub(crate) order: DocumentOrder,
    /// Whether the collection has duplicate ids.
    pub(crate) duplicate_ids: bool,
    /// Cache key of the documents: changes whenever they do.
    pub(crate) fingerprint: String,
}

/// Assignment of a document's title and text to index fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FieldLayout {
    /// Title and text in one field, separated by a line break: Anserini's "flat" BEIR index
    One,
    /// Title and text in two fields, each with its own lengths and statistics
    Separate,
    /// Text only: the DataFinder index
    Text,
}

/// Resolves `argument`: an index file, a file or folder of documents, or a collection name.
pub(crate) fn open_collection(argument: &str, verify: Verify) -> Result<CollectionSource> {
    let path = Path::new(argument);
    if path.is_file() {
        return match Index::open_with(path, verify) {
            Ok(index) => Ok(CollectionSource::Index(Box::new(index))),
            Err(OpenIndexError::NotAnIndex { .. }) => {
                from_file(path).map(CollectionSource::Documents)
            }
            Err(error) => Err(error.into()),
        };
    }
    let catalog = Catalog::from_env();
    let entry = entries().iter().find(|entry| entry.name == argument);
    if let Some(entry) = entry
        && (!path.is_dir() || catalog.has(argument)?)
    {
        return from_catalog(&catalog, entry).map(CollectionSource::Documents);
    }
    if path.is_dir() {
        return from_folder(path).map(CollectionSource::Documents);
    }
    if path.exists() {
        bail!(
            "{argument}: expected an index, or a file or folder of documents, found a device or pipe"
        );
    }
    bail!(
        "{argument}: expected an index, a file or folder of documents, or a collection ({}), found none of them",
        names()
    )
}

fn from_catalog(catalog: &Catalog, entry: &CatalogEntry) -> Result<DocumentSource> {
    let family = entry.name.split('/').next().unwrap_or_default();
    let (layout, order) = match family {
        // DataFinder's title is the paper's title, which the published BM25 run does not index.
        // That run used the row number as document id, because dataset names are not unique.
        "datafinder" => (FieldLayout::Text, DocumentOrder::RowText),
        _ => (FieldLayout::One, DocumentOrder::Id),
    };
    let hashes: String = entry
        .files
        .iter()
        .map(|file| file.sha256.as_str())
        .collect();
    Ok(DocumentSource {
        collection: catalog.open(&entry.name)?,
        layout,
        order,
        duplicate_ids: entry.distinct_ids < entry.documents,
        fingerprint: format!("{} {hashes}", entry.name),
    })
}

fn from_folder(path: &Path) -> Result<DocumentSource> {
    let corpus = ["corpus.jsonl", "corpus.jsonl.zst", "corpus.jsonl.gz"]
        .map(|name| path.join(name))
        .into_iter()
        .find(|corpus| corpus.exists());
    if let Some(corpus) = corpus {
        return Ok(DocumentSource {
            collection: ir_data::beir::BeirFolder::open(path)?.into_collection(),
            layout: FieldLayout::One,
            order: DocumentOrder::Id,
            duplicate_ids: false,
            fingerprint: file_stamp(&corpus),
        });
    }
    let notes = NotesCorpus::find(path)?;
    if notes.len() == 0 {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl) or with notes (*.md, *.txt), found neither",
            path.display()
        );
    }
    Ok(unjudged(path, FieldLayout::One, notes.fingerprint(), notes))
}

fn from_file(path: &Path) -> Result<DocumentSource> {
    let head = FileHead::read(&mut ir_data::open(path)?, &path.display().to_string())?;
    if head.is_empty() {
        bail!(
            "{}: expected an index or documents, found an empty file",
            path.display()
        );
    }
    if !head.is_json(path) {
        return Ok(unjudged(
            path,
            FieldLayout::One,
            file_stamp(path),
            TsvCorpus::new(path, &tsv::ID_TEXT_TITLE),
        ));
    }
    let id = head.has("id") && !head.has("_id");
    let fields = if id && head.has("contents") {
        JsonFields::anserini()
    } else if id {
        JsonFields {
            id: "id".to_owned(),
            ..JsonFields::beir()
        }
    } else {
        JsonFields::beir()
    };
    let corpus = JsonlCorpus::new(path)
        .with_fields(fields)
        .with_duplicate_ids(DuplicateIds::Reject);
    Ok(unjudged(path, FieldLayout::One, file_stamp(path), corpus))
}

fn unjudged(
    path: &Path,
    layout: FieldLayout,
    fingerprint: String,
    corpus: impl Corpus + 'static,
) -> DocumentSource {
    let name = path.display().to_string();
    DocumentSource {
        collection: Collection::new(name, corpus, InMemoryJudgedQueries::default()),
        layout,
        order: DocumentOrder::Id,
        duplicate_ids: false,
        fingerprint,
    }
}

/// Path, size and modification time of a file.
pub(super) fn file_stamp(path: &Path) -> String {
    let (size, time) = fs::metadata(path).map_or((0, 0), |data| {
        let time = data.modified().ok();
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (data.len(), since.map_or(0, |since| since.as_nanos()))
    });
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    format!("{} {size} {time}\n", path.display())
}
