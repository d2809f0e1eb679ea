//! Scores of the sequential dependence model on Cranfield and CISI: equal to the formula, with
//! phrases and windows counted in the analyzed texts without an index.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::{BTreeSet, HashMap};

use ir_bm25::{Analysis, Bm25, DocLengths, Index, IndexConfig, SequentialDependence};
use ir_core::{Analyzer, Document, NoProgress, Retriever, Search};
use ir_data::catalog;

const K1: f64 = 0.9;
const B: f64 = 0.4;
const WEIGHTS: [f32; 3] = SequentialDependence::WEIGHTS;

/// Positions of the terms of a text, and their number.
#[derive(Default)]
struct Text {
    positions: HashMap<String, Vec<u32>>,
    length: f64,
}

impl Text {
    fn new(analyzer: &dyn Analyzer, text: &str) -> Self {
        let mut found = Self::default();
        analyzer.analyze(text, &mut |token| {
            let of_term = found.positions.entry(token.term.to_owned()).or_default();
            of_term.push(token.position);
            found.length += 1.0;
        });
        found
    }

    fn of(&self, term: &str) -> &[u32] {
        self.positions.get(term).map_or(&[], Vec::as_slice)
    }

    /// Number of occurrences of the first term `gap` positions before the second.
    fn phrases(&self, first: &str, second: &str, gap: u32) -> f64 {
        let second = self.of(second);
        let first = self.of(first).iter();
        first.filter(|at| second.contains(&(**at + gap))).count() as f64
    }

    /// Number of positions of a term from which eight have both terms, or one of them twice.
    fn windows(&self, first: &str, second: &str) -> f64 {
        let starts: BTreeSet<u32> = [first, second]
            .iter()
            .flat_map(|it| self.of(it))
            .copied()
            .collect();
        let wanted = 1 + usize::from(first == second);
        let has_both = |start: &&u32| {
            [first, second].iter().all(|term| {
                let near = |at: &&u32| (**start..**start + 8).contains(*at);
                self.of(term).iter().filter(near).count() >= wanted
            })
        };
        starts.iter().filter(has_both).count() as f64
    }
}

fn check_collection(name: &str) {
    let Ok(collection) = catalog::open(name) else {
        eprintln!("skipped: {name} is not in IR_DATA");
        return;
    };
    let documents = collection.corpus().docs().unwrap();
    let documents: Vec<Document> = documents.map(Result::unwrap).collect();
    let analyzer = Analysis::anserini().build().unwrap();
    let texts: HashMap<&str, Text> = documents
        .iter()
        .map(|doc| {
            let text = format!("{}\n{}", doc.title, doc.text);
            (doc.id.as_str(), Text::new(&analyzer, &text))
        })
        .collect();
    let lengths: Vec<f64> = texts
        .values()
        .map(|text| text.length)
        .filter(|it| *it > 0.0)
        .collect();
    let n = lengths.len() as f64;
    let average = lengths.iter().sum::<f64>() / n;

    let config = IndexConfig::default().with_positions(true);
    let index = Index::build(&documents, &config, &mut NoProgress).unwrap();
    let model = Bm25::new(K1 as f32, B as f32).with_lengths(DocLengths::Exact);
    let sdm = SequentialDependence::new(index.searcher(model).unwrap(), WEIGHTS).unwrap();
    let queries = collection.queries("test").unwrap();
    let mut compared = 0;
    for query in &queries[..queries.len().min(30)] {
        let mut words: Vec<String> = Vec::new();
        analyzer.analyze(&query.text, &mut |token| words.push(token.term.to_owned()));
        let df = |word: &String| {
            texts
                .values()
                .filter(|text| !text.of(word).is_empty())
                .count()
        };
        let idf = |df: usize| (1.0 + (n - df as f64 + 0.5) / (df as f64 + 0.5)).ln();
        let idfs: Vec<f64> = words.iter().map(|word| idf(df(word))).collect();
        let score = |text: &Text| {
            let saturated = |tf: f64| tf / (tf + K1 * (1.0 - B + B * text.length / average));
            let [word, phrase, window] = WEIGHTS.map(f64::from);
            let pairs = words.len() as f64 - 1.0;
            let mut sum = 0.0;
            for (at, (term, idf)) in words.iter().zip(&idfs).enumerate() {
                sum += word / words.len() as f64 * idf * saturated(text.of(term).len() as f64);
                let Some(next) = words.get(at + 1) else {
                    continue;
                };
                let both = idf + idfs[at + 1];
                // The words of a pair are next to each other in the text of the phrase.
                sum += phrase / pairs * both * saturated(text.phrases(term, next, 1));
                sum += window / pairs * both * saturated(text.windows(term, next));
            }
            sum
        };
        let ranking = sdm
            .search(&query.text, &Search::top(documents.len()))
            .unwrap();
        let expected = texts.values().filter(|text| score(text) > 0.0).count();
        assert_eq!(ranking.len(), expected, "query {}", query.id);
        for hit in &ranking {
            let id = index.ids().id(hit.doc);
            let expected = score(&texts[id]);
            let difference = (f64::from(hit.score) - expected).abs();
            assert!(
                difference < 1e-4,
                "query {}, {id}: {} instead of {expected}",
                query.id,
                hit.score
            );
            compared += 1;
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn cranfield() {
    check_collection("cranfield");
}

#[test]
fn cisi() {
    check_collection("cisi");
}
