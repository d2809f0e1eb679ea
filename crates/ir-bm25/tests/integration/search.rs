//! Searching against a slow, obvious BM25, and dynamic pruning against scoring everything.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use ir_bm25::analysis::Analysis;
use ir_bm25::{
    Bm25, DocLengths, FieldNames, Index, IndexConfig, IndexedFields, Pruning, SearcherError,
};
use ir_core::store::Verify;
use ir_core::{DocNum, DocSet, Document, Hit, NoProgress, Ranking, Retriever, Search};
use proptest::prelude::*;

/// BM25 as its page in a textbook, in the precision that Lucene uses: no index, one document after
/// another.
struct Oracle {
    /// Per document, per field, its words.
    docs: Vec<Vec<Vec<String>>>,
}

impl Oracle {
    fn new(documents: &[Document], fields: IndexedFields) -> Self {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let fields_of = |doc: &Document| match fields {
            IndexedFields::Separate => vec![words(&doc.title), words(&doc.text)],
            IndexedFields::TextOnly => vec![words(&doc.text)],
            IndexedFields::Named(names) => {
                let texts = names.names().iter().map(|name| match *name {
                    "title" => words(&doc.title),
                    "text" => words(&doc.text),
                    name => words(doc.attributes.text(name).unwrap_or_default()),
                });
                texts.collect()
            }
            _ => vec![words(&format!("{}\n{}", doc.title, doc.text))],
        };
        Self {
            docs: documents.iter().map(fields_of).collect(),
        }
    }

    fn length(exact: usize, lengths: DocLengths) -> f32 {
        match lengths {
            DocLengths::Exact => exact as f32,
            _ => {
                // Rounded down to four significant bits beyond 40, counted from 24.
                let rest = exact.saturating_sub(24);
                let mut shift = 0;
                while rest >> shift >= 16 {
                    shift += 1;
                }
                (exact - rest + ((rest >> shift) << shift)) as f32
            }
        }
    }

    fn search(&self, query: &str, bm25: Bm25, weights: &[f32], search: &Search<'_>) -> Ranking {
        let mut counts: BTreeMap<&str, f32> = BTreeMap::new();
        query
            .split_whitespace()
            .for_each(|word| *counts.entry(word).or_default() += 1.0);
        let mut hits = Vec::new();
        for (n, doc) in self.docs.iter().enumerate() {
            let mut score = None;
            for (field, weight) in weights
                .iter()
                .enumerate()
                .filter(|(_, weight)| **weight > 0.0)
            {
                let column = || self.docs.iter().map(|doc| &doc[field]);
                let with_field = column().filter(|words| !words.is_empty()).count() as f64;
                let tokens: usize = column().map(Vec::len).sum();
                let average = (tokens as f64 / with_field) as f32;
                let length = Self::length(doc[field].len(), bm25.lengths);
                let inverse = 1.0 / (bm25.k1 * ((1.0 - bm25.b) + bm25.b * length / average));
                for (word, count) in &counts {
                    let tf = doc[field].iter().filter(|w| w == word).count() as f32;
                    if tf > 0.0 {
                        let df = column()
                            .filter(|words| words.iter().any(|w| w == word))
                            .count() as f64;
                        let idf = (1.0 + (with_field - df + 0.5) / (df + 0.5)).ln() as f32;
                        let w = count * weight * idf;
                        *score.get_or_insert(0.0) += f64::from(w - w / (1.0 + tf * inverse));
                    }
                }
            }
            let doc = DocNum::new(n as u32);
            if let Some(score) = score.filter(|_| search.allows(doc)) {
                hits.push(Hit::new(doc, score as f32));
            }
        }
        Ranking::from_hits(hits).unwrap().top(search.k())
    }
}

fn config(fields: IndexedFields) -> IndexConfig {
    IndexConfig::default()
        .with_analysis(Analysis::whitespace())
        .with_fields(fields)
}

fn index(documents: &[Document], fields: IndexedFields) -> Index {
    Index::build(documents, &config(fields), &mut NoProgress).unwrap()
}

