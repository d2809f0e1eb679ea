//! Filters that restrict a search to a set of documents.

use std::{fmt, iter};

use serde::{Deserialize, Serialize};

use crate::{DocIds, DocNum, Predicate};

/// Set of documents to which a search is restricted.
///
/// Implemented by closures, [`DocSet`] (bitmap), [`NotLaterThan`] (year) and the combinations
/// [`AllOf`], [`AnyOf`] and [`NoneOf`]. Membership must not change during a search.
///
/// ```
/// use ir_core::{AllOf, DocFilter, DocNum, DocSet, NoneOf};
/// let liked: DocSet = [1, 5, 8].into_iter().map(DocNum::new).collect();
/// let small = |doc: DocNum| doc.get() < 6;
/// let seen: DocSet = [5].into_iter().map(DocNum::new).collect();
/// let unseen = NoneOf(vec![&seen]);
/// let filter = AllOf(vec![&liked, &small, &unseen]);
/// assert!(filter.contains(DocNum::new(1)));
/// assert!(!filter.contains(DocNum::new(5)) && !filter.contains(DocNum::new(8)));
/// ```
pub trait DocFilter: Send + Sync {
    /// Returns whether the document passes.
    fn contains(&self, doc: DocNum) -> bool;

    /// Returns the number of documents that pass, if known. Engines score small sets directly.
    fn count(&self) -> Option<usize> {
        None
    }

    /// Lists the documents that pass, each once, in ascending order, if that is faster than asking
    /// for all documents. Engines may score these instead of scanning, if [`count`](Self::count) is
    /// a small fraction of the collection; numbers beyond it are ignored. Default: `None`.
    ///
    /// ```
    /// use ir_core::{DocFilter, DocNum, DocSet};
    /// let set: DocSet = [7, 3].map(DocNum::new).into_iter().collect();
    /// assert_eq!(set.members().unwrap().map(DocNum::get).collect::<Vec<_>>(), [3, 7]);
    /// ```
    fn members(&self) -> Option<Box<dyn Iterator<Item = DocNum> + '_>> {
        None
    }

    /// Returns an equivalent condition on the attributes of the documents, if one is known. Engines
    /// on servers evaluate it in place of a list of document numbers. Default: `None`. See
    /// [`WithCondition`].
    fn condition(&self) -> Option<Predicate> {
        None
    }
}

impl fmt::Debug for dyn DocFilter + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DocFilter")
    }
}

impl<F: Fn(DocNum) -> bool + Send + Sync> DocFilter for F {
    fn contains(&self, doc: DocNum) -> bool {
        self(doc)
    }
}

/// Set of documents as a bitmap, one bit per document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Bitmap")]
pub struct DocSet {
    words: Vec<u64>,
    #[serde(skip_serializing)]
    len: usize,
}

/// Serialized form of a [`DocSet`].
#[derive(Deserialize)]
struct Bitmap {
    words: Vec<u64>,
}

impl From<Bitmap> for DocSet {
    fn from(Bitmap { words }: Bitmap) -> Self {
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, len }
    }
}

impl DocSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects those of the first `n` documents that `keep` accepts.
    #[must_use]
    pub fn select(n: usize, mut keep: impl FnMut(DocNum) -> bool) -> Self {
        (0..n as u32)
            .map(DocNum::new)
            .filter(|&doc| keep(doc))
            .collect()
    }

    /// Adds a document to the set and returns whether it is new.
    pub fn insert(&mut self, doc: DocNum) -> bool {
        let word = doc.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let before = self.words[word];
        self.words[word] |= 1 << (doc.index() % 64);
        let is_new = self.words[word] != before;
        self.len += usize::from(is_new);
        is_new
    }

    /// The first member from `start` on, before `end`.
    pub(crate) fn first_in(&self, start: u32, end: u32) -> Option<u32> {
        let last = end.div_ceil(64).min(self.words.len() as u32);
        let mut bits = u64::MAX << (start % 64);
        for at in start / 64..last {
            let word = self.words[at as usize] & bits;
            if word != 0 {
                let member = at * 64 + word.trailing_zeros();
                return (member < end).then_some(member);
            }
            bits = u64::MAX;
        }
        None
    }

    /// Iterates over the members in ascending order, in time proportional to their number and to a
    /// 64th of the largest one.
    pub fn iter(&self) -> impl Iterator<Item = DocNum> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                // Without the lowest member; `None` if there is none.
                rest &= rest.checked_sub(1)?;
                Some(DocNum::new(at as u32 * 64 + bit))
            })
        })
    }
}

