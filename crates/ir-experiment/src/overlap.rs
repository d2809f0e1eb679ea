//! Agreement of the rankings of two systems.

use ir_core::{Run, RunOrder};
use ir_eval::{DiffRules, RunDiff};
use serde::Serialize;

use crate::file::ComparisonEntry;

/// Agreement of the first documents of two systems, mean over the queries for which both retrieve
/// documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankingOverlap {
    /// Names of the systems: the baseline first, or in the order of the table.
    pub systems: [String; 2],
    /// Number of first documents that are compared.
    pub depth: usize,
    /// Number of common documents, divided by the length of the longer list. Range: from 0 to 1.
    pub overlap: f64,
    /// Extrapolated rank-biased overlap with p = 0.9. Range: from 0 to 1.
    pub rbo: f64,
    /// Number of queries for which both systems retrieve documents.
    pub queries: usize,
}

/// Overlaps of the pairs of a comparison; none without a depth.
pub(crate) fn overlaps(comparison: &ComparisonEntry, runs: &[Run]) -> Vec<RankingOverlap> {
    let Some(depth) = comparison.overlap_depth else {
        return Vec::new();
    };
    let baseline = comparison.baseline.as_ref();
    let baseline = baseline.and_then(|name| runs.iter().position(|run| run.tag == *name));
    let baseline = baseline.unwrap_or(0);
    let mut pairs = Vec::new();
    for first in 0..runs.len() {
        for second in 0..runs.len() {
            let is_compared = match comparison.all_pairs {
                true => first < second,
                false => first == baseline && second != baseline,
            };
            if is_compared {
                pairs.push([&runs[first], &runs[second]]);
            }
        }
    }
    let rules = DiffRules {
        order: RunOrder::File,
        depth: Some(depth),
        ..DiffRules::default()
    };
    let overlap = |[first, second]: [&Run; 2]| {
        let diff = RunDiff::new(first, second, rules);
        let (overlap, queries) = diff.mean(|query| Some(query.overlap())).unwrap_or_default();
        RankingOverlap {
            systems: [first.tag.clone(), second.tag.clone()],
            depth,
            overlap,
            rbo: diff.mean(|query| query.rbo).map_or(0.0, |mean| mean.0),
            queries,
        }
    };
    pairs.into_iter().map(overlap).collect()
}