fn numbered(texts: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<Document> {
    let words = |codes: Vec<u8>| {
        let words = codes
            .into_iter()
            .map(|code| format!("w{}", code.trailing_zeros()));
        words.collect::<Vec<_>>().join(" ")
    };
    let docs = texts.into_iter().enumerate();
    docs.map(|(n, (title, text))| {
        Document::new(format!("{n:06}"))
            .with_title(words(title))
            .with_text(words(text))
    })
    .collect()
}

/// Words w0 (in half of the places) to w8.
fn documents(most: usize) -> impl Strategy<Value = Vec<Document>> {
    let words = |most| prop::collection::vec(any::<u8>(), 0..most);
    prop::collection::vec((words(4), words(60)), 0..most).prop_map(numbered)
}

fn queries() -> impl Strategy<Value = String> {
    prop::collection::vec(0..10_u8, 0..7).prop_map(|words| {
        words
            .iter()
            .map(|n| format!("w{n}"))
            .collect::<Vec<_>>()
            .join(" ")
    })
}

fn parameters() -> impl Strategy<Value = Bm25> {
    let k1 = prop_oneof![
        Just(0.0_f32),
        Just(0.9),
        0.0_f32..5.0,
        Just(1e30),
        Just(f32::MAX)
    ];
    let b = prop_oneof![Just(0.0_f32), Just(1.0), 0.0_f32..=1.0];
    let lengths = prop_oneof![Just(DocLengths::OneByte), Just(DocLengths::Exact)];
    (k1, b, lengths).prop_map(|(k1, b, lengths)| Bm25::new(k1, b).with_lengths(lengths))
}

fn weights() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(0.0_f32),
        Just(1.0),
        0.1_f32..10.0,
        Just(1e-9),
        Just(1e9)
    ]
}

/// Every, none, some in a set (counted), some in a closure (not counted).
#[derive(Debug, Clone)]
enum Filter {
    None,
    Set(u32, u32),
    Closure(u32, u32),
}

fn filters() -> impl Strategy<Value = Filter> {
    prop_oneof![
        Just(Filter::None),
        (1..400_u32, 0..5_u32).prop_map(|(m, r)| Filter::Set(m, r)),
        (1..7_u32, 0..5_u32).prop_map(|(m, r)| Filter::Closure(m, r)),
    ]
}

