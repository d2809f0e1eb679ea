//! The evaluator: judgments and measures, bound once, for any number of runs.

use std::num::NonZeroUsize;
use std::thread;

use ir_core::{Grade, Judgments, Run, Scored};

use crate::compute::{self, Step};
use crate::custom::{self, CustomMeasure, JudgedList, Registered};
use crate::diversity::{self, Subtopics};
use crate::kind::Kind;
use crate::list::Scratch;
use crate::report::{Judged, QueryValues};
use crate::rules::{Generation, Missing, NoRelevant, Unjudged};
use crate::sampled::Strata;
use crate::topic::{Needs, Topic};
use crate::{EvalError, Measure, Report, Rules};

/// Computes measures of runs against the judgments it was made with.
///
/// Making one prepares what depends on the judgments alone (counts, ideal lists), so evaluate many
/// runs with one evaluator. It can be shared between threads; a thousand queries and more are
/// prepared by as many as there are cores.
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
/// // q2 was not answered, and counts as 0.
/// assert_eq!(report.summary(Measure::RR), Some(0.25));
/// assert_eq!(report.value("q1", Measure::RR), Some(0.5));
/// assert_eq!(report.missing().collect::<Vec<_>>(), ["q2"]);
/// # Ok::<(), ir_eval::EvalError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator<'q> {
    rules: Rules,
    measures: Vec<Measure>,
    steps: Vec<Step>,
    needs: Needs,
    topics: Vec<Topic<'q>>,
    custom: Vec<Registered<'q>>,
    keep: usize,
}

