//! Runs against preferences.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use ir_core::{Run, ScoredDoc};
use serde::{Deserialize, Serialize};

use super::count::{Counts, Pairs, Share};
use super::order::{Order, Places};
use super::{Opinion, PreferenceError, PreferenceMeasure, PreferenceScope, Preferences, balanced};
use crate::rules::{Generation, Missing, ScoreWidth, Ties};
use crate::{EvalError, Rules, report};

/// How a run keeps preferences: of every query first, and what follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreferenceReport {
    run: String,
    rules: Rules,
    measures: Vec<PreferenceMeasure>,
    queries: Vec<PreferenceValues>,
    missing: Vec<String>,
    unjudged: Vec<String>,
}

/// The values of one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreferenceValues {
    query: String,
    retrieved: bool,
    values: Vec<f64>,
}

impl PreferenceValues {
    /// The query's id.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Whether the run has a list for it.
    #[must_use]
    pub const fn retrieved(&self) -> bool {
        self.retrieved
    }

    /// The values, in the order of [`PreferenceReport::measures`].
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

impl PreferenceReport {
    /// The run's tag.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The rules that were followed.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The measures, each once.
    #[must_use]
    pub fn measures(&self) -> &[PreferenceMeasure] {
        &self.measures
    }

    /// The values of the queries that count, by query id in ascending byte order.
    #[must_use]
    pub fn queries(&self) -> &[PreferenceValues] {
        &self.queries
    }

    /// One value for all queries: the sum of a count, the mean of a share. `None` when the measure
    /// was not asked for.
    #[must_use]
    pub fn summary(&self, measure: PreferenceMeasure) -> Option<f64> {
        let column = self.measures.iter().position(|&other| other == measure)?;
        let sum: f64 = self.queries.iter().map(|query| query.values[column]).sum();
        Some(if measure.is_count() {
            sum
        } else {
            sum / self.queries.len() as f64
        })
    }

    /// The queries that have preferences and no list in the run.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// The queries that have a list in the run and no preferences. They never count.
    pub fn unjudged(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unjudged.iter().map(String::as_str)
    }
}

impl fmt::Display for PreferenceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [&self.missing, &self.unjudged].map(Vec::len);
        let values = self.measures.iter().map(|&m| (m, self.summary(m)));
        let head = (self.run.as_str(), self.queries.len(), counts);
        report::print(f, head, &self.rules, values)
    }
}

impl Preferences {
    /// Evaluates a run.
    ///
    /// Of the [`Rules`], those apply that are about the list: ties, depth, score width, missing
    /// queries. By [`Ties::TrecEval`] equal scores stand by document id *ascending* here, the
    /// reverse of what trec_eval does for grades. A missing query has all its preferences and
    /// keeps none (generation 10), or counts 0 throughout (generation 9).
    ///
    /// # Errors
    /// When no query of the run has preferences, a list has a score that is NaN or a document
    /// twice, scores are equal and the rules reject that, or a group contradicts itself.
    pub fn evaluate(
        &self,
        run: &Run,
        measures: &[PreferenceMeasure],
        rules: Rules,
    ) -> Result<PreferenceReport, PreferenceError> {
        let mut report = PreferenceReport {
            run: run.tag.clone(),
            rules,
            measures: Vec::new(),
            queries: Vec::new(),
            missing: Vec::new(),
            unjudged: Vec::new(),
        };
        for &measure in measures {
            if !report.measures.contains(&measure) {
                report.measures.push(measure);
            }
        }
        let mut common = 0;
        for (query, groups) in &self.queries {
            let list = run.get(query);
            common += usize::from(list.is_some());
            if list.is_none() {
                report.missing.push(query.clone());
                if rules.missing == Missing::Skip {
                    continue;
                }
            }
            let values = if list.is_none() && rules.generation == Generation::V9 {
                vec![0.0; report.measures.len()]
            } else {
                let list = ranked(query, list.unwrap_or_default(), &rules)?;
                values(query, groups.iter(), &list, &report.measures)?
            };
            report.queries.push(PreferenceValues {
                query: query.clone(),
                retrieved: list.is_some(),
                values,
            });
        }
        if common == 0 {
            return Err(EvalError::NothingInCommon {
                qrels: self.len(),
                run: run.len(),
                qrels_example: self.queries().next().map(str::to_owned),
                run_example: run.iter().next().map(|(query, _)| query.to_owned()),
            }
            .into());
        }
        let unjudged = run.iter().map(|(query, _)| query);
        report.unjudged = unjudged
            .filter(|query| !self.queries.contains_key(*query))
            .map(str::to_owned)
            .collect();
        Ok(report)
    }
}

