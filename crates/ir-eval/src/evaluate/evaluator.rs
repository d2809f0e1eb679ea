//! The evaluator: judgments and measures, prepared once for any number of runs.

use std::mem;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use ir_core::{Grade, Judgments, Run};

use super::error::EvalError;
use super::report::{QueryValues, Report};
use crate::judged::{
    JudgedRanking, JudgmentStatus, NoveltySettings, PreparedQuery, Requirements, RetrievedList,
    Strata, Subtopics,
};
use crate::measure::{
    CustomMeasure, CustomName, Formula, JudgedList, Measure, MeasureInput, Requirement,
    RequirementIndices,
};
use crate::rules::{
    MissingQueries, QueriesWithoutRelevant, Rules, TrecEvalVersion, UnjudgedDocuments,
};

/// Computes measures of runs against fixed relevance judgments.
///
/// Construction prepares everything that depends on the judgments alone (relevant counts, ideal
/// rankings), so use one evaluator for many runs. It can be shared between threads. From 1,000
/// queries on, construction uses all CPU cores.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Evaluator, Measure};
///
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "d1", 2);
/// qrels.insert("q1", "d2", 1);
/// qrels.insert("q2", "d1", 1);
/// let mut run = Run::new("mine");
/// run.push("q1", "d3", 0.9);
/// run.push("q1", "d1", 0.8);
///
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR, Measure::NDCG.at(10)])?;
/// let report = evaluator.evaluate(&run)?;
/// // The run has no results for q2, which counts as 0.
/// assert_eq!(report.summary(Measure::RR), Some(0.25));
/// assert_eq!(report.value("q1", Measure::RR), Some(0.5));
/// assert_eq!(report.missing().collect::<Vec<_>>(), ["q2"]);
/// # Ok::<(), ir_eval::EvalError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator<'q> {
    rules: Rules,
    planned: Vec<PlannedMeasure<'q>>,
    requirements: Requirements,
    /// The judged queries, in ascending byte order of their ids.
    pub(super) queries: Vec<PreparedQuery<'q>>,
    top_judgments: usize,
}

/// A measure and the indices of what was prepared for it.
#[derive(Debug, Clone)]
struct PlannedMeasure<'q> {
    measure: Measure,
    level: Grade,
    indices: RequirementIndices,
    /// Computation of a custom measure.
    custom: Option<Arc<dyn CustomMeasure + 'q>>,
}

/// Buffers that are reused from query to query.
#[derive(Debug, Default)]
pub(super) struct QueryBuffers {
    pub(super) list: RetrievedList,
    ranking: JudgedRanking,
    /// `ranking` without unjudged documents.
    condensed: JudgedRanking,
}

/// Number of a judged query, and its evaluation.
pub(super) type QueryEvaluation = (usize, Result<QueryValues, EvalError>);

impl<'q> Evaluator<'q> {
    /// Creates an evaluator with the default [`Rules`], the rules of `trec_eval -c`, release 10.0.
    ///
    /// # Errors
    /// If the relevance level of a measure is negative, if a grade is too high for a measure, if a
    /// measure needs subtopic judgments and there are none, or if a measure is a custom one;
    /// register it with [`Evaluator::with`].
    pub fn new(
        qrels: &'q (impl Judgments + ?Sized),
        measures: &[Measure],
    ) -> Result<Self, EvalError> {
        Self::with_rules(qrels, measures, Rules::default())
    }

    /// Creates an evaluator with the given rules. Duplicate measures are computed once.
    ///
    /// # Errors
    /// If the relevance level of the rules or of a measure is negative, if a grade is too high for
    /// a measure, if a measure needs subtopic judgments and there are none, or if a measure is a
    /// custom one; register those with [`Evaluator::with`].
    pub fn with_rules(
        qrels: &'q (impl Judgments + ?Sized),
        measures: &[Measure],
        rules: Rules,
    ) -> Result<Self, EvalError> {
        let mut requirements = Requirements {
            levels: vec![valid_level(rules.level)?],
            ..Requirements::default()
        };
        let mut planned: Vec<PlannedMeasure<'q>> = Vec::new();
        for &measure in measures {
            if planned.iter().any(|other| other.measure == measure) {
                continue;
            }
            if let Some(name) = custom_name(measure) {
                let name = name.to_string();
                return Err(EvalError::Unregistered { name });
            }
            let level = valid_level(measure.level().unwrap_or(rules.level))?;
            let mut indices = RequirementIndices {
                level: index_of(&mut requirements.levels, level),
                ..RequirementIndices::default()
            };
            match measure.formula().definition().requirement() {
                Requirement::None => {}
                Requirement::Gain(gain) => {
                    indices.gain = index_of(&mut requirements.gains, gain);
                }
                Requirement::Subtopics(alpha) => {
                    let novelty = NoveltySettings { level, alpha };
                    indices.novelty = index_of(&mut requirements.novelties, novelty);
                }
            }
            requirements.condensed |= measure.is_judged_only();
            requirements.strata |= measure.formula().properties().needs_strata;
            planned.push(PlannedMeasure {
                measure,
                level,
                indices,
                custom: None,
            });
        }
        let mut evaluator = Self {
            rules,
            planned,
            requirements,
            queries: Vec::new(),
            top_judgments: 0,
        };
        let queries: Vec<&'q str> = qrels.queries().collect();
        evaluator.queries = evaluator.prepare(qrels, &queries)?;
        Ok(evaluator)
    }

