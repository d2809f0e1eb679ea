//! Errors of experiment files: line, key, expected, found, and the closest known name.

#![allow(clippy::unwrap_used)]

use ir_core::{NoProgress, Predicate};
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

fn error(text: &str) -> String {
    Experiment::from_toml(text).unwrap_err().to_string()
}

#[test]
fn errors_name_line_and_key() {
    Experiment::from_toml(VALID).unwrap();
    for (from, to, expected) in [
        (
            "\"AP\"",
            "\"nDGC@10\"",
            "line 1: measures: \"nDGC@10\": no such measure",
        ),
        ("\"AP\"", "\"nDGC@10\"", "(did you mean nDCG@10?)"),
        (
            "\"AP\"",
            "",
            "line 1: measures: expected at least one, found none",
        ),
        (
            "measures",
            "measure",
            "line 1: measure: unknown field `measure`",
        ),
        ("measures", "measure", "(did you mean measures?)"),
        (
            "\"bm25\"",
            "\"bm52\"",
            "line 7: systems[0].type: expected a type of systems (bm25, knn",
        ),
        ("\"bm25\"", "\"bm52\"", "(did you mean bm25?)"),
        (
            "\"bm25\"",
            "\"bm25\"\nk2 = 1",
            "line 8: systems[0].k2: unknown key",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nk2 = 1",
            "expected one of analyzer, b,",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfeedback = \"rm4\"",
            "line 8: systems[0].feedback: expected a feedback model (rm3, rocchio), found \"rm4\"",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nk1 = -1",
            "line 8: systems[0].k1: expected a finite number >= 0, found -1",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nk1 = 1e308",
            "line 8: systems[0].k1: expected a finite number >= 0, at most 3.4028235e38, found 1e308",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nk1 = 99999999999999999999",
            "expected an integer of 64 bits, found 99999999999999999999",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"qdl\"",
            "found \"qdl\" (did you mean qld?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"dph\"\nmu = 10",
            "line 9: systems[0].mu: expected a model with mu (qld, indri-dirichlet, two-stage), found \"dph\"",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"qld\"\nmu = 0",
            "line 9: systems[0].mu: expected a finite number > 0, found 0",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nmodel = \"qld\"\npreset = \"lucene\"",
            "systems[0].preset: expected model = \"bm25\", found \"qld\"",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nb = \"x\"",
            "line 8: systems[0].b: expected ",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\npreset = \"anserni\"",
            "(did you mean anserini?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nhits = 0",
            "line 8: systems[0].hits: expected at least 1, found 0",
        ),
        (
            "\"knn\"",
            "\"knn\"\nfilter = \"published-year\"",
            "expected a system of type bm25, found knn",
        ),
        (
            "\"knn\"",
            "\"knn\"\nfilter = \"year-of-best-record\"",
            "year-of-best-record: expected a system of type bm25, found knn",
        ),
        (
            "\"knn\"",
            "\"knn\"\nneighbors = 3",
            "systems[1].neighbors: expected aggregation",
        ),
        (
            "\"knn\"",
            "\"knn\"\naggregation = \"sum\"\nties = \"training-order\"",
            "systems[1].ties: expected aggregation = \"nearest\" for training-order",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ntemplate = \"{text\"",
            "line 8: systems[0].template: expected a name in braces",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ntemplate = \"{text}\"\nfields = \"text\"",
            "systems[0].template: expected either fields or template, found both: a template renders the only \
             field",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = \"seperate\"",
            "(did you mean separate?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = []",
            "line 8: systems[0].fields: expected 1 to 64 fields, found 0",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = [\"title\", \"title\"]",
            "line 8: systems[0].fields: expected different fields, found \"title\" twice",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nweights = { title = 2.0 }",
            "line 8: systems[0].weights.title: expected fields = \"separate\" or a list of fields",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = [\"title\", \"task\"]\nweights = { taks = 2.0 }",
            "line 9: systems[0].weights.taks: expected an indexed field (title, task), found \"taks\" (did you mean task?)",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = \"separate\"\nweights = { text = -1.0 }",
            "systems[0].weights.text: expected 0 or a number from 1e-9 to 1e9, found -1",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nfields = \"separate\"\ntitle_weight = 2.0\nweights = { title = 1.0 }",
            "systems[0].weights.title: expected either title_weight or weights.title, found both",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ncleaning = { punct = true }",
            "unknown field `punct`",
        ),
        (
            "collection = \"bundled\"",
            "collection = \"bundled\"\nquery_fields = []",
            "line 4: tasks[0].query_fields: expected at least one attribute",
        ),
        (
            "collection = \"bundled\"",
            "collection = \"bundled\"\nquery = \"a\"\nquery_fields = [\"b\"]",
            "tasks[0].query_fields: expected either query or query_fields",
        ),
        (
            "name = \"b\"",
            "name = \"A\"",
            "line 9: systems[1].name: expected a name",
        ),
        ("name = \"b\"", "", "systems[1]: missing field `name`"),
        ("[[tasks]]", "[[task]]", "unknown field `task`"),
        (
            "\"bm25\"",
            "\"bm25\"\ngrid = { k1 = [1] }",
            "line 8: systems[0].grid: expected a table [selection]",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ngrid = { k1 = 1 }",
            "systems[0].grid.k1: expected a list of values",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ngrid = { k1 = [1, -2] }",
            "systems[0].grid.k1[1]: expected a finite number >= 0, found -2",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\ngrid = { kk1 = [1] }",
            "systems[0].grid.kk1: unknown key",
        ),
        (
            "\"bm25\"",
            "\"bm25\"\nk1 = 1\ngrid = { k1 = [1] }",
            "expected k1 either here or in the grid",
        ),
        ("measures", "x = \nmeasures", "line 1: "),
        (
            "\"knn\"",
            "\"hybrid\"\nof = [\"a\", \"c\"]",
            "line 11: systems[1].of[1]: expected the name of a system (a, b), found \"c\"",
        ),
        (
            "\"knn\"",
            "\"hybrid\"\nof = [\"a\"]",
            "systems[1].of: expected at least 2 systems, found 1",
        ),
        (
            "\"knn\"",
            "\"hybrid\"\nof = [\"a\", \"a\"]\nweights = [1]",
            "systems[1].weights: expected 2 weights",
        ),
        (
            "\"knn\"",
            "\"rerank\"\nfirst = \"b\"\nsecond = \"a\"",
            "line 11: systems[1].first: expected systems that do not contain themselves, found the cycle b -> b",
        ),
        (
            "\"knn\"",
            "\"dense\"",
            "systems[1]: expected the key encoder, or the keys vectors and queries",
        ),
        (
            "\"knn\"",
            "\"dense\"\nencoder = { modle = \"m\" }",
            "(did you mean model?)",
        ),
        (
            "\"knn\"",
            "\"dense\"\nvectors = \"v\"",
            "systems[1].vectors: expected the key queries",
        ),
    ] {
        let found = error(&VALID.replacen(from, to, 1));
        assert!(
            found.contains(expected),
            "{to}: expected {expected:?} in {found:?}"
        );
        assert!(!found.contains('\n'));
    }
    for (table, expected) in [
        (
            "[selection]\nby = \"leave-one-out\"",
            "line 11: selection: expected a system with a grid",
        ),
        (
            "[comparison]\nbaseline = \"c\"",
            "line 12: comparison.baseline: expected a system of the tables (a, b), found \"c\"",
        ),
        (
            "[comparison]\nsamples = 9",
            "line 12: comparison.samples: expected the test randomization",
        ),
        (
            "[comparison]\nlevel = 2",
            "line 12: comparison.level: expected a number between 0 and 1, found 2",
        ),
        (
            "[comparison]\ntest = \"ttest\"",
            "line 12: comparison.test: expected one of `t`, `wilcoxon`, `randomization`, `bootstrap`, `datafinder`, found `ttest`",
        ),
        (
            "[search]\nhits = 0",
            "line 12: search.hits: expected at least 1",
        ),
        (
            "[search]\nwhere = \"year=>2015\"",
            "line 12: search.where: expected NAME<=LIMIT, ",
        ),
        (
            "[search]\nwhere = [\"year>=2015\",\n\"year>=soon\"]",
            "search.where[1]: expected NAME<=LIMIT, ",
        ),
        (
            "[search]\nwhere = 2015",
            "line 12: search.where: expected a condition such as \"year>=2015\", a list of \
             conditions or a predicate, found 2015",
        ),
        (
            "[search]\nfilter = \"published-year\"",
            "line 12: search.filter: expected none, year or year-of-last-record",
        ),
        (
            "[search]\nfilter = \"year-of-best-record\"",
            "line 12: search.filter: expected none, year or year-of-last-record; \
             year-of-best-record is a filter of",
        ),
        ("[rules]\ntie = \"run-order\"", "(did you mean ties?)"),
        (
            "[output]\nformats = [\"pdf\"]",
            "line 12: output.formats[0]: expected one of `text`, `markdown`, `latex`, `json`, `html`, `runs`, found `pdf`",
        ),
        (
            "[[expected]]\nsystem = \"a\"\ntolerance = 0.1\nvalues = { RX = 1 }",
            "expected[0].values.RX: \"RX\": no such measure",
        ),
        (
            "[[expected]]\nsystem = \"x\"\ntolerance = 0.1\nvalues = { AP = 1 }",
            "line 12: expected[0].system: expected a system",
        ),
    ] {
        let found = error(&format!("{VALID}{table}\n"));
        assert!(
            found.contains(expected),
            "{table}: expected {expected:?} in {found:?}"
        );
    }
}

/// Conditions are texts, lists of texts, or tables, in `[search]` and in systems.
#[test]
fn conditions_in_all_forms() {
    let condition = |keys: &str| {
        let search = Experiment::from_toml(&format!("{VALID}[search]\n{keys}\n")).unwrap();
        let system = Experiment::from_toml(&format!("{VALID}{keys}\n")).unwrap();
        assert_eq!(
            search.search.condition, system.systems[1].condition,
            "{keys}"
        );
        search.search.condition.unwrap()
    };
    let since: Predicate = "year>2015".parse().unwrap();
    let venues: Predicate = "venue=ACL,EMNLP".parse().unwrap();
    let both = Predicate::All(vec![since.clone(), venues]);
    for (keys, expected) in [
        ("where = \"year>2015\"", &since),
        ("where = [\"year>2015\"]", &since),
        (
            "where = { at_least = { name = \"year\", limit = 2015, strict = true } }",
            &since,
        ),
        ("where = [\"year>2015\", \"venue=ACL,EMNLP\"]", &both),
        (
            "where = [\"year>2015\", { one_of = { name = \"venue\", values = [\"ACL\", \"EMNLP\"] } }]",
            &both,
        ),
    ] {
        assert_eq!(condition(keys), *expected, "{keys}");
    }
}

/// Errors of the keys that every system has, in a system other than the first.
#[test]
fn common_keys_of_the_second_system() {
    for (line, expected) in [
        (
            "filter = \"yaer\"",
            "line 11: systems[1].filter: expected one of `none`, `year`, `year-of-last-record`, \
             `published-year`, `year-of-best-record`, found `yaer` (did you mean year?)",
        ),
        (
            "filter = 3",
            "line 11: systems[1].filter: expected a string or a table, found 3",
        ),
        (
            "where = \"year=>2015\"",
            "line 11: systems[1].where: expected NAME<=LIMIT, ",
        ),
        (
            "where = [\"year>=2015\", \"year between 2015 and 2018\"]",
            "line 11: systems[1].where: expected NAME<=LIMIT, ",
        ),
        (
            "where = 2015",
            "line 11: systems[1].where: expected a condition such as \"year>=2015\", a list of \
             conditions or a predicate, found 2015",
        ),
        (
            "where = { most = { name = \"year\", limit = 2015 } }",
            "line 11: systems[1].where: expected one of `at_most`, ",
        ),
        (
            "where = {}",
            "line 11: systems[1].where: expected a table with one key, found none",
        ),
        (
            "where = { known = { name = \"year\" }, all = [] }",
            "line 11: systems[1].where: expected a predicate with one key, found several",
        ),
        (
            "scores = \"exakt\"",
            "line 11: systems[1].scores: expected one of `exact`, `strict`, `anserini`, found \
             `exakt` (did you mean exact?)",
        ),
        (
            "hits = -1",
            "line 11: systems[1].hits: expected an integer >= 0, found -1",
        ),
        (
            "hits = \"many\"",
            "line 11: systems[1].hits: expected an integer >= 0, found \"many\"",
        ),
        (
            "hidden = 1",
            "line 11: systems[1].hidden: expected a boolean, found 1",
        ),
        (
            "grid = 1",
            "line 11: systems[1].grid: expected a table, found 1",
        ),
    ] {
        let found = error(&format!("{VALID}{line}\n"));
        assert!(
            found.starts_with(expected),
            "{line}: expected {expected:?} in {found:?}"
        );
    }
    for (from, to, expected) in [
        (
            "name = \"b\"",
            "name = 2",
            "line 9: systems[1].name: expected a string, found 2",
        ),
        (
            "type = \"knn\"",
            "type = [\"knn\"]",
            "line 10: systems[1].type: expected a string, found a list",
        ),
        (
            "name = \"b\"\n",
            "",
            "line 8: systems[1]: missing field `name`",
        ),
        (
            "type = \"knn\"\n",
            "",
            "line 8: systems[1]: missing field `type`",
        ),
        (
            "type = \"knn\"",
            "type = \"bm25\"\nb = \"x\"",
            "line 11: systems[1].b: expected a number, found \"x\"",
        ),
    ] {
        assert_eq!(error(&VALID.replacen(from, to, 1)), expected, "{to}");
    }
}

#[test]
fn grids_never_select_on_test_queries() {
    let text = VALID.replacen("\"bm25\"", "\"bm25\"\ngrid = { k1 = [1, 2] }", 1);
    let with = |selection: &str| format!("{text}[selection]\n{selection}\n");
    let found = error(&with("by = \"validation\"\nsplit = \"test\""));
    let expected = "line 14: selection.split: expected a split other than that of the test queries of \
                    task \"bundled\", found \"test\"";
    assert_eq!(found, expected);
    assert!(error(&with("by = \"validation\"")).contains("expected the key split"));
    for (selection, expected) in [
        (
            "by = \"leave-one-out\"\nsplit = \"train\"",
            "selection.split: expected by",
        ),
        (
            "by = \"cross-validation\"\nfolds = 1",
            "selection.folds: expected at least 2, found 1",
        ),
        (
            "by = \"validation\"\nsplit = \"train\"\nfraction = 1.5",
            "selection.fraction: expected",
        ),
        (
            "by = \"validation\"\nsplit = \"train\"\nmeasure = \"APP\"",
            "selection.measure",
        ),
        (
            "by = \"vote\"",
            "selection.by: expected one of `validation`, `leave-one-out`, `cross-validation`, found `vote`",
        ),
    ] {
        let found = error(&with(selection));
        assert!(found.contains(expected), "{selection}: {found}");
    }
    // A part whose best point differs from query to query.
    let hybrid = "[[systems]]\nname = \"c\"\ntype = \"hybrid\"\nof = [\"a\", \"b\"]\n";
    let found = error(&with(&format!("by = \"leave-one-out\"\n{hybrid}")));
    assert!(
        found.contains("systems[2].of[0]: expected a system without a grid"),
        "{found}"
    );
    let valid = with(&format!("by = \"validation\"\nsplit = \"train\"\n{hybrid}"));
    Experiment::from_toml(&valid).unwrap();
}

#[test]
fn test_queries_are_not_training_queries() {
    let with = |training: &str| {
        let from = "training = { split = \"train\" }";
        assert!(VALID.contains(from));
        VALID.replacen(from, &format!("training = {training}"), 1)
    };
    for training in [
        "{ split = \"test\" }",
        "{ collection = \"bundled\", split = \"test\" }",
    ] {
        let found = error(&with(training));
        let expected = "tasks[0].training.split: expected a split other than that of the test \
                        queries, found \"test\"";
        assert!(found.contains(expected), "{found}");
    }
    Experiment::from_toml(&with("{ collection = \"makg\", split = \"test\" }")).unwrap();
}

#[test]
fn cycles_are_named() {
    let text = r#"measures = ["AP"]
[[tasks]]
collection = "bundled"
[[systems]]
name = "a"
type = "hybrid"
of = ["b", "c"]
[[systems]]
name = "b"
type = "rerank"
first = "c"
second = "a"
[[systems]]
name = "c"
type = "bm25"
"#;
    let expected = "line 12: systems[1].second: expected systems that do not contain themselves, found \
                    the cycle a -> b -> a";
    assert_eq!(error(text), expected);
}

#[test]
fn errors_of_data() {
    for (from, to, expected, missing) in [
        (
            "\"bundled\"",
            "\"bundeld\"",
            "tasks[0].collection: expected a collection (bundled,",
            false,
        ),
        (
            "\"bundled\"",
            "\"bundeld\"",
            "squad/sentences) or the path of a folder, found \"bundeld\"",
            false,
        ),
        (
            "\"bundled\"",
            "\"bundeld\"",
            "(did you mean bundled?)",
            false,
        ),
        (
            "\"bundled\"",
            "\"$IR_NO_SUCH_VARIABLE/x\"",
            "environment variable IR_NO_SUCH_VARIABLE is not set",
            true,
        ),
        (
            "\"bundled\"",
            "\"$CARGO_MANIFEST_DIR/none\"",
            "crates/ir-experiment/none\"",
            false,
        ),
        (
            "\"bundled\"",
            "\"bundled\"\nsplit = \"tset\"",
            "(did you mean test?)",
            false,
        ),
        ("\"train\"", "\"trian\"", "(did you mean train?)", false),
        (
            "training = { split = \"train\" }",
            "",
            "systems[1].type: expected training queries",
            false,
        ),
        (
            "\"knn\"",
            "\"dense\"\nvectors = \"/no/v\"\nqueries = \"/no/q\"",
            "systems[1].vectors: /no/v: cannot be read",
            true,
        ),
        ("\"AP\"", "\"alpha_nDCG@10\"", "measures", false),
    ] {
        let experiment = Experiment::from_toml(&VALID.replacen(from, to, 1)).unwrap();
        let cache = Cache::temporary().unwrap();
        let registry = Registry::default();
        let runner = Runner::new(&cache, &registry);
        let error = runner.run(&experiment, &mut NoProgress).unwrap_err();
        let found = error.to_string();
        assert!(
            found.starts_with("line ") && found.contains(expected),
            "{found}"
        );
        assert_eq!(error.is_missing_data(), missing, "{found}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let error = Experiment::open("no/such/file.toml")
        .unwrap_err()
        .to_string();
    assert_eq!(error, "no/such/file.toml: cannot be read");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    std::fs::write(&path, "measures = [").unwrap();
    let error = Experiment::open(&path).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{}:1: ", path.display())),
        "{error}"
    );
}

/// A validation split that is the test split under another name has no query left.
#[test]
fn validation_queries_that_are_test_queries_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("qrels")).unwrap();
    std::fs::write(
        at.join("corpus.jsonl"),
        "{\"_id\": \"d\", \"title\": \"\", \"text\": \"tea\"}\n",
    )
    .unwrap();
    let queries = "{\"_id\": \"1\", \"text\": \"tea\"}\n{\"_id\": \"2\", \"text\": \" tea\"}\n";
    std::fs::write(at.join("queries.jsonl"), queries).unwrap();
    for (split, query) in [("test", 1), ("dev", 2)] {
        let qrels = format!("query-id\tcorpus-id\tscore\n{query}\td\t1\n");
        std::fs::write(at.join(format!("qrels/{split}.tsv")), qrels).unwrap();
    }
    let text = format!(
        "measures = [\"AP\"]\n[[tasks]]\ncollection = {:?}\n[[systems]]\nname = \"a\"\n\
         type = \"bm25\"\ngrid = {{ k1 = [1, 2] }}\n[selection]\nby = \"validation\"\n\
         split = \"dev\"\n",
        at.display().to_string()
    );
    let experiment = Experiment::from_toml(&text).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let mut recorder = crate::common::Recorder::default();
    let error = Runner::new(&cache, &registry)
        .run(&experiment, &mut recorder)
        .unwrap_err();
    let expected =
        "line 10: selection.split: expected validation queries in split \"dev\", found none";
    assert_eq!(error.to_string(), expected);
    assert!(recorder.notes[0].contains("1 queries of split dev are test queries"));
}

/// Every built-in type and every key of the experiments is in the schema.
#[test]
fn schema_has_all_keys() {
    let schema = ir_experiment::json_schema();
    let types = schema["definitions"]["System"]["oneOf"].as_array().unwrap();
    let registry = Registry::default();
    assert_eq!(types.len(), registry.names().count());
    let properties = |n: usize| types[n]["properties"].as_object().unwrap();
    assert_eq!(properties(0)["type"]["const"], "bm25");
    for key in ["name", "grid", "k1", "analyzer"] {
        assert!(properties(0).contains_key(key), "{key}");
    }
    for key in [
        "tasks",
        "systems",
        "selection",
        "comparison",
        "rules",
        "output",
        "expected",
    ] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
}
