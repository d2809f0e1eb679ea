//! Every pruning algorithm returns the ranking of exhaustive search, bit for bit.

#![allow(clippy::unwrap_used)]

use crate::common::built;
use ir_bm25::models::Bm25F;
use ir_bm25::{
    Analysis, Bm25, DocLengths, DocOrder, Index, IndexConfig, IndexedFields, Pruning, Searcher,
};
use ir_core::store::Verify;
use ir_core::{DocFilter, DocNum, DocSet, Document, Ranking, Retriever, Search, SplitMix64};
use ir_testkit::toy;
use proptest::prelude::*;

/// `Auto` is one of the others.
const ALGORITHMS: [Pruning; 4] = [
    Pruning::BlockMax,
    Pruning::MaxScore,
    Pruning::Columns,
    Pruning::Exhaustive,
];

/// Numbers that are the same for the same seed.
pub(crate) struct Numbers(SplitMix64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed, 0))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A word; the r-th is about r times as rare as the first.
    pub(crate) fn word(&mut self, vocabulary: usize) -> String {
        let rank = (vocabulary as f64).powf(self.unit());
        format!("w{}", rank as usize)
    }

    pub(crate) fn words(&mut self, count: usize, vocabulary: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word(vocabulary)).collect();
        words.join(" ")
    }
}

/// Parameters of a generated collection.
#[derive(Debug, Clone, Copy)]
struct Shape {
    seed: u64,
    documents: usize,
    vocabulary: usize,
    longest: usize,
}

fn shapes(documents: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    let longest = prop_oneof![Just(3_usize), Just(12), Just(60)];
    let vocabulary = prop_oneof![Just(4_usize), Just(60), Just(800)];
    (any::<u64>(), documents, vocabulary, longest).prop_map(
        |(seed, documents, vocabulary, longest)| Shape {
            seed,
            documents,
            vocabulary,
            longest,
        },
    )
}

/// Documents with Zipfian words: repeated texts, runs of similar lengths, a few long ones, some
/// empty.
fn generate(shape: Shape) -> Vec<Document> {
    let mut numbers = Numbers::new(shape.seed);
    let mut documents: Vec<Document> = Vec::with_capacity(shape.documents);
    for n in 0..shape.documents {
        let id = format!("{:05}", (n * 7919) % 100_003);
        if n > 0 && numbers.one_in(6) {
            let mut repeated = documents[numbers.below(n)].clone();
            repeated.id = id;
            documents.push(repeated);
            continue;
        }
        let factor = 1 + (n / 200) % 3;
        let mut count = numbers.below(shape.longest * factor);
        if numbers.one_in(200) {
            count = 500;
        }
        let title_length = numbers.below(5);
        let title = numbers.words(title_length, shape.vocabulary);
        let mut text = numbers.words(count, shape.vocabulary);
        if numbers.one_in(50) {
            let word = numbers.word(shape.vocabulary);
            text.push_str(&format!(" {word}").repeat(100));
        }
        documents.push(Document::new(id).with_title(title).with_text(text));
    }
    documents
}

/// Queries of one to thirty words: common, rare, repeated, unknown.
fn queries(shape: Shape, count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(!shape.seed);
    let query = |n: usize| {
        let length = match n % 4 {
            0 => 1 + numbers.below(2),
            1 => 2 + numbers.below(4),
            2 => 5 + numbers.below(10),
            _ => 30,
        };
        let mut words = Vec::new();
        for _ in 0..length {
            words.push(match numbers.below(8) {
                0 => format!("w{}", 1 + numbers.below(shape.vocabulary)),
                1 => "unknown".to_owned(),
                2 => words
                    .last()
                    .cloned()
                    .unwrap_or_else(|| numbers.word(shape.vocabulary)),
                _ => numbers.word(shape.vocabulary),
            });
        }
        words.join(" ")
    };
    (0..count).map(query).collect()
}

/// BM25 parameters and field weights; the limits of their ranges are frequent.
#[derive(Debug, Clone, Copy)]
struct ScoringVariant {
    bm25: Bm25,
    title: f32,
    text: f32,
}