    /// Registers a custom measure.
    ///
    /// # Errors
    /// If its name is invalid ([`Measure::custom`]) or already registered.
    pub fn with(mut self, measure: impl CustomMeasure + 'q) -> Result<Self, EvalError> {
        let name = measure.name().to_owned();
        let registered = Measure::custom(&name, measure.summary());
        let is_new = |new: &Measure| {
            let mut others = self.planned.iter();
            others.all(|other| custom_name(other.measure) != custom_name(*new))
        };
        let Some(registered) = registered.filter(is_new) else {
            return Err(EvalError::Name { found: name });
        };
        self.planned.push(PlannedMeasure {
            measure: registered,
            level: self.rules.level,
            indices: RequirementIndices::default(),
            custom: Some(Arc::new(measure)),
        });
        Ok(self)
    }

    /// Includes the judgments of the first `depth` documents of each list in the report:
    /// [`QueryValues::top_judgments`]. Default: 0.
    #[must_use]
    pub fn with_top_judgments(mut self, depth: usize) -> Self {
        self.top_judgments = depth;
        self
    }

    /// Evaluates a run. The report lists queries in ascending byte order of their ids.
    ///
    /// # Errors
    /// If no query of the run has judgments, if a list has a NaN score or a document twice, or if
    /// scores are equal and the rules reject ties.
    pub fn evaluate(&self, run: &Run) -> Result<Report, EvalError> {
        let lists = run.iter().map(|(query, list)| {
            let scored = list.iter().map(|it| (it.doc.as_str(), it.score));
            (query, scored)
        });
        self.evaluate_lists(&run.tag, lists)
    }

