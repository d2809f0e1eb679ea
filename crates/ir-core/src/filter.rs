//! Filters that restrict a search to a set of documents.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{DocIds, DocNum, DocSet};
use crate::predicate::Predicate;

/// Set of documents to which a search is restricted.
///
/// Implemented by closures, [`DocSet`] (bitmap), [`NotLaterThan`] (year) and the combinations
/// [`AllOf`] and [`NoneOf`]. Membership must not change during a search.
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

    /// Returns a key of the filter, if one is known: filters with equal keys pass documents with
    /// the same ids. Retrievers that keep rankings compare it. Default: the
    /// [`condition`](Self::condition) as text.
    fn key(&self) -> Option<String> {
        self.condition().map(|condition| format!("{condition:?}"))
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

impl DocFilter for DocSet {
    fn contains(&self, doc: DocNum) -> bool {
        self.has(doc)
    }

    fn count(&self) -> Option<usize> {
        Some(self.size())
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
/// let condition: Predicate = "year<=2015".parse()?;
/// let filter = WithCondition { filter: &filter, condition: condition.clone() };
/// assert!(!filter.contains(DocNum::new(2)));
/// assert_eq!(filter.condition(), Some(condition));
/// # Ok::<(), ir_core::ParsePredicateError>(())
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

/// Intersection of filters; contains all documents if there are none.
#[derive(Debug)]
pub struct AllOf<'a>(pub Vec<&'a dyn DocFilter>);

impl DocFilter for AllOf<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.0.iter().all(|filter| filter.contains(doc))
    }

    fn condition(&self) -> Option<Predicate> {
        let conditions = self.0.iter().map(|filter| filter.condition());
        conditions.collect::<Option<Vec<_>>>().map(Predicate::All)
    }
}

/// Complement of the union of filters.
#[derive(Debug)]
pub struct NoneOf<'a>(pub Vec<&'a dyn DocFilter>);

impl DocFilter for NoneOf<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        !self.0.iter().any(|filter| filter.contains(doc))
    }

    fn condition(&self) -> Option<Predicate> {
        let conditions = self.0.iter().map(|filter| filter.condition());
        let conditions = conditions.collect::<Option<Vec<_>>>()?;
        Some(Predicate::Not(Box::new(Predicate::Any(conditions))))
    }
}

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

/// Time filter of [`Years`]: rejects documents of a known, later year.
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
    use crate::attributes::Attributes;

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
        assert!(NoneOf(vec![]).contains(doc(0)));
    }

    #[test]
    fn combinations_have_the_condition_of_their_parts() {
        let years: Years = [Some(2000), None, Some(2010)].into_iter().collect();
        let (early, later) = (years.not_later_than(Some(2005)), |doc: DocNum| {
            doc.get() > 0
        });
        let at_most = |limit: i64| Predicate::AtMost {
            name: "year".to_owned(),
            limit: limit.into(),
            strict: false,
        };
        let early = WithCondition {
            filter: &early,
            condition: at_most(2005),
        };
        let all = AllOf(vec![&early, &early]);
        let expected = vec![at_most(2005), at_most(2005)];
        assert_eq!(all.condition(), Some(Predicate::All(expected.clone())));
        assert_eq!(AllOf(vec![&early, &later]).condition(), None);
        assert_eq!(NoneOf(vec![&early, &later]).condition(), None);
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
        let at_most = |limit: i64| Predicate::AtMost {
            name: "year".into(),
            limit: limit.into(),
            strict: false,
        };
        assert!(at_most(2020).matches(&a) && !at_most(2009).matches(&a));
        assert_eq!(
            one_of("x").select([&a, &Attributes::new()]).count(),
            Some(1)
        );
    }
}
