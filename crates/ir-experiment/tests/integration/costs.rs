//! Costs of systems: measured once, cached, and in the tables only if the file asks for them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use crate::common::{assert_cached, run};
use ir_experiment::{Cache, Experiment, Stage, StageStatus};

const EXPERIMENT: &str = r#"
measures = ["AP"]

[[tasks]]
collection = "bundled"

[output]
costs = true

[[systems]]
name = "BM25"
type = "bm25"

[[systems]]
name = "tuned"
type = "bm25"
k1 = 2.0

[[systems]]
name = "both"
type = "hybrid"
of = ["BM25", "tuned"]
"#;

#[test]
fn costs_are_measured_once() {
    let costs = Experiment::from_toml(EXPERIMENT).unwrap();
    let mut plain = costs.clone();
    plain.output.costs = false;
    let cache = Cache::temporary().unwrap();

    let (without, _) = run(&plain, &cache);
    assert!(without.tasks[0].costs.is_empty());
    for text in [without.to_text(), without.to_json().unwrap()] {
        assert!(!text.contains("costs"), "{text}");
    }

    // Runs of the cache are not searched again.
    let (first, stages) = run(&costs, &cache);
    assert_cached(&stages);
    assert_eq!(first.tasks[0].runs, without.tasks[0].runs);
    let found = &first.tasks[0].costs;
    let names: Vec<&str> = found.iter().map(|it| it.system.as_str()).collect();
    assert_eq!(names, ["BM25", "tuned", "both"]);
    assert!(found.iter().all(|it| it.milliseconds > 0.0), "{found:?}");
    // The systems search the same index.
    let index = fs::read_dir(cache.folder().join("index")).unwrap();
    let index = index.map(|entry| entry.unwrap().path());
    let index: Vec<_> = index
        .filter(|it| it.extension().is_some_and(|it| it == "ir"))
        .collect();
    assert_eq!(index.len(), 1);
    let bytes = fs::metadata(&index[0]).unwrap().len();
    assert_eq!(
        found.iter().map(|it| it.bytes).collect::<Vec<_>>(),
        [bytes; 3]
    );
    for table in [first.to_text(), first.to_markdown(), first.to_latex()] {
        assert!(table.contains("ms per query"), "{table}");
        assert!(table.contains(&bytes.to_string()), "{table}");
    }

    // The times come from the cache.
    let (second, _) = run(&costs, &cache);
    assert_eq!(second.to_json().unwrap(), first.to_json().unwrap());

    // A damaged entry is measured again, and reported.
    let entries = fs::read_dir(cache.folder().join("run")).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let is_costs = |path: &PathBuf| path.to_string_lossy().ends_with("-costs.ir");
    let entries: Vec<PathBuf> = entries.filter(is_costs).collect();
    assert_eq!(entries.len(), 3);
    fs::write(&entries[0], "damaged").unwrap();
    let (third, stages) = run(&costs, &cache);
    let rebuilt = stages.iter().filter(|(stage, status)| {
        *stage == Stage::Run && matches!(status, StageStatus::Rebuilt { .. })
    });
    assert_eq!(rebuilt.count(), 1, "{stages:?}");
    assert_eq!(third.tasks[0].costs.len(), 3);
    let (fourth, _) = run(&costs, &cache);
    assert_eq!(fourth.to_json().unwrap(), third.to_json().unwrap());
}

/// A model that is not trained counts with its files.
#[cfg(feature = "dense")]
#[test]
fn models_have_bytes() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ir-dense/testdata/cross-encoders/bert"
    );
    let system = format!(
        "[[systems]]\nname = \"reranked\"\ntype = \"rerank\"\nfirst = \"BM25\"\nmodel = \
         {folder:?}\ndepth = 3\n"
    );
    let experiment = Experiment::from_toml(&format!("{EXPERIMENT}\n{system}")).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let [bm25, .., reranked] = &results.tasks[0].costs[..] else {
        panic!("{:?}", results.tasks[0].costs);
    };
    let weights = fs::metadata(format!("{folder}/model.safetensors"));
    let least = bm25.bytes + weights.unwrap().len();
    assert!(reranked.bytes > least, "{reranked:?} {least}");
}
