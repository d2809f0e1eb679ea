//! kNN classification of a Parquet file of the ICLR dataset.

use std::fs;

use ir_experiment::{Cache, Experiment};

use crate::common::run;

/// 24 papers, written by pyarrow.
const PAPERS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../ir-data/testdata/iclr/papers.parquet"
);

/// The same accuracy as from JSON lines with the same abstracts and titles.
#[test]
fn parquet_has_the_accuracy_of_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let papers = ir_data::iclr::read(PAPERS).unwrap();
    let lines = papers.iter().map(|paper| {
        let line = serde_json::json!({
            "abstract": paper.text, "title": paper.title, "label": paper.class,
        });
        format!("{line}\n")
    });
    fs::write(
        folder.path().join("papers.jsonl"),
        lines.collect::<String>(),
    )
    .unwrap();
    let entry = |name: &str, texts: &str, field: &str| {
        format!(
            "[[classifications]]\nname = {name:?}\ntexts = {texts:?}\ntext_field = {field:?}\n\
             k = 3\nfolds = 2\n"
        )
    };
    let experiment = [
        entry("abstracts", PAPERS, "abstract"),
        entry("abstracts, lines", "papers.jsonl", "abstract"),
        entry("titles", PAPERS, "title"),
        entry("titles, lines", "papers.jsonl", "title"),
    ];
    let path = folder.path().join("e.toml");
    fs::write(&path, experiment.concat()).unwrap();
    let (results, _) = run(
        &Experiment::open(&path).unwrap(),
        &Cache::temporary().unwrap(),
    );
    for name in ["abstracts", "titles"] {
        let found = results.classification(name).unwrap();
        // Nine papers have no class.
        assert_eq!((found.items, found.classes), (15, 2), "{name}");
        let lines = results.classification(&format!("{name}, lines")).unwrap();
        assert_eq!(found.folds, lines.folds, "{name}");
    }
    fs::write(&path, entry("keywords", PAPERS, "keywords")).unwrap();
    let registry = ir_experiment::Registry::default();
    let cache = Cache::temporary().unwrap();
    let runner = ir_experiment::Runner::new(&cache, &registry);
    let error = runner.run(&Experiment::open(&path).unwrap(), &mut ir_core::NoProgress);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("text_field: expected abstract or title, found \"keywords\""),
        "{error}"
    );
}
