//! BM25F, sequential dependence, synonyms, nearest words and repository priors in experiment files,
//! beside the same steps by hand.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use crate::common::{computed, run};
use ir_bm25::models::Bm25F;
use ir_bm25::{
    Bm25, FieldNames, Index, IndexConfig, IndexedFields, NearestWords, Searcher,
    SequentialDependence, SynonymExpansion, Synonyms, TermVectors,
};
use ir_core::fusion::{
    DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
};
use ir_core::{Document, NoProgress, Query, Retriever, Run};
use ir_experiment::{Cache, Experiment, ExperimentResults, Registry, Stage};
use ir_knn::{RandomIndexing, RandomIndexingConfig};

const DOCS: [(&str, &str, &str, &str); 6] = [
    ("a", "green tea", "leaves of tea, hot and green", "geo"),
    ("b", "tea", "green cups, hot milk and black tea", "pdb"),
    ("c", "milk", "cold milk", "pdb"),
    ("d", "ships", "ships carry tea and milk", "geo"),
    ("e", "boats", "boats carry milk", "pdb"),
    ("f", "ports", "a port of boats", "sra"),
];
const QUERIES: [(&str, &str); 3] = [("1", "green tea"), ("2", "the hot milk"), ("3", "ships")];

/// A collection with repositories and a synonym file.
fn collection() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let json = |id, title, text, repository| {
        format!(
            "{{\"_id\": \"{id}\", \"title\": \"{title}\", \"text\": \"{text}\", \"repository\": \
             \"{repository}\"}}\n"
        )
    };
    let docs = DOCS.map(|(id, title, text, repository)| json(id, title, text, repository));
    write("corpus.jsonl", docs.concat());
    let queries =
        QUERIES.map(|(id, text)| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n"));
    write("queries.jsonl", queries.concat());
    std::fs::create_dir(folder.path().join("qrels")).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n3\td\t1\n";
    write("qrels/test.tsv", qrels.to_owned());
    write("synonyms.txt", "ships => boats\nmilk, cups\n".to_owned());
    folder
}

fn experiment(folder: &Path, systems: &str) -> Experiment {
    let text = format!(
        "measures = [\"RR\"]\n[[tasks]]\ncollection = {folder:?}\n\
         [[systems]]\nname = \"base\"\ntype = \"bm25\"\n\
         [[systems]]\nname = \"found\"\n{systems}\n"
    );
    Experiment::from_toml(&text).unwrap()
}

fn results(folder: &Path, systems: &str) -> ExperimentResults {
    run(&experiment(folder, systems), &Cache::temporary().unwrap()).0
}

fn documents() -> Vec<Document> {
    let documents = DOCS.iter().map(|(id, title, text, repository)| {
        let document = Document::new(*id).with_title(*title).with_text(*text);
        document.with("repository", *repository)
    });
    documents.collect()
}

