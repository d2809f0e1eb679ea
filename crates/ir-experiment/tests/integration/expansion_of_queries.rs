//! Feedback after another expansion, external feedback, priors of judgments and shared random
//! indexing in experiment files, beside the same steps by hand.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use crate::common::{computed, run};
use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::{
    Bm25, Index, IndexConfig, NearestWords, Searcher, StoredFields, SynonymExpansion, Synonyms,
    TermVectors,
};
use ir_core::fusion::{
    DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
};
use ir_core::{Document, Flow, NoProgress, Progress, Query, Retriever, Run};
use ir_experiment::{Cache, Experiment, Observer, Registry, Runner, Stage, StageReport};
use ir_knn::{RandomIndexing, RandomIndexingConfig};

const DOCS: [(&str, &str, &str); 5] = [
    (
        "a",
        "black leaves, and tea in leaves of black cups with sugar",
        "geo",
    ),
    ("b", "black tea with lemon, a tea of the morning", "pdb"),
    ("c", "ships of the port", "pdb"),
    ("d", "boats in the harbor of lemon", "geo"),
    ("e", "sugar and cold milk", "sra"),
];
const NEWS: [(&str, &str); 2] = [("x", "black tea and cold milk"), ("y", "ships and sugar")];
const QUERIES: [(&str, &str); 2] = [("1", "black tea"), ("2", "ships")];

fn texts(docs: &[(&str, &str)], others: usize) -> Vec<Document> {
    let docs = docs.iter();
    let mut all: Vec<Document> = docs
        .map(|(id, text)| Document::new(*id).with_text(*text))
        .collect();
    let other = |n| Document::new(format!("z{n:02}")).with_text("something else entirely");
    all.extend((0..others).map(other));
    all
}

fn write(folder: &Path, documents: &[Document]) {
    std::fs::create_dir_all(folder.join("qrels")).unwrap();
    let line = |document: &Document| {
        let (id, text) = (&document.id, &document.text);
        let repository = DOCS.iter().find(|doc| doc.0 == id);
        let repository = repository.map_or(String::new(), |doc| {
            format!(", \"repository\": {:?}", doc.2)
        });
        format!("{{\"_id\": {id:?}, \"text\": {text:?}{repository}}}\n")
    };
    let lines: String = documents.iter().map(line).collect();
    std::fs::write(folder.join("corpus.jsonl"), lines).unwrap();
    let queries =
        QUERIES.map(|(id, text)| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n"));
    std::fs::write(folder.join("queries.jsonl"), queries.concat()).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\tb\t1\n2\tc\t1\n";
    std::fs::write(folder.join("qrels/test.tsv"), qrels).unwrap();
}

fn documents() -> Vec<Document> {
    texts(&DOCS.map(|(id, text, _)| (id, text)), 60)
}

/// A folder with a collection, another one, synonyms and judgments.
fn here() -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    write(&here.path().join("notes"), &documents());
    write(&here.path().join("news"), &texts(&NEWS, 60));
    std::fs::write(here.path().join("synonyms.txt"), "ships => boats\n").unwrap();
    std::fs::write(
        here.path().join("train.qrels"),
        "7 0 b 1\n7 0 c 2\n8 0 a 0\n",
    )
    .unwrap();
    here
}

fn experiment(here: &Path, systems: &str) -> Experiment {
    let text = format!(
        "measures = [\"RR\"]\n[[tasks]]\ncollection = \"notes\"\n\
         [[systems]]\nname = \"base\"\ntype = \"bm25\"\n\
         [[systems]]\nname = \"found\"\n{systems}\n"
    );
    std::fs::write(here.join("experiment.toml"), text).unwrap();
    Experiment::open(here.join("experiment.toml")).unwrap()
}

