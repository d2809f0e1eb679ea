//! Ordinals of a query's judged documents, and the hash table that finds them by id.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Ordinal of a judged document within its query, in qrels order, or
/// [`DocOrdinal::NOT_IN_QRELS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocOrdinal(u32);

impl DocOrdinal {
    /// Ordinal of every document that is not in the qrels.
    pub(crate) const NOT_IN_QRELS: Self = Self(u32::MAX);

    /// Array index. The index of [`DocOrdinal::NOT_IN_QRELS`] is beyond every array.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Ids of the judged documents of one query, by [`DocOrdinal`].
#[derive(Debug, Clone, Default)]
pub(crate) struct JudgedIds<'q> {
    ids: Vec<&'q str>,
}

impl<'q> JudgedIds<'q> {
    pub(crate) fn with_capacity(count: usize) -> Self {
        let ids = Vec::with_capacity(count);
        Self { ids }
    }

    /// Appends an id. Returns its ordinal instead if the id is present already.
    pub(crate) fn insert(&mut self, id: &'q str) -> Option<DocOrdinal> {
        // Ids come in ascending order, except from foreign implementations of `Judgments`.
        if self.ids.last().is_some_and(|&last| id <= last)
            && let Some(at) = self.ids.iter().position(|&other| other == id)
        {
            return Some(DocOrdinal(at as u32));
        }
        self.ids.push(id);
        None
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (DocOrdinal, &'q str)> {
        let ids = self.ids.iter().enumerate();
        ids.map(|(n, &id)| (DocOrdinal(n as u32), id))
    }

    pub(crate) fn id(&self, ordinal: DocOrdinal) -> &'q str {
        self.ids[ordinal.index()]
    }
}

/// Document that an occupied slot of an [`IdTable`] refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdEntry {
    /// A judged document that has not been retrieved yet.
    Judged(DocOrdinal),
    /// A retrieved document, by its position in the result list.
    Retrieved(u32),
}

/// Hash table over the ids of one result list and of the documents judged for its query: a single
/// lookup detects duplicates and finds judgments. The table stores hashes; callers compare ids.
///
/// Open addressing with linear probing; the capacity is a power of two and at least twice the
/// number of entries.
#[derive(Debug, Default)]
pub(crate) struct IdTable {
    slots: Vec<Slot>,
    used: usize,
}

/// Upper half of the hash, and the encoded entry: 0 if vacant, list position + 1, or
/// `JUDGED_BIT | ordinal`.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    tag: u32,
    entry: u32,
}

const JUDGED_BIT: u32 = 1 << 31;

impl Slot {
    fn decode(self) -> Option<IdEntry> {
        match self.entry {
            0 => None,
            entry if entry >= JUDGED_BIT => Some(IdEntry::Judged(DocOrdinal(entry - JUDGED_BIT))),
            entry => Some(IdEntry::Retrieved(entry - 1)),
        }
    }
}

impl IdTable {
    pub(crate) fn hash(id: &str) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// Removes all entries. The capacity halves if less than 1/16 was used, so that one long list
    /// does not slow down every later one.
    pub(crate) fn clear(&mut self) {
        if self.used * 16 < self.slots.len() {
            self.slots.truncate(self.slots.len() / 2);
        }
        self.slots.fill(Slot::default());
        self.used = 0;
    }

    /// Finds the entry for which `is_same` holds, or inserts `entry`. Returns the entry found;
    /// a judged one is replaced by `entry`, a retrieved one stays. `hash_of` rehashes entries
    /// when the table grows.
    #[inline]
    pub(crate) fn find_or_insert(
        &mut self,
        hash: u64,
        entry: IdEntry,
        is_same: impl Fn(IdEntry) -> bool,
        hash_of: impl Fn(IdEntry) -> u64,
    ) -> Option<IdEntry> {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow(hash_of);
        }
        let new = Slot {
            tag: (hash >> 32) as u32,
            entry: match entry {
                IdEntry::Judged(ordinal) => ordinal.0 | JUDGED_BIT,
                IdEntry::Retrieved(n) => n + 1,
            },
        };
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let slot = &mut self.slots[at];
            let Some(found) = slot.decode() else {
                *slot = new;
                self.used += 1;
                return None;
            };
            if slot.tag == new.tag && is_same(found) {
                if matches!(found, IdEntry::Judged(_)) {
                    *slot = new;
                }
                return Some(found);
            }
            at = (at + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self, hash_of: impl Fn(IdEntry) -> u64) {
        let capacity = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); capacity]);
        for slot in old {
            if let Some(entry) = slot.decode() {
                let mut at = hash_of(entry) as usize & (capacity - 1);
                while self.slots[at].entry != 0 {
                    at = (at + 1) & (capacity - 1);
                }
                self.slots[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colliding_ids_are_distinguished_while_the_table_grows_and_shrinks() {
        let mut table = IdTable::default();
        // Four hashes for all ids, so that probe sequences overlap.
        let hash = |id: u32| u64::from(id % 4) << 62 | u64::from(id % 4);
        for len in [3_u32, 1000, 5, 2, 700] {
            table.clear();
            let hash_of = |entry| match entry {
                IdEntry::Judged(ordinal) => hash(ordinal.0),
                IdEntry::Retrieved(n) => hash(n),
            };
            let put = |table: &mut IdTable, entry, id: u32| {
                let is_same = |found| {
                    found == IdEntry::Retrieved(id) || found == IdEntry::Judged(DocOrdinal(id))
                };
                table.find_or_insert(hash(id), entry, is_same, hash_of)
            };
            for id in (0..len).step_by(3) {
                assert_eq!(put(&mut table, IdEntry::Judged(DocOrdinal(id)), id), None);
            }
            for id in 0..len {
                let judged = (id % 3 == 0).then_some(IdEntry::Judged(DocOrdinal(id)));
                assert_eq!(put(&mut table, IdEntry::Retrieved(id), id), judged);
            }
            for id in 0..len {
                assert_eq!(
                    put(&mut table, IdEntry::Retrieved(id), id),
                    Some(IdEntry::Retrieved(id))
                );
            }
        }
        for _ in 0..10 {
            table.clear();
        }
        assert!(table.slots.len() < 100);
    }

    #[test]
    fn unsorted_ids_get_one_ordinal_each() {
        let mut ids = JudgedIds::default();
        let found: Vec<_> = ["b", "a", "c", "a", "c", "b"]
            .iter()
            .map(|doc| ids.insert(doc).map(DocOrdinal::index))
            .collect();
        assert_eq!(found, [None, None, None, Some(1), Some(2), Some(0)]);
    }
}
