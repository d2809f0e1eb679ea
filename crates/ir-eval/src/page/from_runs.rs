//! Plots and queries of a page, from runs.

use std::collections::HashSet;

use ir_core::{Grade, Judgments, Run};

use super::comparison::{ComparisonPage, WinsAndLosses};
use crate::compare::{Comparison, PairwiseTest};
use crate::evaluate::{EvalError, Evaluator};
use crate::measure::{Measure, Summary};
use crate::plots::{CurvePlot, QueryDifferencePlot, ScoresByRankPlot, SystemScorePlot};
use crate::rules::Rules;
use crate::runs::{
    RankChanges, ScoresByRank, at_cutoffs, eleven_point_precision, log_spaced_cutoffs,
};

// Limits of a page; remarks name what is omitted.
const MAX_MEASURES: usize = 8;
const MAX_CUTOFF_CURVES: usize = 4;
const MAX_PAIRS: usize = 8;
const MAX_SCORE_PLOTS: usize = 4;
const MAX_DOCUMENTS: usize = 5;
pub(super) const MAX_DEPTH: usize = 1000;

/// Error creating a page from runs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PageError {
    /// A number of runs that differs from the number of compared systems.
    #[error("expected the runs of {expected} systems, found {found}")]
    Runs { expected: usize, found: usize },
    /// A run that cannot be evaluated.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
}

impl<'a> ComparisonPage<'a> {
    /// Creates a page with all plots and the queries with the largest differences. `runs` are the
    /// runs of the comparison, in the same order.
    ///
    /// Differences per query are by the first measure, for up to eight pairs of systems with the
    /// largest differences, each with up to `queries` wins and losses. Curves extend to the
    /// length of the longest list, at most 1000, for up to four of the measures with a cutoff, or
    /// for nDCG, P and R. [`ComparisonPage::remarks`] name what is omitted.
    ///
    /// # Errors
    /// Returns [`PageError::Runs`] if the number of runs and systems differs, and
    /// [`PageError::Evaluation`] if a run cannot be evaluated.
    pub fn from_runs(
        title: &str,
        comparison: &'a Comparison,
        qrels: &dyn Judgments,
        runs: &[&Run],
        queries: usize,
    ) -> Result<Self, PageError> {
        if runs.len() != comparison.systems.len() {
            return Err(PageError::Runs {
                expected: comparison.systems.len(),
                found: runs.len(),
            });
        }
        let mut page = Self::new(title, comparison);
        // If the rules skip missing queries, only those that all systems answered count.
        let compared = ComparedQueries {
            queries: &comparison.queries,
            judgments: qrels,
        };
        let builder = PageBuilder {
            comparison,
            qrels: &compared,
            runs,
        };
        builder.add_system_scores(&mut page);
        builder.add_curves(&mut page)?;
        builder.add_query_differences(&mut page, queries);
        builder.add_scores_by_rank(&mut page);
        Ok(page)
    }
}

/// Judgments of the compared queries, in ascending byte order.
struct ComparedQueries<'q> {
    queries: &'q [String],
    judgments: &'q dyn Judgments,
}

impl Judgments for ComparedQueries<'_> {
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.queries.iter().map(String::as_str))
    }

    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
        self.judgments.judged(query)
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.judgments.grade(query, doc)
    }

    fn stratum(&self, query: &str, doc: &str) -> Option<&str> {
        self.judgments.stratum(query, doc)
    }

    fn subtopics(&self, query: &str) -> Option<Box<dyn Iterator<Item = (&str, &str, Grade)> + '_>> {
        self.judgments.subtopics(query)
    }
}

struct PageBuilder<'a, 'r> {
    comparison: &'a Comparison,
    qrels: &'r dyn Judgments,
    runs: &'r [&'r Run],
}