fn searcher(documents: &[Document]) -> Searcher {
    let config = IndexConfig::default()
        .with_store(StoredFields::Everything)
        .with_positions(true);
    let index = Index::build(documents, &config, &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

fn feedback(searcher: &Searcher, source: Searcher) -> Feedback {
    let documents = FeedbackDocuments::stored(source).unwrap();
    let model = "rm3(docs=1,terms=5)".parse().unwrap();
    Feedback::new(searcher.clone(), documents, model).unwrap()
}

#[track_caller]
fn assert_run(here: &Path, systems: &str, expected: &dyn Retriever<Query = str>) {
    let (results, _) = run(&experiment(here, systems), &Cache::temporary().unwrap());
    let queries = QUERIES.map(|(id, text)| Query::new(id, text));
    let expected = Run::from_retriever("found", &expected, &queries, 1000).unwrap();
    let [base, found] = &results.tasks[0].runs[..] else {
        panic!("expected two runs");
    };
    assert_eq!(*found, expected);
    assert!(found.iter().ne(base.iter()));
}

const RM3: &str = "type = \"bm25\"\nfeedback = \"rm3(docs=1,terms=5)\"\n";

fn nearest(searcher: &Searcher, words: usize, weight: f32) -> NearestWords {
    let texts: Vec<String> = documents()
        .iter()
        .map(|document| format!("\n{}", document.text))
        .collect();
    let mut config = RandomIndexingConfig::default().with_dim(50);
    config.reflections = 1;
    let analyzer = ir_bm25::Analysis::anserini().build().unwrap();
    let (indexing, _) = RandomIndexing::fit_transform_with(analyzer, &texts, &config).unwrap();
    let terms: Vec<String> = indexing.terms().map(str::to_owned).collect();
    let vectors = indexing.term_vectors().mapv(|value| value as f32);
    let vectors = TermVectors::new(terms, 50, vectors.into_iter().collect()).unwrap();
    NearestWords::new(searcher.clone(), Arc::new(indexing), vectors, words, weight).unwrap()
}

#[test]
fn feedback_after_another_expansion() {
    let here = here();
    let searcher = searcher(&documents());
    let plain = || feedback(&searcher, searcher.clone());
    assert_run(here.path(), RM3, &plain());
    let weights = [0.1, 1.0, 0.0];
    assert_run(
        here.path(),
        &format!("{RM3}sdm = [0.1, 1.0, 0.0]"),
        &plain().with_sequential_dependence(weights).unwrap(),
    );
    let synonyms = Synonyms::read(&b"ships => boats\n"[..], "synonyms.txt").unwrap();
    let synonyms = SynonymExpansion::new(searcher.clone(), &synonyms, 0.5).unwrap();
    assert_run(
        here.path(),
        &format!("{RM3}synonyms = \"synonyms.txt\"\nsynonym_weight = 0.5"),
        &plain().with_synonyms(synonyms),
    );
    assert_run(
        here.path(),
        &format!("{RM3}expansion = {{ words = 2, weight = 0.4, dim = 50 }}"),
        &plain().with_nearest_words(nearest(&searcher, 2, 0.4)),
    );
}

#[test]
fn feedback_from_an_external_collection() {
    let here = here();
    let own = searcher(&documents());
    let external = feedback(&own, searcher(&texts(&NEWS, 60)));
    let keys = format!("{RM3}feedback_collection = \"news\"");
    assert_run(here.path(), &keys, &external);
    // A changed collection is another run; the index of an unchanged one is cached.
    let cache = Cache::temporary().unwrap();
    let experiment = experiment(here.path(), &keys);
    run(&experiment, &cache);
    let (_, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Run), 0);
    let mut news = texts(&NEWS, 60);
    news[0].text.push_str(" and lemon");
    write(&here.path().join("news"), &news);
    let (_, stages) = run(&experiment, &cache);
    assert_eq!(
        (
            computed(&stages, Stage::Run),
            computed(&stages, Stage::Index)
        ),
        (1, 1)
    );
}

#[test]
fn priors_of_judgments() {
    let here = here();
    let repository = |document: &Document| {
        let doc = DOCS.iter().find(|doc| doc.0 == document.id);
        doc.map(|doc| doc.2)
    };
    // Two relevant documents, of pdb; three repositories, smoothing 0.5.
    let priors = [("pdb", 2.5 / 3.5), ("geo", 0.5 / 3.5), ("sra", 0.5 / 3.5)];
    let priors = RepositoryPriors::new(priors).unwrap();
    let priors = PriorEstimate::Fixed(priors.with_unseen(0.5 / 3.5).unwrap());
    let (all, product) = (documents(), PriorCombination::Product);
    let mut sorted = all.clone();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    let repositories = DocumentRepositories::new(sorted.iter().map(repository));
    let judged =
        "type = \"prior\"\nof = \"base\"\nqrels = \"train.qrels\"\nepsilon = 0.5\nweight = 0.5";
    let known = repositories.clone();
    let expected = RepositoryPrior::new(searcher(&all), known, priors, product, 0.5);
    assert_run(here.path(), judged, &expected.unwrap());
    // The same of 23 repositories; those without relevant documents have a prior of their own.
    let priors = RepositoryPriors::new([("pdb", 2.5 / 13.5)]).unwrap();
    let priors = PriorEstimate::Fixed(priors.with_unseen(0.001).unwrap());
    let expected = RepositoryPrior::new(searcher(&all), repositories, priors, product, 0.5);
    assert_run(
        here.path(),
        &format!("{judged}\nrepositories = 23\nunseen = 0.001"),
        &expected.unwrap(),
    );
}

/// Counts the fits of random indexing.
#[derive(Default)]
struct Fits(usize);

impl Progress for Fits {
    fn report(&mut self, phase: &str, _: u64, _: Option<u64>) -> Flow {
        self.0 += usize::from(phase == "random indexing");
        Flow::Continue
    }
}

impl Observer for Fits {
    fn stage(&mut self, _: &StageReport) {}

    fn note(&mut self, _: &str) {}

    fn warning(&mut self, _: &str) {}
}

#[test]
fn random_indexing_is_fitted_once_for_all_settings() {
    let here = here();
    let fits = |keys: &str| {
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut fits = Fits::default();
        let runner = Runner::new(&cache, &registry);
        runner
            .run(&experiment(here.path(), keys), &mut fits)
            .unwrap();
        fits.0
    };
    let other = "[[systems]]\nname = \"other\"\ntype = \"bm25\"\nk1 = 2.0\n\
                 expansion = { words = 1, weight = 0.1, dim = 50 }";
    let with = |keys: &str| fits(&format!("type = \"bm25\"\nexpansion = {keys}\n{other}"));
    assert_eq!(with("{ words = 3, weight = 0.4, dim = 50 }"), 1);
    assert_eq!(with("{ words = 3, weight = 0.4, dim = 60 }"), 2);
    let grid = "type = \"bm25\"\ngrid.k1 = [0.5, 1.0]\ngrid.expansion = [{ weight = 0.1 }, \
                { weight = 0.4, words = 3 }]\n[selection]\nby = \"leave-one-out\"";
    assert_eq!(fits(grid), 1);
}
