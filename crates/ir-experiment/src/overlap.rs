//! Agreement of the rankings of two systems.

use ir_core::{Run, RunOrder};
use ir_eval::compare::Comparison;
use ir_eval::runs::{DiffRules, RunDiff};
use serde::Serialize;

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

/// Overlaps of the baseline with every other system or, if all pairs are compared, of every pair.
pub(crate) fn overlaps(comparison: &Comparison, depth: usize, runs: &[Run]) -> Vec<RankingOverlap> {
    let rules = DiffRules {
        order: RunOrder::File,
        depth: Some(depth),
        ..DiffRules::default()
    };
    let overlap = |first: &Run, second: &Run| {
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
    let mut found = Vec::new();
    for (at, first) in runs.iter().enumerate() {
        let others = match comparison.baseline() {
            None => &runs[at + 1..],
            Some(name) if first.tag == name => runs,
            Some(_) => &[],
        };
        let others = others.iter().filter(|other| other.tag != first.tag);
        found.extend(others.map(|other| overlap(first, other)));
    }
    found
}