fn variants() -> impl Strategy<Value = ScoringVariant> {
    let k1 = prop_oneof![
        Just(0.0_f32),
        Just(0.9),
        Just(1.2),
        Just(1e30),
        Just(f32::MAX),
        0.0..=3.0_f32
    ];
    let b = prop_oneof![Just(0.0_f32), Just(0.4), Just(1.0), 0.0..=1.0_f32];
    let weight = || {
        prop_oneof![
            4 => Just(1.0_f32),
            1 => Just(0.0),
            3 => 0.01..20.0_f32,
            1 => Just(1e9),
            1 => Just(1e-9)
        ]
    };
    (k1, b, any::<bool>(), weight(), weight()).prop_map(|(k1, b, exact, title, text)| {
        let lengths = if exact {
            DocLengths::Exact
        } else {
            DocLengths::OneByte
        };
        ScoringVariant {
            bm25: Bm25::new(k1, b).with_lengths(lengths),
            title,
            text,
        }
    })
}

fn configs() -> impl Strategy<Value = IndexConfig> {
    let fields = prop::sample::select(vec![
        IndexedFields::One,
        IndexedFields::Separate,
        IndexedFields::TextOnly,
    ]);
    let order = prop::sample::select(vec![DocOrder::Id, DocOrder::Insertion]);
    (fields, order).prop_map(|(fields, order)| {
        IndexConfig::default()
            .with_analysis(Analysis::lucene_standard())
            .with_fields(fields)
            .with_order(order)
    })
}

fn searcher(index: &Index, variant: ScoringVariant) -> Searcher {
    weighted(index.searcher(variant.bm25).unwrap(), variant)
}

/// BM25F, whose title has another length normalization.
fn combined(index: &Index, variant: ScoringVariant) -> Searcher {
    let Bm25 { k1, b, lengths, .. } = variant.bm25;
    let mut model = Bm25F::new(k1, b);
    if index.config().fields == IndexedFields::Separate {
        model = model.with_field("title", 1.0, 1.0 - b);
    }
    model.lengths = lengths;
    weighted(index.searcher(model).unwrap(), variant)
}

fn weighted(searcher: Searcher, variant: ScoringVariant) -> Searcher {
    let fields = searcher.index().config().fields;
    match fields {
        IndexedFields::Separate => {
            searcher.with_weights(&[("title", variant.title), ("text", variant.text)])
        }
        // One weight changes no order, but every score; the others are tried too.
        _ => {
            let name = fields.names()[0];
            searcher.with_weights(&[(name, variant.text)])
        }
    }
    .unwrap()
}

/// Documents and scores to the last bit.
pub(crate) fn bits(ranking: &Ranking) -> Vec<(u32, u32)> {
    let hits = ranking.iter();
    hits.map(|hit| (hit.doc.get(), hit.score.to_bits()))
        .collect()
}

/// Every document that has a term of the query, without a filter.
fn everything(searcher: &Searcher, query: &str) -> Ranking {
    let exhaustive = searcher.clone().with_pruning(Pruning::Exhaustive);
    let n = searcher.index().len();
    exhaustive.search(query, &Search::top(n + 1)).unwrap()
}

fn check(searcher: &Searcher, query: &str, filters: &[&dyn DocFilter]) {
    let n = searcher.index().len();
    let full = everything(searcher, query);
    for k in [0, 1, 2, 10, 11, 100, 101, 1000, n, n + 7, usize::MAX] {
        for pruning in ALGORITHMS {
            let searcher = searcher.clone().with_pruning(pruning);
            let found = searcher.search(query, &Search::top(k)).unwrap();
            let expected = full.clone().top(k);
            assert_eq!(
                bits(&found),
                bits(&expected),
                "{pruning:?}, k {k}, {query:?}"
            );
        }
    }
    for (at, &filter) in filters.iter().enumerate() {
        let allowed = full.clone().retain(|hit| filter.contains(hit.doc));
        for k in [1, 10, 1000] {
            for pruning in ALGORITHMS {
                let searcher = searcher.clone().with_pruning(pruning);
                let search = Search::top(k).within(filter);
                let found = searcher.search(query, &search).unwrap();
                let expected = allowed.clone().top(k);
                assert_eq!(
                    bits(&found),
                    bits(&expected),
                    "{pruning:?}, k {k}, filter {at}, {query:?}"
                );
            }
        }
    }
}

/// Bitmaps from one document to nearly all, which know their size, and closures, which do not.
fn with_filters(n: usize, seed: u64, check: impl FnOnce(&[&dyn DocFilter])) {
    let mut numbers = Numbers::new(seed);
    let mut sample = |one_in: usize| DocSet::select(n, |_| numbers.one_in(one_in));
    let (few, some, many) = (sample(n / 4 + 1), sample(20), sample(2));
    let none = DocSet::new();
    let one = DocSet::select(n, |doc| doc.index() == seed as usize % n.max(1));
    let tail = |doc: DocNum| doc.index() >= n - n / 5;
    let odd = |doc: DocNum| doc.get() % 2 == 1;
    // Members that the index does not have are none.
    let beyond = DocSet::select(n + 100, |doc| doc.index() + 3 >= n);
    check(&[&none, &one, &few, &some, &many, &tail, &odd, &beyond]);
}