    /// Evaluates the lists of a run that is not a [`Run`]: query ids in any order, each with its
    /// documents and scores. `tag` names the run in the report.
    ///
    /// ```
    /// use ir_eval::{Evaluator, Measure, Qrels};
    /// let mut qrels = Qrels::new();
    /// qrels.insert("q1", "d1", 1);
    /// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
    /// let report = evaluator.evaluate_lists("mine", [("q1", [("d2", 9.1), ("d1", 8.7)])])?;
    /// assert_eq!(report.summary(Measure::RR), Some(0.5));
    /// # Ok::<(), ir_eval::EvalError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Evaluator::evaluate`], and an error if a judged query has two lists.
    pub fn evaluate_lists<'l, L>(
        &self,
        tag: &str,
        lists: impl IntoIterator<Item = (&'l str, L)>,
    ) -> Result<Report, EvalError>
    where
        L: IntoIterator<Item = (&'l str, f64)>,
    {
        let mut evaluated = Vec::with_capacity(self.queries.len());
        let mut unjudged = Vec::new();
        let mut is_evaluated = vec![false; self.queries.len()];
        let mut buffers = QueryBuffers::default();
        for (id, list) in lists {
            let Some(n) = self.query_number(id) else {
                unjudged.push(id.to_owned());
                continue;
            };
            if mem::replace(&mut is_evaluated[n], true) {
                return Err(EvalError::RepeatedQuery {
                    query: id.to_owned(),
                });
            }
            let query = &self.queries[n];
            buffers.list.start(Some(query));
            for (line, (doc, score)) in (1..).zip(list) {
                let ids = || (id.to_owned(), doc.to_owned());
                if score.is_nan() {
                    let (query, doc) = ids();
                    return Err(EvalError::NanScore { query, doc });
                }
                if buffers.list.push(doc, score, line, Some(query)).is_err() {
                    let (query, doc) = ids();
                    return Err(EvalError::Repeated { query, doc });
                }
            }
            evaluated.push((n, Ok(self.evaluate_list(n, &mut buffers)?)));
        }
        self.report(tag.to_owned(), evaluated, unjudged)
    }

    /// Number of a judged query.
    pub(super) fn query_number(&self, id: &str) -> Option<usize> {
        self.queries.binary_search_by(|query| query.id.cmp(id)).ok()
    }

    /// Evaluates the `n`-th judged query from its complete list.
    pub(super) fn evaluate_list(
        &self,
        n: usize,
        buffers: &mut QueryBuffers,
    ) -> Result<QueryValues, EvalError> {
        let query = &self.queries[n];
        let QueryBuffers { list, ranking, .. } = buffers;
        let unmatched = list.unmatched().map(str::to_owned);
        list.rank(query, &self.rules, ranking)
            .map_err(|tie| EvalError::Tie {
                query: query.id.to_owned(),
                first: tie.first,
                second: tie.second,
                score: tie.score,
            })?;
        let values = self.values(query, buffers, true)?;
        Ok(QueryValues {
            unmatched,
            ..values
        })
    }

    /// Builds the report from the evaluated queries of a run, which come in any order.
    pub(super) fn report(
        &self,
        run: String,
        mut evaluated: Vec<QueryEvaluation>,
        mut unjudged: Vec<String>,
    ) -> Result<Report, EvalError> {
        unjudged.sort_unstable();
        if evaluated.is_empty() {
            return Err(EvalError::NothingInCommon {
                qrels: self.queries.len(),
                run: unjudged.len(),
                qrels_example: self.queries.first().map(|query| query.id.to_owned()),
                run_example: unjudged.into_iter().next(),
            });
        }
        let common = evaluated.len();
        evaluated.sort_unstable_by_key(|(n, _)| *n);
        let unmatched = self.take_unmatched(&mut evaluated);
        let mut evaluated = evaluated.into_iter().peekable();
        let mut queries = Vec::with_capacity(self.queries.len());
        let mut missing = Vec::new();
        let mut buffers = QueryBuffers::default();
        let Rules { no_relevant, .. } = self.rules;
        for (n, query) in self.queries.iter().enumerate() {
            // Level 0 of the requirements is the level of the rules.
            let counts = no_relevant == QueriesWithoutRelevant::Count || query.relevant(0) > 0;
            if let Some((_, values)) = evaluated.next_if(|(evaluated, _)| *evaluated == n) {
                let values = values?;
                if counts {
                    queries.push(values);
                }
                continue;
            }
            missing.push(query.id.to_owned());
            if counts && self.rules.missing == MissingQueries::Zero {
                queries.push(self.values(query, &mut buffers, false)?);
            }
        }
        if queries.is_empty() {
            let level = self.rules.level;
            return Err(EvalError::NothingRelevant { common, level });
        }
        Ok(Report {
            run,
            rules: self.rules,
            measures: self.planned.iter().map(|planned| planned.measure).collect(),
            queries,
            missing,
            unjudged,
            positive: Some(self.queries.iter().map(PreparedQuery::positive).sum()),
            unmatched,
        })
    }

    /// Takes the example of each query. Returns a judged and a retrieved document of the first
    /// query if every query has one.
    fn take_unmatched(&self, evaluated: &mut [QueryEvaluation]) -> Option<[String; 2]> {
        let take = |(n, values): &mut QueryEvaluation| {
            let retrieved = values.as_mut().ok()?.unmatched.take()?;
            Some((*n, retrieved))
        };
        let examples: Vec<Option<(usize, String)>> = evaluated.iter_mut().map(take).collect();
        let examples: Option<Vec<(usize, String)>> = examples.into_iter().collect();
        let (n, retrieved) = examples?.into_iter().next()?;
        let (_, judged) = self.queries[n].doc_ids.iter().next()?;
        Some([judged.to_owned(), retrieved])
    }

    /// Computes all measures of a query from `buffers.ranking`.
    fn values(
        &self,
        query: &PreparedQuery<'_>,
        buffers: &mut QueryBuffers,
        retrieved: bool,
    ) -> Result<QueryValues, EvalError> {
        let QueryBuffers {
            list,
            ranking,
            condensed,
        } = buffers;
        ranking.accumulate(&self.requirements);
        if self.requirements.condensed {
            condensed.clear();
            for (&ordinal, &state) in ranking.ordinals.iter().zip(&ranking.states) {
                if state >= 0 {
                    condensed.push(ordinal, state);
                }
            }
            condensed.accumulate(&self.requirements);
        }
        let (ranking, condensed, rules) = (&*ranking, &*condensed, &self.rules);
        let is_zero = !retrieved && rules.trec_eval_version == TrecEvalVersion::V9;
        let judged_list = JudgedList {
            query: query.id,
            retrieved,
            list,
            states: &ranking.states,
            grades: &query.grades,
            rules,
        };
        let input = |planned: &PlannedMeasure<'_>, ranking| {
            let cutoff = planned.measure.cutoff();
            MeasureInput::new(
                query,
                ranking,
                rules,
                planned.level,
                cutoff,
                planned.indices,
            )
        };
        let value = |planned: &PlannedMeasure<'_>| {
            let formula = planned.measure.formula();
            match &planned.custom {
                Some(custom) => match custom.value(&judged_list) {
                    value if value.is_finite() => Ok(value),
                    found => Err(EvalError::Value {
                        query: query.id.to_owned(),
                        measure: Box::new(planned.measure),
                        found,
                    }),
                },
                None if is_zero && !formula.properties().ignores_ranking => Ok(0.0),
                None => {
                    let is_condensed = planned.measure.is_judged_only() && !is_zero;
                    let ranking = if is_condensed { condensed } else { ranking };
                    Ok(formula.definition().value(&input(planned, ranking)))
                }
            }
        };
        // Whether trec_eval's list is empty too. Release 10 adds an artificial document to the list
        // of a missing query, which these rules remove again.
        let is_empty = ranking.states.is_empty()
            && !is_zero
            && (rules.unjudged == UnjudgedDocuments::Remove || rules.depth == Some(0));
        let is_undefined = |column: &usize| {
            let planned = &self.planned[*column];
            is_empty
                && planned
                    .measure
                    .formula()
                    .definition()
                    .is_undefined(&input(planned, ranking))
        };
        let top = ranking.states.iter().take(self.top_judgments);
        Ok(QueryValues {
            undefined: (0..self.planned.len()).filter(is_undefined).collect(),
            query: query.id.to_owned(),
            retrieved,
            values: self.planned.iter().map(value).collect::<Result<_, _>>()?,
            top: top
                .map(|&state| JudgmentStatus::from_state(state))
                .collect(),
            unmatched: None,
        })
    }

    /// Prepares the judgments of all queries; of many queries, in parallel.
    fn prepare(
        &self,
        qrels: &'q (impl Judgments + ?Sized),
        queries: &[&'q str],
    ) -> Result<Vec<PreparedQuery<'q>>, EvalError> {
        const MIN_QUERIES_PER_THREAD: usize = 1000;
        let prepare = |queries: &[&'q str]| {
            let prepared = queries.iter().map(|query| self.prepare_query(qrels, query));
            prepared.collect::<Result<Vec<_>, _>>()
        };
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let size = queries.len().div_ceil(cores).max(MIN_QUERIES_PER_THREAD);
        if queries.len() <= size {
            return prepare(queries);
        }
        let chunks: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = queries
                .chunks(size)
                .map(|queries| scope.spawn(move || prepare(queries)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|chunk| chunk.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut prepared = Vec::with_capacity(queries.len());
        for chunk in chunks {
            prepared.extend(chunk?);
        }
        Ok(prepared)
    }

    fn prepare_query(
        &self,
        qrels: &'q (impl Judgments + ?Sized),
        query: &'q str,
    ) -> Result<PreparedQuery<'q>, EvalError> {
        self.check_grades(query, qrels)?;
        let requirements = &self.requirements;
        let mut prepared = PreparedQuery::new(query, qrels.judged(query), requirements);
        prepared.strata = requirements.strata.then(|| Strata::new(qrels, query));
        if requirements.novelties.is_empty() {
            return Ok(prepared);
        }
        let mut measures = self.planned.iter().map(|planned| planned.measure);
        let needs_subtopics = |measure: &Measure| {
            let requirement = measure.formula().definition().requirement();
            matches!(requirement, Requirement::Subtopics(_))
        };
        if let Some(measure) = measures.find(needs_subtopics) {
            let subtopics = Subtopics::new(qrels, query, &requirements.novelties);
            prepared.subtopics = Some(subtopics.ok_or_else(|| EvalError::NoSubtopics {
                measure: Box::new(measure),
            })?);
        }
        Ok(prepared)
    }

    fn check_grades(
        &self,
        query: &str,
        qrels: &(impl Judgments + ?Sized),
    ) -> Result<(), EvalError> {
        let measures = self.planned.iter().map(|planned| planned.measure);
        let limits = measures.filter_map(|m| Some((m.formula().definition().highest_grade()?, m)));
        let Some((highest, measure)) = limits.min_by_key(|(highest, _)| *highest) else {
            return Ok(());
        };
        match qrels.judged(query).find(|&(_, grade)| grade > highest) {
            None => Ok(()),
            Some((doc, found)) => Err(EvalError::Grade {
                query: query.to_owned(),
                doc: doc.to_owned(),
                found,
                highest,
                measure: Box::new(measure),
            }),
        }
    }
}

/// Name of a custom measure; `None` for the others.
fn custom_name(measure: Measure) -> Option<CustomName> {
    match measure.formula() {
        Formula::CustomFormula(custom) => Some(custom.name),
        _ => None,
    }
}

fn valid_level(level: Grade) -> Result<Grade, EvalError> {
    if level < 0 {
        return Err(EvalError::Level { found: level });
    }
    Ok(level)
}

/// Index of a value in a list, appended if it is new.
fn index_of<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter()
        .position(|other| *other == value)
        .unwrap_or_else(|| {
            list.push(value);
            list.len() - 1
        })
}