fn searcher(config: IndexConfig) -> Searcher {
    let index = Index::build(&documents()[..], &config, &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

#[track_caller]
fn assert_run(results: &ExperimentResults, expected: &dyn Retriever<Query = str>) {
    let queries = QUERIES.map(|(id, text)| Query::new(id, text));
    let expected = Run::from_retriever("found", &expected, &queries, 1000).unwrap();
    let [base, found] = &results.tasks[0].runs[..] else {
        panic!("expected two runs");
    };
    assert_eq!(*found, expected);
    assert!(found.iter().ne(base.iter()));
}

#[test]
fn bm25f() {
    let folder = collection();
    let keys = "type = \"bm25\"\nmodel = \"bm25f\"\nfields = [\"title\", \"text\"]\nk1 = 1.5\n\
                b = 0.5\nweights = { title = 3.0 }\nfield_b = { title = 0.1 }";
    let found = results(folder.path(), keys);
    let names = FieldNames::new(["title", "text"]).unwrap();
    let config = IndexConfig::default().with_fields(IndexedFields::Named(names));
    let model = Bm25F::new(1.5, 0.5).with_field("title", 3.0, 0.1);
    let index = Index::build(&documents()[..], &config, &mut NoProgress).unwrap();
    assert_run(&found, &index.searcher(model).unwrap());
}

#[test]
fn sequential_dependence() {
    let folder = collection();
    let found = results(folder.path(), "type = \"bm25\"\nsdm = [0.7, 0.2, 0.1]");
    let searcher = searcher(IndexConfig::default().with_positions(true));
    assert_run(
        &found,
        &SequentialDependence::new(searcher, [0.7, 0.2, 0.1]).unwrap(),
    );
}

#[test]
fn synonyms() {
    let folder = collection();
    let path = folder.path().join("synonyms.txt");
    let keys = format!("type = \"bm25\"\nsynonyms = {path:?}\nsynonym_weight = 0.5");
    let cache = Cache::temporary().unwrap();
    let (found, _) = run(&experiment(folder.path(), &keys), &cache);
    let text = std::fs::read(&path).unwrap();
    let synonyms = Synonyms::read(&text[..], "synonyms.txt").unwrap();
    let searcher = searcher(IndexConfig::default());
    assert_run(
        &found,
        &SynonymExpansion::new(searcher, &synonyms, 0.5).unwrap(),
    );
    // A changed file is another run.
    let (_, stages) = run(&experiment(folder.path(), &keys), &cache);
    assert_eq!(computed(&stages, Stage::Run), 0);
    std::fs::write(&path, "ships => milk\n").unwrap();
    let (changed, stages) = run(&experiment(folder.path(), &keys), &cache);
    assert_eq!(computed(&stages, Stage::Run), 1);
    assert_ne!(changed.tasks[0].runs[1], found.tasks[0].runs[1]);
}

#[test]
fn nearest_words() {
    let folder = collection();
    let keys =
        "type = \"bm25\"\nexpansion = { words = 2, weight = 0.4, dim = 100, reflections = 2 }";
    let found = results(folder.path(), keys);
    let searcher = searcher(IndexConfig::default());
    let texts = DOCS.map(|(_, title, text, _)| format!("{title}\n{text}"));
    let mut config = RandomIndexingConfig::default().with_dim(100);
    config.reflections = 2;
    let analyzer = ir_bm25::Analysis::anserini().build().unwrap();
    let (indexing, _) = RandomIndexing::fit_transform_with(analyzer, &texts, &config).unwrap();
    let terms: Vec<String> = indexing.terms().map(str::to_owned).collect();
    let vectors = indexing.term_vectors().mapv(|value| value as f32);
    let vectors = TermVectors::new(terms, 100, vectors.into_iter().collect()).unwrap();
    let expansion = NearestWords::new(searcher, Arc::new(indexing), vectors, 2, 0.4).unwrap();
    assert_eq!(expansion.expand("ships").unwrap().len(), 3);
    assert_run(&found, &expansion);
    // Words of weight 0 are the run without expansion.
    let without = results(
        folder.path(),
        "type = \"bm25\"\nexpansion = { weight = 0.0 }",
    );
    let [base, found] = &without.tasks[0].runs[..] else {
        panic!("expected two runs");
    };
    assert!(found.iter().eq(base.iter()));
}

#[test]
fn repository_priors() {
    let folder = collection();
    let searcher = || searcher(IndexConfig::default());
    let repositories = || DocumentRepositories::new(DOCS.map(|(.., repository)| Some(repository)));
    let found = results(
        folder.path(),
        "type = \"prior\"\nof = \"base\"\npriors = { geo = 0.1, pdb = 0.6 }\nunseen = 0.2\nweight = 0.5",
    );
    let priors = RepositoryPriors::new([("geo", 0.1), ("pdb", 0.6)]).unwrap();
    let fixed = PriorEstimate::Fixed(priors.with_unseen(0.2).unwrap());
    let product = PriorCombination::Product;
    assert_run(
        &found,
        &RepositoryPrior::new(searcher(), repositories(), fixed, product, 0.5).unwrap(),
    );
    let found = results(
        folder.path(),
        "type = \"prior\"\nof = \"base\"\ndocs = 2\nepsilon = 0.5\ncombination = \"log-sum\"",
    );
    let feedback = PriorEstimate::Feedback {
        docs: 2,
        epsilon: 0.5,
        repositories: 3,
    };
    let log_sum = PriorCombination::LogSum;
    assert_run(
        &found,
        &RepositoryPrior::new(searcher(), repositories(), feedback, log_sum, 1.0).unwrap(),
    );
    let found = results(
        folder.path(),
        "type = \"prior\"\nof = \"base\"\nrepositories = 23\ncombination = \"log-sum\"",
    );
    let feedback = PriorEstimate::Feedback {
        docs: 10,
        epsilon: 1.0,
        repositories: 23,
    };
    assert_run(
        &found,
        &RepositoryPrior::new(searcher(), repositories(), feedback, log_sum, 1.0).unwrap(),
    );
}

#[test]
fn errors_name_the_key() {
    let folder = collection();
    for (keys, expected) in [
        (
            "type = \"bm25\"\nsdm = [0.0, 0.1, 0.1]",
            "systems[1].sdm: expected three numbers",
        ),
        ("type = \"bm25\"\nsdm = [1.0, 0.1]", "sdm"),
        (
            "type = \"bm25\"\nmodel = \"BM25F\"\nsdm = [1.0, 0.1, 0.0]",
            "systems[1].sdm: expected a model that scores each field, found \"bm25f\"",
        ),
        (
            "type = \"bm25\"\nsdm = [1.0, 0.1, 0.1]\nsyntax = \"lucene\"",
            "systems[1].sdm: expected either syntax or sdm, found both: it needs queries of words",
        ),
        (
            "type = \"bm25\"\nfeedback = \"rm3\"\nsyntax = \"indri\"",
            "systems[1].feedback: expected either syntax or feedback, found both",
        ),
        (
            "type = \"bm25\"\nsdm = [1.0, 0.1, 0.1]\nsynonyms = \"synonyms.txt\"",
            "systems[1].synonyms: expected either sdm or synonyms, found both: phrases and windows",
        ),
        (
            "type = \"bm25\"\nexpansion = {}\nsynonyms = \"synonyms.txt\"",
            "systems[1].expansion: expected either synonyms or expansion, found both",
        ),
        (
            "type = \"bm25\"\nfeedback_collection = \"bundled\"",
            "systems[1].feedback_collection: expected the key feedback, found none",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nqrels = \"train.qrels\"\ndocs = 3",
            "systems[1].docs: expected no key qrels, found both",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nqrels = \"train.qrels\"\npriors = { geo = 0.5 }",
            "systems[1].qrels: expected no key priors, found both",
        ),
        (
            "type = \"bm25\"\nsynonym_weight = 0.1",
            "systems[1].synonym_weight: expected the key synonyms, found none",
        ),
        (
            "type = \"bm25\"\nsynonyms = \"synonyms.txt\"\nsynonym_weight = -1.0",
            "systems[1].synonym_weight: expected a finite number >= 0, found -1",
        ),
        (
            "type = \"bm25\"\nexpansion = { reflections = 101 }",
            "systems[1].expansion.reflections: expected at most 100, found 101",
        ),
        (
            "type = \"bm25\"\nexpansion = { dim = 4 }",
            "systems[1].expansion.dim: expected a number from 10 to 65536, found 4",
        ),
        (
            "type = \"bm25\"\nfields = \"separate\"\nfield_b = { title = 0.1 }",
            "systems[1].field_b.title: expected model = \"bm25f\", found \"bm25\"",
        ),
        (
            "type = \"bm25\"\nmodel = \"bm25f\"\nfields = \"separate\"\nfield_b = { titel = 0.1 }",
            "systems[1].field_b.titel: expected an indexed field (title, text), found \"titel\" (did you mean title?)",
        ),
        (
            "type = \"bm25\"\nmodel = \"bm25f\"\nfields = \"separate\"\nfield_b = { title = 2.0 }",
            "systems[1].field_b.title: expected a number from 0 to 1, found 2",
        ),
        (
            "type = \"prior\"\nof = \"base\"\npriors = { geo = 2.0 }",
            "systems[1].priors.geo: expected a number > 0, at most 1, found 2",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nunseen = 0.5",
            "systems[1].unseen: expected the key priors or qrels, found none",
        ),
        (
            "type = \"prior\"\nof = \"base\"\ndocs = 0",
            "systems[1].docs: expected at least 1, found 0",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nrepositories = 0",
            "systems[1].repositories: expected at least 1, found 0",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nrepositories = 23\npriors = { geo = 0.5 }",
            "systems[1].repositories: expected no key priors, found both",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nepsilon = 0.0",
            "systems[1].epsilon: expected a finite number > 0, found 0",
        ),
        ("type = \"prior\"\nof = \"bas\"", "bas"),
    ] {
        let text = format!(
            "measures = [\"RR\"]\n[[tasks]]\ncollection = {:?}\n\
             [[systems]]\nname = \"base\"\ntype = \"bm25\"\n\
             [[systems]]\nname = \"found\"\n{keys}\n",
            folder.path()
        );
        let found = Experiment::from_toml(&text)
            .and_then(|experiment| experiment.validate(&Registry::default()).map(|_| ()));
        let error = found.unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
    for (keys, expected) in [
        (
            "type = \"prior\"\nof = \"base\"\npriors = { geo = 0.5 }",
            "expected a prior for every repository, found none for \"pdb\"",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nattribute = \"repo\"",
            "expected a text attribute of the documents (repository), found \"repo\"",
        ),
        ("type = \"bm25\"\nsynonyms = \"missing.txt\"", "missing.txt"),
        (
            "type = \"bm25\"\nfeedback = \"rm3\"\nfeedback_collection = \"bundle\"",
            "feedback_collection",
        ),
        (
            "type = \"prior\"\nof = \"base\"\nqrels = \"missing.qrels\"",
            "missing.qrels",
        ),
    ] {
        let experiment = experiment(folder.path(), keys);
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let runner = ir_experiment::Runner::new(&cache, &registry);
        let error = runner.run(&experiment, &mut NoProgress).unwrap_err();
        assert!(
            format!("{error:?}{error}").contains(expected),
            "{keys}: {error}"
        );
    }
}
