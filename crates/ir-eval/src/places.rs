//! The judged documents of a query by number, and a table that finds ids by their hash.

use std::hash::Hasher;

use rustc_hash::FxHasher;

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
}

impl<'q> Places<'q> {
    /// Gives a document the next place, or tells the one that it has.
    pub(crate) fn insert(&mut self, doc: &'q str) -> Option<Place> {
        // They come in ascending order; others are found all the same.
        if self.docs.last().is_some_and(|&last| doc <= last)
            && let Some(there) = self.docs.iter().position(|&other| other == doc)
        {
            return Some(Place(there as u32));
        }
        self.docs.push(doc);
        None
    }

    /// The documents and their places.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (Place, &'q str)> {
        let docs = self.docs.iter().enumerate();
        docs.map(|(n, &doc)| (Place(n as u32), doc))
    }

    /// The document of a place.
    pub(crate) fn doc(&self, place: Place) -> &'q str {
        self.docs[place.index()]
    }
}

/// What a slot of a [`Table`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A judged document that was not met yet.
    Judged(Place),
    /// A document of the list, by its number there.
    Listed(u32),
}

/// The ids of one list, and of the documents judged for its query, by their hashes: one look finds
/// what repeats and what is judged. It holds no ids; those who ask compare them.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// A power of two of them, at least twice as many as are used; a slot is taken from the place
    /// that the hash names on.
    slots: Vec<Slot>,
    used: usize,
}

/// A part of the hash, and what it stands for: 0 for nothing, a number of the list and 1, or a
/// judged place beside the highest bit.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    tag: u32,
    key: u32,
}

const JUDGED: u32 = 1 << 31;

impl Slot {
    fn key(self) -> Option<Key> {
        match self.key {
            0 => None,
            key if key >= JUDGED => Some(Key::Judged(Place(key - JUDGED))),
            key => Some(Key::Listed(key - 1)),
        }
    }
}

impl Table {
    /// The hash of an id.
    pub(crate) fn hash(id: &str) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// Forgets everything. A table that a long list made large becomes small again by and by.
    pub(crate) fn clear(&mut self) {
        if self.used * 16 < self.slots.len() {
            self.slots.truncate(self.slots.len() / 2);
        }
        self.slots.fill(Slot::default());
        self.used = 0;
    }

    /// Puts `key` where an id with this hash is, as `same` has it, or where there is room for it.
    /// Gives what stood there, which stays if it is listed. `hash_of` is asked for the hashes of
    /// what is in the table when that grows.
    #[inline]
    pub(crate) fn put(
        &mut self,
        hash: u64,
        key: Key,
        same: impl Fn(Key) -> bool,
        hash_of: impl Fn(Key) -> u64,
    ) -> Option<Key> {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow(hash_of);
        }
        let new = Slot {
            tag: (hash >> 32) as u32,
            key: match key {
                Key::Judged(place) => place.0 | JUDGED,
                Key::Listed(n) => n + 1,
            },
        };
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let slot = &mut self.slots[at];
            let Some(there) = slot.key() else {
                *slot = new;
                self.used += 1;
                return None;
            };
            if slot.tag == new.tag && same(there) {
                if matches!(there, Key::Judged(_)) {
                    *slot = new;
                }
                return Some(there);
            }
            at = (at + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self, hash_of: impl Fn(Key) -> u64) {
        let room = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); room]);
        for slot in old {
            if let Some(key) = slot.key() {
                let mut at = hash_of(key) as usize & (room - 1);
                while self.slots[at].key != 0 {
                    at = (at + 1) & (room - 1);
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
    fn ids_with_one_hash_are_told_apart_while_the_table_grows_and_shrinks() {
        let mut table = Table::default();
        // Four hashes for all ids: chains of slots that overlap.
        let hash = |id: u32| u64::from(id % 4) << 62 | u64::from(id % 4);
        for most in [3_u32, 1000, 5, 2, 700] {
            table.clear();
            let of = |key| match key {
                Key::Judged(place) => hash(place.0),
                Key::Listed(n) => hash(n),
            };
            let put = |table: &mut Table, key, id: u32| {
                let same = |there| there == Key::Listed(id) || there == Key::Judged(Place(id));
                table.put(hash(id), key, same, of)
            };
            for id in (0..most).step_by(3) {
                assert_eq!(put(&mut table, Key::Judged(Place(id)), id), None);
            }
            for id in 0..most {
                let judged = (id % 3 == 0).then_some(Key::Judged(Place(id)));
                assert_eq!(put(&mut table, Key::Listed(id), id), judged);
            }
            for id in 0..most {
                assert_eq!(put(&mut table, Key::Listed(id), id), Some(Key::Listed(id)));
            }
        }
        for _ in 0..10 {
            table.clear();
        }
        assert!(table.slots.len() < 100);
    }

    #[test]
    fn judged_documents_in_no_order_keep_their_places() {
        let mut places = Places::default();
        let found: Vec<_> = ["b", "a", "c", "a", "c", "b"]
            .iter()
            .map(|doc| places.insert(doc).map(Place::index))
            .collect();
        assert_eq!(found, [None, None, None, Some(1), Some(2), Some(0)]);
    }
}
