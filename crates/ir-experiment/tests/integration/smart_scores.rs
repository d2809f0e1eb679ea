//! Scores of divergence from randomness, Terrier's TF_IDF, Indri's query likelihood and BM25F on
//! Cranfield and CISI: equal to the formulas of these programs and of the papers, computed from the
//! analyzed texts without an index.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::{E, PI};

use ir_bm25::models::{Bm25F, Dph, InL2, IndriDirichlet, Pl2, TerrierTfIdf, TwoStage};
use ir_bm25::{Analysis, DocLengths, FieldNames, Index, IndexConfig, IndexedFields, Model};
use ir_core::{Analyzer, Document, NoProgress, Query, Retriever, Search};
use ir_data::catalog;

/// A field of all documents.
#[derive(Default)]
struct Field {
    /// Frequencies by term, by document.
    tfs: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    /// Over the documents with tokens.
    average: f64,
    filled: f64,
}

impl Field {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let analyzer = Analysis::anserini().build().unwrap();
        let mut field = Self::default();
        for text in texts {
            let mut tfs = HashMap::new();
            let terms = analyzer.terms(&text);
            field.lengths.push(terms.len() as f64);
            for term in terms {
                *tfs.entry(term).or_insert(0.0) += 1.0;
            }
            field.tfs.push(tfs);
        }
        field.filled = field.lengths.iter().filter(|length| **length > 0.0).count() as f64;
        field.average = field.lengths.iter().sum::<f64>() / field.filled;
        field
    }

    fn tf(&self, doc: usize, term: &str) -> f64 {
        self.tfs[doc].get(term).copied().unwrap_or(0.0)
    }

    /// Document frequency and collection frequency.
    fn frequencies(&self, term: &str) -> (f64, f64) {
        let found = self.tfs.iter().filter_map(|tfs| tfs.get(term));
        found.fold((0.0, 0.0), |(df, cf), tf| (df + 1.0, cf + tf))
    }
}

/// Terrier's formulas of a term: frequency, length, average length, N, df and F.
fn dph(tf: f64, length: f64, average: f64, n: f64, _: f64, cf: f64) -> f64 {
    let f = if tf < length { tf / length } else { 0.99999 };
    let norm = (1.0 - f) * (1.0 - f) / (tf + 1.0);
    norm * (tf * (tf * average / length * (n / cf)).log2()
        + 0.5 * (2.0 * PI * tf * (1.0 - f)).log2())
}

fn pl2(tf: f64, length: f64, average: f64, n: f64, _: f64, cf: f64) -> f64 {
    let tfn = tf * (1.0 + average / length).log2();
    let f = cf / n;
    let information = tfn * (1.0 / f).log2()
        + f * E.log2()
        + 0.5 * (2.0 * PI * tfn).log2()
        + tfn * (tfn.log2() - E.log2());
    information / (tfn + 1.0)
}

fn in_l2(tf: f64, length: f64, average: f64, n: f64, df: f64, _: f64) -> f64 {
    let tfn = tf * (1.0 + average / length).log2();
    tfn * ((n + 1.0) / (df + 0.5)).log2() / (tfn + 1.0)
}

fn tf_idf(tf: f64, length: f64, average: f64, n: f64, df: f64, _: f64) -> f64 {
    let saturated = 1.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / average));
    saturated * (n / df + 1.0).log2()
}

/// Log-likelihoods of all terms of a query, in the documents with at least one.
fn likelihoods(
    field: &Field,
    terms: &BTreeMap<String, f64>,
    probability: impl Fn(f64, f64, f64) -> f64,
) -> Vec<Option<f64>> {
    let tokens: f64 = field.lengths.iter().sum();
    let of_terms: Vec<_> = terms
        .iter()
        .map(|(term, count)| {
            let p = match field.frequencies(term).1 {
                0.0 => 0.5 / tokens,
                cf => cf / tokens,
            };
            (term, count, p)
        })
        .collect();
    let of_document = |doc: usize| {
        let has_term = terms.keys().any(|term| field.tf(doc, term) > 0.0);
        let logs = of_terms.iter().map(|(term, count, p)| {
            *count * probability(field.tf(doc, term), field.lengths[doc], *p).ln()
        });
        has_term.then(|| logs.sum())
    };
    (0..field.tfs.len()).map(of_document).collect()
}

type Formula = fn(f64, f64, f64, f64, f64, f64) -> f64;

/// Scores of the documents with a query term, by a function of document and term.
fn scores(
    documents: usize,
    terms: &BTreeMap<String, f64>,
    contribution: impl Fn(&str) -> Box<dyn Fn(usize) -> Option<f64>>,
) -> Vec<Option<f64>> {
    let mut all = vec![None; documents];
    for (term, count) in terms {
        let of_term = contribution(term);
        for (doc, sum) in all.iter_mut().enumerate() {
            if let Some(score) = of_term(doc) {
                *sum.get_or_insert(0.0) += count * score;
            }
        }
    }
    all
}

