//! Document numbers and the map to collection ids.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
/// Ids are stored in one string arena. Lookup by id is a binary search in an order that is sorted
/// on first use. Ids are usually unique, which [`DocIds::check_unique`] verifies; if an id repeats,
/// [`DocIds::get`] returns its first document.
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
    arena: String,
    ends: Vec<u64>,
    order: OnceLock<Vec<u32>>,
}

impl DocIds {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an id and returns the number of the document. Repeated ids are accepted;
    /// [`DocIds::check_unique`] finds them.
    ///
    /// # Errors
    /// If the collection has more documents than a [`DocNum`] can number.
    pub fn push(&mut self, id: &str) -> Result<DocNum, IdError> {
        let doc = DocNum::try_from(self.ends.len())?;
        self.arena.push_str(id);
        self.ends.push(self.arena.len() as u64);
        self.order = OnceLock::new();
        Ok(doc)
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
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
    /// O(log n) comparisons, after one sort of the ids at the first call.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DocNum> {
        let order = self.order();
        let found = order.partition_point(|&n| self.at(n as usize) < id);
        let &number = order.get(found)?;
        (self.at(number as usize) == id).then_some(DocNum(number))
    }

    /// Returns all numbers in ascending byte order of their ids; equal ids by number.
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

    /// Returns the number of documents whose id also belongs to an earlier document.
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
    /// If there are more than [`DocNum::LIMIT`] ids.
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let mut all = Self::new();
        for id in ids {
            assert!(
                all.push(id.as_ref()).is_ok(),
                "expected at most DocNum::LIMIT ids, found more"
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
