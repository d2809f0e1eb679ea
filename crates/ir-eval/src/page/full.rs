//! Everything that a page shows of runs.

use std::collections::HashSet;

use ir_core::{Grade, Judgments, Run};

use super::{ComparisonPage, WinsAndLosses};
use crate::plots::{CurvePlot, QueryDifferencePlot, ScoresByRankPlot, SystemScorePlot};
use crate::{
    Comparison, EvalError, Evaluator, Measure, MeasureCurve, PairwiseTest, RankChanges,
    ScoresByRank, Summary, at_cutoffs, eleven_point_precision, log_spaced_cutoffs,
};

/// How much is shown at most. What is left out is told.
const MEASURES: usize = 8;
const FAMILIES: usize = 4;
const PAIRS: usize = 8;
const SCORES: usize = 4;
const DOCUMENTS: usize = 5;
const DEPTH: usize = 1000;

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The runs are not those of the comparison.
    #[error("expected the runs of {expected} systems, found {found}")]
    Runs {
        /// How many systems are compared.
        expected: usize,
        /// How many runs there are.
        found: usize,
    },
    /// A run could not be evaluated.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
}

impl<'a> ComparisonPage<'a> {
    /// A page with all pictures and the queries that made the difference. `runs` are those of the
    /// comparison, in its order.
    ///
    /// The first measure is the one of which differences per query are shown: for up to eight pairs
    /// of systems, those that differ most, with up to `topics` wins and `topics` losses each. Curves run to the length of the longest list, at most
    /// 1000, for up to four of the measures that have a cut-off, or for nDCG, P and R. Remarks on
    /// the page tell what was left out.
    ///
    /// # Errors
    /// When there are not as many runs as systems, and as [`Evaluator::evaluate`].
    pub fn from_runs<J>(
        title: &str,
        comparison: &'a Comparison,
        qrels: &J,
        runs: &[&Run],
        topics: usize,
    ) -> Result<Self, PageError>
    where
        J: Judgments + ?Sized,
    {
        if runs.len() != comparison.systems().len() {
            return Err(PageError::Runs {
                expected: comparison.systems().len(),
                found: runs.len(),
            });
        }
        let mut page = Self::new(title, comparison);
        // Where missing queries are skipped, only those count that all systems answered.
        let counted = Counted {
            queries: comparison.queries(),
            judgments: qrels,
        };
        let full = Full {
            comparison,
            qrels: &counted,
            runs,
        };
        full.means(&mut page);
        full.curves(&mut page)?;
        full.differences(&mut page, topics);
        full.scores(&mut page);
        Ok(page)
    }
}

/// The judgments of some queries, in ascending byte order.
struct Counted<'q, J: ?Sized> {
    queries: &'q [String],
    judgments: &'q J,
}

impl<J: Judgments + ?Sized> Judgments for Counted<'_, J> {
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

/// What a page is made of.
struct Full<'a, 'r> {
    comparison: &'a Comparison,
    qrels: &'r dyn Judgments,
    runs: &'r [&'r Run],
}

