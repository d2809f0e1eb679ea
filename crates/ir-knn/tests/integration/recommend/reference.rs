//! Rankings and explanations compared with a reference implementation.

use std::collections::{BTreeMap, BTreeSet};

use ir_core::{DocFilter, DocIds, DocNum, DocSet, Retriever, Search};
use ir_knn::{
    DataFinderQuirks, NeighborAggregation, NeighborTies, TrainingQuery, TrainingQueryKnn,
    TrainingQueryKnnConfig, VectorSimilarity,
};
use proptest::prelude::*;

use super::{Numbers, config_with};

/// Reference implementation of the definitions. Returns the ranking and the documents with votes.
fn oracle(
    rows: &[(Vec<i8>, Vec<usize>)],
    query: &[i8],
    config: &TrainingQueryKnnConfig,
    k: usize,
    allowed: &dyn Fn(usize) -> bool,
) -> (Vec<(usize, f64)>, BTreeSet<usize>) {
    let distance = |row: &[i8]| -> f64 {
        row.iter()
            .zip(query)
            .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2))
            .sum()
    };
    let mut near: Vec<(f64, usize)> = rows.iter().map(|row| distance(&row.0)).zip(0..).collect();
    near.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
    // Rank of each item in the order of the training queries.
    let mut order: BTreeMap<usize, usize> = BTreeMap::new();
    let quirks = config.quirks;
    let mut cut = k;
    match config.aggregation {
        NeighborAggregation::Nearest => {
            for &(d, row) in &near {
                for &item in &rows[row].1 {
                    scores.entry(item).or_insert(-d);
                    let rank = order.len();
                    order.entry(item).or_insert(rank);
                }
            }
        }
        NeighborAggregation::Sum => {
            // In the order of the rows, which defines the sum.
            for row in rows {
                for item in row.1.iter().collect::<BTreeSet<_>>() {
                    *scores.entry(*item).or_insert(0.0) += 1.0 / (1.0 + distance(&row.0));
                }
            }
        }
        NeighborAggregation::WeightedVote { neighbors } => {
            let voters = &near[..neighbors.min(near.len())];
            let farthest = voters.last().unwrap().0;
            let weight = |d: f64| match (farthest > 0.0, d > 0.0) {
                (true, _) => (farthest - d) / farthest,
                (false, true) => -d,
                (false, false) => 1.0,
            };
            for (index, &(d, row)) in voters.iter().enumerate() {
                let relevant = &rows[if quirks.first_rows { index } else { row }].1;
                for item in relevant.iter().collect::<BTreeSet<_>>() {
                    *scores.entry(*item).or_insert(0.0) += weight(d);
                }
            }
            if quirks.four_results {
                cut = k.min(4);
            } else if !quirks.first_rows {
                for &(d, row) in &near {
                    for &item in &rows[row].1 {
                        scores.entry(item).or_insert(weight(d));
                    }
                }
            }
        }
        _ => {
            let mut hits = 0;
            for &(d, row) in near
                .iter()
                .take(if quirks.four_results { 40 } else { usize::MAX })
            {
                if k == 0
                    || if quirks.four_results {
                        hits >= 4
                    } else {
                        scores.len() >= k
                    }
                {
                    break;
                }
                for &item in rows[row].1.iter().collect::<BTreeSet<_>>() {
                    if allowed(item) {
                        hits += 1;
                        *scores.entry(item).or_insert(0.0) -= d;
                    }
                }
            }
        }
    }
    let mut ranked: Vec<(usize, f64)> = scores
        .into_iter()
        .filter(|&(item, _)| allowed(item))
        .collect();
    match config.ties {
        NeighborTies::TrainingOrder => ranked.sort_by_key(|scored| order[&scored.0]),
        _ => ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))),
    }
    let voted = ranked.iter().map(|scored| scored.0).collect();
    ranked.truncate(cut);
    if quirks.reversed_scores {
        for scored in &mut ranked {
            scored.1 = -scored.1;
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    (ranked, voted)
}

fn configurations() -> Vec<TrainingQueryKnnConfig> {
    let four = DataFinderQuirks {
        four_results: true,
        ..DataFinderQuirks::default()
    };
    let vote = |neighbors| config_with(NeighborAggregation::WeightedVote { neighbors });
    vec![
        config_with(NeighborAggregation::Nearest),
        config_with(NeighborAggregation::Nearest).with_ties(NeighborTies::TrainingOrder),
        config_with(NeighborAggregation::Sum),
        vote(1),
        vote(3),
        vote(10),
        vote(3).with_quirks(four),
        vote(10).with_quirks(DataFinderQuirks::WEIGHTED),
        config_with(NeighborAggregation::ExactTop),
        config_with(NeighborAggregation::ExactTop).with_quirks(four),
        config_with(NeighborAggregation::ExactTop).with_quirks(DataFinderQuirks::EXACT_TOP),
    ]
}

const ITEMS: usize = 9;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Integers, so distances are exact and many are equal.
    #[test]
    fn rankings_match_the_reference_implementation(
        rows in prop::collection::vec(
            (prop::collection::vec(-3_i8..4, 5), prop::collection::vec(0..ITEMS, 1..4)), 1..60),
        zeros in any::<bool>(),
        query in prop::collection::vec(-3_i8..4, 5),
        k in 0_usize..12,
        allowed in prop::collection::vec(any::<bool>(), ITEMS),
        filtered in any::<bool>(),
    ) {
        // Mostly zeros, so vectors are stored as posting lists.
        let mut rows = rows;
        if zeros {
            for (n, row) in rows.iter_mut().enumerate() {
                row.0.iter_mut().enumerate().for_each(|(at, v)| if at != n % 5 { *v = 0 });
            }
        }
        let text = |row: &[i8]| row.iter().map(i8::to_string).collect::<Vec<_>>().join(" ");
        let ids = || (0..ITEMS).map(|n| format!("i{n}")).collect::<DocIds>();
        let queries = || -> Vec<TrainingQuery> {
            let query = |(n, row): (usize, &(Vec<i8>, Vec<usize>))| {
                TrainingQuery::new(format!("p{n}"), text(&row.0), row.1.iter().map(|n| format!("i{n}")))
            };
            rows.iter().enumerate().map(query).collect()
        };
        let filter = DocSet::select(ITEMS, |doc| allowed[doc.index()]);
        let search = Search::top(k);
        let search = if filtered { search.within(&filter) } else { search };
        for config in configurations() {
            let passes = |item: usize| !filtered || filter.contains(DocNum::new(item as u32));
            let (expected, voted) = oracle(&rows, &query, &config, k, &passes);
            let knn = TrainingQueryKnn::new(ids(), queries(), Numbers(5), &config).unwrap();
            let found = knn.search(&text(&query), &search).unwrap();
            prop_assert_eq!(found.len(), expected.len(), "{:?}", config);
            // Sums may differ in the last bits of f64, so documents equal in f32 may be swapped.
            for (hit, (item, score)) in found.iter().zip(&expected) {
                let close = (f64::from(hit.score) - score).abs() <= 1e-6 * score.abs().max(1.0);
                prop_assert!(close, "{:?}: {:?}, expected {} {}", config, hit, item, score);
                let explanation = knn.explain(&text(&query), hit.doc, &search).unwrap().unwrap();
                prop_assert_eq!(explanation.score().to_bits(), hit.score.to_bits());
                prop_assert!(!explanation.details.is_empty());
                let sum: f64 = explanation.details.iter().map(|vote| vote.value).sum();
                prop_assert_eq!(sum as f32, hit.score);
            }
            // Exactly the documents with votes have explanations, also beyond the last hit.
            for item in 0..ITEMS {
                let explanation = knn.explain(&text(&query), DocNum::new(item as u32), &search).unwrap();
                prop_assert_eq!(explanation.is_some(), voted.contains(&item), "{:?}, {}", config, item);
            }
            if config.aggregation == NeighborAggregation::Nearest || config.aggregation == NeighborAggregation::ExactTop {
                let found: Vec<usize> = found.iter().map(|hit| hit.doc.index()).collect();
                let expected: Vec<usize> = expected.iter().map(|pair| pair.0).collect();
                prop_assert_eq!(found, expected, "{:?}", config);
            }
        }
    }

    /// Cosine compared with its definition; 0 for zero vectors.
    #[test]
    fn cosines(
        rows in prop::collection::vec(prop::collection::vec(-3_i8..4, 3), 1..20),
        query in prop::collection::vec(-3_i8..4, 3),
    ) {
        let text = |row: &[i8]| row.iter().map(i8::to_string).collect::<Vec<_>>().join(" ");
        let dot = |a: &[i8], b: &[i8]| -> f64 {
            a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
        };
        let queries = rows.iter().enumerate();
        let queries = queries.map(|(n, row)| TrainingQuery::new(format!("p{n}"), text(row), [format!("{n}")]));
        let ids = (0..rows.len()).map(|n| n.to_string()).collect();
        let config = config_with(NeighborAggregation::Sum).with_metric(VectorSimilarity::Cosine);
        let knn = TrainingQueryKnn::new(ids, queries.collect(), Numbers(3), &config).unwrap();
        for hit in &knn.search(&text(&query), &Search::top(100)).unwrap() {
            let row = &rows[hit.doc.index()];
            let lengths = (dot(row, row) * dot(&query, &query)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(row, &query) / lengths };
            prop_assert!((f64::from(hit.score) - expected).abs() < 1e-6);
        }
    }
}
