//! Evaluation of runs by preference judgments.

use std::collections::HashSet;

use ir_core::{Run, ScoredDoc};

use super::fulfilled::{FulfilledCount, GroupCounts, PairFractions};
use super::preference_order::{DocumentPositions, GroupOrder};
use super::{
    GroupJudgments, PreferenceError, PreferenceMeasure, PreferenceScope, Preferences, balanced,
};
use crate::evaluate::{EvalError, QueryValues, Report};
use crate::rules::{MissingQueries, Rules, SelfHits, TieBreak, TrecEvalVersion};
use crate::runs::{compared_score, evaluation_order};

/// Report of an evaluation by preferences.
pub type PreferenceReport = Report<PreferenceMeasure>;

impl Preferences {
    /// Evaluates a run.
    ///
    /// Of the [`Rules`], ties, depth, score width and missing queries apply. With
    /// [`TieBreak::TrecEval`], equal scores are sorted by *ascending* document id, the reverse of
    /// trec_eval's order for grades. A missing query fulfills none of its preferences (trec_eval
    /// 10), or counts as 0 in all measures (trec_eval 9).
    ///
    /// # Errors
    /// When no query of the run is judged, a list has a NaN score or a duplicate document, scores
    /// are tied and the rules reject ties, or a group contradicts itself.
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
            positive: None,
            unmatched: None,
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
                if rules.missing == MissingQueries::Skip {
                    continue;
                }
            }
            let values = if list.is_none() && rules.trec_eval_version == TrecEvalVersion::V9 {
                vec![0.0; report.measures.len()]
            } else {
                let list = ranked(query, list.unwrap_or_default(), &rules)?;
                values(query, groups.iter(), &list, &report.measures)?
            };
            report.queries.push(QueryValues {
                query: query.clone(),
                retrieved: list.is_some(),
                values,
                top: Vec::new(),
                undefined: Vec::new(),
                unmatched: None,
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

/// Documents of a list in evaluation order.
fn ranked<'r>(
    query: &str,
    list: &'r [ScoredDoc],
    rules: &Rules,
) -> Result<Vec<&'r str>, EvalError> {
    let mut seen = HashSet::with_capacity(list.len());
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
    }
    let mut order = Rules {
        self_hits: SelfHits::Keep,
        ..*rules
    };
    if order.ties == TieBreak::TrecEval {
        order.ties = TieBreak::IdAscending;
    }
    let mut sorted = evaluation_order(list, query, &order);
    let score = |scored| compared_score(scored, rules);
    let tie = sorted
        .windows(2)
        .find(|pair| score(pair[0]) == score(pair[1]));
    if let (TieBreak::Reject, Some(pair)) = (rules.ties, tie) {
        return Err(EvalError::Tie {
            query: query.to_owned(),
            first: pair[0].doc.clone(),
            second: pair[1].doc.clone(),
            score: score(pair[0]),
        });
    }
    sorted.truncate(rules.depth.unwrap_or(usize::MAX));
    Ok(sorted.iter().map(|scored| scored.doc.as_str()).collect())
}

fn values<'a>(
    query: &str,
    groups: impl Iterator<Item = (&'a String, &'a GroupJudgments)> + Clone,
    list: &[&str],
    measures: &[PreferenceMeasure],
) -> Result<Vec<f64>, PreferenceError> {
    let subgroups = groups.clone().flat_map(|(_, subgroups)| subgroups.values());
    let mut judged: Vec<&str> = subgroups.flatten().map(|(doc, _)| doc.as_str()).collect();
    judged.sort_unstable();
    judged.dedup();
    let positions = DocumentPositions::new(&judged, list.iter().copied());
    let orders = groups
        .map(|(group, subgroups)| GroupOrder::new(query, group, subgroups, &positions))
        .collect::<Result<Vec<_>, _>>()?;
    let retrieved = positions.retrieved;
    let counts: Vec<GroupCounts> = orders
        .iter()
        .map(|order| GroupCounts::new(order, retrieved))
        .collect();
    let is_pair = |measure: &PreferenceMeasure| matches!(measure, PreferenceMeasure::Pair(_));
    let pairs = if measures.iter().any(is_pair) {
        PairFractions::new(&orders, positions.len(), retrieved)
    } else {
        PairFractions::default()
    };
    let total = |scope: PreferenceScope| {
        let fulfilled = counts.iter().map(|counts| counts.fulfilled(scope));
        fulfilled.fold(FulfilledCount::default(), FulfilledCount::plus)
    };
    let over_groups = |sum: f64| {
        if sum > 0.0 {
            sum / orders.len() as f64
        } else {
            // Also for NaN, as in trec_eval: a group without preferences.
            0.0
        }
    };
    let balanced = |only_retrieved: bool| {
        let groups = orders.iter().zip(&counts);
        let fraction =
            |(order, counts)| balanced::fraction(order, counts, retrieved, only_retrieved);
        over_groups(
            groups
                .map(fraction)
                .fold(0.0, |sum, fraction| sum + fraction),
        )
    };
    let value = |measure: &PreferenceMeasure| match *measure {
        PreferenceMeasure::Possible => total(PreferenceScope::All).total as f64,
        PreferenceMeasure::Fulfilled => total(PreferenceScope::All).fulfilled as f64,
        PreferenceMeasure::FulfilledRetrieved => total(PreferenceScope::Retrieved).fulfilled as f64,
        PreferenceMeasure::Simple(scope) => total(scope).fraction().unwrap_or(0.0),
        PreferenceMeasure::Pair(scope) => pairs.mean(scope),
        PreferenceMeasure::Group(scope) => {
            let fractions = counts
                .iter()
                .filter_map(|counts| counts.fulfilled(scope).fraction());
            over_groups(fractions.fold(0.0, |sum, fraction| sum + fraction))
        }
        PreferenceMeasure::Balanced => balanced(false),
        PreferenceMeasure::BalancedRetrieved => balanced(true),
    };
    Ok(measures.iter().map(value).collect())
}
