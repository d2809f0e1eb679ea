//! Attribute conditions of `--filter` and of system files.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use ir_bm25::{DuplicateIds, SegmentedIndex, StoredFields};
use ir_core::{
    AllOf, Attributes, ConditionCheck, DocFilter, DocIds, DocNum, DocSet, ParsePredicateError,
    Predicate, Query, Ranking, Retriever, Search, SearchError, WithCondition, YearCheck, Years,
};
use ir_studies::datafinder;
use ir_system::{FilterName, SharedRetriever};

use crate::shared::console::Console;
use crate::shared::suggest::did_you_mean;

/// Parses a condition, as `FromStr` of [`Predicate`].
pub(crate) fn condition(text: &str) -> Result<Predicate, String> {
    text.parse()
        .map_err(|error: ParsePredicateError| error.to_string())
}

/// Conditions that documents must satisfy, with the option or key that states them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedConditions<'a> {
    /// Option or key, for messages.
    pub(crate) source: &'a str,
    pub(crate) all: &'a [Predicate],
}

impl<'a> NamedConditions<'a> {
    /// Conditions of `--filter`.
    pub(crate) const fn of_option(all: &'a [Predicate]) -> Self {
        Self {
            source: "--filter",
            all,
        }
    }
}

/// Conditions on attributes, and the time filter.
pub(crate) struct QueryFilters {
    /// Year of each document. Records with the same id take the year of the first record.
    pub(crate) years: Years,
    time: bool,
    /// Documents that satisfy the conditions; `None` without conditions.
    pub(crate) chosen: Option<DocSet>,
    /// Condition on attributes that is equivalent to `chosen`: a server evaluates it and the time
    /// filter. `None` on an index, and if the filters have no equivalent condition.
    condition: Option<Predicate>,
}

/// Condition of the time filter of a query.
pub(crate) fn not_later(year: i64) -> Predicate {
    Predicate::AtMost {
        name: Attributes::YEAR.to_owned(),
        limit: year.into(),
        strict: false,
    }
}

impl QueryFilters {
    /// Selects the documents that satisfy all conditions. Warns about attributes that no document
    /// has. `time` enables the time filter; `name` names the index in errors.
    pub(crate) fn new(
        index: &SegmentedIndex,
        conditions: NamedConditions<'_>,
        time: bool,
        name: &str,
        console: &Console,
    ) -> Result<Self> {
        let years = match index.config().duplicates {
            DuplicateIds::Keep => index.years().of_first_record(index.ids()),
            _ => index.years(),
        };
        let mut docs = (0..index.len() as u32).map(DocNum::new);
        if time && docs.all(|doc| years.get(doc).is_none()) {
            console.warn("no document has a year; the time filter has no effect");
        }
        let chosen = if conditions.all.is_empty() {
            None
        } else {
            Some(select_documents(index, conditions, name, console)?)
        };
        Ok(Self {
            years,
            time,
            chosen,
            condition: None,
        })
    }

    /// Time filter of a search on a server, with documents that are not known here. The server must
    /// have been checked to evaluate [`not_later`] for the years of all queries.
    #[cfg(feature = "remote")]
    pub(crate) fn on_server(time: bool) -> Self {
        Self {
            years: Years::default(),
            time,
            chosen: None,
            condition: Some(Predicate::All(Vec::new())),
        }
    }

    /// Filters of documents with these ids and attributes. Warns about invalid years and a time
    /// filter without years.
    pub(crate) fn of_documents(
        ids: &DocIds,
        attributes: &[Attributes],
        condition: &Predicate,
        time: bool,
        console: &Console,
    ) -> Self {
        let mut has_valid_years = true;
        if time {
            let check: YearCheck = attributes.iter().collect();
            for warning in check.warnings(["document", "documents"]) {
                console.warn(warning);
            }
            has_valid_years = check.invalid() == 0;
        }
        let years: Years = attributes.iter().map(Attributes::year).collect();
        let numbered = (0..).map(DocNum::new).zip(attributes);
        let chosen = numbered.filter(|(_, attributes)| condition.matches(attributes));
        let is_all = matches!(condition, Predicate::All(none) if none.is_empty());
        // A condition takes records of one id apart, and years that are no numbers.
        let is_exact = (time || !is_all) && ids.check_unique().is_ok() && has_valid_years;
        Self {
            years: years.of_first_record(ids),
            time,
            chosen: (!is_all).then(|| chosen.map(|(doc, _)| doc).collect()),
            condition: is_exact.then(|| condition.clone()),
        }
    }

