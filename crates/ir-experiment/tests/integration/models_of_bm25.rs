//! Models, feedback and structured queries of BM25 systems in experiment files, beside the library.

#![allow(clippy::unwrap_used)]

use crate::common::run;
use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::models::{NAMED_MODELS, NamedModel};
use ir_bm25::{Bm25, DocLengths, DuplicateIds, Index, IndexConfig, StoredFields};
use ir_core::{Distinct, NoProgress, Query, Run};
use ir_data::catalog;
use ir_experiment::{Cache, Experiment, Registry};

/// Test queries of the bundled collection.
fn queries() -> Vec<Query> {
    let collection = catalog::open("bundled").unwrap();
    collection.queries("test").unwrap()
}

#[test]
fn feedback_equals_that_of_the_library() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "RM3"
        type = "bm25"
        feedback = "rm3(docs=3,weight=0.4)"
        [[systems]]
        name = "disabled"
        type = "bm25"
        feedback = "rocchio(beta=0)"
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let collection = catalog::open("bundled").unwrap();
    let config = IndexConfig::default()
        .with_duplicates(DuplicateIds::Keep)
        .with_store(StoredFields::Everything);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
    let model = "rm3(docs=3,weight=0.4)".parse().unwrap();
    let feedback = Distinct(Feedback::new(searcher, own, model).unwrap());
    let [base, rm3, disabled] = &results.tasks[0].runs[..] else {
        panic!("expected three runs");
    };
    let depth = rm3.iter().map(|(_, list)| list.len()).max().unwrap();
    let expected = Run::from_retriever("RM3", &feedback, &queries(), depth);
    assert_eq!(*rm3, expected.unwrap());
    assert!(rm3.iter().ne(base.iter()));
    assert!(disabled.iter().eq(base.iter()));
}

#[test]
fn models_equal_those_of_the_library() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "QL"
        type = "bm25"
        model = "qld"
        mu = 100.0
        exact_lengths = true
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let collection = catalog::open("bundled").unwrap();
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress).unwrap();
    let model = NamedModel::find("qld").unwrap();
    let model = model.with_parameters(&[("mu", 100.0)], Some(DocLengths::Exact));
    let searcher = Distinct(index.searcher(model.unwrap()).unwrap());
    let [base, found] = &results.tasks[0].runs[..] else {
        panic!("expected two runs");
    };
    let depth = found.iter().map(|(_, list)| list.len()).max().unwrap();
    let expected = Run::from_retriever("QL", &searcher, &queries(), depth);
    assert_eq!(*found, expected.unwrap());
    assert!(found.iter().ne(base.iter()));
}

/// The models describe the keys `model` and `exact_lengths`: a model that is added to the library
/// is in the schema, and so in the reference and in `--help`.
#[test]
fn all_models_are_documented() {
    let schema = ir_experiment::json_schema();
    let properties = &schema["definitions"]["Bm25System"]["properties"];
    let description = |key: &str| properties[key]["description"].as_str().unwrap().to_owned();
    let (models, lengths) = (description("model"), description("exact_lengths"));
    assert!(models.starts_with("Scoring model: `bm25` ("), "{models}");
    let (_, exact) = lengths.split_once("`true` for ").unwrap();
    let exact: Vec<&str> = exact.trim_end_matches('.').split(", ").collect();
    for model in NAMED_MODELS {
        let entry = format!("`{}` ({})", model.name, model.description);
        assert!(models.contains(&entry), "{entry}: {models}");
        let is_exact = model.lengths == DocLengths::Exact;
        assert_eq!(exact.contains(&model.name), is_exact, "{}", model.name);
    }
    for (name, is_exact) in [("dph", true), ("terrier-tfidf", true), ("qld", false)] {
        assert_eq!(exact.contains(&name), is_exact, "{name}");
    }
}

#[test]
fn structured_queries() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let docs = [
        ("a", "green tea"),
        ("b", "tea, green milk"),
        ("c", "milk tea"),
        ("d", "coffee"),
    ];
    let docs = docs.map(|(id, text)| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n"));
    write("corpus.jsonl", &docs.concat());
    write(
        "queries.jsonl",
        "{\"_id\": \"1\", \"text\": \"+tea -milk\"}\n\
         {\"_id\": \"2\", \"text\": \"\\\"tea green\\\"\"}\n",
    );
    std::fs::create_dir(folder.path().join("qrels")).unwrap();
    write(
        "qrels/test.tsv",
        "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n",
    );
    let text = format!(
        "measures = [\"RR\"]\n[[tasks]]\ncollection = {:?}\n\
         [[systems]]\nname = \"words\"\ntype = \"bm25\"\n\
         [[systems]]\nname = \"syntax\"\ntype = \"bm25\"\nsyntax = \"lucene\"\n",
        folder.path()
    );
    let experiment = Experiment::from_toml(&text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let docs = |system: usize| -> Vec<Vec<&str>> {
        let lists = results.tasks[0].runs[system].iter();
        let ids = lists.map(|(_, list)| list.iter().map(|hit| hit.doc.as_str()).collect());
        ids.collect()
    };
    assert_eq!(docs(0).iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(docs(1), [["a"], ["b"]]);
    for (more, message) in [
        (
            "feedback = \"rm3\"",
            "systems[1].feedback: expected either syntax or feedback, found both",
        ),
        ("syntax = \"lucen\"", "lucen"),
    ] {
        let text = if more.starts_with("syntax") {
            text.replace("syntax = \"lucene\"", more)
        } else {
            text.clone() + more
        };
        let found = Experiment::from_toml(&text).and_then(|experiment| {
            experiment
                .validate(&Registry::default())
                .map(|_| experiment)
        });
        let error = found.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
