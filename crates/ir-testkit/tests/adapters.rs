//! Adapters and hybrid retrievers of ir-core satisfy the contract.

#![allow(clippy::unwrap_used)]

use ir_core::fusion::{DocumentPrior, WeightedSum};
use ir_core::{
    Distinct, DocIds, Document, EncodeError, Encoded, Encoder, Retriever, Run, Search, Side,
};
use ir_testkit::oracle::NaiveInnerProduct;
use ir_testkit::{Contract, toy};

/// Encoder of the counts of six letters.
#[derive(Debug, Clone, Copy)]
struct Letters;

impl Encoder for Letters {
    fn dim(&self) -> usize {
        6
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let expected = texts.len() * self.dim();
        if out.len() != expected {
            return Err(EncodeError::Shape {
                expected,
                found: out.len(),
            });
        }
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(6)) {
            for (cell, letter) in row.iter_mut().zip("aegklt".chars()) {
                *cell = text.chars().filter(|&c| c == letter).count() as f32;
            }
        }
        Ok(())
    }
}

fn encoded(documents: &[Document]) -> Encoded<Letters, NaiveInnerProduct> {
    let texts: Vec<String> = documents
        .iter()
        .map(|d| format!("{} {}", d.title, d.text))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = Letters.encode(Side::Document, &texts).unwrap();
    let vectors = vectors.chunks(6).map(<[f32]>::to_vec).collect();
    let ids = documents.iter().map(|document| &document.id).collect();
    Encoded::new(Letters, NaiveInnerProduct::new(ids, vectors))
}

#[test]
fn encoded_retriever_satisfies_the_contract() {
    ir_testkit::check_text(encoded);
}

/// Prior by text length, so that documents of equal text have equal priors; 0 for empty documents.
fn prior(documents: &[Document]) -> DocumentPrior {
    let length = |d: &Document| (d.title.len() + d.text.len()) as f32;
    DocumentPrior::new(documents.iter().map(|d| (&d.id, length(d)))).unwrap()
}

#[test]
fn document_prior_satisfies_the_contract() {
    ir_testkit::check_text(prior);
}

#[test]
fn weighted_sum_with_a_prior_satisfies_the_contract() {
    ir_testkit::check_text(|documents| {
        let dense: Box<dyn Retriever<Query = str>> = Box::new(encoded(documents));
        let prior: Box<dyn Retriever<Query = str>> = Box::new(prior(documents));
        WeightedSum::new([(dense, 1.0), (prior, 0.25)]).unwrap()
    });
}

#[test]
fn distinct_returns_k_unique_ids() {
    // Seventy vectors under 23 ids.
    let ids: DocIds = (0..70).map(|n| format!("v{}", n * 7 % 23)).collect();
    let inner = NaiveInnerProduct::new(ids, toy::vectors(70, 6));
    let queries = toy::vectors(9, 6);
    let full: Vec<_> = queries
        .iter()
        .map(|q| inner.search(q, &Search::top(70)).unwrap())
        .collect();
    let distinct = Distinct(inner);
    let contract = Contract {
        valid_queries: queries.iter().map(Vec::as_slice).collect(),
        invalid_queries: vec![],
    };
    for (query, full) in queries.iter().zip(full) {
        for k in [0, 1, 5, 22, 23, 24, usize::MAX] {
            let found = distinct.search(query, &Search::top(k)).unwrap();
            assert_eq!(found.len(), k.min(23));
            let mut seen = std::collections::BTreeSet::new();
            let first = full
                .clone()
                .retain(|hit| seen.insert(distinct.ids().id(hit.doc).to_owned()));
            assert_eq!(found, first.top(k));
        }
    }
    let batch: Vec<_> = contract
        .valid_queries
        .iter()
        .map(|q| (*q, Search::top(4)))
        .collect();
    let single: Vec<_> = batch
        .iter()
        .map(|(query, search)| distinct.search(query, search).unwrap())
        .collect();
    assert_eq!(distinct.search_batch(&batch).unwrap(), single);
}

#[test]
fn run_contains_collection_ids() {
    let documents = toy::documents();
    let queries = [
        ir_core::Query::new("d97", "tea"),
        ir_core::Query::new("q2", "kettle"),
    ];
    let mut run = Run::from_retriever("letters", &encoded(&documents), &queries, 60).unwrap();
    assert_eq!(run.len(), 2);
    assert!(
        run.get("d97")
            .unwrap()
            .iter()
            .all(|s| documents.iter().any(|d| d.id == s.doc))
    );
    assert_eq!(run.remove_identical_ids(), 1);
    run.truncate(3);
    assert_eq!(run.get("q2").unwrap().len(), 3);
}
