//! Where the judged documents of a query stand: found by id, used as an index.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// The hash of a document's id: computed once for each line of a run.
pub(crate) fn hash(doc: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(doc.as_bytes());
    hasher.finish()
}

/// The number of a judged document among those of its query, in the order of the qrels; or
/// [`Place::NOWHERE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// Of a document that is not in the qrels.
    pub(crate) const NOWHERE: Self = Self(u32::MAX);

    /// An index; that of [`Place::NOWHERE`] is beyond every list.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The judged documents of one query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places<'q> {
    docs: Vec<&'q str>,
    table: HashTable<Place>,
}

impl<'q> Places<'q> {
    /// Gives a document the next place, or tells the one that it has.
    pub(crate) fn insert(&mut self, doc: &'q str) -> Option<Place> {
        let hash = hash(doc);
        match self.find(hash, doc) {
            Place::NOWHERE => {
                let place = Place(self.docs.len() as u32);
                self.docs.push(doc);
                let docs = &self.docs;
                let again = |place: &Place| self::hash(docs[place.index()]);
                self.table.insert_unique(hash, place, again);
                None
            }
            there => Some(there),
        }
    }

    /// The place of a document; `hash` is its [`hash`].
    pub(crate) fn find(&self, hash: u64, doc: &str) -> Place {
        let same = |place: &Place| self.docs[place.index()] == doc;
        let found = self.table.find(hash, same);
        found.copied().unwrap_or(Place::NOWHERE)
    }
}
