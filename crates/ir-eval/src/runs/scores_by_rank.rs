//! Retrieval scores and relevant documents by rank.

use ir_core::{Judgments, Run, ScoredDoc};

use crate::rules::{Rules, ScorePrecision, SelfHits, TieBreak, UnjudgedDocuments};
use crate::statistics::{mean, quantile};

/// Distribution of retrieval scores and number of relevant documents at each rank, over all judged
/// queries of a run.
///
/// Lists are ordered by the same [`Rules`] as for the measures.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::runs::ScoresByRank;
/// use ir_eval::Rules;
/// let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
/// qrels.insert("q1", "d2", 1);
/// qrels.insert("q2", "d9", 1);
/// for (query, doc, score) in [("q1", "d1", 3.0), ("q1", "d2", 2.0), ("q2", "d1", 5.0)] {
///     run.push(query, doc, score);
/// }
/// let scores = ScoresByRank::new(&run, &qrels, Rules::default(), 100);
/// assert_eq!(scores.ranks[0].mean, 4.0);
/// assert_eq!((scores.ranks[1].lists, scores.ranks[1].relevant), (1, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoresByRank {
    /// Name of the system.
    pub system: String,
    /// Number of lists in the statistics.
    pub lists: usize,
    /// Statistics of each rank, from rank 1.
    pub ranks: Vec<RankStatistics>,
}

/// Statistics of the documents at one rank. Scores that are not finite are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankStatistics {
    /// Number of lists that reach the rank.
    pub lists: usize,
    /// Number of relevant documents at the rank.
    pub relevant: usize,
    /// Mean score; NaN without scores.
    pub mean: f64,
    /// 10th percentile of the scores.
    pub low: f64,
    /// 90th percentile of the scores.
    pub high: f64,
}

impl ScoresByRank {
    /// Computes the first `depth` ranks over all judged queries.
    #[must_use]
    pub fn new(run: &Run, qrels: &dyn Judgments, rules: Rules, depth: usize) -> Self {
        let queries = qrels.queries();
        let lists = queries.filter_map(|query| Some((query, run.get(query)?)));
        let depth = rules.depth.map_or(depth, |most| most.min(depth));
        let mut ranks: Vec<(RankStatistics, Vec<f64>)> = Vec::new();
        let mut count = 0;
        for (query, list) in lists {
            count += 1;
            let mut list = evaluation_order(list, query, &rules);
            list.truncate(rules.depth.unwrap_or(usize::MAX));
            let grade = |scored: &ScoredDoc| qrels.grade(query, &scored.doc).unwrap_or(-1);
            if rules.unjudged == UnjudgedDocuments::Remove {
                list.retain(|scored| grade(scored) >= 0);
            }
            list.truncate(depth);
            ranks.resize_with(ranks.len().max(list.len()), Default::default);
            for ((rank, scores), scored) in ranks.iter_mut().zip(&list) {
                rank.lists += 1;
                rank.relevant += usize::from(grade(scored) >= rules.level);
                scores.extend(scored.score.is_finite().then_some(scored.score));
            }
        }
        let statistics = |(rank, mut scores): (RankStatistics, Vec<f64>)| {
            scores.sort_by(f64::total_cmp);
            RankStatistics {
                mean: mean(&scores) + 0.0,
                low: quantile(&scores, 0.1),
                high: quantile(&scores, 0.9),
                ..rank
            }
        };
        Self {
            system: run.tag.clone(),
            lists: count,
            ranks: ranks.into_iter().map(statistics).collect(),
        }
    }
}

/// Score in the precision in which the rules compare scores; adding 0 turns −0 into 0.
pub(crate) fn compared_score(scored: &ScoredDoc, rules: &Rules) -> f64 {
    match rules.scores {
        ScorePrecision::F64 => scored.score + 0.0,
        ScorePrecision::F32 => f64::from(scored.score as f32 + 0.0),
    }
}

/// Sorts a list into the order in which it is evaluated.
pub(crate) fn evaluation_order<'r>(
    list: &'r [ScoredDoc],
    query: &str,
    rules: &Rules,
) -> Vec<&'r ScoredDoc> {
    let keep = |scored: &&ScoredDoc| rules.self_hits == SelfHits::Keep || scored.doc != query;
    let mut list: Vec<&ScoredDoc> = list.iter().filter(keep).collect();
    let score = |scored: &ScoredDoc| compared_score(scored, rules);
    let falling = |a: &ScoredDoc, b: &ScoredDoc| score(b).total_cmp(&score(a));
    match rules.ties {
        TieBreak::RunOrder | TieBreak::Reject => list.sort_by(|a, b| falling(a, b)),
        TieBreak::TrecEval => list.sort_by(|a, b| falling(a, b).then_with(|| b.doc.cmp(&a.doc))),
        TieBreak::IdAscending => list.sort_by(|a, b| falling(a, b).then_with(|| a.doc.cmp(&b.doc))),
    }
    list
}
