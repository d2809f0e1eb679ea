//! What there is to search: a saved index, or documents in one of several forms.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};
use ir_bm25::{Index, OpenError, Verify};
use ir_core::Corpus;
use ir_data::catalogue::{Catalogue, Entry, entries};
use ir_data::{Collection, JsonFields, JsonlCorpus, JudgedInMemory, Repeats, TsvCorpus, tsv};

use super::head::Head;
use super::names;
use super::notes::Notes;
use crate::shared::indexing::DocumentOrder;

/// What a person named.
pub(crate) enum Source {
    /// A saved index.
    Index(Box<Index>),
    /// Documents, perhaps with queries and judgments.
    Documents(Documents),
}

/// A collection and how it is best indexed.
pub(crate) struct Documents {
    /// The documents, queries and judgments.
    pub(crate) collection: Collection,
    /// What of a document is searched unless told otherwise.
    pub(crate) layout: Layout,
    /// How documents with equal scores are ordered unless told otherwise.
    pub(crate) order: DocumentOrder,
    /// Whether several documents may have one id.
    pub(crate) repeats: bool,
    /// A text that changes when the documents do.
    pub(crate) fingerprint: String,
}

/// Which parts of a document make up what is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Layout {
    /// Title, line end and text in one field: Anserini's "flat" set-up for BEIR
    One,
    /// Title and text as two fields, each with its own lengths and statistics
    Separate,
    /// The text alone: DataFinder's set-up
    Text,
}

/// Finds what `argument` names: an index, a file or folder of documents, a collection. `verify`
/// says how much of an index is checked.
pub(crate) fn find(argument: &str, verify: Verify) -> Result<Source> {
    let path = Path::new(argument);
    if path.is_file() {
        return match Index::open_with(path, verify) {
            Ok(index) => Ok(Source::Index(Box::new(index))),
            Err(OpenError::NotAnIndex { .. }) => file(path).map(Source::Documents),
            Err(error) => Err(error.into()),
        };
    }
    let catalogue = Catalogue::from_env();
    let entry = entries().iter().find(|entry| entry.name == argument);
    if let Some(entry) = entry
        && (!path.is_dir() || catalogue.has(argument)?)
    {
        return named(&catalogue, entry).map(Source::Documents);
    }
    if path.is_dir() {
        return folder(path).map(Source::Documents);
    }
    if path.exists() {
        bail!(
            "{argument}: expected an index, a file or a folder of documents, found a device or pipe"
        );
    }
    bail!(
        "{argument}: expected an index, a file or folder of documents, or a collection ({}), found none of them",
        names()
    )
}

fn named(catalogue: &Catalogue, entry: &Entry) -> Result<Documents> {
    let family = entry.name.split('/').next().unwrap_or_default();
    let (layout, order) = match family {
        // What it calls title is that of a paper, and its published BM25 does not search it. The
        // reference run gave every record its row for an id, since some names are not unique.
        "datafinder" => (Layout::Text, DocumentOrder::RowText),
        _ => (Layout::One, DocumentOrder::Id),
    };
    let hashes: String = entry
        .files
        .iter()
        .map(|file| file.sha256.as_str())
        .collect();
    Ok(Documents {
        collection: catalogue.open(&entry.name)?,
        layout,
        order,
        repeats: entry.distinct < entry.documents,
        fingerprint: format!("{} {hashes}", entry.name),
    })
}

fn folder(path: &Path) -> Result<Documents> {
    let corpus = ["corpus.jsonl", "corpus.jsonl.zst", "corpus.jsonl.gz"]
        .map(|name| path.join(name))
        .into_iter()
        .find(|corpus| corpus.exists());
    if let Some(corpus) = corpus {
        return Ok(Documents {
            collection: ir_data::beir::BeirFolder::open(path)?.into_collection(),
            layout: Layout::One,
            order: DocumentOrder::Id,
            repeats: false,
            fingerprint: stamp(&corpus),
        });
    }
    let notes = Notes::find(path)?;
    if notes.len() == 0 {
        bail!(
            "{}: expected a folder in BEIR's layout (corpus.jsonl) or with notes (*.md, *.txt), found neither",
            path.display()
        );
    }
    Ok(unjudged(path, Layout::One, notes.fingerprint(), notes))
}

fn file(path: &Path) -> Result<Documents> {
    let head = Head::read(&mut ir_data::open(path)?, &path.display().to_string())?;
    if head.is_empty() {
        bail!(
            "{}: expected an index or documents, found an empty file",
            path.display()
        );
    }
    if !head.is_json(path) {
        return Ok(unjudged(
            path,
            Layout::One,
            stamp(path),
            TsvCorpus::new(path, &tsv::USUAL),
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
        .with_repeats(Repeats::Refuse);
    Ok(unjudged(path, Layout::One, stamp(path), corpus))
}

fn unjudged(
    path: &Path,
    layout: Layout,
    fingerprint: String,
    corpus: impl Corpus + 'static,
) -> Documents {
    let name = path.display().to_string();
    Documents {
        collection: Collection::new(name, corpus, JudgedInMemory::default()),
        layout,
        order: DocumentOrder::Id,
        repeats: false,
        fingerprint,
    }
}

/// Path, size and time of change of a file.
pub(super) fn stamp(path: &Path) -> String {
    let (size, time) = fs::metadata(path).map_or((0, 0), |data| {
        let time = data.modified().ok();
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (data.len(), since.map_or(0, |since| since.as_nanos()))
    });
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    format!("{} {size} {time}\n", path.display())
}
