//! Documents of an index that exists, as the data of systems.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::{Corpus, CorpusError, DocIds, DocNum, DocReader, Document, Query};
use ir_data::Collection;

use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::system_data::SystemData;

/// Documents of an open index, which systems of the type `bm25` search in place of one that they
/// build. Systems that read documents need the stored fields of the index.
#[derive(Debug)]
pub struct IndexData {
    name: String,
    corpus: StoredDocuments,
    queries: Vec<Query>,
    attributes: OnceLock<BTreeSet<String>>,
    hash: OnceLock<String>,
}

impl IndexData {
    /// Creates the data of an index. `name` is part of messages, `queries` are the queries to
    /// search.
    #[must_use]
    pub fn new(name: impl Into<String>, index: SegmentedIndex, queries: Vec<Query>) -> Self {
        Self {
            name: name.into(),
            corpus: StoredDocuments(index),
            queries,
            attributes: OnceLock::new(),
            hash: OnceLock::new(),
        }
    }
}

impl SystemData for IndexData {
    fn name(&self) -> &str {
        &self.name
    }

    fn corpus(&self) -> &dyn Corpus {
        &self.corpus
    }

    fn ids(&self) -> &DocIds {
        self.corpus.0.ids()
    }

    /// Hash of the stored documents; of the ids alone if the index stores nothing.
    fn corpus_hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let mut hash = ContentHash::default();
            for id in self.ids().iter() {
                hash.text(id);
            }
            for document in self.corpus.docs().into_iter().flatten().flatten() {
                hash.text(&document.title).text(&document.text);
            }
            hash.finish()
        })
    }

    fn attributes(&self) -> &BTreeSet<String> {
        self.attributes.get_or_init(|| {
            let mut names = BTreeSet::new();
            for document in self.corpus.docs().into_iter().flatten().flatten() {
                names.extend(document.attributes.iter().map(|(name, _)| name.to_owned()));
            }
            names
        })
    }

    fn collection(&self) -> Option<&Collection> {
        None
    }

    fn queries(&self) -> &[Query] {
        &self.queries
    }

    fn all_queries(&self) -> Result<Vec<Query>, SystemError> {
        Ok(self.queries.clone())
    }

    fn split(&self) -> &str {
        ""
    }

    fn text_of(&self, query: &Query) -> String {
        query.text.clone()
    }

    fn index(&self) -> Option<&SegmentedIndex> {
        Some(&self.corpus.0)
    }
}

/// Stored documents of an index, in the order of their numbers.
#[derive(Debug)]
struct StoredDocuments(SegmentedIndex);

impl Corpus for StoredDocuments {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(StoredReader {
            index: &self.0,
            next: 0,
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

struct StoredReader<'a> {
    index: &'a SegmentedIndex,
    next: usize,
}

impl DocReader for StoredReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if self.next == self.index.len() {
            return Ok(false);
        }
        let number = DocNum::new(self.next as u32);
        self.next += 1;
        let stored = match self.index.config().store {
            StoredFields::Everything => self.index.document(number),
            _ => self.index.attributes(number).map(|attributes| {
                let mut document = Document::new(self.index.ids().id(number));
                document.attributes = attributes;
                document
            }),
        };
        *doc = stored.map_err(CorpusError::new)?;
        Ok(true)
    }
}
