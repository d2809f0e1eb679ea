//! One phrase or window: the pruned ranking is that of the evaluation of all matches.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::built;
use ir_bm25::models::NAMED_MODELS;
use ir_bm25::{
    Analysis, DocLengths, IndexBuilder, IndexConfig, IndexWriter, IndexedFields, Model,
    QuerySyntax, SegmentedIndex, StructuredQuery, StructuredSearcher,
};
use ir_core::{Analyzer, DocNum, DocSet, Document, NoProgress, Search, Token};
use proptest::prelude::*;

const WORDS: [&str; 6] = ["tea", "tea", "milk", "leaf", "water", "the"];
const QUERIES: [&str; 7] = [
    "tea milk",
    "milk tea",
    "tea tea",
    "rare tea",
    "leaf water tea",
    "unique tea",
    "tea the milk",
];

/// Documents of pseudo-random words. Few of them have the word "rare", one has "unique".
fn documents(count: usize, seed: u64) -> Vec<Document> {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut document = |n: usize| {
        let length = match random(20) {
            0 => random(300),
            1..4 => random(40),
            _ => random(8),
        };
        let word = |at: u64| WORDS[at as usize];
        let mut words: Vec<&str> = (0..length).map(|_| word(random(6))).collect();
        if n.is_multiple_of(37) {
            words.extend(["rare", "tea"]);
        }
        if n == count / 2 {
            words.extend(["unique", "tea"]);
        }
        Document::new(format!("d{n:05}")).with_text(words.join(" "))
    };
    (0..count).map(&mut document).collect()
}

fn config() -> IndexConfig {
    IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_positions(true)
}

/// Models that score windows, with both precisions of lengths.
fn models() -> impl Iterator<Item = Model> {
    let names = NAMED_MODELS.iter().map(|model| model.name);
    let names = names.filter(|name| *name != "bm25f");
    names.flat_map(|name| {
        let all = [DocLengths::OneByte, DocLengths::Exact];
        all.map(|lengths| Model::named(name, &[], Some(lengths)).unwrap())
    })
}

fn windows() -> impl Iterator<Item = StructuredQuery> {
    QUERIES.iter().flat_map(|query| {
        [
            StructuredQuery::phrase(*query),
            StructuredQuery::ordered(*query, 3),
            StructuredQuery::unordered(*query, 5),
        ]
    })
}

/// The same query, evaluated for all matching documents. Excluded words have no likelihood.
fn exhaustive(window: &StructuredQuery) -> StructuredQuery {
    let nowhere = StructuredQuery::text("nowhere").must_not();
    StructuredQuery::boolean([window.clone().must(), nowhere])
}

fn check(index: &SegmentedIndex, model: Model) {
    let searcher = index.searcher(model).unwrap();
    let model = searcher.model().to_string();
    let searcher = StructuredSearcher::new(searcher, QuerySyntax::Lucene);
    let third: DocSet = (0..2000).step_by(3).map(DocNum::new).collect();
    for query in windows() {
        let all = exhaustive(&query);
        for k in [1, 2, 10, 5000] {
            for search in [Search::top(k), Search::top(k).within(&third)] {
                let found = searcher.search_query(&query, &search).unwrap();
                let expected = searcher.search_query(&all, &search).unwrap();
                assert_eq!(found, expected, "{model}, {query}, k = {k}");
                for hit in found.iter().take(2) {
                    let why = searcher.explain_query(&query, hit.doc, &search).unwrap();
                    assert_eq!(why.unwrap().score(), hit.score, "{model}, {query}");
                }
            }
        }
    }
}

#[test]
fn every_model_equals_the_exhaustive_evaluation() {
    let index = SegmentedIndex::from(built(&documents(1500, 1), config()));
    models().for_each(|model| check(&index, model));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn segments_equal_the_exhaustive_evaluation(
        (count, seed) in (1..900_usize, any::<u64>()),
        commit_every in 20..400_usize,
        delete in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        model in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut writer = IndexWriter::create(&path, config()).unwrap().with_merge_factor(4);
        let documents = documents(count, seed);
        for (n, document) in documents.iter().enumerate() {
            // Segments whose documents alternate.
            writer.put(&documents[n * 7919 % count]).unwrap();
            writer.put(document).unwrap();
            if n % commit_every == 0 {
                writer.commit().unwrap();
            }
        }
        for at in delete {
            writer.delete(&at.get(&documents).id).unwrap();
        }
        writer.commit().unwrap();
        let models: Vec<Model> = models().collect();
        check(&SegmentedIndex::open(&path).unwrap(), model.get(&models).clone());
    }
}

/// Every word twice at its position.
struct Twice;

impl Analyzer for Twice {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let analyzer = Analysis::whitespace().build().unwrap();
        analyzer.analyze(text, &mut |token| {
            for _ in 0..2 {
                let Token {
                    term,
                    start,
                    end,
                    position,
                } = token;
                emit(Token {
                    term,
                    start,
                    end,
                    position,
                });
            }
        });
    }
}

/// A term with a position twice is in more phrases than the other term has occurrences.
#[test]
fn repeated_positions_equal_the_exhaustive_evaluation() {
    let mut builder = IndexBuilder::new(config())
        .unwrap()
        .with_analyzer("twice", Arc::new(Twice));
    for document in &documents(600, 2) {
        builder.push(document).unwrap();
    }
    let index = builder
        .finish(&mut NoProgress)
        .unwrap()
        .with_analyzer(Arc::new(Twice));
    let index = SegmentedIndex::from(index);
    models().for_each(|model| check(&index, model));
}