impl FromIterator<DocNum> for DocSet {
    fn from_iter<I: IntoIterator<Item = DocNum>>(docs: I) -> Self {
        let mut set = Self::new();
        for doc in docs {
            set.insert(doc);
        }
        set
    }
}

impl DocFilter for DocSet {
    fn contains(&self, doc: DocNum) -> bool {
        self.words
            .get(doc.index() / 64)
            .is_some_and(|word| word >> (doc.index() % 64) & 1 == 1)
    }

    fn count(&self) -> Option<usize> {
        Some(self.len)
    }

    fn members(&self) -> Option<Box<dyn Iterator<Item = DocNum> + '_>> {
        Some(Box::new(self.iter()))
    }
}

/// Filter with an equivalent condition on attributes, for engines that store the attributes and
/// evaluate conditions themselves (`ir-engines`). Other engines evaluate the filter.
///
/// `condition` must hold for exactly the documents that pass `filter`, by the attributes that the
/// engine stores.
///
/// ```
/// use ir_core::{DocFilter, DocNum, Predicate, WithCondition, Years};
/// let years: Years = [Some(2012), None, Some(2019)].into_iter().collect();
/// let filter = years.not_later_than(Some(2015));
/// let condition = Predicate::AtMost { name: "year".to_owned(), limit: 2015.0 };
/// let filter = WithCondition { filter: &filter, condition: condition.clone() };
/// assert!(!filter.contains(DocNum::new(2)));
/// assert_eq!(filter.condition(), Some(condition));
/// ```
#[derive(Debug)]
#[allow(missing_docs)]
pub struct WithCondition<'a> {
    pub filter: &'a dyn DocFilter,
    pub condition: Predicate,
}

impl DocFilter for WithCondition<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.filter.contains(doc)
    }

    fn count(&self) -> Option<usize> {
        self.filter.count()
    }

    fn members(&self) -> Option<Box<dyn Iterator<Item = DocNum> + '_>> {
        self.filter.members()
    }

    fn condition(&self) -> Option<Predicate> {
        Some(self.condition.clone())
    }
}

macro_rules! combination {
    ($(#[$doc:meta])* $name:ident, $test:ident, $negate:expr, $condition:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a>(pub Vec<&'a dyn DocFilter>);

        impl DocFilter for $name<'_> {
            fn contains(&self, doc: DocNum) -> bool {
                self.0.iter().$test(|filter| filter.contains(doc)) != $negate
            }

            fn condition(&self) -> Option<Predicate> {
                let conditions = self.0.iter().map(|filter| filter.condition());
                conditions.collect::<Option<Vec<_>>>().map($condition)
            }
        }
    };
}

combination!(
    /// Intersection of filters; contains all documents if there are none.
    AllOf, all, false, Predicate::All
);
combination!(
    /// Union of filters; empty if there are none.
    AnyOf, any, false, Predicate::Any
);
combination!(
    /// Complement of the union of filters.
    NoneOf, any, true, |all| Predicate::Not(Box::new(Predicate::Any(all)))
);

/// Publication years by document number, for the time filter.
///
/// ```
/// use ir_core::{DocFilter, DocNum, Years};
/// let years: Years = [Some(2012), None, Some(2019)].into_iter().collect();
/// let filter = years.not_later_than(Some(2015));
/// assert!(filter.contains(DocNum::new(0)));
/// assert!(filter.contains(DocNum::new(1))); // unknown passes
/// assert!(!filter.contains(DocNum::new(2)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Years(Vec<Option<i64>>);

impl Years {
    /// Returns the year of a document.
    #[must_use]
    pub fn get(&self, doc: DocNum) -> Option<i64> {
        self.0.get(doc.index()).copied().flatten()
    }

    /// Returns years where every record has the year of the first record with its id, for
    /// collections with repeated ids.
    #[must_use]
    pub fn of_first_record(&self, ids: &DocIds) -> Self {
        ids.iter()
            .map(|id| ids.get(id).and_then(|first| self.get(first)))
            .collect()
    }

    /// Creates the time filter: the year of a document is at most `year`. A document of unknown
    /// year passes; if `year` is `None`, all documents pass.
    #[must_use]
    pub const fn not_later_than(&self, year: Option<i64>) -> NotLaterThan<'_> {
        NotLaterThan { years: self, year }
    }
}

impl FromIterator<Option<i64>> for Years {
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(years: I) -> Self {
        Self(years.into_iter().collect())
    }
}

