//! Searching the queries of a task with a system.

use ir_core::{DocFilter, DocNum, DocSet, Flow, NotLaterThan, Predicate, Retriever, Run, Search};
use ir_studies::datafinder::{published_depth, published_filter};
use ir_system::{ContentHash, FilterName, SpecError, SystemContext, SystemEntry, SystemError};

use crate::best_record::best_records;
use crate::documents::Documents;
use crate::file::{Experiment, TaskEntry};
use crate::queries::JudgedSet;
use crate::task::TaskData;

/// Number of queries that are searched between two progress reports.
const BATCH: usize = 256;

/// Search parameters of a system.
pub(crate) struct SearchParameters {
    pub(crate) hits: usize,
    filter: FilterName,
    condition: Option<Predicate>,
    remove_self: bool,
}

impl SearchParameters {
    pub(crate) fn new(experiment: &Experiment, task: &TaskEntry, entry: &SystemEntry) -> Self {
        Self {
            hits: entry.hits.unwrap_or(experiment.search.hits),
            filter: experiment.filter(task, entry),
            condition: experiment.condition(entry).cloned(),
            remove_self: task.remove_self,
        }
    }

    /// Searches all queries of a set, in batches.
    pub(crate) fn search(
        &self,
        context: &mut SystemContext<'_>,
        data: &TaskData,
        name: &str,
        set: &JudgedSet,
    ) -> Result<Run, SystemError> {
        let prepared = context.systems.get(name).map(|it| it.parsed.clone());
        if let Some(prepared) = prepared
            && let Some(mut run) = prepared.system.run(context)?
        {
            name.clone_into(&mut run.tag);
            if self.remove_self {
                run.remove_identical_ids();
            }
            return Ok(run);
        }
        let open = context.system(name)?;
        let before = open.long_documents();
        let retriever = match &open.with_duplicates {
            Some(raw) if self.filter.of_records().is_some() => raw.clone(),
            _ => open.retriever.clone(),
        };
        let ids = retriever.ids();
        let years = match self.filter {
            FilterName::None => ir_core::Years::default(),
            FilterName::Year | FilterName::PublishedYear => data.years_of(ids),
            FilterName::YearOfLastRecord => data.documents.years_of_last(ids),
            FilterName::YearOfBestRecord => data.years_of_records(ids)?,
        };
        let condition = self.condition.as_ref();
        let passing = condition.and_then(|condition| data.documents.passing(condition, ids));
        let filters: Vec<NotLaterThan<'_>> = (set.queries.iter())
            .map(|query| years.not_later_than(query.attributes.year()))
            .collect();
        let documents = &*data.documents;
        let passing = passing.as_ref().zip(condition);
        let mut run = Run::new(name);
        let total = set.queries.len();
        let depth = match self.filter {
            FilterName::None | FilterName::Year | FilterName::YearOfLastRecord => self.hits,
            FilterName::PublishedYear => published_depth(self.hits),
            FilterName::YearOfBestRecord => self.hits.saturating_mul(2),
        };
        for (start, batch) in (0..).step_by(BATCH).zip(set.queries.chunks(BATCH)) {
            let stage = format!("searching {name}");
            let flow = context
                .observer
                .report(&stage, start as u64, Some(total as u64));
            if flow == Flow::Stop {
                return Err(SpecError::Canceled.into());
            }
            let within: Vec<QueryFilter<'_>> = (batch.iter().zip(&filters[start..]))
                .map(|(query, time)| QueryFilter {
                    documents,
                    time: matches!(self.filter, FilterName::Year | FilterName::YearOfLastRecord)
                        .then_some((*time, query.attributes.year())),
                    passing,
                })
                .collect();
            let within = |n: usize, depth: usize| {
                if within[n].is_empty() {
                    Search::top(depth)
                } else {
                    Search::top(depth).within(&within[n])
                }
            };
            let searches: Vec<(&str, Search<'_>)> = (batch.iter().enumerate())
                .map(|(n, query)| (query.text.as_str(), within(n, depth)))
                .collect();
            let rankings = retriever.search_batch(&searches);
            let rankings = rankings.map_err(SystemError::stage("searching"))?;
            for ((n, query), ranking) in batch.iter().enumerate().zip(rankings) {
                let time = &filters[start + n];
                let ranking = match self.filter {
                    FilterName::None | FilterName::Year | FilterName::YearOfLastRecord => ranking,
                    FilterName::PublishedYear => published_filter(&ranking, ids, time, self.hits),
                    FilterName::YearOfBestRecord => {
                        let deeper = |depth| retriever.search(&query.text, &within(n, depth));
                        let found = best_records((ranking, depth), ids, time, self.hits, deeper);
                        found.map_err(SystemError::stage("searching"))?
                    }
                };
                run.push_ranking(&query.id, &ranking, ids);
            }
        }
        let long = open.long_documents() - before;
        if long > 0 {
            let task = context.data.name();
            let note = format!(
                "{task}: {name}: candidates longer than the model, scored by the start or by \
                 `windows`: {long}"
            );
            context.observer.note(&note);
        }
        if self.remove_self {
            run.remove_identical_ids();
        }
        Ok(run)
    }
}

/// Filter of a query. Engines on servers evaluate its condition in place of a list of documents.
struct QueryFilter<'a> {
    documents: &'a Documents,
    /// Time filter, and the year of the query.
    time: Option<(NotLaterThan<'a>, Option<i64>)>,
    /// Documents that satisfy the condition of the system.
    passing: Option<(&'a DocSet, &'a Predicate)>,
}

impl QueryFilter<'_> {
    const fn is_empty(&self) -> bool {
        self.time.is_none() && self.passing.is_none()
    }
}

impl DocFilter for QueryFilter<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.time.is_none_or(|(time, _)| time.contains(doc))
            && self.passing.is_none_or(|(set, _)| set.contains(doc))
    }

    fn condition(&self) -> Option<Predicate> {
        let mut all = Vec::new();
        if let Some((_, year)) = self.time {
            all.push(self.documents.year_condition(year)?);
        }
        if let Some((_, condition)) = self.passing {
            all.push(self.documents.has_unique_ids().then(|| condition.clone())?);
        }
        Some(Predicate::All(all))
    }

    fn key(&self) -> Option<String> {
        let year = self.time.map(|(_, year)| year);
        let condition = self.passing.map(|(_, condition)| condition);
        Some(format!("{year:?} {condition:?}"))
    }
}

/// Cache key of a run.
pub(crate) fn run_key(
    context: &SystemContext<'_>,
    name: &str,
    set: &JudgedSet,
    parameters: &SearchParameters,
) -> Result<String, SystemError> {
    let mut hash = ContentHash::default();
    hash.text(&context.system_key(name)?)
        .text(&set.hash)
        .number(parameters.hits as i64)
        .number(parameters.filter as i64)
        .number(i64::from(parameters.remove_self));
    let condition = serde_json::to_string(&parameters.condition);
    hash.text(&condition.map_err(SystemError::stage("serialization"))?);
    if parameters.condition.is_some() {
        // The comparison of values changes with this text.
        hash.text("condition of records, years with dates");
    }
    Ok(hash.finish())
}
