//! Document numbers and the map to collection ids.

mod doc_set;
mod front_coded;
mod segmented;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::store::SectionBytes;
pub use doc_set::DocSet;
use front_coded::FrontCodedIds;
pub use segmented::{SegmentNumbers, SegmentOrder, SegmentedIds};

/// Dense number of a document within one index, `0..n`.
///
/// Meaningless outside the index that assigned it; convert to the collection id with
/// [`DocIds::id`].
///
/// ```
/// use ir_core::DocNum;
/// let doc = DocNum::try_from(7_usize)?;
/// assert_eq!(doc.index(), 7);
/// # Ok::<(), ir_core::IdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct DocNum(u32);

impl DocNum {
    /// Maximum number of documents in one index.
    pub const LIMIT: usize = u32::MAX as usize;

    /// Creates a document number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number as `u32`.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number as an array index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TryFrom<usize> for DocNum {
    type Error = IdError;

    fn try_from(number: usize) -> Result<Self, IdError> {
        match u32::try_from(number) {
            Ok(number) if number < u32::MAX => Ok(Self(number)),
            _ => Err(IdError::TooManyDocuments { limit: Self::LIMIT }),
        }
    }
}

/// Error in the ids of a collection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum IdError {
    /// The collection has more documents than a [`DocNum`] can number.
    #[error("expected at most {limit} documents in one index, found more")]
    TooManyDocuments { limit: usize },
    /// An id is longer than [`DocIds::MAX_LEN`].
    #[error("expected ids of at most {limit} bytes, found {found} bytes at position {position}")]
    TooLong {
        position: usize,
        limit: usize,
        found: usize,
    },
    /// Two documents share an id.
    #[error("expected unique document ids, found {id:?} at positions {first} and {second}")]
    Duplicate {
        id: String,
        first: usize,
        second: usize,
    },
}

/// Bidirectional map between [`DocNum`] and collection ids.
///
/// Ids are stored in one string arena, or front-coded in an index file, in blocks that are decoded
/// when one of their ids is first read ([`DocIds::from_section`]). Lookup by id is a binary search:
/// in the ids if these ascend, else in an order that is sorted on first use. Ids are usually
/// unique, which [`DocIds::check_unique`] verifies; if an id repeats, [`DocIds::get`] returns its
/// first document.
///
/// ```
/// use ir_core::{DocIds, DocNum};
/// let ids: DocIds = ["MED-10", "MED-14"].into_iter().collect();
/// assert_eq!(ids.get("MED-14"), Some(DocNum::new(1)));
/// assert_eq!(ids.id(DocNum::new(0)), "MED-10");
/// assert_eq!(ids.get("MED-11"), None);
/// ```
#[derive(Default, Clone)]
pub struct DocIds {
    storage: IdStorage,
    order: OnceLock<Vec<u32>>,
}

#[derive(Clone)]
enum IdStorage {
    InMemory(IdArena),
    FrontCoded(Arc<FrontCodedIds>),
    Segmented(SegmentedIds),
}

#[derive(Default, Clone)]
struct IdArena {
    text: String,
    ends: Vec<u64>,
}

impl Default for IdStorage {
    fn default() -> Self {
        Self::InMemory(IdArena::default())
    }
}

impl DocIds {
    /// Maximum length of an id in bytes.
    pub const MAX_LEN: usize = 1 << 16;

    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an id and returns the number of the document. Repeated ids are accepted;
    /// [`DocIds::check_unique`] finds them.
    ///
    /// # Errors
    /// If the id is longer than [`DocIds::MAX_LEN`], or the collection has more documents than a
    /// [`DocNum`] can number.
    pub fn push(&mut self, id: &str) -> Result<DocNum, IdError> {
        let doc = DocNum::try_from(self.len())?;
        if id.len() > Self::MAX_LEN {
            return Err(IdError::TooLong {
                position: self.len(),
                limit: Self::MAX_LEN,
                found: id.len(),
            });
        }
        let mut arena = match std::mem::take(&mut self.storage) {
            IdStorage::InMemory(arena) => arena,
            other => {
                let ids = Self {
                    storage: other,
                    order: OnceLock::new(),
                };
                ids.iter().collect()
            }
        };
        arena.push(id);
        self.storage = IdStorage::InMemory(arena);
        self.order = OnceLock::new();
        Ok(doc)
    }

