//! Naive reference retrievers for differential tests.

use std::collections::BTreeMap;

use ir_core::{Analyzer, DocIds, DocNum, Document, Ranking, Retriever, Search, SearchError, TopK};

/// Naive BM25 in f64 with exact document lengths, Lucene's idf and no `(k1 + 1)` factor. Title and
/// text form one field.
///
/// # Source
/// Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is
/// ln(1 + (N − df + 0.5) / (df + 0.5)).
#[derive(Debug)]
pub struct NaiveBm25<A> {
    ids: DocIds,
    documents: Vec<BTreeMap<String, f64>>,
    analyzer: A,
    k1: f64,
    b: f64,
}

impl<A: Analyzer> NaiveBm25<A> {
    /// Indexes documents, numbered in order.
    #[must_use]
    pub fn new(documents: &[Document], analyzer: A, k1: f64, b: f64) -> Self {
        let ids = documents.iter().map(|document| &document.id).collect();
        let count = |document: &Document| {
            let mut counts = BTreeMap::new();
            for term in analyzer.terms(&format!("{}\n{}", document.title, document.text)) {
                *counts.entry(term).or_default() += 1.0;
            }
            counts
        };
        let documents = documents.iter().map(count).collect();
        Self {
            ids,
            documents,
            analyzer,
            k1,
            b,
        }
    }
}

impl<A: Analyzer> Retriever for NaiveBm25<A> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let length = |document: &BTreeMap<String, f64>| document.values().sum::<f64>();
        let total = self.documents.len() as f64;
        let average = self.documents.iter().map(length).sum::<f64>() / total;
        let mut best = TopK::new(search.k());
        for (n, document) in (0..).map(DocNum::new).zip(&self.documents) {
            let mut score = 0.0;
            for term in self.analyzer.terms(query) {
                let Some(tf) = document.get(&term) else {
                    continue;
                };
                let df = self
                    .documents
                    .iter()
                    .filter(|other| other.contains_key(&term))
                    .count() as f64;
                let idf = (1.0 + (total - df + 0.5) / (df + 0.5)).ln();
                let norm = self.k1 * (1.0 - self.b + self.b * length(document) / average);
                score += idf * tf / (tf + norm);
            }
            if score > 0.0 && search.allows(n) {
                best.push(n, score as f32);
            }
        }
        best.finish()
    }
}

/// Naive maximum inner product search in f64.
#[derive(Debug)]
pub struct NaiveInnerProduct {
    ids: DocIds,
    vectors: Vec<Vec<f32>>,
}

impl NaiveInnerProduct {
    /// Indexes vectors of equal dimension.
    #[must_use]
    pub fn new(ids: DocIds, vectors: Vec<Vec<f32>>) -> Self {
        Self { ids, vectors }
    }
}

impl Retriever for NaiveInnerProduct {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        if let Some((at, &value)) = query.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(SearchError::NotFinite { at, value });
        }
        let mut best = TopK::new(search.k());
        for (n, vector) in (0..).map(DocNum::new).zip(&self.vectors) {
            if vector.len() != query.len() {
                return Err(SearchError::Dimensions {
                    expected: vector.len(),
                    found: query.len(),
                });
            }
            let product: f64 = vector
                .iter()
                .zip(query)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum();
            if search.allows(n) {
                best.push(n, product as f32);
            }
        }
        best.finish()
    }
}
