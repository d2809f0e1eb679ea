//! Columns give the documents and scores of exhaustive scoring, whatever is cached.

use std::sync::LazyLock;

use ir_core::{DocNum, DocSet, Document, NoProgress};
use proptest::prelude::*;

use super::*;
use crate::{Analysis, Bm25, DocLengths, IndexConfig, IndexedFields, Searcher};

/// Documents and scores to the last bit.
fn bits(ranking: &Ranking) -> Vec<(u32, u32)> {
    let hits = ranking.iter();
    hits.map(|hit| (hit.doc.get(), hit.score.to_bits()))
        .collect()
}

fn build(documents: &[Document], fields: IndexedFields) -> Index {
    let config = IndexConfig::default()
        .with_analysis(Analysis::lucene_standard())
        .with_fields(fields);
    Index::build(documents, &config, &mut NoProgress).unwrap()
}

/// Documents with terms of every frequency and document frequency.
fn documents(seeds: &[u64]) -> Vec<Document> {
    let documents = seeds.iter().enumerate().map(|(n, &seed)| {
        let mut text = String::new();
        for term in 0..24_u64 {
            // Term t occurs in about one of 1 + t * t documents.
            let number = seed.wrapping_mul(2 * term + 1) >> 7;
            if number % (1 + term * term) == 0 {
                let tf = [1, 1, 2, 5, 254, 255, 256, 70_000][(number >> 20) as usize % 8];
                let tf = if n % 50 == 7 { tf } else { tf.min(5) };
                text.push_str(&format!("t{term} ").repeat(tf));
            }
        }
        let title = format!("t{} t{}", seed % 5, seed % 97);
        Document::new(format!("{n:04}"))
            .with_title(title)
            .with_text(text)
    });
    documents.collect()
}

/// The only segment of an index.
fn whole(index: &Index) -> ColumnSegment<'_> {
    static NONE: LazyLock<DocSet> = LazyLock::new(DocSet::new);
    ColumnSegment {
        index,
        number: 0,
        deleted: &NONE,
        floor: 0.0,
        statistics: None,
    }
}

/// Searches a model with a cache of this size twice, and an exhaustive searcher.
fn check(
    index: &Index,
    bm25: Bm25,
    weights: &[f32],
    terms: &[WeightedTerm],
    budget: usize,
) -> Result<bool, TestCaseError> {
    let names = index.config().fields.names();
    let pairs: Vec<_> = names.iter().copied().zip(weights.iter().copied()).collect();
    let exhaustive: Searcher = index.searcher(bm25).unwrap().with_weights(&pairs).unwrap();
    let exhaustive = exhaustive.with_pruning(Pruning::Exhaustive);
    let model = Bm25Fields::new(bm25, index.field_stats());
    let cache = ColumnCache::with_budget(budget);
    let weights = &weights[..names.len()];
    let odd = DocSet::select(index.len(), |doc: DocNum| doc.get() % 2 == 1);
    let mut is_tried = false;
    for k in [1, 3, 40, 1000] {
        for search in [Search::top(k), Search::top(k).within(&odd)] {
            let expected = exhaustive.search_terms(terms, &search).unwrap();
            for _ in 0..2 {
                let found =
                    super::search(whole(index), (&model, &cache), weights, terms, &search).unwrap();
                let Some(found) = found else { continue };
                prop_assert_eq!(bits(&found), bits(&expected), "k {}, {:?}", k, terms);
                is_tried = true;
            }
        }
    }
    prop_assert!(cache.read().bytes <= budget);
    Ok(is_tried)
}

fn weights() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => Just(1.0_f32),
        2 => (1_u8..=255).prop_map(f32::from),
        2 => 0.01..20.0_f32,
        1 => prop::sample::select(vec![1e-9_f32, 1e9, 300.0, 1e-35, 1e30]),
    ]
}