/// The root of an explanation is the score of the search, and the sum of its details.
fn check_explanations(searcher: &Searcher, query: &str, full: &Ranking) {
    let search = Search::top(1);
    for hit in full.iter() {
        let why = searcher.explain(query, hit.doc, &search).unwrap().unwrap();
        assert_eq!(
            why.score().to_bits(),
            hit.score.to_bits(),
            "{query:?}: {why:?}"
        );
        let sum: f64 = why.details.iter().map(|detail| detail.value).sum();
        assert_eq!((sum as f32).to_bits(), why.score().to_bits(), "{why:?}");
        assert!(
            !why.details.is_empty(),
            "{query:?} has a hit without a term"
        );
    }
    let found: DocSet = full.iter().map(|hit| hit.doc).collect();
    let n = searcher.index().len() as u32;
    // Those that are not found, and a number that the index does not have.
    for doc in (0..=n).map(DocNum::new).filter(|doc| !found.contains(*doc)) {
        let why = searcher.explain(query, doc, &search).unwrap();
        assert_eq!(why, None, "{query:?}, {doc:?}");
    }
}

fn toy_queries() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "unknown", "b c"]);
    let query = prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "));
    prop::collection::vec(query, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn small_collections(
        documents in toy::collections(),
        queries in toy_queries(),
        config in configs(),
        variant in variants(),
        seed in any::<u64>(),
    ) {
        let index = built(&documents, &config);
        let (searcher, combined) = (searcher(&index, variant), combined(&index, variant));
        for query in &queries {
            for searcher in [&searcher, &combined] {
                with_filters(documents.len(), seed, |filters| check(searcher, query, filters));
                check_explanations(searcher, query, &everything(searcher, query));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn lists_of_several_blocks(shape in shapes(300..3000), config in configs(), variant in variants()) {
        let documents = generate(shape);
        let built = built(&documents, &config);
        let index = Index::from_bytes(built.as_bytes().to_vec(), Verify::AllSections).unwrap();
        let (searcher, combined) = (searcher(&index, variant), combined(&index, variant));
        for (query, seed) in queries(shape, 8).iter().zip(shape.seed..) {
            with_filters(documents.len(), seed, |filters| {
                check(&searcher, query, filters);
                check(&combined, query, filters);
            });
        }
    }
}

/// Posting lists that are longer than one window of documents.
#[test]
fn lists_of_several_windows() {
    let shape = Shape {
        seed: 7,
        documents: 80_000,
        vocabulary: 800,
        longest: 8,
    };
    let documents = generate(shape);
    let index = built(
        &documents,
        IndexConfig::default().with_fields(IndexedFields::Separate),
    );
    let variants = [(0.9, 0.4, 1.0), (1.2, 1.0, 3.0), (0.0, 0.75, 0.0)];
    for ((k1, b, title), seed) in variants.into_iter().zip(0..) {
        let variant = ScoringVariant {
            bm25: Bm25::new(k1, b),
            title,
            text: 1.0,
        };
        let (searcher, combined) = (searcher(&index, variant), combined(&index, variant));
        for query in queries(Shape { seed, ..shape }, 4) {
            with_filters(documents.len(), seed, |filters| {
                check(&searcher, &query, filters);
                check(&combined, &query, filters);
            });
        }
    }
}

/// The generated collections are what they are meant to be: long lists, ties, empty documents.
#[test]
fn collections_have_blocks_and_ties() {
    let shape = Shape {
        seed: 1,
        documents: 2000,
        vocabulary: 60,
        longest: 12,
    };
    let index = built(&generate(shape), IndexConfig::default());
    let common = index.term("contents", "w1").unwrap().unwrap();
    assert!(common.docs > 4 * 128, "{common:?}");
    let stats = &index.stats().fields[0];
    assert!(
        stats.docs < index.len() as u64 && stats.longest > 400,
        "{stats:?}"
    );
    let full = everything(&index.searcher(Bm25::ANSERINI).unwrap(), "w1 w2");
    let ties = full.hits().windows(2);
    assert!(ties.filter(|pair| pair[0].score == pair[1].score).count() > 100);
}