impl<'a> PageBuilder<'a, '_> {
    fn add_system_scores(&self, page: &mut ComparisonPage<'a>) {
        let measures = &self.comparison.measures;
        for &measure in measures.iter().take(MAX_MEASURES) {
            let plot = SystemScorePlot::new(self.comparison, measure);
            page.plots.extend(plot.map(|plot| Box::new(plot) as _));
        }
        if measures.len() > MAX_MEASURES {
            page.remarks.push(format!(
                "plots of scores: the first {MAX_MEASURES} of {} measures",
                measures.len()
            ));
        }
    }

    /// Adds precision-recall curves and measures over their cutoff.
    fn add_curves(&self, page: &mut ComparisonPage<'a>) -> Result<(), EvalError> {
        let comparison = self.comparison;
        let (rules, measures) = (comparison.rules, &comparison.measures);
        let (plots, remark) = curves(self.qrels, rules, self.runs, measures)?;
        let highlighted = self.highlighted();
        for mut plot in plots {
            // The names of the comparison are unique.
            for (curve, system) in plot.curves.iter_mut().zip(&comparison.systems) {
                curve.system.clone_from(&system.name);
            }
            plot.highlighted = Some(highlighted.clone());
            page.plots.push(Box::new(plot));
        }
        page.remarks.extend(remark);
        Ok(())
    }

    /// Systems in descending order of the first measure, after the first system: all plots of a
    /// page highlight the same ones.
    fn highlighted(&self) -> Vec<usize> {
        let systems = &self.comparison.systems;
        let score = |at: usize| systems[at].scores.first().map_or(0.0, |score| score.value);
        let mut order: Vec<usize> = (0..systems.len()).collect();
        if let Some(others) = order.get_mut(1..) {
            others.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        }
        order
    }

    fn add_query_differences(&self, page: &mut ComparisonPage<'a>, queries: usize) {
        let pairs = self.pairs();
        let mut shown: Vec<usize> = (0..pairs.len()).collect();
        if pairs.len() > MAX_PAIRS {
            let size = |at: usize| pairs[at].difference.abs();
            shown.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
            shown.truncate(MAX_PAIRS);
            shown.sort_unstable();
            page.remarks.push(format!(
                "differences per query: the {MAX_PAIRS} of {} pairs of systems that differ most",
                pairs.len()
            ));
        }
        for pairwise in shown.into_iter().map(|at| pairs[at]) {
            let (system, against, measure) =
                (&pairwise.system, &pairwise.against, pairwise.measure);
            let plot = QueryDifferencePlot::new(self.comparison, system, against, measure);
            page.plots.extend(plot.map(|plot| Box::new(plot) as _));
            let (Some(run), Some(other)) = (self.run(system), self.run(against)) else {
                continue;
            };
            let changes = RankChanges::new(self.qrels, self.comparison.rules, run, other)
                .for_measure(measure);
            page.wins_and_losses.extend(WinsAndLosses::new(
                self.comparison,
                &changes,
                pairwise,
                queries,
                MAX_DOCUMENTS,
            ));
        }
    }

    /// Pairs that were tested on the first measure, without duplicates.
    fn pairs(&self) -> Vec<&'a PairwiseTest> {
        let first = self.comparison.measures.first();
        let mut known = HashSet::new();
        let pairs = self.comparison.pairwise_tests.iter();
        let pairs = pairs.filter(|pairwise| Some(&pairwise.measure) == first);
        pairs
            .filter(|pairwise| {
                let (a, b) = (pairwise.system.as_str(), pairwise.against.as_str());
                known.insert((a.min(b), a.max(b)))
            })
            .collect()
    }

    fn run(&self, system: &str) -> Option<&Run> {
        let mut systems = self.comparison.systems.iter();
        let at = systems.position(|other| other.name == system)?;
        self.runs.get(at).copied()
    }

    /// Adds the scores by rank of the first system and of the best ones.
    fn add_scores_by_rank(&self, page: &mut ComparisonPage<'a>) {
        let systems = &self.comparison.systems;
        let mut shown = self.highlighted();
        shown.truncate(MAX_SCORE_PLOTS);
        shown.sort_unstable();
        if systems.len() > MAX_SCORE_PLOTS {
            page.remarks.push(format!(
                "scores by rank: the first system and the {} best of {}",
                MAX_SCORE_PLOTS - 1,
                systems.len()
            ));
        }
        for at in shown {
            let rules = self.comparison.rules;
            let mut scores = ScoresByRank::new(self.runs[at], self.qrels, rules, MAX_DEPTH);
            scores.system.clone_from(&systems[at].name);
            page.plots.push(Box::new(ScoresByRankPlot(scores)));
        }
    }
}

/// Plots of precision over recall, and of up to [`MAX_CUTOFF_CURVES`] measures over their cutoff,
/// and a remark on omitted measures.
pub(super) fn curves(
    qrels: &dyn Judgments,
    rules: Rules,
    runs: &[&Run],
    measures: &[Measure],
) -> Result<(Vec<CurvePlot>, Option<String>), EvalError> {
    let lists = runs.iter().flat_map(|run| run.iter());
    let longest = lists.map(|(_, list)| list.len()).max().unwrap_or(0);
    let depth = longest.min(MAX_DEPTH).min(rules.depth.unwrap_or(MAX_DEPTH));
    let cutoffs = log_spaced_cutoffs(depth as u32);
    let curve_measures = cutoff_measures(measures);
    let shown = &curve_measures[..curve_measures.len().min(MAX_CUTOFF_CURVES)];
    let mut evaluated = eleven_point_precision();
    for &measure in shown {
        evaluated.extend(at_cutoffs(measure, &cutoffs));
    }
    let evaluator = Evaluator::with_rules(qrels, &evaluated, rules)?;
    let reports = runs.iter().map(|run| evaluator.evaluate(run));
    let reports = reports.collect::<Result<Vec<_>, _>>()?;
    let mut plots = vec![CurvePlot::precision_recall(&reports)];
    let over_cutoffs = shown
        .iter()
        .map(|it| CurvePlot::over_cutoffs(&reports, *it));
    plots.extend(over_cutoffs);
    let remark = (curve_measures.len() > MAX_CUTOFF_CURVES).then(|| {
        format!(
            "curves by cut-off: the first {MAX_CUTOFF_CURVES} of {} measures that have one",
            curve_measures.len()
        )
    });
    Ok((plots, remark))
}

/// Measures with a cutoff, without duplicates.
fn cutoff_measures(measures: &[Measure]) -> Vec<Measure> {
    let mut distinct: Vec<Measure> = Vec::new();
    let with_cutoff = |m: &&Measure| m.cutoff().is_some() && m.summary() == Summary::Mean;
    for measure in measures.iter().filter(with_cutoff) {
        let base = measure.at(1);
        if !distinct.contains(&base) {
            distinct.push(base);
        }
    }
    if distinct.is_empty() {
        distinct.extend([Measure::NDCG, Measure::P, Measure::R]);
    }
    distinct
}
