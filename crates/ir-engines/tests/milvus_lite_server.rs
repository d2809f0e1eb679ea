//! A server with BM25 over gRPC, which `.ci/milvus-lite` starts: contract, BM25 beside the naive
//! formula, hybrid search beside the fusion of both lists, and collections that conflict.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::cell::Cell;
use std::time::Duration;

use ir_core::{
    Analyzer, DocIds, DocNum, Document, NoProgress, PrecomputedEncoder, Predicate, Ranking,
    Retriever, Search, SearchError, Token,
};
use ir_engines::{
    AttributeType, ClientConfig, CollectionSchema, Credentials, LoadOptions, LoadReport,
    LoadSource, MilvusCollection, MilvusHybrid, RemoteError, RemoteVectorIndex, ResultCache,
    TextAnalysis, TextIndexing, VectorTable,
};
use ir_testkit::oracle::NaiveBm25;
use ir_testkit::toy;

const TEXTS: TextIndexing = TextIndexing {
    analysis: TextAnalysis::LuceneStandard,
    k1: 0.9,
    b: 0.4,
};

fn collection(name: &str) -> MilvusCollection {
    let base = std::env::var("IR_MILVUS_ADDRESS").unwrap();
    let config = ClientConfig {
        attempts: 2,
        backoff: Duration::from_millis(100),
        ..ClientConfig::default()
    };
    let address = format!("{base}/{name}").parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), &config).unwrap()
}

fn load(
    remote: &MilvusCollection,
    schema: &CollectionSchema,
    texts: Option<&TextIndexing>,
    source: &LoadSource<'_>,
) -> Result<LoadReport, RemoteError> {
    let options = LoadOptions { batch: 20 };
    remote.load_with_texts(schema, texts, source, &options, &mut NoProgress)
}

/// Words of letters, digits and `_`, in lower case: the analysis of milvus-lite.
struct Words;

impl Analyzer for Words {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let words = words.filter(|word| !word.is_empty());
        for (position, term) in (0..).zip(words) {
            let start = term.as_ptr() as usize - text.as_ptr() as usize;
            let end = start + term.len();
            emit(Token {
                term,
                start,
                end,
                position,
            });
        }
    }
}

#[test]
#[ignore = "needs a server: .ci/milvus-lite"]
fn contract_of_texts() {
    let next = Cell::new(0);
    ir_testkit::check_text(|documents| {
        next.set(next.get() + 1);
        let remote = collection(&format!("texts_{}", next.get()));
        remote.remove().unwrap();
        let corpus = documents.to_vec();
        let source = LoadSource::from_documents(&corpus);
        load(&remote, &CollectionSchema::default(), Some(&TEXTS), &source).unwrap();
        remote.open_texts().unwrap()
    });
}

