//! Which documents a search may return.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Attributes, DocIds, DocNum, AttributeValue};

/// A set of documents that a search is confined to.
///
/// Closures are filters; so are [`DocSet`] (a bitmap), [`NotLaterThan`] (a year), and the
/// combinations [`AllOf`], [`AnyOf`] and [`NoneOf`]. Membership must not change during a search.
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
    /// Whether the document may be returned.
    fn contains(&self, doc: DocNum) -> bool;

    /// How many documents pass, when that is known: few make an engine look at just those.
    fn count(&self) -> Option<usize> {
        None
    }
}

impl<F: Fn(DocNum) -> bool + Send + Sync> DocFilter for F {
    fn contains(&self, doc: DocNum) -> bool {
        self(doc)
    }
}

/// A set of documents as a bitmap, one bit per document of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocSet {
    words: Vec<u64>,
}

impl DocSet {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The documents among the first `n` that `keep` accepts.
    #[must_use]
    pub fn select(n: usize, mut keep: impl FnMut(DocNum) -> bool) -> Self {
        (0..n as u32)
            .map(DocNum::new)
            .filter(|&doc| keep(doc))
            .collect()
    }

    /// Adds a document.
    pub fn insert(&mut self, doc: DocNum) {
        let word = doc.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (doc.index() % 64);
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = DocNum> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| DocNum::new((at * 64 + bit) as u32))
        })
    }
}

impl FromIterator<DocNum> for DocSet {
    fn from_iter<I: IntoIterator<Item = DocNum>>(docs: I) -> Self {
        let mut set = Self::new();
        docs.into_iter().for_each(|doc| set.insert(doc));
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
        Some(
            self.words
                .iter()
                .map(|word| word.count_ones() as usize)
                .sum(),
        )
    }
}

macro_rules! combination {
    ($(#[$doc:meta])* $name:ident, $test:ident, $negate:expr) => {
        $(#[$doc])*
        pub struct $name<'a>(pub Vec<&'a dyn DocFilter>);

        impl DocFilter for $name<'_> {
            fn contains(&self, doc: DocNum) -> bool {
                self.0.iter().$test(|filter| filter.contains(doc)) != $negate
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({} filters)"), self.0.len())
            }
        }
    };
}

combination!(
    /// Documents in every one of these filters (all documents, when there is no filter).
    AllOf, all, false
);
combination!(
    /// Documents in at least one of these filters.
    AnyOf, any, false
);
combination!(
    /// Documents in none of these filters.
    NoneOf, any, true
);

/// The years of the documents of one index, by document number, for the time filter.
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
    /// The year of a document.
    #[must_use]
    pub fn get(&self, doc: DocNum) -> Option<i64> {
        self.0.get(doc.index()).copied().flatten()
    }

    /// For collections that repeat ids: every record with the year of the first record of its id.
    /// The records of one id are one thing, and one thing has one year.
    #[must_use]
    pub fn of_first_record(&self, ids: &DocIds) -> Self {
        ids.iter()
            .map(|id| ids.get(id).and_then(|first| self.get(first)))
            .collect()
    }

    /// The filter "the document's year is not later than `year`"; an unknown year passes, on either side.
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

/// The time filter: a document passes unless its year is known and later. See [`Years`].
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

/// A condition on attributes, as a value that can be stored, sent and printed; turned into a
/// [`DocSet`] over the documents of an index.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition = Predicate::All(vec![
///     Predicate::AtMost { name: "year".into(), limit: 2015.0 },
///     Predicate::OneOf { name: "repository".into(), values: vec!["geo".into(), "sra".into()] },
/// ]);
/// let mut attributes: Attributes = [("repository", "geo")].into_iter().collect();
/// assert!(condition.matches(&attributes)); // the year is unknown: it passes
/// attributes.set("year", 2016_i64);
/// assert!(!condition.matches(&attributes));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Predicate {
    /// The attribute is a number not above the limit, or absent.
    AtMost {
        /// The attribute.
        name: String,
        /// The largest value that passes.
        limit: f64,
    },
    /// The attribute is a number not below the limit, or absent.
    AtLeast {
        /// The attribute.
        name: String,
        /// The smallest value that passes.
        limit: f64,
    },
    /// The attribute, or one member of it when it is a list, is one of these values.
    OneOf {
        /// The attribute.
        name: String,
        /// The values that pass.
        values: Vec<AttributeValue>,
    },
    /// The attribute is present.
    Known {
        /// The attribute.
        name: String,
    },
    /// Every one holds.
    All(Vec<Predicate>),
    /// At least one holds.
    Any(Vec<Predicate>),
    /// It does not hold.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Whether a document with these attributes passes.
    #[must_use]
    pub fn matches(&self, attributes: &Attributes) -> bool {
        let number = |name: &str| match attributes.get(name) {
            Some(AttributeValue::Int(n)) => Some(Some(*n as f64)),
            Some(AttributeValue::Float(x)) => Some(Some(*x)),
            Some(_) => Some(None),
            None => None,
        };
        match self {
            Self::AtMost { name, limit } => {
                number(name).is_none_or(|n| n.is_some_and(|n| n <= *limit))
            }
            Self::AtLeast { name, limit } => {
                number(name).is_none_or(|n| n.is_some_and(|n| n >= *limit))
            }
            Self::OneOf { name, values } => match attributes.get(name) {
                Some(AttributeValue::List(members)) => members.iter().any(|member| values.contains(member)),
                Some(value) => values.contains(value),
                None => false,
            },
            Self::Known { name } => attributes.get(name).is_some(),
            Self::All(parts) => parts.iter().all(|part| part.matches(attributes)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(attributes)),
            Self::Not(part) => !part.matches(attributes),
        }
    }

    /// The documents that pass, given the attributes of every document in the order of their numbers.
    #[must_use]
    pub fn select<'a>(&self, documents: impl IntoIterator<Item = &'a Attributes>) -> DocSet {
        let numbered = documents.into_iter().zip(0..);
        numbered
            .filter(|(a, _)| self.matches(a))
            .map(|(_, n)| DocNum::new(n))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(n: u32) -> DocNum {
        DocNum::new(n)
    }

    #[test]
    fn bitmaps_hold_what_was_put_in() {
        let members = [0, 63, 64, 127, 1000].map(doc);
        let set: DocSet = members.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), members);
        assert_eq!(set.count(), Some(5));
        assert!(!set.contains(doc(1)) && !set.contains(doc(1_000_000)));
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
    fn years_pass_when_unknown() {
        let years: Years = [Some(2000), None].into_iter().collect();
        assert!(years.not_later_than(None).contains(doc(0)));
        assert!(years.not_later_than(Some(2000)).contains(doc(0)));
        assert!(!years.not_later_than(Some(1999)).contains(doc(0)));
        assert!(years.not_later_than(Some(1)).contains(doc(1)));
        assert!(
            years.not_later_than(Some(1)).contains(doc(2)),
            "beyond the table: unknown"
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
            "a text is no number"
        );
        assert_eq!(
            one_of("x").select([&a, &Attributes::new()]).count(),
            Some(1)
        );
    }
}