    /// Condition of the filter of a query, by the year of the query.
    fn condition_of(&self, year: Option<i64>) -> Option<Predicate> {
        let chosen = self.condition.clone()?;
        let time = year.filter(|_| self.time).map(not_later);
        Some(Predicate::All([chosen].into_iter().chain(time).collect()))
    }

    /// Calls `search` with the filter of each query; `years` are the years of the queries. Without
    /// a filter the engine can prune freely.
    pub(crate) fn apply<R>(
        &self,
        years: impl Iterator<Item = Option<i64>>,
        search: impl FnOnce(&[Option<&dyn DocFilter>]) -> R,
    ) -> R {
        let years: Vec<Option<i64>> = years.collect();
        let times = years.iter().map(|year| self.years.not_later_than(*year));
        let times: Vec<_> = times.collect();
        let all: Vec<AllOf<'_>> = times
            .iter()
            .map(|time| {
                let chosen = self.chosen.iter().map(|set| set as &dyn DocFilter);
                let time = self.time.then_some(time as &dyn DocFilter);
                AllOf(chosen.chain(time).collect())
            })
            .collect();
        let described = all.iter().zip(&years).map(|(filter, year)| {
            let condition = self.condition_of(*year)?;
            Some(WithCondition { filter, condition })
        });
        let described: Vec<Option<WithCondition<'_>>> = described.collect();
        let filters = all.iter().zip(&described).map(|(all, described)| {
            let filter = match described {
                Some(described) => described as &dyn DocFilter,
                None => all as &dyn DocFilter,
            };
            (!all.0.is_empty()).then_some(filter)
        });
        search(&filters.collect::<Vec<_>>())
    }

    /// Ranks the documents that pass, for every query. The filter `published-year` needs
    /// `with_duplicates`, which may return an id more than once.
    pub(crate) fn rank(
        &self,
        filter: FilterName,
        (retriever, with_duplicates): (&dyn Retriever<Query = str>, Option<&SharedRetriever>),
        queries: &[Query],
        k: usize,
    ) -> Result<Vec<Ranking>> {
        if filter == FilterName::PublishedYear {
            let message = "expected a system of the type bm25 for the filter published-year";
            let raw = with_duplicates.context(message)?;
            return Ok(self.published(&**raw, queries, k)?);
        }
        let years = queries.iter().map(|query| query.attributes.year());
        self.apply(years, |filters| {
            let batch = queries.iter().zip(filters).map(|(query, filter)| {
                let search = Search::top(k);
                let search = filter.map_or(search, |filter| search.within(filter));
                (query.text.as_str(), search)
            });
            Ok(retriever.search_batch(&batch.collect::<Vec<_>>())?)
        })
    }

    /// Published procedure of the DataFinder paper, over hits with duplicate ids.
    fn published(
        &self,
        retriever: &dyn Retriever<Query = str>,
        queries: &[Query],
        k: usize,
    ) -> Result<Vec<Ranking>, SearchError> {
        let mut search = Search::top(datafinder::published_depth(k));
        if let Some(chosen) = &self.chosen {
            search = search.within(chosen);
        }
        let batch = queries.iter().map(|query| (query.text.as_str(), search));
        let raw = retriever.search_batch(&batch.collect::<Vec<_>>())?;
        let walked = queries.iter().zip(&raw).map(|(query, raw)| {
            let time = self.years.not_later_than(query.attributes.year());
            datafinder::published_filter(raw, retriever.ids(), &time, k)
        });
        Ok(walked.collect())
    }
}

