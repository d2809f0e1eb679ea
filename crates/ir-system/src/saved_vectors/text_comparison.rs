//! Comparison of documents with the texts of saved vectors.

use std::collections::BTreeSet;

use ir_core::{Corpus, DocIds, DocNum, Document};
use ir_data::DocTemplate;

use super::text_hashes::{TextHashes, text_hash};
use crate::error::SystemError;

/// Number of documents between two reports of progress.
const REPORTED: u64 = 1024;

/// Compares documents, in any order, with the texts of vectors. Documents without a vector pass.
/// Records with the same id are compared one to one.
pub(crate) struct TextComparison<'a> {
    template: &'a DocTemplate,
    ids: &'a DocIds,
    hashes: &'a [u64],
    /// `true` for the vector of the text of a document.
    is_current: Vec<bool>,
    /// First vectors of the ids with another text.
    outdated: BTreeSet<DocNum>,
}

impl<'a> TextComparison<'a> {
    /// `ids` and `hashes` of texts have one entry per vector.
    pub(crate) fn new(template: &'a DocTemplate, ids: &'a DocIds, hashes: &'a TextHashes) -> Self {
        Self {
            template,
            ids,
            hashes: hashes.as_slice(),
            is_current: vec![false; ids.len()],
            outdated: BTreeSet::new(),
        }
    }

    /// Compares the documents of a corpus. `report` receives the number of documents so far.
    pub(crate) fn compare(
        &mut self,
        corpus: &dyn Corpus,
        report: &mut dyn FnMut(u64) -> Result<(), SystemError>,
    ) -> Result<(), SystemError> {
        let failed = || SystemError::stage("comparing texts");
        let mut document = Document::default();
        let mut reader = corpus.open().map_err(failed())?;
        let mut done = 0_u64;
        while reader.read(&mut document).map_err(failed())? {
            self.compare_document(&document);
            done += 1;
            if done.is_multiple_of(REPORTED) {
                report(done)?;
            }
        }
        Ok(())
    }

    /// Returns the number of outdated ids and the first one, if there are any. If `are_all`, all
    /// documents of the collection were compared: a vector of a record that was removed, but not
    /// all of its id, is outdated as well.
    pub(crate) fn outdated(mut self, are_all: bool) -> Option<(usize, &'a str)> {
        if are_all {
            for (row, id) in (0..).map(DocNum::new).zip(self.ids.iter()) {
                if !self.is_current[row.index()] {
                    let mut of_id = self.ids.all(id);
                    if of_id.any(|other| self.is_current[other.index()]) {
                        self.outdated.extend(self.ids.get(id));
                    }
                }
            }
        }
        let first = self.outdated.first()?;
        Some((self.outdated.len(), self.ids.id(*first)))
    }

    fn compare_document(&mut self, document: &Document) {
        let mut of_id = self.ids.all(&document.id).peekable();
        let Some(&first) = of_id.peek() else {
            return;
        };
        let hash = text_hash(&document.id, &self.template.render(document));
        let same = |row: &DocNum| self.hashes[row.index()] == hash && !self.is_current[row.index()];
        match of_id.find(same) {
            Some(row) => self.is_current[row.index()] = true,
            None => {
                self.outdated.insert(first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several records of an id, as in the DataFinder collection.
    #[test]
    fn repeated_ids() {
        let template = DocTemplate::default();
        let encoded = [("a", "tea"), ("b", "sea"), ("a", "milk"), ("a", "tea")];
        let ids: DocIds = encoded.iter().map(|(id, _)| *id).collect();
        let mut hashes = TextHashes::default();
        encoded.iter().for_each(|(id, text)| hashes.push(id, text));
        let outdated = |docs: &[(&str, &str)], are_all: bool| {
            let doc = |&(id, text): &(&str, &str)| Document::new(id).with_text(text);
            let corpus: Vec<Document> = docs.iter().map(doc).collect();
            let mut texts = TextComparison::new(&template, &ids, &hashes);
            texts.compare(&corpus, &mut |_| Ok(())).unwrap();
            texts.outdated(are_all)
        };
        let compare = |docs: &[(&str, &str)]| outdated(docs, true);
        assert_eq!(compare(&encoded), None);
        // In another order, with a new id, or without one.
        let others = [("c", "new"), ("a", "milk"), ("a", "tea"), ("a", "tea")];
        assert_eq!(compare(&others), None);
        // A record is another one, missing, or new.
        let mut changed = encoded;
        changed[2].1 = "tea";
        assert_eq!(compare(&changed), Some((1, "a")));
        assert_eq!(compare(&encoded[..3]), Some((1, "a")));
        assert_eq!(outdated(&encoded[..3], false), None);
        let more = [&encoded[..], &[("a", "milk")]].concat();
        assert_eq!(compare(&more), Some((1, "a")));
        changed[1].1 = "see";
        assert_eq!(compare(&changed[1..]), Some((2, "a")));
    }
}
