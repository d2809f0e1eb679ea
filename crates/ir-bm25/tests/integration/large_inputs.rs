//! A document of a million terms, a query of a hundred thousand, and ids of the maximum length.

#![allow(clippy::unwrap_used)]

use std::error::Error;

use ir_bm25::{
    Analysis, Bm25, DocLengths, Index, IndexBuilder, IndexConfig, IndexWriter, Pruning, Searcher,
    SegmentedIndex,
};
use ir_core::{DocIds, Document, NoProgress, Retriever, Search};

const TERMS: usize = 1_000_000;
const QUERY_TERMS: usize = 100_000;

/// Number of documents with four terms, beside the one with every term.
const SHORT: usize = 199;

/// Numbers of the terms of a short document.
fn terms_of(n: usize) -> [usize; 4] {
    [n, 7 * n, 501 * n, 5000 * n]
}

fn text(terms: impl Iterator<Item = usize>) -> String {
    let terms: Vec<String> = terms.map(|n| format!("t{n}")).collect();
    terms.join(" ")
}

/// Scores of the document with every term, as number 0, and of the short ones, for distinct terms
/// of the query. Every frequency is 1.
fn scores(query: &[usize], bm25: Bm25) -> Vec<f64> {
    let documents = (SHORT + 1) as f64;
    let average = (TERMS + 4 * SHORT) as f64 / documents;
    let mut dfs = vec![1.0; TERMS];
    for term in (1..=SHORT).flat_map(terms_of) {
        dfs[term] += 1.0;
    }
    let (k1, b) = (f64::from(bm25.k1), f64::from(bm25.b));
    let score = |length: usize, terms: &mut dyn Iterator<Item = usize>| -> f64 {
        let norm = k1 * (1.0 - b + b * length as f64 / average);
        let scores = terms.map(|term| {
            let df: f64 = dfs[term];
            (1.0 + (documents - df + 0.5) / (df + 0.5)).ln() / (1.0 + norm)
        });
        scores.sum()
    };
    let mut all = vec![score(TERMS, &mut query.iter().copied())];
    for n in 1..=SHORT {
        let mut terms = terms_of(n).into_iter().filter(|term| query.contains(term));
        all.push(score(4, &mut terms));
    }
    all
}

/// The document with every term, and the short ones.
fn documents() -> Vec<Document> {
    let short = (1..=SHORT)
        .map(|n| Document::new(format!("{n:03}")).with_text(text(terms_of(n).into_iter())));
    let long = Document::new("000").with_text(text(0..TERMS));
    std::iter::once(long).chain(short).collect()
}

fn config() -> IndexConfig {
    IndexConfig::default().with_analysis(Analysis::lucene_standard())
}

const BM25: Bm25 = Bm25::LUCENE.with_lengths(DocLengths::Exact);