impl<'q> Evaluator<'q> {
    /// An evaluator that goes by the default [`Rules`]: those of `trec_eval -c`, release 10.0.
    ///
    /// # Errors
    /// As [`Evaluator::with_rules`].
    pub fn new<J>(qrels: &'q J, measures: &[Measure]) -> Result<Self, EvalError>
    where
        J: Judgments + ?Sized,
    {
        Self::with_rules(qrels, measures, Rules::default())
    }

    /// An evaluator that goes by the given rules. A measure that is listed twice is computed once.
    ///
    /// # Errors
    /// When the relevance level of the rules or of a measure is negative; when a grade is too high
    /// for a measure; when a measure needs judgments of subtopics and these are not; when a measure
    /// is one of your own, which are registered by [`Evaluator::with`].
    pub fn with_rules<J>(
        qrels: &'q J,
        measures: &[Measure],
        rules: Rules,
    ) -> Result<Self, EvalError>
    where
        J: Judgments + ?Sized,
    {
        let mut evaluator = Self {
            rules,
            measures: Vec::new(),
            steps: Vec::new(),
            needs: Needs::default(),
            topics: Vec::new(),
            custom: Vec::new(),
            keep: 0,
        };
        place(&mut evaluator.needs.levels, checked(rules.level)?);
        for &measure in measures {
            if evaluator.measures.contains(&measure) {
                continue;
            }
            if let Some(name) = custom::name(&measure) {
                let name = name.to_string();
                return Err(EvalError::Unregistered { name });
            }
            let level = checked(measure.rel.unwrap_or(rules.level))?;
            let needs = &mut evaluator.needs;
            let gain = measure.kind.gain();
            let alpha = measure.kind.redundancy();
            let novelty = alpha.map(|alpha| diversity::Need { level, alpha });
            needs.condensed |= measure.judged_only;
            needs.strata |= measure.kind.by_strata();
            evaluator.measures.push(measure);
            evaluator.steps.push(Step {
                measure,
                level,
                hits: place(&mut needs.levels, level),
                gain: gain.map_or(0, |gain| place(&mut needs.gains, gain)),
                own: novelty.map_or(0, |need| place(&mut needs.novelties, need)),
            });
        }
        let queries: Vec<&'q str> = qrels.queries().collect();
        evaluator.topics = evaluator.prepare(qrels, &queries)?;
        Ok(evaluator)
    }

    /// Registers a measure of your own, which is computed beside the others.
    ///
    /// # Errors
    /// When no measure can be called what it is called ([`Name::new`](crate::Name::new)), or when
    /// one is already.
    pub fn with(mut self, measure: impl CustomMeasure + 'q) -> Result<Self, EvalError> {
        let called = measure.name().to_owned();
        let registered = Registered::new(measure);
        let is_new = |r: &Registered<'_>| !self.custom.iter().any(|other| r.has_name_of(other));
        let Some(registered) = registered.filter(is_new) else {
            return Err(EvalError::Name { found: called });
        };
        self.measures.push(registered.measure);
        self.steps.push(Step {
            measure: registered.measure,
            level: self.rules.level,
            hits: 0,
            gain: 0,
            own: self.custom.len(),
        });
        self.custom.push(registered);
        Ok(self)
    }

    /// Also keeps, in the report, how the first `depth` documents of each list were judged.
    #[must_use]
    pub fn keeping(mut self, depth: usize) -> Self {
        self.keep = depth;
        self
    }

    /// The rules it goes by.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The measures it computes.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Evaluates a run: the values of every query, in ascending byte order of the ids.
    ///
    /// # Errors
    /// When no query of the run has judgments; when a list has a score that is NaN or a document
    /// twice; when scores are equal and the rules reject that.
    pub fn evaluate(&self, run: &Run) -> Result<Report, EvalError> {
        let mut outcomes = Vec::with_capacity(self.topics.len());
        let mut scratch = Scratch::default();
        for (n, topic) in self.topics.iter().enumerate() {
            if let Some(scored) = run.get(topic.id) {
                scratch.list.begin(Some(topic));
                for (line, Scored { doc, score }) in (1..).zip(scored) {
                    let fault = || (topic.id.to_owned(), doc.clone());
                    if score.is_nan() {
                        let (query, doc) = fault();
                        return Err(EvalError::NanScore { query, doc });
                    }
                    if scratch.list.push(doc, *score, line, Some(topic)).is_err() {
                        let (query, doc) = fault();
                        return Err(EvalError::Repeated { query, doc });
                    }
                }
                outcomes.push((n, Ok(self.judge(n, &mut scratch)?)));
            }
        }
        let judged = |query: &str| self.topics.binary_search_by(|t| t.id.cmp(query)).is_ok();
        let queries = run.iter().map(|(query, _)| query);
        let unjudged = queries.filter(|query| !judged(query));
        self.report(
            run.tag.clone(),
            outcomes,
            unjudged.map(str::to_owned).collect(),
        )
    }

    /// The judged queries, in ascending byte order of their ids.
    pub(crate) fn topics(&self) -> &[Topic<'q>] {
        &self.topics
    }

    /// The values of the `n`-th judged query, from its whole list.
    pub(crate) fn judge(&self, n: usize, scratch: &mut Scratch) -> Result<QueryValues, EvalError> {
        let topic = &self.topics[n];
        scratch.list.rank(topic, &self.rules, &mut scratch.ranked)?;
        self.values(topic, scratch, true)
    }

    /// What was found about the queries of a run, in any order, as a report.
    pub(crate) fn report(
        &self,
        run: String,
        mut outcomes: Vec<Outcome>,
        mut unjudged: Vec<String>,
    ) -> Result<Report, EvalError> {
        unjudged.sort_unstable();
        if outcomes.is_empty() {
            return Err(EvalError::NothingInCommon {
                qrels: self.topics.len(),
                run: unjudged.len(),
                qrels_example: self.topics.first().map(|topic| topic.id.to_owned()),
                run_example: unjudged.into_iter().next(),
            });
        }
        let common = outcomes.len();
        outcomes.sort_unstable_by_key(|outcome| outcome.0);
        let mut outcomes = outcomes.into_iter().peekable();
        let mut queries = Vec::with_capacity(self.topics.len());
        let mut missing = Vec::new();
        let mut scratch = Scratch::default();
        for (n, topic) in self.topics.iter().enumerate() {
            // The first level is that of the rules.
            let counts = self.rules.no_relevant == NoRelevant::Count || topic.relevant(0) > 0;
            if let Some((_, values)) = outcomes.next_if(|outcome| outcome.0 == n) {
                let values = values?;
                if counts {
                    queries.push(values);
                }
                continue;
            }
            missing.push(topic.id.to_owned());
            if counts && self.rules.missing == Missing::Zero {
                queries.push(self.values(topic, &mut scratch, false)?);
            }
        }
        if queries.is_empty() {
            let level = self.rules.level;
            return Err(EvalError::NothingRelevant { common, level });
        }
        Ok(Report {
            run,
            rules: self.rules,
            measures: self.measures.clone(),
            queries,
            missing,
            unjudged,
            positive: self.topics.iter().map(Topic::positive).sum(),
        })
    }

    fn values(
        &self,
        topic: &Topic<'_>,
        scratch: &mut Scratch,
        retrieved: bool,
    ) -> Result<QueryValues, EvalError> {
        let (ranked, condensed) = (&mut scratch.ranked, &mut scratch.condensed);
        ranked.fill(&self.needs);
        if self.needs.condensed {
            condensed.clear();
            for (&place, &state) in ranked.places.iter().zip(&ranked.states) {
                if state >= 0 {
                    condensed.push(place, state);
                }
            }
            condensed.fill(&self.needs);
        }
        let zero = !retrieved && self.rules.generation == Generation::V9;
        let list = JudgedList {
            query: topic.id,
            retrieved,
            list: &scratch.list,
            states: &ranked.states,
            grades: topic.grades(),
            rules: &self.rules,
        };
        let value = |step: &Step| match step.measure.kind {
            Kind::Custom { .. } => match self.custom[step.own].value(&list) {
                value if value.is_finite() => Ok(value),
                found => Err(EvalError::Value {
                    query: topic.id.to_owned(),
                    measure: Box::new(step.measure),
                    found,
                }),
            },
            _ if zero => Ok(compute::missing(step, topic)),
            _ if step.measure.judged_only => {
                Ok(compute::value(step, topic, condensed, &self.rules))
            }
            _ => Ok(compute::value(step, topic, ranked, &self.rules)),
        };
        // Where trec_eval's list is empty. Its release 10 puts one made-up document into the list of
        // a missing query, which these rules take out again.
        let rules = &self.rules;
        let empty = ranked.states.is_empty()
            && !zero
            && (rules.unjudged == Unjudged::Remove || rules.depth == Some(0));
        let undefined = |at: &usize| empty && compute::undefined(&self.steps[*at], topic, rules);
        Ok(QueryValues {
            undefined: (0..self.steps.len()).filter(undefined).collect(),
            query: topic.id.to_owned(),
            retrieved,
            values: self.steps.iter().map(value).collect::<Result<_, _>>()?,
            top: ranked
                .states
                .iter()
                .take(self.keep)
                .map(|&state| Judged::of(state))
                .collect(),
        })
    }

    /// What follows from the judgments alone; of many queries, by several threads.
    fn prepare<J>(&self, qrels: &'q J, queries: &[&'q str]) -> Result<Vec<Topic<'q>>, EvalError>
    where
        J: Judgments + ?Sized,
    {
        /// A thread for fewer is not worth its start.
        const LEAST: usize = 1000;
        let part = |queries: &[&'q str]| {
            let topics = queries.iter().map(|query| self.topic(qrels, query));
            topics.collect::<Result<Vec<_>, _>>()
        };
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let size = queries.len().div_ceil(cores).max(LEAST);
        if queries.len() <= size {
            return part(queries);
        }
        let parts: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = queries
                .chunks(size)
                .map(|queries| scope.spawn(move || part(queries)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.collect()
        });
        let mut topics = Vec::with_capacity(queries.len());
        for part in parts {
            match part {
                Ok(part) => topics.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(topics)
    }

    fn topic<J>(&self, qrels: &'q J, query: &'q str) -> Result<Topic<'q>, EvalError>
    where
        J: Judgments + ?Sized,
    {
        self.check_grades(query, qrels)?;
        let needs = &self.needs;
        let mut topic = Topic::new(query, qrels.judged(query), needs);
        topic.strata = needs.strata.then(|| Strata::new(qrels, query));
        if !needs.novelties.is_empty() {
            topic.subtopics = Subtopics::new(qrels, query, &needs.novelties);
            self.check_subtopics(topic.subtopics.is_some())?;
        }
        Ok(topic)
    }

    fn check_subtopics(&self, there: bool) -> Result<(), EvalError> {
        let needy = |m: &&Measure| m.kind.redundancy().is_some();
        match self.measures.iter().find(needy) {
            Some(&measure) if !there => Err(EvalError::NoSubtopics {
                measure: Box::new(measure),
            }),
            _ => Ok(()),
        }
    }

    fn check_grades<J>(&self, query: &str, qrels: &J) -> Result<(), EvalError>
    where
        J: Judgments + ?Sized,
    {
        let limited = self.measures.iter();
        let limited = limited.filter_map(|m| Some((m.kind.highest_grade()?, *m)));
        let Some((most, measure)) = limited.min_by_key(|limited| limited.0) else {
            return Ok(());
        };
        match qrels.judged(query).find(|&(_, grade)| grade > most) {
            None => Ok(()),
            Some((doc, found)) => Err(EvalError::Grade {
                query: query.to_owned(),
                doc: doc.to_owned(),
                found,
                most,
                measure: Box::new(measure),
            }),
        }
    }
}

/// The number of a judged query, and what came of its list.
pub(crate) type Outcome = (usize, Result<QueryValues, EvalError>);

fn checked(level: Grade) -> Result<Grade, EvalError> {
    if level < 0 {
        return Err(EvalError::Level { found: level });
    }
    Ok(level)
}

/// The place of a value in a list, added when it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter()
        .position(|other| *other == value)
        .unwrap_or_else(|| {
            list.push(value);
            list.len() - 1
        })
}
