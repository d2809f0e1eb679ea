//! Contract suite of retrievers over indexes that are built, saved and opened, or read from bytes.

#![allow(clippy::unwrap_used)]

use ir_bm25::models::Bm25F;
use ir_bm25::{
    Analysis, BlankDocs, Bm25, DocLengths, DocOrder, DuplicateIds, Index, IndexConfig,
    IndexedFields, Pruning, Searcher, StoredFields,
};
use ir_core::fusion::{
    DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
    WeightedSum,
};
use ir_core::store::Verify;
use ir_core::{Distinct, Document, NoProgress};
use ir_testkit::{check_text, check_text_saved};

/// Searcher over an index in memory.
fn build(
    documents: &[Document],
    config: &IndexConfig,
    finish: &impl Fn(Index) -> Searcher,
) -> Searcher {
    finish(Index::build(documents, config, &mut NoProgress).unwrap())
}

const PRUNING: [Pruning; 5] = [
    Pruning::Auto,
    Pruning::BlockMax,
    Pruning::MaxScore,
    Pruning::Columns,
    Pruning::Exhaustive,
];

/// Runs the contract suite with every variant of [`Pruning`], over an index in memory, a saved
/// index and an index read from bytes.
fn check(config: &IndexConfig, searcher: impl Fn(Index) -> Searcher) {
    for pruning in PRUNING {
        check_pruning(config, |index| searcher(index).with_pruning(pruning));
    }
}

fn check_pruning(config: &IndexConfig, finish: impl Fn(Index) -> Searcher) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.ir");
    check_text_saved(
        |documents| build(documents, config, &finish),
        |searcher| {
            searcher.index().single().unwrap().save(&path).unwrap();
            let opened = Index::open(&path).unwrap();
            assert_eq!(
                opened.as_bytes(),
                searcher.index().single().unwrap().as_bytes()
            );
            assert_eq!(opened.path(), Some(path.as_path()));
            finish(opened)
        },
    );
    check_text_saved(
        |documents| {
            Index::build_to(&path, documents, config, &mut NoProgress)
                .map(&finish)
                .unwrap()
        },
        |searcher| {
            let bytes = searcher.index().single().unwrap().as_bytes().to_vec();
            finish(Index::from_bytes(bytes, Verify::SmallSections).unwrap())
        },
    );
}

#[test]
fn one_field() {
    check(&IndexConfig::default(), |index| {
        index.searcher(Bm25::ANSERINI).unwrap()
    });
}

#[test]
fn text_only() {
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_analysis(Analysis::lucene_standard());
    check(&config, |index| index.searcher(Bm25::LUCENE).unwrap());
}

#[test]
fn weighted_fields() {
    let config = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_store(StoredFields::Attributes);
    check(&config, |index| {
        let searcher = index.searcher(Bm25::new(1.2, 0.75)).unwrap();
        searcher
            .with_weights(&[("title", 2.5), ("text", 0.5)])
            .unwrap()
    });
    check(&config, |index| {
        let searcher = index.searcher(Bm25::DATAFINDER).unwrap();
        searcher.with_weights(&[("title", 0.0)]).unwrap()
    });
    // So far apart that the order of summation shows, and nothing is pruned.
    check(&config, |index| {
        let searcher = index.searcher(Bm25::DATAFINDER).unwrap();
        searcher
            .with_weights(&[("title", 1e9), ("text", 1e-9)])
            .unwrap()
    });
}

#[test]
fn combined_fields() {
    let config = IndexConfig::default().with_fields(IndexedFields::Separate);
    check(&config, |index| {
        let bm25f = Bm25F::new(1.2, 0.75).with_field("title", 2.5, 0.3);
        index.searcher(bm25f).unwrap()
    });
    // So far apart that the order of summation shows, and nothing is pruned.
    check(&config, |index| {
        let searcher = index.searcher(Bm25F::new(0.0, 1.0)).unwrap();
        searcher
            .with_weights(&[("title", 1e9), ("text", 1e-9)])
            .unwrap()
    });
}

#[test]
fn exact_lengths_in_the_order_of_insertion() {
    let config = IndexConfig::default()
        .with_order(DocOrder::Insertion)
        .with_store(StoredFields::Everything);
    check(&config, |index| {
        let bm25 = Bm25::new(1.5, 1.0).with_lengths(DocLengths::Exact);
        index.searcher(bm25).unwrap()
    });
}

#[test]
fn the_extremes_of_the_parameters() {
    for (k1, b) in [(0.0, 0.0), (0.0, 1.0), (1000.0, 0.0), (1e-30, 1.0)] {
        check(&IndexConfig::default(), |index| {
            index.searcher(Bm25::new(k1, b)).unwrap()
        });
    }
}

#[test]
fn each_id_once() {
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    check_text(|documents| {
        let index = Index::build(documents, &config, &mut NoProgress).unwrap();
        Distinct(index.searcher(Bm25::ANSERINI).unwrap())
    });
}

#[test]
fn a_weighted_sum_of_two() {
    // Two indexes that number their documents differently; the second lacks blank ones.
    let other = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_order(DocOrder::Insertion)
        .with_blank(BlankDocs::Drop);
    for weight in [0.0, 0.4, 100.0] {
        check_text(|documents| {
            let one = build(documents, &IndexConfig::default(), &|index| {
                index.searcher(Bm25::ANSERINI).unwrap()
            });
            let two = build(documents, &other, &|index| {
                index.searcher(Bm25::LUCENE).unwrap()
            });
            WeightedSum::new([(one, 1.0), (two, weight)]).unwrap()
        });
    }
}

#[test]
fn repository_priors() {
    let priors = || RepositoryPriors::new([("even", 0.3), ("odd", 0.05)]).unwrap();
    let feedback = PriorEstimate::Feedback {
        docs: 3,
        epsilon: 1.0,
        repositories: 2,
    };
    for estimate in [PriorEstimate::Fixed(priors()), feedback] {
        for combination in [PriorCombination::LogSum, PriorCombination::Product] {
            check_text(|documents| {
                let searcher = build(documents, &IndexConfig::default(), &|index| {
                    index.searcher(Bm25::ANSERINI).unwrap()
                });
                // Documents of equal content have one repository.
                let mut sorted: Vec<&Document> = documents.iter().collect();
                sorted.sort_by(|a, b| a.id.cmp(&b.id));
                let length = |document: &&Document| document.title.len() + document.text.len();
                let names = sorted.iter().map(|document| match length(document) % 2 {
                    0 => "even",
                    _ => "odd",
                });
                let repositories = DocumentRepositories::new(names.map(Some));
                RepositoryPrior::new(searcher, repositories, estimate.clone(), combination, 0.8)
                    .unwrap()
            });
        }
    }
}