/// Compares the rankings of every variant of [`Pruning`] with the scores.
fn check(searcher: &Searcher) {
    let many: Vec<usize> = (0..QUERY_TERMS).collect();
    for query in [&[TERMS - 1][..], &[7, 49], &many] {
        let scores = scores(query, BM25);
        let mut sorted = scores.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        sorted.retain(|&score| score > 0.0);
        for pruning in [
            Pruning::Auto,
            Pruning::BlockMax,
            Pruning::MaxScore,
            Pruning::Columns,
            Pruning::Exhaustive,
        ] {
            let searcher = searcher.clone().with_pruning(pruning);
            let words = text(query.iter().copied());
            let found = searcher.search(&words, &Search::top(20)).unwrap();
            assert_eq!(found.len(), sorted.len().min(20), "{pruning:?}");
            for (hit, best) in found.iter().zip(&sorted) {
                let number: usize = searcher.ids().id(hit.doc).parse().unwrap();
                for expected in [scores[number], *best] {
                    let difference = (f64::from(hit.score) - expected).abs();
                    assert!(
                        difference <= 1e-5 * expected,
                        "{pruning:?} {hit:?} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_million_terms_and_a_query_of_a_hundred_thousand() {
    let index = Index::build(&documents(), &config(), &mut NoProgress).unwrap();
    check(&index.searcher(BM25).unwrap());
}

/// The same documents in two segments, with an earlier version and a deleted document of a hundred
/// thousand terms each.
#[test]
fn a_million_terms_in_segments() {
    let folder = tempfile::tempdir().unwrap();
    let searcher = || {
        let index = SegmentedIndex::open(folder.path()).unwrap();
        assert_eq!(index.len(), SHORT + 1);
        index.searcher(BM25).unwrap()
    };
    let mut writer = IndexWriter::create(folder.path(), config()).unwrap();
    for id in ["deleted", "003"] {
        let document = Document::new(id).with_text(text(0..QUERY_TERMS));
        writer.put(&document).unwrap();
    }
    let documents = documents();
    let (first, second) = documents.split_at(100);
    for document in first {
        writer.put(document).unwrap();
    }
    writer.commit().unwrap();
    for document in second {
        writer.put(document).unwrap();
    }
    writer.commit().unwrap();
    assert!(writer.delete("deleted").unwrap());
    writer.commit().unwrap();
    let segmented = searcher();
    assert_eq!(segmented.index().segments().len(), 2);
    check(&segmented);
    writer.compact().unwrap();
    drop(writer);
    let compact = searcher();
    assert!(compact.index().single().is_some());
    check(&compact);
}

#[test]
fn ids_of_the_maximum_length() {
    let id = |n: usize| {
        let id = format!("{n:02}{}", "é".repeat(32_767));
        assert_eq!(id.len(), DocIds::MAX_LEN);
        id
    };
    let documents: Vec<Document> = (0..3)
        .map(|n| Document::new(id(n)).with_text(format!("tea t{n}")))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.ir");
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    index.save(&path).unwrap();
    let index = Index::open(&path).unwrap();
    let found = |searcher: &dyn Retriever<Query = str>, n: usize| {
        let ranking = searcher.search(&format!("t{n}"), &Search::top(1)).unwrap();
        searcher
            .ids()
            .id(ranking.iter().next().unwrap().doc)
            .to_owned()
    };
    let searcher = index.searcher(Bm25::LUCENE).unwrap();
    for n in 0..3 {
        assert_eq!(found(&searcher, n), id(n));
    }

    let segments = folder.path().join("segments.ir");
    let mut writer = IndexWriter::create(&segments, IndexConfig::default()).unwrap();
    for document in &documents {
        writer.put(document).unwrap();
        writer.commit().unwrap();
    }
    writer.delete(&id(1)).unwrap();
    writer.commit().unwrap();
    writer.compact().unwrap();
    drop(writer);
    let index = SegmentedIndex::open(&segments).unwrap();
    let searcher = index.searcher(Bm25::LUCENE).unwrap();
    assert_eq!(index.len(), 2);
    for n in [0, 2] {
        assert_eq!(found(&searcher, n), id(n));
    }
}

#[test]
fn longer_ids_are_rejected() {
    let document = Document::new("x".repeat(DocIds::MAX_LEN + 1)).with_text("tea");
    let check = |error: &dyn Error| {
        let message = error.source().unwrap().to_string();
        let expected = "expected ids of at most 65536 bytes, found 65537 bytes";
        assert!(message.contains(expected), "{message}");
    };
    let mut builder = IndexBuilder::new(IndexConfig::default()).unwrap();
    check(&builder.push(&document).unwrap_err());
    let documents = std::slice::from_ref(&document);
    check(&Index::build(documents, &IndexConfig::default(), &mut NoProgress).unwrap_err());

    let folder = tempfile::tempdir().unwrap();
    let mut writer = IndexWriter::create(folder.path(), IndexConfig::default()).unwrap();
    writer.put(&Document::new("a").with_text("tea")).unwrap();
    writer.commit().unwrap();
    writer.put(&Document::new("b").with_text("tea")).unwrap();
    check(&writer.put(&document).unwrap_err());
    writer.put(&Document::new("c").with_text("tea")).unwrap();
    writer.commit().unwrap();
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().len(), 3);
}
