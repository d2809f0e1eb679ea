//! Sequential dependence: scores worked by hand, words alone, the contract.

#![allow(clippy::unwrap_used)]

use crate::common::built;
use ir_bm25::{
    Bm25, DocLengths, IndexConfig, IndexedFields, SequentialDependence, StructuredQuery,
};
use ir_core::{Document, Retriever, Search};

fn config() -> IndexConfig {
    IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_positions(true)
}

#[test]
fn sequential_dependence() {
    let query = StructuredQuery::sequential_dependence(&["hot", "green", "tea"], [0.85, 0.1, 0.05]);
    assert_eq!(
        query.to_string(),
        "hot^0.28333333 green^0.28333333 tea^0.28333333 \"hot green\"^0.05 \"green tea\"^0.05 \
         #uw8(hot green)^0.025 #uw8(green tea)^0.025"
    );
    let words = StructuredQuery::sequential_dependence(&["tea"], [0.85, 0.1, 0.0]);
    assert_eq!(words.to_string(), "tea^0.85");
}

/// Worked by hand: weights 0.85, 0.1 and 0.05 of words, phrases and windows.
#[test]
fn scores_of_sequential_dependence() {
    let documents = [
        Document::new("a").with_text("green tea leaves"),
        Document::new("b").with_text("tea green"),
        Document::new("c").with_text("milk"),
    ];
    let index = built(&documents, config());
    let searcher = index
        .searcher(Bm25::ANSERINI.with_lengths(DocLengths::Exact))
        .unwrap();
    let sdm = SequentialDependence::new(searcher, SequentialDependence::WEIGHTS).unwrap();
    let ranking = sdm.search("the green tea", &Search::top(9)).unwrap();
    let found: Vec<(&str, f32)> = ranking
        .iter()
        .map(|hit| (index.ids().id(hit.doc), hit.score))
        .collect();
    let [("a", a), ("b", b)] = found[..] else {
        panic!("{found:?}");
    };
    // N = 3, df = 2 of both words: idf ln(1 + 1.5 / 2.5) = 0.470004, of windows 0.940007.
    // a: 1 / (1 + 0.9 · (0.6 + 0.4 · 3 / 2)) = 0.480769; words 0.85 · 0.470004 · 0.480769, a phrase
    // 0.1 · 0.940007 · 0.480769 and a window 0.05 · 0.940007 · 0.480769:
    // 0.192069 + 0.045193 + 0.022596
    assert!((a - 0.259_858).abs() < 1e-5, "{a}");
    // b: 1 / (1 + 0.9 · (0.6 + 0.4 · 2 / 2)) = 0.526316; 0.210265 + 0.05 · 0.940007 · 0.526316
    assert!((b - 0.235_002).abs() < 1e-5, "{b}");
    for hit in &ranking {
        let why = sdm.explain("the green tea", hit.doc, &Search::top(9));
        assert_eq!(why.unwrap().unwrap().score(), hit.score);
    }
}

#[test]
fn words_alone_are_a_search_of_terms() {
    let documents: Vec<Document> = (0..60)
        .map(|n| {
            let text = "green tea with milk ".repeat(1 + n % 3) + &"leaf ".repeat(n % 7);
            Document::new(format!("{n:02}")).with_text(text)
        })
        .collect();
    // No positions are needed.
    let index = built(&documents, IndexConfig::default());
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let sdm = SequentialDependence::new(searcher.clone(), [2.0, 0.0, 0.0]).unwrap();
    let found = sdm.search("tea leaf", &Search::top(9)).unwrap();
    assert_eq!(found, searcher.search("tea leaf", &Search::top(9)).unwrap());
    for (weights, expected) in [
        (
            [0.0, 1.0, 1.0],
            "a weight of words above 0, at most 1e9, found 0",
        ),
        (
            [f32::NAN, 1.0, 1.0],
            "a weight of words above 0, at most 1e9, found NaN",
        ),
        (
            [1.0, -1.0, 1.0],
            "weights of windows from 0 to 1e9, found -1",
        ),
        (
            [1.0, 1.0, 1e10],
            "weights of windows from 0 to 1e9, found 10000000000",
        ),
    ] {
        let error = SequentialDependence::new(searcher.clone(), weights).unwrap_err();
        let expected = format!("weights of the sequential dependence model: expected {expected}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn sequential_dependence_keeps_the_contract() {
    ir_testkit::check_text(|documents| {
        let config = IndexConfig::default().with_positions(true);
        let searcher = built(documents, config).searcher(Bm25::ANSERINI).unwrap();
        SequentialDependence::new(searcher, SequentialDependence::WEIGHTS).unwrap()
    });
}