    /// Writes ids as a section of an index file, front-coded: each as the length of the prefix that
    /// it shares with the previous one, and its suffix. Sorted ids are smallest.
    ///
    /// ```
    /// use ir_core::DocIds;
    /// use ir_core::store::{IndexBytes, SectionBytes};
    /// let mut section = Vec::new();
    /// DocIds::write_section(["MED-10", "MED-14"], &mut section)?;
    /// let section = SectionBytes::from(IndexBytes::from(section));
    /// let ids = DocIds::from_section(section, 2).ok_or("damaged")?;
    /// assert!(ids.is_intact());
    /// assert!(ids.iter().eq(["MED-10", "MED-14"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn write_section<'a, W: Write>(
        ids: impl IntoIterator<Item = &'a str>,
        to: &mut W,
    ) -> io::Result<()> {
        front_coded::write(ids, to)
    }

    /// Opens the ids of `count` documents, written by [`DocIds::write_section`], without decoding
    /// them: the time does not depend on the length of the ids. A block of 32 ids is decoded when
    /// one of them is first read. [`None`] if the section does not have the length of `count` ids.
    ///
    /// The section must have a verified checksum. If one that was forged holds invalid ids, they
    /// are empty; [`DocIds::is_intact`] finds them.
    #[must_use]
    pub fn from_section(section: SectionBytes, count: usize) -> Option<Self> {
        let ids = FrontCodedIds::open(section, count)?;
        Some(Self {
            storage: IdStorage::FrontCoded(Arc::new(ids)),
            order: OnceLock::new(),
        })
    }

    /// Decodes all ids and returns whether all are valid. Ids that are not from a section always
    /// are.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        match &self.storage {
            IdStorage::InMemory(_) => true,
            IdStorage::FrontCoded(ids) => ids.is_intact(),
            IdStorage::Segmented(ids) => ids.are_intact(),
        }
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.storage {
            IdStorage::InMemory(arena) => arena.ends.len(),
            IdStorage::FrontCoded(ids) => ids.len(),
            IdStorage::Segmented(ids) => ids.len(),
        }
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the collection id of a document.
    ///
    /// # Panics
    /// If `doc` is not a document of this map.
    #[must_use]
    pub fn id(&self, doc: DocNum) -> &str {
        self.at(doc.index())
    }

    /// Returns the number of the first document with this id.
    ///
    /// # Complexity
    /// O(log n) comparisons, after one sort of the ids at the first call unless they ascend.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DocNum> {
        self.all(id).next()
    }

    /// Returns the numbers of all documents with this id, ascending.
    ///
    /// ```
    /// use ir_core::{DocIds, DocNum};
    /// let ids: DocIds = ["a", "b", "a"].into_iter().collect();
    /// assert!(ids.all("a").eq([0, 2].map(DocNum::new)));
    /// ```
    ///
    /// # Complexity
    /// The same as [`DocIds::get`].
    pub fn all<'a>(&'a self, id: &'a str) -> impl Iterator<Item = DocNum> + 'a {
        let (order, (mut low, mut high)) = match &self.storage {
            // One search per segment, instead of a binary search in which every step searches.
            IdStorage::Segmented(ids) => {
                let found = ids.find(id).map_or(self.len(), DocNum::index);
                (None, (found, found))
            }
            IdStorage::FrontCoded(ids) if ids.is_ascending() => (None, (0, self.len())),
            _ => (Some(self.order()), (0, self.len())),
        };
        let number = move |at: usize| order.map_or(at as u32, |order| order[at]);
        let id_at = move |at: usize| self.at(number(at) as usize);
        while low < high {
            let middle = low.midpoint(high);
            if id_at(middle) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = (low..self.len()).take_while(move |&at| id_at(at) == id);
        found.map(move |at| DocNum(number(at)))
    }

    /// Returns all numbers in ascending byte order of their ids; equal ids by number.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            if !self.is_sorted() {
                order.sort_unstable_by(|&a, &b| {
                    self.at(a as usize).cmp(self.at(b as usize)).then(a.cmp(&b))
                });
            }
            order
        })
    }

    /// Returns the number of documents that share their id with an earlier document.
    #[must_use]
    pub fn repeated(&self) -> usize {
        self.repeats().count()
    }

    /// Verifies that no id occurs twice.
    ///
    /// # Errors
    /// [`IdError::Duplicate`] names the id and both documents.
    pub fn check_unique(&self) -> Result<(), IdError> {
        self.repeats().next().map_or(Ok(()), |(first, second)| {
            let id = self.at(first).to_owned();
            Err(IdError::Duplicate { id, first, second })
        })
    }

    /// Positions of consecutive documents of one id.
    fn repeats(&self) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self
            .order()
            .windows(2)
            .map(|pair| (pair[0] as usize, pair[1] as usize));
        pairs.filter(|&(first, second)| self.at(first) == self.at(second))
    }

    /// Iterates over the ids in the order of document numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.len()).map(|n| self.at(n))
    }

    fn is_sorted(&self) -> bool {
        match &self.storage {
            IdStorage::InMemory(_) => (1..self.len()).all(|n| self.at(n - 1) <= self.at(n)),
            IdStorage::FrontCoded(ids) => ids.is_ascending(),
            IdStorage::Segmented(ids) => ids.is_ascending(),
        }
    }

    fn at(&self, n: usize) -> &str {
        match &self.storage {
            IdStorage::InMemory(arena) => arena.at(n),
            IdStorage::FrontCoded(ids) => ids.at(n),
            IdStorage::Segmented(ids) => ids.at(n),
        }
    }
}

impl IdArena {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    fn at(&self, n: usize) -> &str {
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        &self.text[start..self.ends[n] as usize]
    }
}

impl<'a> FromIterator<&'a str> for IdArena {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut arena = Self::default();
        ids.into_iter().for_each(|id| arena.push(id));
        arena
    }
}

impl<S: AsRef<str>> FromIterator<S> for DocIds {
    /// # Panics
    /// If an id is longer than [`DocIds::MAX_LEN`], or there are more than [`DocNum::LIMIT`] ids.
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let mut all = Self::new();
        for id in ids {
            let pushed = all.push(id.as_ref());
            assert!(pushed.is_ok(), "invalid id: {pushed:?}");
        }
        all
    }
}

impl PartialEq for DocIds {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for DocIds {}

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
    fn lookup_in_both_directions() {
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
