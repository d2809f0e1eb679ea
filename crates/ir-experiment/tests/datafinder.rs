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
    let expected = "line 3: tasks[0].query_fields: expected an attribute of the queries";
    assert!(found.starts_with(expected), "{found}");
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
