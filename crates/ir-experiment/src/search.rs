//! Searching the queries of a task with a system.

use ir_core::{AllOf, DocFilter, Flow, NotLaterThan, Retriever, Run, Search, WithCondition};
use ir_data::datafinder::{published_depth, published_filter};

use crate::best_record::best_records;
use crate::error::{ExperimentError, SystemError};
use crate::file::{Experiment, FilterName, SystemEntry, TaskEntry};
use crate::hash::ContentHash;
use crate::queries::JudgedSet;
use crate::system::SystemContext;

/// Number of queries that are searched between two progress reports.
const BATCH: usize = 256;

/// Search parameters of a system.
pub(crate) struct SearchParameters {
    pub(crate) hits: usize,
    filter: FilterName,
    condition: Option<ir_core::Predicate>,
    remove_self: bool,
}

impl SearchParameters {
    pub(crate) fn new(experiment: &Experiment, task: &TaskEntry, entry: &SystemEntry) -> Self {
        Self {
            hits: entry.hits.unwrap_or(experiment.search.hits),
            filter: experiment.filter(task, entry),
            condition: experiment.search.condition.clone(),
            remove_self: task.remove_self,
        }
    }

    /// Searches all queries of a set, in batches.
    pub(crate) fn search(
        &self,
        context: &mut SystemContext<'_>,
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
        let retriever = match &open.with_duplicates {
            Some(raw) if self.filter.of_records().is_some() => raw.clone(),
            _ => open.retriever.clone(),
        };
        let ids = retriever.ids();
        let years = match self.filter {
            FilterName::None => ir_core::Years::default(),
            FilterName::Year | FilterName::PublishedYear => context.task.years_of(ids),
            FilterName::YearOfBestRecord => context.task.years_of_records(ids)?,
        };
        let passing = context.task.passing(ids);
        let filters: Vec<NotLaterThan<'_>> = (set.queries.iter())
            .map(|query| years.not_later_than(query.attributes.year()))
            .collect();
        // Engines on servers evaluate conditions in place of lists of documents.
        let described: Vec<Option<WithCondition<'_>>> = (filters.iter().zip(&set.queries))
            .map(|(filter, query)| {
                let condition = context.task.year_condition(query.attributes.year());
                condition.map(|condition| WithCondition { filter, condition })
            })
            .collect();
        let condition = self.condition.clone();
        let condition = condition.filter(|_| context.task.has_unique_ids());
        let described_passing = passing.as_ref().zip(condition);
        let described_passing = described_passing.map(|(set, condition)| WithCondition {
            filter: set,
            condition,
        });
        let mut run = Run::new(name);
        let total = set.queries.len();
        let depth = match self.filter {
            FilterName::None | FilterName::Year => self.hits,
            FilterName::PublishedYear => published_depth(self.hits),
            FilterName::YearOfBestRecord => self.hits.saturating_mul(2),
        };
        for (start, batch) in (0..).step_by(BATCH).zip(set.queries.chunks(BATCH)) {
            let stage = format!("searching {name}");
            let flow = context
                .observer
                .report(&stage, start as u64, Some(total as u64));
            if flow == Flow::Stop {
                return Err(ExperimentError::Canceled.into());
            }
            let both: Vec<AllOf<'_>> = (0..batch.len())
                .map(|n| {
                    let mut all: Vec<&dyn DocFilter> = Vec::new();
                    if self.filter == FilterName::Year {
                        all.push(match &described[start + n] {
                            Some(filter) => filter,
                            None => &filters[start + n],
                        });
                    }
                    match (&described_passing, &passing) {
                        (Some(filter), _) => all.push(filter),
                        (None, Some(set)) => all.push(set),
                        (None, None) => {}
                    }
                    AllOf(all)
                })
                .collect();
            let within = |n: usize, depth: usize| match both[n].0.is_empty() {
                true => Search::top(depth),
                false => Search::top(depth).within(&both[n]),
            };
            let searches: Vec<(&str, Search<'_>)> = (batch.iter().enumerate())
                .map(|(n, query)| (query.text.as_str(), within(n, depth)))
                .collect();
            let rankings = retriever.search_batch(&searches);
            let rankings = rankings.map_err(SystemError::stage("searching"))?;
            for ((n, query), ranking) in batch.iter().enumerate().zip(rankings) {
                let time = &filters[start + n];
                let ranking = match self.filter {
                    FilterName::None | FilterName::Year => ranking,
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
        if self.remove_self {
            run.remove_identical_ids();
        }
        Ok(run)
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
    Ok(hash.finish())
}