fn with_filter<T>(filter: &Filter, n: usize, k: usize, work: impl FnOnce(Search<'_>) -> T) -> T {
    match *filter {
        Filter::None => work(Search::top(k)),
        Filter::Set(m, r) => {
            let set = DocSet::select(n, |doc| doc.get() % m == r);
            work(Search::top(k).within(&set))
        }
        Filter::Closure(m, r) => {
            let keep = move |doc: DocNum| doc.get() % m == r;
            work(Search::top(k).within(&keep))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Three fields, one of which only some documents have, each with its statistics and weight.
    #[test]
    fn named_fields_equal_the_oracle(
        mut documents in documents(120),
        query in queries(),
        bm25 in parameters(),
        weights in [weights(), weights(), weights()],
        k in prop_oneof![0..12_usize, Just(1000)],
    ) {
        for doc in documents.iter_mut().step_by(3) {
            let keywords: Vec<&str> = doc.text.split_whitespace().take(3).collect();
            doc.attributes.set("keywords", keywords.join(" "));
        }
        let names = FieldNames::new(["text", "keywords", "title"]).unwrap();
        let fields = IndexedFields::Named(names);
        let oracle = Oracle::new(&documents, fields).search(&query, bm25, &weights, &Search::top(k));
        let index = index(&documents, fields);
        let file = tempfile::NamedTempFile::new().unwrap();
        index.save(file.path()).unwrap();
        let opened = Index::open_with(file.path(), Verify::AllSections).unwrap();
        prop_assert_eq!(opened.config().fields, fields);
        let named: Vec<(&str, f32)> = names.names().iter().copied().zip(weights).collect();
        for index in [index, opened] {
            for pruning in [Pruning::BlockMax, Pruning::Columns, Pruning::Exhaustive] {
                let searcher = index.searcher(bm25).unwrap().with_weights(&named).unwrap();
                let found = searcher.with_pruning(pruning).search(&query, &Search::top(k)).unwrap();
                // The oracle adds up in another order; with such weights that may show in the last
                // bit.
                if weights.iter().all(|weight| *weight == 0.0 || (0.1..=10.0).contains(weight)) {
                    prop_assert_eq!(&found, &oracle);
                } else {
                    prop_assert_eq!(found.len(), oracle.len());
                }
            }
        }
    }

    #[test]
    fn every_way_equals_the_oracle(
        documents in documents(300),
        separate in any::<bool>(),
        query in queries(),
        bm25 in parameters(),
        title in weights(),
        text in weights(),
        filter in filters(),
        k in prop_oneof![0..12_usize, Just(1000), Just(usize::MAX)],
    ) {
        let fields = if separate { IndexedFields::Separate } else { IndexedFields::One };
        let index = index(&documents, fields);
        let mut searcher = index.searcher(bm25).unwrap();
        let mut by_field = vec![1.0];
        if separate {
            by_field = vec![title, text];
            searcher = searcher.with_weights(&[("title", title), ("text", text)]).unwrap();
        }
        let slow = searcher.clone().with_pruning(Pruning::Exhaustive);
        let oracle = Oracle::new(&documents, fields);
        with_filter(&filter, documents.len(), k, |search| {
            let found = searcher.search(&query, &search).unwrap();
            prop_assert_eq!(&found, &slow.search(&query, &search).unwrap());
            let expected = oracle.search(&query, bm25, &by_field, &search);
            // The oracle adds up in another order; with such weights that may show in the last bit.
            if title.max(text) <= 10.0 && title.min(text) >= 0.1 || !separate {
                prop_assert_eq!(&found, &expected);
            } else {
                prop_assert_eq!(found.len(), expected.len());
            }
            for hit in found.iter().take(3) {
                let why = searcher.explain(&query, hit.doc, &search).unwrap().unwrap();
                let sum: f64 = why.details.iter().map(|part| part.value).sum();
                prop_assert_eq!(why.score().to_bits(), hit.score.to_bits());
                prop_assert_eq!((sum as f32).to_bits(), hit.score.to_bits());
            }
            Ok(())
        })?;
    }
}

#[test]
fn batches_equal_single_searches_on_any_number_of_threads() {
    let documents = (0..3000_u16).map(|n| (vec![(n % 251) as u8], n.to_le_bytes().repeat(4)));
    let index = index(&numbered(documents.collect()), IndexedFields::Separate);
    let searcher = index.searcher(Bm25::LUCENE).unwrap();
    let late = |doc: DocNum| doc.get() > 700;
    let texts: Vec<String> = (0..60)
        .map(|n| format!("w{} w{} w{}", n % 7, n % 11, n % 13))
        .collect();
    let batch: Vec<(&str, Search<'_>)> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| {
            let search = Search::top(n);
            (
                text.as_str(),
                if n % 2 == 0 {
                    search
                } else {
                    search.within(&late)
                },
            )
        })
        .collect();
    let single: Vec<Ranking> = batch
        .iter()
        .map(|(text, search)| searcher.search(text, search).unwrap())
        .collect();
    assert_eq!(searcher.search_batch(&batch).unwrap(), single);
    for threads in [1, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        assert_eq!(
            pool.install(|| searcher.search_batch(&batch)).unwrap(),
            single
        );
    }
}

#[test]
fn parameters_are_checked() {
    let index = index(&[], IndexedFields::Separate);
    for (bm25, name) in [
        (Bm25::new(-0.1, 0.5), "k1"),
        (Bm25::new(f32::NAN, 0.5), "k1"),
        (Bm25::new(f32::INFINITY, 0.5), "k1"),
        (Bm25::new(1.0, 1.01), "b"),
        (Bm25::new(1.0, -0.01), "b"),
        (Bm25::new(1.0, f32::NAN), "b"),
    ] {
        let error = index.searcher(bm25).unwrap_err();
        assert!(matches!(error, SearcherError::Parameter { name: found, .. } if found == name));
    }
    let searcher = index.searcher(Bm25::default()).unwrap();
    let error = searcher
        .clone()
        .with_weights(&[("contents", 1.0)])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"expected a field of the index (title, text), found "contents""#
    );
    for weight in [-1.0, f32::NAN, f32::INFINITY, 1e-30, 1e30] {
        assert!(searcher.clone().with_weights(&[("title", weight)]).is_err());
    }
    assert!(searcher.search("w1", &Search::top(5)).unwrap().is_empty());
    let why = searcher.explain("w1", DocNum::new(3), &Search::top(5));
    assert_eq!(why.unwrap(), None);
}

#[test]
fn repeated_terms_count() {
    let documents = [
        Document::new("a").with_text("x y"),
        Document::new("b").with_text("z"),
    ];
    let searcher = index(&documents, IndexedFields::TextOnly)
        .searcher(Bm25::ANSERINI)
        .unwrap();
    let score = |query: &str| searcher.search(query, &Search::top(1)).unwrap().hits()[0].score;
    assert_eq!(score("x x"), 2.0 * score("x"));
    let why = searcher.explain("x y x", DocNum::new(0), &Search::top(1));
    let why = why.unwrap().unwrap();
    assert_eq!(why.details.len(), 2);
    assert!(why.details[0].description.starts_with("text:x"));
}
