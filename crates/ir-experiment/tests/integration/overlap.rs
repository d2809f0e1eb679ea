//! Overlap of the rankings of systems.

#![allow(clippy::unwrap_used)]

use crate::common::run;
use ir_experiment::{Cache, Experiment};

#[test]
fn overlap_of_rankings() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [comparison]
        baseline = "tuned"
        overlap_depth = 3
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "tuned"
        type = "bm25"
        b = 1.0
        k1 = 5.0
        [[systems]]
        name = "same"
        type = "bm25"
    "#;
    let mut experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let task = &results.tasks[0];
    let [bm25, tuned, _] = [0, 1, 2].map(|n| &task.runs[n]);
    let (mut sum, mut count) = (0.0, 0);
    for (query, list) in tuned.iter() {
        let other = &bm25.iter().find(|(id, _)| *id == query).unwrap().1;
        let [list, other] = [list, other].map(|list| &list[..list.len().min(3)]);
        let is_common = |hit: &&ir_core::ScoredDoc| other.iter().any(|it| it.doc == hit.doc);
        let common = list.iter().filter(is_common).count();
        sum += common as f64 / list.len().max(other.len()) as f64;
        count += 1;
    }
    let pairs: Vec<_> = task.overlaps.iter().map(|it| &it.systems).collect();
    assert_eq!(pairs, [&["tuned", "BM25"], &["tuned", "same"]]);
    let found = &task.overlaps[0];
    assert_eq!((found.depth, found.queries), (3, count));
    assert!((found.overlap - sum / count as f64).abs() < 1e-12);
    assert!(found.overlap < 1.0 && found.rbo < 1.0 && found.rbo > 0.0);
    let table = results.to_text();
    assert!(
        table.contains("overlap@3") && table.contains("tuned, same"),
        "{table}"
    );
    assert!(results.to_latex().contains("overlap@3"));
    assert!(results.to_json().unwrap().contains("\"rbo\""));

    experiment.comparison.baseline = None;
    experiment.comparison.all_pairs = true;
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let overlaps = &results.tasks[0].overlaps;
    assert_eq!(overlaps.len(), 3);
    // BM25 and the system with the same parameters.
    assert_eq!((overlaps[1].overlap, overlaps[1].rbo), (1.0, 1.0));

    let invalid = Experiment::from_toml(&text.replace("overlap_depth = 3", "overlap_depth = 0"));
    let message = invalid.unwrap_err().to_string();
    assert!(message.contains("overlap_depth"), "{message}");
}