impl<'a> Full<'a, '_> {
    fn means(&self, page: &mut ComparisonPage<'a>) {
        let measures = self.comparison.measures();
        for &measure in measures.iter().take(MEASURES) {
            let means = SystemScorePlot::new(self.comparison, measure);
            page.plots.extend(means.map(|means| Box::new(means) as _));
        }
        if measures.len() > MEASURES {
            page.remarks.push(format!(
                "pictures of figures: the first {MEASURES} of {} measures",
                measures.len()
            ));
        }
    }

    /// Precision and recall, and measures by cut-off.
    fn curves(&self, page: &mut ComparisonPage<'a>) -> Result<(), EvalError> {
        let rules = self.comparison.rules();
        let lists = self.runs.iter().flat_map(|run| run.iter());
        let longest = lists.map(|(_, list)| list.len()).max().unwrap_or(0);
        let depth = longest.min(DEPTH).min(rules.depth.unwrap_or(DEPTH));
        let cutoffs = log_spaced_cutoffs(depth as u32);
        let families = self.families();
        let mut measures = eleven_point_precision();
        for &measure in families.iter().take(FAMILIES) {
            measures.extend(at_cutoffs(measure, &cutoffs));
        }
        let evaluator = Evaluator::with_rules(self.qrels, &measures, *rules)?;
        let mut reports = Vec::new();
        for run in self.runs {
            reports.push(evaluator.evaluate(run)?);
        }
        let front = self.front();
        let mut add = |mut curves: CurvePlot| {
            self.name(&mut curves.curves);
            curves.front = Some(front.clone());
            page.plots.push(Box::new(curves));
        };
        add(CurvePlot::precision_recall(&reports));
        for &measure in families.iter().take(FAMILIES) {
            add(CurvePlot::over_cutoffs(&reports, measure));
        }
        if families.len() > FAMILIES {
            page.remarks.push(format!(
                "curves by cut-off: the first {FAMILIES} of {} measures that have one",
                families.len()
            ));
        }
        Ok(())
    }

    /// The systems from the best one on the first measure down, but the first one before all: a
    /// page tells the same ones apart in every picture.
    fn front(&self) -> Vec<usize> {
        let systems = self.comparison.systems();
        let score = |at: usize| systems[at].scores.first().map_or(0.0, |score| score.value);
        let mut front: Vec<usize> = (0..systems.len()).collect();
        if let Some(others) = front.get_mut(1..) {
            others.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        }
        front
    }

    /// The names of the comparison, which are unlike each other.
    fn name(&self, curves: &mut [MeasureCurve]) {
        for (curve, system) in curves.iter_mut().zip(self.comparison.systems()) {
            curve.system.clone_from(&system.name);
        }
    }

    /// The measures that have cut-offs, each once.
    fn families(&self) -> Vec<Measure> {
        let measures = self.comparison.measures().iter();
        let mut families: Vec<Measure> = Vec::new();
        for measure in measures.filter(|m| m.cutoff().is_some() && m.summary() == Summary::Mean) {
            let family = measure.at(1);
            if !families.contains(&family) {
                families.push(family);
            }
        }
        if families.is_empty() {
            families.extend([Measure::NDCG, Measure::P, Measure::R]);
        }
        families
    }

    /// The differences per query on the first measure.
    fn differences(&self, page: &mut ComparisonPage<'a>, topics: usize) {
        let pairs = self.pairs();
        let mut shown: Vec<usize> = (0..pairs.len()).collect();
        if pairs.len() > PAIRS {
            let size = |at: usize| pairs[at].difference.abs();
            shown.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
            shown.truncate(PAIRS);
            shown.sort_unstable();
            page.remarks.push(format!(
                "differences per query: the {PAIRS} of {} pairs of systems that differ most",
                pairs.len()
            ));
        }
        for pairwise in shown.into_iter().map(|at| pairs[at]) {
            let (system, against, measure) =
                (&pairwise.system, &pairwise.against, pairwise.measure);
            let picture = QueryDifferencePlot::new(self.comparison, system, against, measure);
            page.plots
                .extend(picture.map(|picture| Box::new(picture) as _));
            let (Some(run), Some(other)) = (self.run(system), self.run(against)) else {
                continue;
            };
            let moves =
                RankChanges::new(self.qrels, *self.comparison.rules(), run, other).for_measure(measure);
            page.topics.extend(WinsAndLosses::new(
                self.comparison,
                &moves,
                system,
                against,
                measure,
                topics,
                DOCUMENTS,
            ));
        }
    }

    /// The pairs that were tested on the first measure, each once.
    fn pairs(&self) -> Vec<&'a PairwiseTest> {
        let first = self.comparison.measures().first();
        let mut known = HashSet::new();
        let pairs = self.comparison.pairwise_tests().iter();
        let pairs = pairs.filter(|pairwise| Some(&pairwise.measure) == first);
        pairs
            .filter(|pairwise| {
                let (a, b) = (pairwise.system.as_str(), pairwise.against.as_str());
                known.insert((a.min(b), a.max(b)))
            })
            .collect()
    }

    fn run(&self, system: &str) -> Option<&Run> {
        let mut systems = self.comparison.systems().iter();
        let at = systems.position(|other| other.name == system)?;
        self.runs.get(at).copied()
    }

    /// The scores of the first system and of the best ones.
    fn scores(&self, page: &mut ComparisonPage<'a>) {
        let systems = self.comparison.systems();
        let mut shown: Vec<usize> = (0..systems.len()).collect();
        if shown.len() > SCORES {
            let value = |at: usize| systems[at].scores.first().map_or(0.0, |score| score.value);
            shown[1..].sort_by(|&a, &b| value(b).total_cmp(&value(a)));
            shown.truncate(SCORES);
            shown.sort_unstable();
            page.remarks.push(format!(
                "scores by rank: the first system and the {} best of {}",
                SCORES - 1,
                systems.len()
            ));
        }
        for at in shown {
            let rules = *self.comparison.rules();
            let mut scores = ScoresByRank::new(self.runs[at], self.qrels, rules, DEPTH);
            scores.system.clone_from(&systems[at].name);
            page.plots.push(Box::new(ScoresByRankPlot(scores)));
        }
    }
}
