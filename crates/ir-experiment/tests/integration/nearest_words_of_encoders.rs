//! Expansion of queries by the nearest words of an encoder, beside the same steps by hand.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use crate::common::{computed, run};
use ir_bm25::{Analysis, Bm25, Index, IndexConfig, NearestWords, TermVectors, TermWords};
use ir_core::{Distinct, Document, NoProgress, Run, Search};
use ir_data::catalog;
use ir_dense::{BiEncoder, EncoderConfig, RandomModel};
use ir_experiment::{Cache, Experiment, Registry, Runner, SpecError, Stage, StageStatus};

fn documents() -> Vec<Document> {
    let collection = catalog::open("bundled").unwrap();
    let docs = collection.corpus().docs().unwrap();
    docs.map(Result::unwrap).collect()
}

/// A folder with a randomly initialized model.
fn here(documents: &[Document]) -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    let texts: Vec<&str> = documents.iter().map(|doc| doc.text.as_str()).collect();
    let model = RandomModel::default().with_shape(32, 1, 2);
    model.create(here.path().join("model"), &texts).unwrap();
    here
}

fn experiment(here: &Path, expansion: &str) -> Experiment {
    opened(here, expansion).unwrap()
}

fn opened(here: &Path, expansion: &str) -> Result<Experiment, SpecError> {
    let text = format!(
        "measures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n[search]\nhits = 20\n\
         [encoders.small]\nmodel = \"model\"\nmax_tokens = 16\n\
         [[systems]]\nname = \"base\"\ntype = \"bm25\"\n\
         [[systems]]\nname = \"found\"\ntype = \"bm25\"\nexpansion = {expansion}\n"
    );
    std::fs::write(here.join("e.toml"), text).unwrap();
    Experiment::open(here.join("e.toml"))
}

#[test]
fn nearest_words_of_an_encoder() {
    let documents = documents();
    let here = here(&documents);
    let config = EncoderConfig::default().with_max_tokens(16);
    let encoder = Arc::new(BiEncoder::open_with(here.path().join("model"), &config).unwrap());
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let analyzer = Analysis::anserini().build().unwrap();
    let mut words = TermWords::default();
    for document in &documents {
        words.add(&analyzer, &format!("{}\n{}", document.title, document.text));
    }
    let of_terms = words.most_frequent().map(|(_, word)| word);
    let vectors = TermVectors::encoded(&searcher, of_terms, &*encoder).unwrap();
    assert_eq!(vectors.len(), words.len());
    let expanded = NearestWords::new(searcher, encoder, vectors, 3, 0.5).unwrap();
    let queries = catalog::open("bundled").unwrap().queries("test").unwrap();
    let expected = Run::from_retriever_with("found", &Distinct(expanded), &queries, |_, _| {
        Search::top(20)
    });
    let expected = expected.unwrap();

    let cache = Cache::temporary().unwrap();
    let table = "{ words = 3, weight = 0.5, encoder = { model = \"model\", max_tokens = 16 } }";
    let (results, stages) = run(&experiment(here.path(), table), &cache);
    let [base, found] = &results.tasks[0].runs[..] else {
        panic!("expected two runs");
    };
    assert_eq!(*found, expected);
    assert!(found.iter().ne(base.iter()));
    assert_eq!(computed(&stages, Stage::Vectors), 1);
    // By name; other settings have the same vectors, and all of them are cached.
    let named = "{ words = 3, weight = 0.5, encoder = \"small\" }";
    for (expansion, runs) in [(table, 0), (named, 1), (named, 0)] {
        let (results, stages) = run(&experiment(here.path(), expansion), &cache);
        assert_eq!(results.tasks[0].runs[1], expected);
        let found = [Stage::Vectors, Stage::Run].map(|stage| computed(&stages, stage));
        assert_eq!(found, [0, runs], "{expansion}");
    }
    let off = "{ words = 3, weight = 0.0, encoder = \"small\" }";
    let (results, _) = run(&experiment(here.path(), off), &cache);
    assert!(results.tasks[0].runs[1].iter().eq(base.iter()));

    // Another model has other vectors.
    std::fs::remove_dir_all(here.path().join("model")).unwrap();
    let model = RandomModel::default().with_shape(32, 1, 2).with_seed(7);
    let texts: Vec<&str> = documents.iter().map(|doc| doc.text.as_str()).collect();
    model.create(here.path().join("model"), &texts).unwrap();
    let registry = Registry::default();
    let plan =
        Runner::new(&cache, &registry).plan(&experiment(here.path(), named), &mut NoProgress);
    let stages = plan.unwrap().stages.into_iter();
    let to_do = stages.filter(|stage| stage.status == StageStatus::ToDo);
    let to_do: Vec<Stage> = to_do.map(|stage| stage.stage).collect();
    assert_eq!(to_do, [Stage::Vectors, Stage::Run]);
}

#[test]
fn errors_name_the_key() {
    let here = here(&documents());
    let registry = Registry::default();
    let cache = Cache::temporary().unwrap();
    for (expansion, expected) in [
        (
            "{ encoder = \"small\", dim = 50 }",
            "systems[1].expansion.dim: expected random indexing, found an encoder",
        ),
        (
            "{ encoder = \"smal\" }",
            "expected an entry of [encoders] (small), found \"smal\" (did you mean",
        ),
        (
            "{ encoder = { model = \"model\", max_tokens = 0 } }",
            "systems[1].expansion.encoder.max_tokens: expected at least 1, found 0",
        ),
        (
            "{ encoder = { model = \"nowhere\" } }",
            "systems[1].expansion.encoder.model: ",
        ),
    ] {
        let found = opened(here.path(), expansion).and_then(|experiment| {
            let mut observer = crate::common::Recorder::default();
            Runner::new(&cache, &registry).run(&experiment, &mut observer)
        });
        let error = found.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