fn select_documents(
    index: &SegmentedIndex,
    conditions: NamedConditions<'_>,
    name: &str,
    console: &Console,
) -> Result<DocSet> {
    if index.config().store == StoredFields::Nothing {
        bail!(
            "{name}: {} needs stored attributes, found an index without them (`ir index --store attributes`)",
            conditions.source
        );
    }
    let read = || format!("{name}: cannot be read");
    let documents = (0..index.len() as u32).map(DocNum::new);
    let documents = documents.map(|doc| index.attributes(doc));
    warn_of_conditions(conditions, documents, console).with_context(read)?;
    let all = Predicate::All(conditions.all.to_vec());
    index.select(&all).with_context(read)
}

/// Warns about queries with an invalid year, and if no query has a year.
pub(crate) fn warn_of_years(queries: &[Query], console: &Console) {
    let check: YearCheck = queries.iter().map(|query| &query.attributes).collect();
    for warning in check.warnings(["query", "queries"]) {
        console.warn(warning);
    }
}

/// Warns about conditions on attributes that no document has, about values that limits cannot be
/// compared with, and about malformed dates.
pub(crate) fn warn_of_conditions<A: Borrow<Attributes>, E>(
    conditions: NamedConditions<'_>,
    documents: impl IntoIterator<Item = Result<A, E>>,
    console: &Console,
) -> Result<(), E> {
    let mut check = ConditionCheck::new(conditions.all);
    for attributes in documents {
        if check.is_complete() {
            break;
        }
        check.add(attributes?.borrow());
    }
    let hint =
        |name: &str, known: &BTreeSet<String>| did_you_mean(name, known.iter().map(String::as_str));
    for warning in check.warnings(hint) {
        console.warn(format_args!("{}: {warning}", conditions.source));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(condition: &str, attributes: &Attributes) -> bool {
        super::condition(condition).unwrap().matches(attributes)
    }

    #[test]
    fn conditions_as_typed() {
        let mut a = Attributes::new();
        a.set("year", 2015_i64);
        a.set("repository", "geo");
        for holds in [
            "year<=2015",
            "year >= 2015",
            "year=2015",
            "year=2015.0",
            "year<=2015-06-01",
            "repository=sra, geo",
            "repository=\"geo\"",
            "repository!=sra",
            "year<2016",
            "year > 2014",
            "year==2015",
            "repository",
            "pages<=3",
        ] {
            assert!(matches(holds, &a), "{holds}");
        }
        for fails in [
            "year<=2014",
            "year!=2015",
            "year<2015",
            "year>2015",
            "repository=sra",
            "license",
        ] {
            assert!(!matches(fails, &a), "{fails}");
        }
        for wrong in [
            "",
            "year<=",
            "year<=x",
            "<=3",
            "year<=NaN",
            "year<>2015",
            "year=<2015",
            "year=>2015",
            "year:2015",
            "year between 2014 and 2016",
            "year>=2014,repository=geo",
            "=x",
        ] {
            assert!(condition(wrong).is_err(), "{wrong}");
        }
    }

    /// A server evaluates a condition in place of the documents if each id is there once, and no
    /// year is a text.
    #[test]
    fn conditions_for_servers() {
        let until = super::condition("year<=2015").unwrap();
        let (first, mut second) = (Attributes::new(), Attributes::new());
        second.set("year", 2020_i64);
        let of_the_server = |ids: &[&str], attributes: &[Attributes]| {
            let (ids, console): (DocIds, _) = (ids.iter().collect(), Console::new(true));
            let filters = QueryFilters::of_documents(&ids, attributes, &until, true, &console);
            filters.apply([Some(2010)].into_iter(), |filters| {
                filters[0].and_then(|filter| filter.condition())
            })
        };
        let mut attributes = [first, second];
        let expected = Predicate::All(vec![until.clone(), not_later(2010)]);
        assert_eq!(of_the_server(&["a", "b"], &attributes), Some(expected));
        assert_eq!(of_the_server(&["a", "a"], &attributes), None);
        attributes[0].set("year", "unknown");
        assert_eq!(of_the_server(&["a", "b"], &attributes), None);
    }
}