fn models() -> impl Strategy<Value = Bm25> {
    let k1 = prop_oneof![Just(0.0_f32), Just(1.2), Just(1e30), 0.0..=3.0_f32];
    let b = prop_oneof![Just(0.0_f32), Just(1.0), 0.0..=1.0_f32];
    (k1, b, any::<bool>()).prop_map(|(k1, b, exact)| {
        Bm25::new(k1, b).with_lengths(if exact {
            DocLengths::Exact
        } else {
            DocLengths::OneByte
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equals_exhaustive_scoring(
        seeds in prop::collection::vec(any::<u64>(), 1..400),
        terms in prop::collection::vec((0_u8..26, weights()), 1..40),
        bm25 in models(),
        field_weights in [weights(), weights()],
        separate in any::<bool>(),
        budget in prop_oneof![Just(0_usize), 0..20_000_usize, Just(1 << 20)],
    ) {
        let fields = if separate { IndexedFields::Separate } else { IndexedFields::One };
        let index = build(&documents(&seeds), fields);
        let field_weights = field_weights.map(|weight| weight.clamp(1e-9, 1e9));
        let terms: Vec<_> = terms
            .into_iter()
            .map(|(term, weight)| WeightedTerm::new(format!("t{term}"), weight))
            .collect();
        let weights = &field_weights[..if separate { 2 } else { 1 }];
        check(&index, bm25, weights, &terms, budget)?;
    }
}

/// Equal scores, sums that do not fit into 16 bits, and too wide a range of weights.
#[test]
fn ties_and_large_sums() {
    let same = (0..300).map(|n| Document::new(format!("{n:03}")).with_text("tea pot milk"));
    let index = build(&same.collect::<Vec<_>>(), IndexedFields::One);
    let terms = |count: usize, weight: f32| -> Vec<_> {
        let names = ["tea", "pot", "milk"].iter().cycle().take(count);
        names.map(|name| WeightedTerm::new(*name, weight)).collect()
    };
    for (count, weight) in [(3, 1.0), (3, 255.0), (900, 1.0), (9, 0.3), (2, 200.0)] {
        assert!(check(&index, Bm25::LUCENE, &[1.0], &terms(count, weight), 1 << 20).unwrap());
    }
    let mut wide = terms(3, 1.0);
    wide[1].weight = 1e-35;
    assert!(!check(&index, Bm25::LUCENE, &[1.0], &wide, 1 << 20).unwrap());
    // A document with sums beyond 16 bits.
    let rare = "ale ".repeat(70_000);
    let mut few: Vec<_> = (0..200)
        .map(|n| Document::new(format!("{n:03}")).with_text("tea"))
        .collect();
    few.push(Document::new("z").with_text(rare));
    let index = build(&few, IndexedFields::One);
    let ale: Vec<_> = (0..400).map(|_| WeightedTerm::new("ale", 1.0)).collect();
    assert!(check(&index, Bm25::LUCENE, &[1.0], &ale, 1 << 20).unwrap());
}

/// The cache stays within its size, and threads share it.
#[test]
fn threads_share_a_cache() {
    let seeds: Vec<u64> = (1..500)
        .map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let index = build(&documents(&seeds), IndexedFields::One);
    let searcher = index
        .searcher(Bm25::LUCENE)
        .unwrap()
        .with_pruning(Pruning::Columns);
    let exhaustive = searcher.clone().with_pruning(Pruning::Exhaustive);
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (searcher, exhaustive) = (searcher.clone(), &exhaustive);
            scope.spawn(move || {
                for n in 0..24 {
                    let terms = [(start + n) % 24, (start * 5 + n) % 24, 3];
                    let terms = terms.map(|t| WeightedTerm::new(format!("t{t}"), 1.0));
                    let search = Search::top(10);
                    let found = searcher.search_terms(&terms, &search).unwrap();
                    let expected = exhaustive.search_terms(&terms, &search).unwrap();
                    assert_eq!(bits(&found), bits(&expected));
                }
            });
        }
    });
}
