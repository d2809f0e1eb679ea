//! The evaluator: judgments and measures, bound once, for any number of runs.

use std::cmp::Ordering;
use std::collections::HashSet;

use ir_core::{Grade, Judgments, Run, Scored};
use rustc_hash::FxBuildHasher;

use crate::compute::{self, Step};
use crate::report::{Judged, QueryValues};
use crate::rules::{Generation, Missing, ScoreWidth, SelfHits, Ties, Unjudged};
use crate::topic::{Needs, Ranked, Topic, UNJUDGED, UNPOOLED};
use crate::{EvalError, Gain, Measure, Report, Rules, places};

/// Computes measures of runs against the judgments it was made with.
///
/// Making one prepares what depends on the judgments alone (counts, ideal lists), so evaluate many
/// runs with one evaluator. It can be shared between threads.
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
    /// When the relevance level of the rules or of a measure is negative, or a grade is too high
    /// for an exponential gain.
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
            keep: 0,
        };
        place(&mut evaluator.needs.levels, checked(rules.level)?);
        for &measure in measures {
            if evaluator.measures.contains(&measure) {
                continue;
            }
            let level = checked(measure.rel.unwrap_or(rules.level))?;
            let gain = measure.kind.gain();
            evaluator.measures.push(measure);
            evaluator.steps.push(Step {
                measure,
                level,
                hits: place(&mut evaluator.needs.levels, level),
                gain: gain.map_or(0, |gain| place(&mut evaluator.needs.gains, gain)),
            });
        }
        for query in qrels.queries() {
            evaluator.check_grades(query, qrels)?;
            let topic = Topic::new(query, qrels.judged(query), &evaluator.needs);
            evaluator.topics.push(topic);
        }
        Ok(evaluator)
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
        let mut queries = Vec::with_capacity(self.topics.len());
        let mut scratch = Scratch::default();
        let mut common = 0;
        for topic in &self.topics {
            match run.get(topic.id) {
                Some(list) => {
                    common += 1;
                    self.rank(topic, list, &mut scratch)?;
                    queries.push(self.values(topic, &mut scratch.ranked, true));
                }
                None if self.rules.missing == Missing::Skip => {}
                None => {
                    scratch.ranked.clear();
                    queries.push(self.values(topic, &mut scratch.ranked, false));
                }
            }
        }
        if common == 0 {
            return Err(EvalError::NothingInCommon {
                qrels: self.topics.len(),
                run: run.len(),
                qrels_example: self.topics.first().map(|topic| topic.id.to_owned()),
                run_example: run.iter().next().map(|(query, _)| query.to_owned()),
            });
        }
        let judged = |query: &str| self.topics.binary_search_by(|t| t.id.cmp(query)).is_ok();
        let without = |query: &&str| run.get(query).is_none();
        Ok(Report {
            run: run.tag.clone(),
            rules: self.rules,
            measures: self.measures.clone(),
            queries,
            missing: self
                .topics
                .iter()
                .map(|topic| topic.id)
                .filter(without)
                .map(str::to_owned)
                .collect(),
            unjudged: run
                .iter()
                .map(|(query, _)| query)
                .filter(|query| !judged(query))
                .map(str::to_owned)
                .collect(),
            positive: self.topics.iter().map(Topic::positive).sum(),
        })
    }

    fn values(&self, topic: &Topic<'_>, ranked: &mut Ranked, retrieved: bool) -> QueryValues {
        ranked.fill(&self.needs);
        let zero = !retrieved && self.rules.generation == Generation::V9;
        let value = |step: &Step| {
            if zero {
                compute::missing(step, topic)
            } else {
                compute::value(step, topic, ranked, &self.rules)
            }
        };
        // Where trec_eval's list is empty. Its release 10 puts one made-up document into the list of
        // a missing query, which these rules take out again.
        let rules = &self.rules;
        let empty = ranked.states.is_empty()
            && !zero
            && (rules.unjudged == Unjudged::Remove || rules.depth == Some(0));
        let undefined = |at: &usize| empty && compute::undefined(&self.steps[*at], topic, rules);
        QueryValues {
            undefined: (0..self.steps.len()).filter(undefined).collect(),
            query: topic.id.to_owned(),
            retrieved,
            values: self.steps.iter().map(value).collect(),
            top: ranked
                .states
                .iter()
                .take(self.keep)
                .map(|&state| match state {
                    UNPOOLED => Judged::Unpooled,
                    UNJUDGED => Judged::Unjudged,
                    grade => Judged::Grade(grade),
                })
                .collect(),
        }
    }

    /// Sorts a list by the rules and looks its documents up.
    fn rank<'r>(
        &self,
        topic: &Topic<'_>,
        list: &'r [Scored],
        scratch: &mut Scratch<'r>,
    ) -> Result<(), EvalError> {
        let query = || topic.id.to_owned();
        let drop_self = self.rules.self_hits == SelfHits::Drop;
        scratch.list.clear();
        scratch.seen.clear();
        for scored in list {
            let doc = scored.doc.as_str();
            if scored.score.is_nan() {
                return Err(EvalError::NanScore {
                    query: query(),
                    doc: doc.to_owned(),
                });
            }
            if !scratch.seen.insert(doc) {
                return Err(EvalError::Repeated {
                    query: query(),
                    doc: doc.to_owned(),
                });
            }
            if drop_self && doc == topic.id {
                continue;
            }
            let score = match self.rules.scores {
                ScoreWidth::F64 => scored.score,
                ScoreWidth::F32 => f64::from(scored.score as f32),
            };
            scratch.list.push((score, doc));
        }
        let falling =
            |a: &Entry<'_>, b: &Entry<'_>| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
        let list = &mut scratch.list;
        match self.rules.ties {
            Ties::RunOrder | Ties::Reject => list.sort_by(falling),
            Ties::TrecEval => list.sort_unstable_by(|a, b| falling(a, b).then(b.1.cmp(a.1))),
            Ties::IdAscending => list.sort_unstable_by(|a, b| falling(a, b).then(a.1.cmp(b.1))),
        }
        if self.rules.ties == Ties::Reject
            && let Some(pair) = list.windows(2).find(|pair| pair[0].0 == pair[1].0)
        {
            return Err(EvalError::Tie {
                query: query(),
                first: pair[0].1.to_owned(),
                second: pair[1].1.to_owned(),
                score: pair[0].0,
            });
        }
        list.truncate(self.rules.depth.unwrap_or(usize::MAX));
        let removed = self.rules.unjudged == Unjudged::Remove;
        scratch.ranked.clear();
        for &(_, doc) in &*list {
            let place = topic.place(places::hash(doc), doc);
            let state = topic.state(place);
            if state >= 0 || !removed {
                scratch.ranked.push(place, state);
            }
        }
        Ok(())
    }

    fn check_grades<J>(&self, query: &str, qrels: &J) -> Result<(), EvalError>
    where
        J: Judgments + ?Sized,
    {
        let exponential = |m: &&Measure| m.kind.gain() == Some(Gain::Exponential);
        let Some(&measure) = self.measures.iter().find(exponential) else {
            return Ok(());
        };
        let most = Gain::MOST_EXPONENTIAL;
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

type Entry<'r> = (f64, &'r str);

/// Memory that is used again from query to query.
#[derive(Debug, Default)]
struct Scratch<'r> {
    list: Vec<Entry<'r>>,
    seen: HashSet<&'r str, FxBuildHasher>,
    ranked: Ranked,
}

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