#[test]
#[ignore = "needs a server: .ci/milvus-lite"]
fn scores_are_those_of_bm25() {
    let corpus = toy::documents();
    let remote = collection("scores");
    remote.remove().unwrap();
    let schema = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
    let source = LoadSource::from_documents(&corpus);
    load(&remote, &schema, Some(&TEXTS), &source).unwrap();
    let index = remote.open_texts().unwrap();
    let naive = NaiveBm25::new(&corpus, Words, f64::from(TEXTS.k1), f64::from(TEXTS.b));
    let condition: Predicate = "year<=2010".parse().unwrap();
    let restricted = index.clone().with_condition(condition.clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cached = index
        .clone()
        .with_cache(ResultCache::open(folder.path()).unwrap());
    let passes = |doc: DocNum| condition.matches(&corpus[doc.index()].attributes);
    let mut hits = 0;
    for query in toy::text_queries() {
        let all = Search::top(corpus.len());
        let expected = naive.search(query, &all).unwrap();
        let found = index.search(query, &all).unwrap();
        equal(&found, &expected, 1.0 + TEXTS.k1);
        hits += found.len();
        let found_cached = [cached.search(query, &all), cached.search(query, &all)];
        assert!(
            found_cached
                .into_iter()
                .all(|ranking| ranking.unwrap() == found)
        );
        let expected = naive
            .search(query, &Search::top(9).within(&passes))
            .unwrap();
        let found = restricted.search(query, &Search::top(9)).unwrap();
        equal(&found, &expected, 1.0 + TEXTS.k1);
        let filtered = index
            .search(query, &Search::top(9).within(&passes))
            .unwrap();
        assert_eq!(filtered, found);
    }
    assert!(hits > 100);
}

/// The same documents and scores, the latter times a factor and but for rounding. Documents whose
/// scores differ by less may be in another order.
fn equal(found: &Ranking, expected: &Ranking, factor: f32) {
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(expected) {
        let score = other.score * factor;
        assert!(
            (one.score - score).abs() < 1e-5 * score.max(1.0),
            "{one:?} {other:?}"
        );
        if one.doc != other.doc {
            let own = expected.iter().find(|hit| hit.doc == one.doc);
            let own = own.map_or(expected.hits().last().unwrap().score, |hit| hit.score);
            assert!(
                (own * factor - one.score).abs() < 1e-5 * score.max(1.0),
                "{one:?} {own}"
            );
        }
    }
}

#[test]
#[ignore = "needs a server: .ci/milvus-lite"]
fn hybrid_search_fuses_both_lists() {
    let corpus = toy::documents();
    let dim = 6;
    let ids: DocIds = corpus.iter().map(|document| document.id.as_str()).collect();
    // Irregular components, so that no scores are equal.
    let values: Vec<f32> = (0..corpus.len() * dim)
        .map(|at| ((at * 7919 + at * at * 31) % 1009) as f32 / 1009.0)
        .collect();
    let table = VectorTable::new(ids, dim, values).unwrap();
    let remote = collection("hybrid");
    remote.remove().unwrap();
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let schema = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
    load(&remote, &schema, Some(&TEXTS), &source).unwrap();
    let (texts, vectors) = (remote.open_texts().unwrap(), remote.open().unwrap());
    let mut encoder = PrecomputedEncoder::new("test".to_owned(), dim);
    let query = "green milk kettle";
    let vector = [0.5, -0.25, 1.0, 0.125, -1.0, 0.75];
    encoder.insert(query, &vector);
    let depth = 20;
    let hybrid = MilvusHybrid::new(texts.clone(), encoder)
        .unwrap()
        .with_candidates(depth);
    let (by_text, by_vector) = (
        texts.search(query, &Search::top(depth)).unwrap(),
        vectors.search(&vector, &Search::top(depth)).unwrap(),
    );
    let mut expected = vec![0.0_f64; corpus.len()];
    for ranking in [&by_text, &by_vector] {
        for (rank, hit) in (1..).zip(ranking) {
            expected[hit.doc.index()] += 1.0 / (60.0 + f64::from(rank));
        }
    }
    let found = hybrid.search(query, &Search::top(100)).unwrap();
    assert_eq!(
        found.len(),
        expected.iter().filter(|&&score| score > 0.0).count()
    );
    // BM25 has ties, which the server and the client order in their own ways: the sums are within
    // one rank of each other.
    for hit in &found {
        let difference = (f64::from(hit.score) - expected[hit.doc.index()]).abs();
        assert!(
            difference < 20.0 / (60.0 * 61.0),
            "{hit:?} {}",
            expected[hit.doc.index()]
        );
    }
    let best = (0..corpus.len()).max_by(|&a, &b| expected[a].total_cmp(&expected[b]));
    assert!(
        found
            .iter()
            .take(3)
            .any(|hit| Some(hit.doc.index()) == best)
    );
    assert_eq!(
        hybrid.search(query, &Search::top(5)).unwrap(),
        found.clone().top(5)
    );
    assert!(hybrid.search(" ", &Search::top(5)).unwrap().is_empty());
    let early = |doc: DocNum| {
        corpus[doc.index()]
            .attributes
            .int("year")
            .is_some_and(|y| y < 2010)
    };
    let found = hybrid
        .search(query, &Search::top(5).within(&early))
        .unwrap();
    assert!(found.len() == 5 && found.iter().all(|hit| early(hit.doc)));
    let other = PrecomputedEncoder::new("test".to_owned(), 3);
    let error = MilvusHybrid::new(texts, other).unwrap_err();
    assert!(
        matches!(
            error,
            RemoteError::Conflict {
                what: "dimension",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
#[ignore = "needs a server: .ci/milvus-lite"]
fn collections_that_conflict() {
    let table = |values: Vec<f32>, dim| {
        VectorTable::new(["a", "b"].into_iter().collect(), dim, values).unwrap()
    };
    let remote = collection("conflict");
    remote.remove().unwrap();
    let error = remote.open().unwrap_err();
    assert!(
        matches!(error, RemoteError::NoCollection { .. }),
        "{error:?}"
    );
    let first = table(vec![1.0, 2.0, 3.0, 4.0], 2);
    let schema = CollectionSchema::default();
    let report = load(&remote, &schema, None, &LoadSource::from_vectors(&first)).unwrap();
    assert!(report.created && report.inserted == 2, "{report:?}");
    let report = load(&remote, &schema, None, &LoadSource::from_vectors(&first)).unwrap();
    assert!(!report.created && report.inserted == 0, "{report:?}");
    let conflict = |schema: &CollectionSchema, table: &VectorTable| {
        let loaded = load(&remote, schema, None, &LoadSource::from_vectors(table));
        match loaded.unwrap_err() {
            RemoteError::Conflict { what, .. } => what,
            error => panic!("{error:?}"),
        }
    };
    assert_eq!(conflict(&schema, &table(vec![1.0, 2.0], 1)), "dimension");
    let other = table(vec![1.0, 2.0, 3.0, 4.5], 2);
    assert_eq!(conflict(&schema, &other), "fingerprint");
    let graph = RemoteVectorIndex::Hnsw {
        m: 16,
        ef_construction: 200,
    };
    let graph = schema.clone().with_vector_index(graph);
    assert_eq!(conflict(&graph, &first), "vector index");
    let index = remote.open().unwrap();
    let error = index.search(&[1.0], &Search::top(1)).unwrap_err();
    assert!(
        matches!(
            error,
            SearchError::Dimensions {
                expected: 2,
                found: 1
            }
        ),
        "{error:?}"
    );
    let error = remote.open_texts().unwrap_err();
    assert!(
        matches!(error, RemoteError::Conflict { what: "texts", .. }),
        "{error:?}"
    );
    // An analysis that the server does not have: its own message.
    let remote = collection("analysis");
    remote.remove().unwrap();
    let corpus = vec![Document::new("a").with_text("tea")];
    let english = TextIndexing {
        analysis: TextAnalysis::English,
        ..TEXTS
    };
    let source = LoadSource::from_documents(&corpus);
    let loaded = load(&remote, &schema, Some(&english), &source);
    eprintln!(
        "english analysis: {:?}",
        loaded.as_ref().map_err(ToString::to_string)
    );
    if std::env::var("IR_MILVUS_LITE").is_ok() {
        assert!(
            matches!(loaded, Err(RemoteError::Rejected { .. })),
            "{loaded:?}"
        );
    }
    remote.remove().unwrap();
    // Texts beyond the length of a field, before anything is sent.
    let long = vec![Document::new("a").with_text("tea ".repeat(20_000))];
    let source = LoadSource::from_documents(&long);
    let error = load(&remote, &schema, Some(&TEXTS), &source).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("title and text: expected at most 65535 bytes"),
        "{error}"
    );
    remote.remove().unwrap();
    // Created by another client.
    let error = collection("foreign").open().unwrap_err();
    assert!(
        matches!(error, RemoteError::ForeignCollection { .. }),
        "{error:?}"
    );
}