/// The documents of a list in the order of the rules.
fn ranked<'r>(
    query: &str,
    list: &'r [ScoredDoc],
    rules: &Rules,
) -> Result<Vec<&'r str>, EvalError> {
    let mut seen = HashSet::with_capacity(list.len());
    let mut sorted = Vec::with_capacity(list.len());
    for ScoredDoc { doc, score } in list {
        let (query, doc_id) = (|| query.to_owned(), || doc.clone());
        if score.is_nan() {
            return Err(EvalError::NanScore {
                query: query(),
                doc: doc_id(),
            });
        }
        if !seen.insert(doc.as_str()) {
            return Err(EvalError::Repeated {
                query: query(),
                doc: doc_id(),
            });
        }
        let score = match rules.scores {
            ScoreWidth::F64 => *score,
            ScoreWidth::F32 => f64::from(*score as f32),
        };
        sorted.push((score, doc.as_str()));
    }
    let by_id = matches!(rules.ties, Ties::TrecEval | Ties::IdAscending);
    sorted.sort_by(|a, b| {
        let falling = b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
        falling.then_with(|| if by_id { a.1.cmp(b.1) } else { Ordering::Equal })
    });
    let tie = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0);
    if let (Ties::Reject, Some(pair)) = (rules.ties, tie) {
        return Err(EvalError::Tie {
            query: query.to_owned(),
            first: pair[0].1.to_owned(),
            second: pair[1].1.to_owned(),
            score: pair[0].0,
        });
    }
    let depth = rules.depth.unwrap_or(usize::MAX);
    Ok(sorted
        .into_iter()
        .map(|entry| entry.1)
        .take(depth)
        .collect())
}

fn values<'a>(
    query: &str,
    groups: impl Iterator<Item = (&'a String, &'a Opinion)> + Clone,
    list: &[&str],
    measures: &[PreferenceMeasure],
) -> Result<Vec<f64>, PreferenceError> {
    let subgroups = groups.clone().flat_map(|(_, opinion)| opinion.values());
    let mut judged: Vec<&str> = subgroups.flatten().map(|(doc, _)| doc.as_str()).collect();
    judged.sort_unstable();
    judged.dedup();
    let places = Places::new(&judged, list.iter().copied());
    let orders = groups
        .map(|(group, opinion)| Order::new(query, group, opinion, &places))
        .collect::<Result<Vec<_>, _>>()?;
    let retrieved = places.retrieved;
    let counts: Vec<Counts> = orders
        .iter()
        .map(|order| Counts::of(order, retrieved))
        .collect();
    let asked = |measure: &PreferenceMeasure| matches!(measure, PreferenceMeasure::Pair(_));
    let pairs = if measures.iter().any(asked) {
        Pairs::of(&orders, places.len(), retrieved)
    } else {
        Pairs::default()
    };
    let total = |scope: PreferenceScope| {
        let shares = counts.iter().map(|counts| counts.share(scope));
        shares.fold(Share::default(), Share::plus)
    };
    let over_groups = |sum: f64| {
        if sum > 0.0 {
            sum / orders.len() as f64
        } else {
            // trec_eval's too where a group has nothing to keep and the sum is no number.
            0.0
        }
    };
    let balanced = |only_retrieved: bool| {
        let groups = orders.iter().zip(&counts);
        let share = |(order, counts)| balanced::share(order, counts, retrieved, only_retrieved);
        over_groups(groups.map(share).fold(0.0, |sum, share| sum + share))
    };
    let value = |measure: &PreferenceMeasure| match *measure {
        PreferenceMeasure::Possible => total(PreferenceScope::All).all as f64,
        PreferenceMeasure::Fulfilled => total(PreferenceScope::All).kept as f64,
        PreferenceMeasure::FulfilledRetrieved => total(PreferenceScope::Retrieved).kept as f64,
        PreferenceMeasure::Simple(scope) => total(scope).ratio().unwrap_or(0.0),
        PreferenceMeasure::Pair(scope) => pairs.mean(scope),
        PreferenceMeasure::Group(scope) => {
            let ratios = counts
                .iter()
                .filter_map(|counts| counts.share(scope).ratio());
            over_groups(ratios.fold(0.0, |sum, ratio| sum + ratio))
        }
        PreferenceMeasure::Balanced => balanced(false),
        PreferenceMeasure::BalancedRetrieved => balanced(true),
    };
    Ok(measures.iter().map(value).collect())
}
