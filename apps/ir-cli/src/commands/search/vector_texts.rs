//! Comparison of the searched documents with the texts whose vectors are searched.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use ir_core::{Corpus, DocIds, DocNum, Document, Flow, Progress};
use ir_data::DocTemplate;
use ir_system::saved_vectors::{TextHashes, text_hash};

use super::search_index::SearchIndex;
use crate::shared::input::for_each_document;
use crate::shared::signals::Interrupted;

const STAGE: &str = "comparing texts";

/// Compares documents, in any order, with the texts of the vectors. Documents without a vector
/// pass. Records with the same id are compared one to one.
pub(super) struct TextComparison<'a> {
    template: &'a DocTemplate,
    ids: &'a DocIds,
    hashes: &'a [u64],
    /// Whether a document has the text of the vector.
    is_current: Vec<bool>,
    /// First vectors of the ids with another text.
    outdated: BTreeSet<DocNum>,
}

impl<'a> TextComparison<'a> {
    /// `hashes` are those of the vectors with `ids`.
    pub(super) fn new(template: &'a DocTemplate, ids: &'a DocIds, hashes: &'a TextHashes) -> Self {
        Self {
            template,
            ids,
            hashes: hashes.as_slice(),
            is_current: vec![false; ids.len()],
            outdated: BTreeSet::new(),
        }
    }

    /// Number of outdated ids and the first one, compared with all documents of a corpus.
    /// Vectors of a record that was removed, but not all of its id, are outdated as well.
    pub(super) fn with_corpus(
        mut self,
        corpus: &dyn Corpus,
        progress: &mut dyn Progress,
    ) -> Result<Option<(usize, &'a str)>> {
        for_each_document(corpus, STAGE, progress, |doc| self.compare(doc))?;
        for (row, id) in (0..).map(DocNum::new).zip(self.ids.iter()) {
            if !self.is_current[row.index()] {
                let mut of_id = self.ids.all(id);
                if of_id.any(|other| self.is_current[other.index()]) {
                    self.outdated.extend(self.ids.get(id));
                }
            }
        }
        Ok(self.outdated())
    }

    /// [`Self::with_corpus`] for the stored documents of an index, which may lack records that
    /// share an id.
    pub(super) fn with_index(
        mut self,
        engine: &SearchIndex,
        progress: &mut dyn Progress,
    ) -> Result<Option<(usize, &'a str)>> {
        let count = engine.index.len();
        for n in 0..count {
            let doc = engine.index.document(DocNum::new(n as u32));
            self.compare(&doc.with_context(|| format!("{}: cannot be read", engine.name))?);
            let done = n as u64 + 1;
            if done.is_multiple_of(1024)
                && progress.report(STAGE, done, Some(count as u64)) == Flow::Stop
            {
                return Err(Interrupted.into());
            }
        }
        Ok(self.outdated())
    }

    fn compare(&mut self, doc: &Document) {
        let mut of_id = self.ids.all(&doc.id).peekable();
        let Some(&first) = of_id.peek() else {
            return;
        };
        let hash = text_hash(&doc.id, &self.template.render(doc));
        let same = |row: &DocNum| self.hashes[row.index()] == hash && !self.is_current[row.index()];
        match of_id.find(same) {
            Some(row) => self.is_current[row.index()] = true,
            None => {
                self.outdated.insert(first);
            }
        }
    }

    fn outdated(&self) -> Option<(usize, &'a str)> {
        let first = self.outdated.first()?;
        Some((self.outdated.len(), self.ids.id(*first)))
    }
}

#[cfg(test)]
mod tests {
    use ir_core::NoProgress;

    use super::*;

    /// Several records of an id, as in the DataFinder collection.
    #[test]
    fn repeated_ids() {
        let template = DocTemplate::default();
        let encoded = [("a", "tea"), ("b", "sea"), ("a", "milk"), ("a", "tea")];
        let ids: DocIds = encoded.iter().map(|(id, _)| *id).collect();
        let mut hashes = TextHashes::default();
        encoded.iter().for_each(|(id, text)| hashes.push(id, text));
        let compare = |docs: &[(&str, &str)]| {
            let doc = |&(id, text): &(&str, &str)| Document::new(id).with_text(text);
            let corpus: Vec<Document> = docs.iter().map(doc).collect();
            let texts = TextComparison::new(&template, &ids, &hashes);
            texts.with_corpus(&corpus, &mut NoProgress).unwrap()
        };
        assert_eq!(compare(&encoded), None);
        // In another order, with a new id, or without one.
        let others = [("c", "new"), ("a", "milk"), ("a", "tea"), ("a", "tea")];
        assert_eq!(compare(&others), None);
        // A record is another one, missing, or new.
        let mut changed = encoded;
        changed[2].1 = "tea";
        assert_eq!(compare(&changed), Some((1, "a")));
        assert_eq!(compare(&encoded[..3]), Some((1, "a")));
        let more = [&encoded[..], &[("a", "milk")]].concat();
        assert_eq!(compare(&more), Some((1, "a")));
        changed[1].1 = "see";
        assert_eq!(compare(&changed[1..]), Some((2, "a")));
    }
}
