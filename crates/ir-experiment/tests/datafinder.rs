//! Templates, query cleaning and concealed query fields, beside the same steps by hand and on the
//! real collection.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use common::run;
use ir_bm25::analysis::QueryCleaning;
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig, IndexedFields};
use ir_core::{Distinct, NoProgress, Run, Search};
use ir_data::{TemplatedCorpus, catalog};
use ir_eval::{Evaluator, Measure};
use ir_experiment::{Cache, Experiment, ExperimentError, Registry, Runner};

#[test]
fn templates_and_cleaning_equal_those_of_the_libraries() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [search]
        hits = 10
        [[systems]]
        name = "cleaned"
        type = "bm25"
        template = "{title} {variants}"
        cleaning = { punctuation = true, stop_words = "nltk" }
        [[systems]]
        name = "text"
        type = "bm25"
        template = "{text}"
        [[systems]]
        name = "field"
        type = "bm25"
        fields = "text"
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let value = |system: &str| results.value("bundled", system, Measure::AP).unwrap();
    assert_eq!(value("text"), value("field"));

    let collection = catalog::open("bundled").unwrap();
    let template = "{title} {variants}".parse().unwrap();
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_duplicates(DuplicateIds::Keep);
    let corpus = TemplatedCorpus::new(collection.corpus(), &template);
    let index = Index::build(&corpus, &config, &mut NoProgress).unwrap();
    let bm25 = Distinct(index.searcher(Bm25::ANSERINI).unwrap());
    let mut queries = collection.queries("test").unwrap();
    for query in &mut queries {
        query.text = QueryCleaning::datafinder().clean(&query.text);
    }
    let search = |_: usize, _: &_| Search::top(10);
    let run = Run::from_retriever_with("x", &bm25, &queries, search).unwrap();
    let qrels = collection.qrels("test").unwrap();
    let evaluator = Evaluator::new(&qrels, &[Measure::AP]).unwrap();
    let report = evaluator.evaluate(&run).unwrap();
    assert_eq!(report.summary(Measure::AP), Some(value("cleaned")));
}

#[test]
fn unknown_fields_of_documents_and_queries() {
    let error = |text: &str| {
        let experiment = Experiment::from_toml(text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let runner = Runner::new(&cache, &registry);
        let error: ExperimentError = runner.run(&experiment, &mut NoProgress).unwrap_err();
        error.to_string()
    };
    let task = "[[tasks]]\ncollection = \"bundled\"\n";
    let system = "[[systems]]\nname = \"a\"\ntype = \"bm25\"\n";
    let found = error(&format!("{task}{system}template = \"{{titel}}\"\n"));
    let expected = "line 6: systems[0].template: expected fields of the documents (";
    assert!(found.starts_with(expected), "{found}");
    assert!(found.ends_with("found \"titel\""), "{found}");
    let found = error(&format!(
        "{task}query_fields = [\"task\", \"tsak\"]\n{system}"
    ));
    let expected = "line 3: tasks[0].query_fields[1]: expected an attribute of the queries (";
    assert!(found.starts_with(expected), "{found}");
    assert!(
        found.ends_with("found \"tsak\" (did you mean task?)"),
        "{found}"
    );
    for (key, line) in [
        ("query", "query = \"keyphrase_qery\""),
        (
            "training.query",
            "training = { split = \"train\", query = \"keyphrase_qery\" }",
        ),
        (
            "training.query",
            "query = \"task\"\ntraining = { split = \"train\", query = \"keyphrase_qery\" }",
        ),
    ] {
        let found = error(&format!("{task}{line}\n{system}"));
        let expected = format!("tasks[0].{key}: expected an attribute of the queries (");
        assert!(found.contains(&expected), "{found}");
        assert!(
            found.ends_with("(did you mean keyphrase_query?)"),
            "{found}"
        );
    }
}

/// Named fields have statistics and weights of their own.
#[test]
fn named_fields_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let corpus = "{\"_id\": \"a\", \"title\": \"tea\", \"text\": \"x\", \"keywords\": [\"ship\"]}\n\
                  {\"_id\": \"b\", \"title\": \"ship\", \"text\": \"x\", \"keywords\": [\"tea\", \"milk\"]}\n";
    std::fs::write(at("corpus.jsonl"), corpus).unwrap();
    std::fs::write(at("queries.jsonl"), "{\"_id\": \"1\", \"text\": \"tea\"}\n").unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\tb\t1\n";
    std::fs::write(at("qrels/test.tsv"), qrels).unwrap();
    let text = |fields: &str, weights: &str| {
        format!(
            "measures = [\"RR\"]\n[[tasks]]\nname = \"tea\"\ncollection = {:?}\n[[systems]]\n\
             name = \"a\"\ntype = \"bm25\"\nfields = {fields}\nweights = {{ {weights} }}\n",
            folder.path()
        )
    };
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let value = |fields: &str, weights: &str| {
        let experiment = Experiment::from_toml(&text(fields, weights)).unwrap();
        let runner = Runner::new(&cache, &registry);
        let results = runner.run(&experiment, &mut NoProgress);
        Ok::<_, ExperimentError>(results?.value("tea", "a", Measure::RR))
    };
    let fields = "[\"title\", \"keywords\"]";
    assert_eq!(value(fields, "keywords = 3.0").unwrap(), Some(1.0));
    assert_eq!(value(fields, "keywords = 0.1").unwrap(), Some(0.5));
    assert_eq!(value(fields, "title = 0.0").unwrap(), Some(1.0));
    // The same as the usual two fields.
    let weights = "title = 2.0, text = 0.5";
    let listed = value("[\"title\", \"text\"]", weights).unwrap();
    assert_eq!(listed, value("\"separate\"", weights).unwrap());
    let error = value("[\"title\", \"keyword\"]", "")
        .unwrap_err()
        .to_string();
    let expected = "line 8: systems[0].fields: expected fields of the documents (id, title, text, \
                    keywords), found \"keyword\" (did you mean keywords?)";
    assert_eq!(error, expected);
}