#[track_caller]
fn check(
    documents: &[Document],
    queries: &[Query],
    config: &IndexConfig,
    model: Model,
    expected: impl Fn(&BTreeMap<String, f64>) -> Vec<Option<f64>>,
) {
    let index = Index::build(documents, config, &mut NoProgress).unwrap();
    let numbers: HashMap<&str, usize> = documents
        .iter()
        .map(|document| document.id.as_str())
        .zip(0..)
        .collect();
    let searcher = index.searcher(model).unwrap();
    let analyzer = Analysis::anserini().build().unwrap();
    let mut compared = 0;
    for query in queries {
        let mut terms = BTreeMap::new();
        for term in analyzer.terms(&query.text) {
            *terms.entry(term).or_insert(0.0) += 1.0;
        }
        let expected = expected(&terms);
        let ranking = searcher
            .search(&query.text, &Search::top(documents.len()))
            .unwrap();
        assert_eq!(
            ranking.len(),
            expected.iter().flatten().count(),
            "query {}",
            query.id
        );
        for hit in &ranking {
            let id = index.ids().id(hit.doc);
            let expected = expected[numbers[id]].unwrap();
            let difference = (f64::from(hit.score) - expected).abs();
            let name = searcher.model();
            assert!(
                difference < 1e-4,
                "{name}, query {}, {id}: {} instead of {expected}",
                query.id,
                hit.score
            );
            compared += 1;
        }
    }
    assert!(compared > 10_000, "{compared}");
}

fn check_collection(name: &str) {
    let Ok(collection) = catalog::open(name) else {
        eprintln!("skipped: {name} is not in IR_DATA");
        return;
    };
    let documents: Vec<Document> = collection
        .corpus()
        .docs()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let queries = collection.queries("test").unwrap();
    let queries = &queries[..queries.len().min(30)];
    let contents = documents
        .iter()
        .map(|doc| format!("{}\n{}", doc.title, doc.text));
    let field = std::rc::Rc::new(Field::new(contents));
    let models: [(Model, Formula); 4] = [
        (TerrierTfIdf::default().into(), tf_idf),
        (Dph::default().into(), dph),
        (Pl2::default().into(), pl2),
        (InL2::default().into(), in_l2),
    ];
    for (model, formula) in models {
        check(
            &documents,
            queries,
            &IndexConfig::default(),
            model,
            |terms| {
                scores(documents.len(), terms, |term| {
                    let (df, cf) = field.frequencies(term);
                    let (field, term) = (field.clone(), term.to_owned());
                    Box::new(move |doc| {
                        let tf = field.tf(doc, &term);
                        let (length, average, n) =
                            (field.lengths[doc], field.average, field.filled);
                        (tf > 0.0).then(|| formula(tf, length, average, n, df, cf))
                    })
                })
            },
        );
    }
    let dirichlet = |mu: f64| move |tf: f64, length: f64, p: f64| (tf + mu * p) / (length + mu);
    let config = IndexConfig::default();
    for mu in [1000.0, 2500.0] {
        let model = IndriDirichlet::new(mu as f32).into();
        check(&documents, queries, &config, model, |terms| {
            likelihoods(&field, terms, dirichlet(mu))
        });
    }
    let model = TwoStage::new(500.0, 0.25).into();
    check(&documents, queries, &config, model, |terms| {
        likelihoods(&field, terms, |tf, length, p| {
            0.75 * dirichlet(500.0)(tf, length, p) + 0.25 * p
        })
    });
    let fields = [
        documents
            .iter()
            .map(|doc| doc.title.clone())
            .collect::<Vec<_>>(),
        documents.iter().map(|doc| doc.text.clone()).collect(),
    ];
    let fields = std::rc::Rc::new(fields.map(|texts| Field::new(texts.into_iter())));
    let parameters = [(2.0, 0.3), (1.0, 0.75)];
    let names = FieldNames::new(["title", "text"]).unwrap();
    let config = IndexConfig::default().with_fields(IndexedFields::Named(names));
    let mut model = Bm25F::new(1.2, 0.75).with_field("title", 2.0, 0.3);
    model.lengths = DocLengths::Exact;
    check(&documents, queries, &config, model.into(), |terms| {
        scores(documents.len(), terms, |term| {
            let (fields, term) = (fields.clone(), term.to_owned());
            let frequency = move |doc: usize| -> f64 {
                let of_fields = fields.iter().zip(parameters);
                let normalized = of_fields.map(|(field, (weight, b))| {
                    let norm = 1.0 - b + b * field.lengths[doc] / field.average;
                    match field.tf(doc, &term) {
                        0.0 => 0.0,
                        tf => weight * tf / norm,
                    }
                });
                normalized.sum()
            };
            let n = documents.len();
            let df = (0..n).filter(|doc| frequency(*doc) > 0.0).count() as f64;
            let idf = (1.0 + (n as f64 - df + 0.5) / (df + 0.5)).ln();
            Box::new(move |doc| {
                let x = frequency(doc);
                (x > 0.0).then(|| idf * x / (1.2 + x))
            })
        })
    });
}

#[test]
fn cranfield() {
    check_collection("cranfield");
}

#[test]
fn cisi() {
    check_collection("cisi");
}