/// Time filter: rejects documents whose year is known and later. See [`Years`].
#[derive(Debug, Clone, Copy)]
pub struct NotLaterThan<'a> {
    years: &'a Years,
    year: Option<i64>,
}

impl DocFilter for NotLaterThan<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        match (self.years.get(doc), self.year) {
            (Some(document), Some(query)) => document <= query,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attributes;

    fn doc(n: u32) -> DocNum {
        DocNum::new(n)
    }

    #[test]
    fn bitmap_round_trip() {
        let members = [0, 63, 64, 127, 1000].map(doc);
        let set: DocSet = members.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), members);
        assert_eq!(set.count(), Some(5));
        let mut again = set.clone();
        assert!(!again.insert(doc(64)));
        assert_eq!(again, set);
        assert!(!set.contains(doc(1)) && !set.contains(doc(1_000_000)));
        let json = serde_json::to_string(&set).unwrap();
        assert!(
            json.starts_with(r#"{"words":["#) && !json.contains("len"),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<DocSet>(&json).unwrap(), set);
        assert_eq!(
            DocSet::select(10, |d| d.get() > 7),
            [8, 9].map(doc).into_iter().collect()
        );
    }

    #[test]
    fn empty_combinations() {
        assert!(AllOf(vec![]).contains(doc(0)));
        assert!(!AnyOf(vec![]).contains(doc(0)));
        assert!(NoneOf(vec![]).contains(doc(0)));
    }

    #[test]
    fn combinations_have_the_condition_of_their_parts() {
        let years: Years = [Some(2000), None, Some(2010)].into_iter().collect();
        let (early, later) = (years.not_later_than(Some(2005)), |doc: DocNum| {
            doc.get() > 0
        });
        let at_most = |limit| Predicate::AtMost {
            name: "year".to_owned(),
            limit,
        };
        let early = WithCondition {
            filter: &early,
            condition: at_most(2005.0),
        };
        let all = AllOf(vec![&early, &early]);
        let expected = vec![at_most(2005.0), at_most(2005.0)];
        assert_eq!(all.condition(), Some(Predicate::All(expected.clone())));
        assert_eq!(AnyOf(vec![&early, &later]).condition(), None);
        let none = NoneOf(vec![&all]).condition().unwrap();
        let of = |year: Option<i64>| {
            let mut attributes = Attributes::new();
            if let Some(year) = year {
                attributes.set(Attributes::YEAR, year);
            }
            attributes
        };
        for (n, year) in [Some(2000), None, Some(2010)].into_iter().enumerate() {
            let filter = NoneOf(vec![&all]);
            assert_eq!(none.matches(&of(year)), filter.contains(doc(n as u32)));
        }
    }

    #[test]
    fn unknown_years_pass() {
        let years: Years = [Some(2000), None].into_iter().collect();
        assert!(years.not_later_than(None).contains(doc(0)));
        assert!(years.not_later_than(Some(2000)).contains(doc(0)));
        assert!(!years.not_later_than(Some(1999)).contains(doc(0)));
        assert!(years.not_later_than(Some(1)).contains(doc(1)));
        assert!(
            years.not_later_than(Some(1)).contains(doc(2)),
            "documents beyond the table have no year"
        );
    }

    #[test]
    fn records_of_one_id_have_one_year() {
        let ids: DocIds = ["a", "b", "a", "c", "b"].into_iter().collect();
        let years: Years = [Some(1), None, Some(9), Some(3), Some(4)]
            .into_iter()
            .collect();
        let expected: Years = [Some(1), None, Some(1), Some(3), None]
            .into_iter()
            .collect();
        assert_eq!(years.of_first_record(&ids), expected);
    }

    #[test]
    fn predicates_on_lists_and_negation() {
        let mut a = Attributes::new();
        a.set("tags", vec!["x", "y"]);
        a.set("year", "2010");
        let one_of = |v: &str| Predicate::OneOf {
            name: "tags".into(),
            values: vec![v.into()],
        };
        assert!(one_of("y").matches(&a) && !one_of("z").matches(&a));
        assert!(Predicate::Not(Box::new(one_of("z"))).matches(&a));
        assert!(
            !Predicate::AtMost {
                name: "year".into(),
                limit: 2020.0
            }
            .matches(&a),
            "a string is not a number"
        );
        assert_eq!(
            one_of("x").select([&a, &Attributes::new()]).count(),
            Some(1)
        );
    }
}