/// Conditions and filters without effect, and encoders that no system uses, are warnings.
#[test]
fn parts_without_effect_are_warnings() {
    let warnings = |text: &str| {
        let experiment = Experiment::from_toml(text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut recorder = common::Recorder::default();
        let results = Runner::new(&cache, &registry).run(&experiment, &mut recorder);
        results.unwrap();
        recorder.warnings
    };
    let tasks = "[[tasks]]\ncollection = \"bundled\"\n[[tasks]]\ncollection = \"bundled\"\n\
                 query = \"task\"\n";
    let system = "[[systems]]\nname = \"a\"\ntype = \"bm25\"\n";
    let search = |keys: &str| warnings(&format!("{tasks}[search]\n{keys}\n{system}"));
    assert!(search("where = { at_most = { name = \"year\", limit = 2014 } }").is_empty());
    assert!(search("filter = \"year\"").is_empty());
    assert_eq!(
        search("where = { at_most = { name = \"yaer\", limit = 2014 } }"),
        [
            "search.where: bundled: no document has an attribute \"yaer\"; all documents pass (did \
          you mean year?)"
        ]
    );
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\td\t1\n";
    for (name, text) in [
        ("corpus.jsonl", "{\"_id\": \"d\", \"text\": \"tea\"}\n"),
        ("queries.jsonl", "{\"_id\": \"1\", \"text\": \"tea\"}\n"),
        ("qrels/test.tsv", qrels),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let task = format!(
        "[[tasks]]\nname = \"tea\"\ncollection = {:?}\n",
        folder.path()
    );
    assert_eq!(
        warnings(&format!("{task}filter = \"year\"\n{system}")),
        ["tea: no document has a year; the time filter has no effect"]
    );
    let dated = "{\"_id\": \"d\", \"text\": \"tea\", \"year\": 2010}\n";
    std::fs::write(at("corpus.jsonl"), dated).unwrap();
    assert_eq!(
        warnings(&format!("{task}{system}filter = \"year\"\n")),
        ["tea: no query has a year; the time filter has no effect"]
    );
    let encoders = "[encoders.old]\nmodel = \"no/such/model\"\n";
    let found = warnings(&format!("{task}{encoders}{system}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("encoders.old"), "{found:?}");
    assert!(
        found[0].ends_with("no system uses this encoder"),
        "{found:?}"
    );
    #[cfg(feature = "dense")]
    assert!(
        found[0].starts_with("line 5: encoders.old.model: no/such/model: "),
        "{found:?}"
    );
}

/// Figure 8 of the DataFinder paper: the task is the field that matters most.
#[test]
fn map_drops_most_without_the_task() {
    if !catalog::Catalog::from_env().has("datafinder").unwrap() {
        eprintln!("skipped: no datafinder in IR_DATA");
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut experiment = Experiment::open(folder.join("datafinder-concealed-fields.toml")).unwrap();
    // The rebuilt queries equal the published keyphrases.
    let mut published = experiment.tasks[0].clone();
    published.name = Some("published".to_owned());
    published.query_fields = None;
    published.query = Some("keyphrase_query".to_owned());
    experiment.tasks.push(published);
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    for system in ["description", "+ title"] {
        let map = |task: &str| results.value(task, system, Measure::AP).unwrap();
        assert_eq!(map("all fields"), map("published"));
        let without_task = map("without task");
        assert!(without_task < 0.4 * map("all fields"), "{without_task}");
        for field in ["modality", "domain", "language"] {
            assert!(
                map(&format!("without {field}")) > 2.0 * without_task,
                "{field}"
            );
        }
    }
}
