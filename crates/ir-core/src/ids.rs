//! Document numbers inside an index, and the map to the collection's own ids.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The dense number of a document inside one index, `0..n`.
///
/// Numbers are cheap to store, compare and put in bitmaps, and mean nothing outside the index
/// that gave them out: people are always shown the collection's own id ([`DocIds::id`]).
///
/// ```
/// use ir_core::DocNum;
/// let doc = DocNum::try_from(7_usize)?;
/// assert_eq!(doc.index(), 7);
/// # Ok::<(), ir_core::IdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct DocNum(u32);

impl DocNum {
    /// The largest number of documents that one index can hold.
    pub const LIMIT: usize = u32::MAX as usize;

    /// The number as it is.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number as a `u32`.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index into an array with one element per document.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for DocNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocNum({})", self.0)
    }
}

impl From<u32> for DocNum {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl TryFrom<usize> for DocNum {
    type Error = IdError;

    fn try_from(number: usize) -> Result<Self, IdError> {
        if number >= Self::LIMIT {
            return Err(IdError::TooManyDocuments { limit: Self::LIMIT });
        }
        u32::try_from(number)
            .map(Self)
            .map_err(|_| IdError::TooManyDocuments { limit: Self::LIMIT })
    }
}

/// What can be wrong with the ids of a collection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// More documents than a [`DocNum`] can count.
    #[error("more than {limit} documents in one index")]
    TooManyDocuments {
        /// The most that fit.
        limit: usize,
    },
    /// Two documents have one id.
    #[error(
        "document id {id:?} occurs twice: as document {first} and as document {second}, counted from 0"
    )]
    Duplicate {
        /// The id.
        id: String,
        /// The position of its first occurrence.
        first: usize,
        /// The position of its second occurrence.
        second: usize,
    },
}

/// The two-way map between [`DocNum`] and the collection's own string ids.
///
/// One arena of text; the way back from id to number is a binary search in an order that is
/// sorted when it is first asked for. Ids are usually unique, and [`DocIds::check_unique`]
/// says so; a few published collections repeat some, and then [`DocIds::get`] gives the first.
///
/// ```
/// use ir_core::{DocIds, DocNum};
/// let ids: DocIds = ["MED-10", "MED-14"].into_iter().collect();
/// assert_eq!(ids.get("MED-14"), Some(DocNum::new(1)));
/// assert_eq!(ids.id(DocNum::new(0)), "MED-10");
/// assert_eq!(ids.get("MED-11"), None);
/// ```
#[derive(Default)]
pub struct DocIds {
    arena: String,
    ends: Vec<u64>,
    order: OnceLock<Vec<u32>>,
}

impl DocIds {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an id and gives the document's number. Repeated ids are accepted here and
    /// found by [`DocIds::check_unique`].
    ///
    /// # Errors
    /// When the collection has more documents than a [`DocNum`] can count.
    pub fn push(&mut self, id: &str) -> Result<DocNum, IdError> {
        let doc = DocNum::try_from(self.ends.len())?;
        self.arena.push_str(id);
        self.ends.push(self.arena.len() as u64);
        self.order = OnceLock::new();
        Ok(doc)
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The collection's id of a document.
    ///
    /// # Panics
    /// When `doc` was not given out by the index that these ids belong to.
    #[must_use]
    pub fn id(&self, doc: DocNum) -> &str {
        self.at(doc.index())
    }

    /// The number of the (first) document with this id.
    /// # Complexity
    /// O(log n) comparisons, after one sort of the ids at the first call.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DocNum> {
        let order = self.order();
        let found = order.partition_point(|&n| self.at(n as usize) < id);
        let &number = order.get(found)?;
        (self.at(number as usize) == id).then_some(DocNum(number))
    }

    /// All numbers in ascending byte order of their ids; equal ids by number.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.ends.len() as u32).collect();
            if !self.is_sorted() {
                order.sort_unstable_by(|&a, &b| {
                    self.at(a as usize).cmp(self.at(b as usize)).then(a.cmp(&b))
                });
            }
            order
        })
    }

    /// How many documents repeat an id that an earlier one has.
    #[must_use]
    pub fn repeated(&self) -> usize {
        self.order()
            .windows(2)
            .filter(|w| self.at(w[0] as usize) == self.at(w[1] as usize))
            .count()
    }

    /// Checks that no id occurs twice.
    ///
    /// # Errors
    /// [`IdError::Duplicate`] names the id and both places.
    pub fn check_unique(&self) -> Result<(), IdError> {
        for pair in self.order().windows(2) {
            let (first, second) = (pair[0] as usize, pair[1] as usize);
            if self.at(first) == self.at(second) {
                return Err(IdError::Duplicate {
                    id: self.at(first).to_owned(),
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    /// The ids in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.ends.len()).map(|n| self.at(n))
    }

    fn is_sorted(&self) -> bool {
        (1..self.ends.len()).all(|n| self.at(n - 1) <= self.at(n))
    }

    fn at(&self, n: usize) -> &str {
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        &self.arena[start..self.ends[n] as usize]
    }
}

impl<S: AsRef<str>> FromIterator<S> for DocIds {
    /// # Panics
    /// When there are more than [`DocNum::LIMIT`] ids.
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let mut all = Self::new();
        for id in ids {
            assert!(
                all.push(id.as_ref()).is_ok(),
                "more ids than a DocNum can count"
            );
        }
        all
    }
}

impl PartialEq for DocIds {
    fn eq(&self, other: &Self) -> bool {
        self.arena == other.arena && self.ends == other.ends
    }
}

impl Eq for DocIds {}

impl Clone for DocIds {
    fn clone(&self) -> Self {
        Self {
            arena: self.arena.clone(),
            ends: self.ends.clone(),
            order: OnceLock::new(),
        }
    }
}

impl fmt::Debug for DocIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocIds({} ids)", self.len())
    }
}

impl Serialize for DocIds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for DocIds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let ids = Vec::<String>::deserialize(from)?;
        let mut all = Self::new();
        for id in &ids {
            all.push(id).map_err(serde::de::Error::custom)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let ids: DocIds = ["b", "a", "ü", ""].into_iter().collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(ids.get(id), Some(DocNum::try_from(n).unwrap()));
        }
        assert_eq!(ids.order(), [3, 1, 0, 2]);
        assert_eq!(ids.get("c"), None);
        assert_eq!(ids.get("z"), None);
        assert!(ids.check_unique().is_ok());
    }

    #[test]
    fn repeated_ids_are_found() {
        let ids: DocIds = ["x", "y", "x", "x"].into_iter().collect();
        assert_eq!(ids.get("x"), Some(DocNum::new(0)));
        assert_eq!(ids.repeated(), 2);
        let error = ids.check_unique().unwrap_err();
        assert_eq!(
            error,
            IdError::Duplicate {
                id: "x".into(),
                first: 0,
                second: 2
            }
        );
    }

    #[test]
    fn the_limit_is_an_error() {
        assert!(DocNum::try_from(DocNum::LIMIT - 1).is_ok());
        assert!(DocNum::try_from(DocNum::LIMIT).is_err());
    }
}
