//! Errors of the keys of systems: misspelled ones, values of other keys, combinations.

#![allow(clippy::unwrap_used)]

use crate::common::Recorder;
use ir_experiment::{Cache, Experiment, Registry, Runner};

const VALID: &str = r#"measures = ["AP"]
[[tasks]]
collection = "bundled"
training = { split = "train" }
[[systems]]
name = "a"
type = "bm25"
[[systems]]
name = "b"
type = "knn"
"#;

/// The version of system files; other keys of a newer version are not reported.
#[test]
fn versions_of_system_files() {
    let experiment = Experiment::from_toml(&format!("version = 1\n{VALID}")).unwrap();
    assert_eq!(experiment.version, Some(1));
    let newer = format!("later = true\nversion = 2\n{VALID}");
    let error = Experiment::from_toml(&newer).unwrap_err();
    assert_eq!(error.to_string(), "line 2: version: expected 1, found 2");
    let error = Experiment::from_toml(&format!("version = \"1\"\n{VALID}")).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("line 1: version: "), "{error}");
}

#[test]
fn errors_name_line_key_and_fix() {
    for (from, to, expected) in [
        (
            "name = \"b\"",
            "nmae = \"b\"",
            "line 9: systems[1].nmae: unknown key (did you mean name?)",
        ),
        (
            "type = \"knn\"",
            "typ = \"knn\"",
            "line 10: systems[1].typ: unknown key (did you mean type?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfiltr = \"year\"",
            "line 8: systems[0].filtr: unknown key; expected one of analyzer,",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfiltr = \"year\"",
            "name, type, hits, filter, where, scores, hidden, grid (did you mean filter?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nhidde = true",
            "(did you mean hidden?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ngird = { k1 = [1] }",
            "(did you mean grid?)",
        ),
        (
            "\"bm25\"",
            "\"rm3\"",
            "found \"rm3\" (did you mean type = \"bm25\" with feedback = \"rm3\"?)",
        ),
        (
            "\"bm25\"",
            "\"bm25f\"",
            "found \"bm25f\" (did you mean type = \"bm25\" with model = \"bm25f\"?)",
        ),
        (
            "\"bm25\"",
            "\"BM25\"",
            "found \"BM25\" (did you mean bm25?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"rm3\"",
            "line 8: systems[0].model: expected a scoring model, found \"rm3\" (did you mean \
             feedback = \"rm3\"?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"random-indexing\"",
            "found \"random-indexing\" (did you mean type = \"random-indexing\"?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"bm25f\"",
            "line 8: systems[0].model: bm25f needs fields with separate statistics, such as \
             fields = [\"title\", \"text\"]",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"indri-dirichlet\"\nfeedback = \"rm3(docs=5)\"",
            "line 9: systems[0].feedback: expected the estimate indri, such as \
             \"rm3(estimate=indri)\", with \"indri-dirichlet\"",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ncleaning = [\"punctuation\"]",
            "line 8: systems[0].cleaning: expected a table such as \
             { punctuation = true }",
        ),
        (
            "type = \"knn\"",
            "type = \"knn\"\ncleaning = [\"x\"]",
            "line 11: systems[1].cleaning: expected a table such as",
        ),
    ] {
        assert!(VALID.contains(from), "{from}");
        let error = Experiment::from_toml(&VALID.replacen(from, to, 1)).unwrap_err();
        let found = error.to_string();
        assert!(
            found.contains(expected),
            "{to}: expected {expected:?} in {found:?}"
        );
    }
}

/// Expected values of other measures are an error of a reproduction only.
#[test]
fn expected_values_of_other_measures() {
    let expected = "[[expected]]\nsystem = \"a\"\ntolerance = 0.1\nvalues = { RR = 1 }\n";
    let experiment = Experiment::from_toml(&format!("{VALID}{expected}")).unwrap();
    let error = experiment.validate_expected().unwrap_err().to_string();
    assert_eq!(
        error,
        "line 14: expected[0].values.RR: expected a measure of the experiment (AP); add it to \
         measures, or remove the value"
    );
    let valid = expected.replace("RR", "AP");
    let experiment = Experiment::from_toml(&format!("{VALID}{valid}")).unwrap();
    experiment.validate_expected().unwrap();
}

/// Models with log-likelihoods have feedback with the estimate of Indri, and BM25F has fields.
#[test]
fn valid_combinations_of_models() {
    assert_eq!(VALID.matches("\"bm25\"").count(), 1);
    for keys in [
        "model = \"indri-dirichlet\"\nfeedback = \"rm3(estimate=indri)\"",
        "model = \"two-stage\"\nfeedback = \"rocchio\"",
        "model = \"qld\"\nfeedback = \"rm3\"",
        "model = \"bm25f\"\nfields = \"separate\"",
        "model = \"bm25f\"\nfields = [\"title\", \"text\"]",
    ] {
        Experiment::from_toml(&VALID.replace("\"bm25\"", &format!("\"bm25\"\n{keys}"))).unwrap();
    }
}

/// Queries with operators of Indri are warned of, if a system of type `bm25` reads no syntax.
#[test]
fn operators_without_syntax() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let docs = "{\"_id\": \"d\", \"text\": \"tea\"}\n{\"_id\": \"e\", \"text\": \"milk\"}\n";
    std::fs::write(at("corpus.jsonl"), docs).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\td\t1\n2\te\t1\n";
    std::fs::write(at("qrels/test.tsv"), qrels).unwrap();
    let warnings = |query: &str, keys: &str| {
        let queries = format!(
            "{{\"_id\": \"1\", \"text\": \"tea\"}}\n{{\"_id\": \"2\", \"text\": {query:?}}}\n"
        );
        std::fs::write(at("queries.jsonl"), queries).unwrap();
        let text = format!(
            "measures = [\"RR\"]\n[[tasks]]\nname = \"t\"\ncollection = {:?}\n[[systems]]\nname = \
             \"a\"\ntype = \"bm25\"\n{keys}",
            folder.path().display().to_string()
        );
        let experiment = Experiment::from_toml(&text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut recorder = Recorder::default();
        let results = Runner::new(&cache, &registry).run(&experiment, &mut recorder);
        results.unwrap();
        recorder.warnings
    };
    for query in ["#weight(1.0 milk)", " #combine (milk)", "weight(1.0 milk)"] {
        assert_eq!(
            warnings(query, ""),
            [
                "t: query \"2\": operators of Indri are searched as text by \"a\" (syntax = \
              \"indri\" reads them)"
            ],
            "{query}"
        );
    }
    assert!(warnings("#combine(milk)", "syntax = \"indri\"").is_empty());
    for query in [
        "#1 milk",
        "milk (#combine)",
        "# (milk)",
        "weight of milk (kg)",
    ] {
        assert!(warnings(query, "").is_empty(), "{query}");
    }
}

/// The systems with scoring models in the documentation are valid.
#[test]
fn documented_scoring_models() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let (_, example) = docs.split_once("Scoring models, feedback,").unwrap();
    let (_, example) = example.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let task = "[[tasks]]\ncollection = \"bundled\"\n";
    let experiment = Experiment::from_toml(&format!("{task}{example}")).unwrap();
    let kinds = experiment.systems.iter().map(|it| it.kind.as_str());
    assert_eq!(kinds.collect::<Vec<_>>(), ["bm25", "bm25", "prior"]);
}
