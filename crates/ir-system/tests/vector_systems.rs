//! Types of systems with vectors of the documents, against slow definitions and exact search.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use ir_bm25::{Index, IndexConfig, StoredFields};
use ir_core::{Document, Flow, NoProgress, Progress, Query, Search};
use ir_system::{Cache, IndexData, Observer, Registry, Resources, SpecError, SystemSpec};

/// Words that the analysis does not change.
const DOCUMENTS: [(&str, &str); 6] = [
    ("a", "tea milk tea tea"),
    ("b", "tea lemon"),
    ("c", "milk bread bread"),
    ("d", "ship night ship"),
    ("e", "night lemon tea bread"),
    ("f", "ship milk"),
];
const QUERIES: [&str; 4] = ["tea", "milk bread", "ship night lemon", "tea tea lemon"];

/// Warnings of a system.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Progress for Warnings {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        Flow::Continue
    }
}

impl Observer for Warnings {
    fn warning(&mut self, warning: &str) {
        self.0.push(warning.to_owned());
    }
}

/// Ranking of a query: ids of documents with their scores.
type Hits = Vec<(String, f64)>;

/// Hits of each of [`QUERIES`], and the warnings.
fn search(keys: &str) -> Result<(Vec<Hits>, Vec<String>), SpecError> {
    search_texts(keys, &QUERIES)
}

/// Hits of each query, and the warnings. The ids of the queries are `q1`, `q2`, ....
fn search_texts(keys: &str, texts: &[&str]) -> Result<(Vec<Hits>, Vec<String>), SpecError> {
    let documents = DOCUMENTS.map(|(id, text)| Document::new(id).with_text(text));
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let index = Index::build(&documents[..], &config, &mut NoProgress).unwrap();
    let queries = texts.iter().zip(1..);
    let queries = queries.map(|(text, id)| Query::new(format!("q{id}"), *text));
    let data = IndexData::new("documents", index.into(), queries.collect());
    let spec = SystemSpec::from_toml(&format!("[[systems]]\nname = \"s\"\n{keys}"))?;
    let registry = Registry::default();
    spec.validate(&registry)?;
    let mut resources = Resources::new(Cache::temporary().unwrap());
    let mut warnings = Warnings::default();
    let open = spec.open_on(&registry, &data, &mut resources, &mut warnings)?;
    let hits = texts.iter().map(|query| {
        let ranking = open.retriever.search(query, &Search::top(10)).unwrap();
        let ids = open.retriever.ids();
        let hits = ranking.hits().iter();
        hits.map(|hit| (ids.id(hit.doc).to_owned(), f64::from(hit.score)))
            .collect()
    });
    Ok((hits.collect(), warnings.0))
}

/// Cosines of TF-IDF vectors by their definition: weights tf · (1 + ln((1 + N) / (1 + df))), as in
/// scikit-learn.
fn cosines(query: &str, tf: impl Fn(f64) -> f64) -> Hits {
    let counts = |text: &str| {
        let mut counts = BTreeMap::<String, f64>::new();
        for word in text.split(' ') {
            *counts.entry(word.to_owned()).or_default() += 1.0;
        }
        counts
    };
    let all = DOCUMENTS.map(|(_, text)| counts(text));
    let weights = |text: &str| {
        let weights = counts(text).into_iter().map(|(word, count)| {
            let df = all.iter().filter(|it| it.contains_key(&word)).count() as f64;
            let n = DOCUMENTS.len() as f64;
            let weight = tf(count) * (1.0 + ((1.0 + n) / (1.0 + df)).ln());
            (word, weight)
        });
        weights.collect::<BTreeMap<_, _>>()
    };
    let norm = |it: &BTreeMap<_, f64>| it.values().map(|w| w * w).sum::<f64>().sqrt();
    let query = weights(query);
    let scored = DOCUMENTS.iter().filter_map(|(id, text)| {
        let document = weights(text);
        let dot: f64 = query
            .iter()
            .filter_map(|(word, weight)| Some(weight * document.get(word)?))
            .sum();
        (dot > 0.0).then(|| ((*id).to_owned(), dot / norm(&query) / norm(&document)))
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    scored
}

fn assert_close(found: &[(String, f64)], expected: &[(String, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for ((id, score), (expected_id, expected)) in found.iter().zip(expected) {
        assert_eq!(id, expected_id);
        assert!((score - expected).abs() < 1e-5, "{id}: {score} {expected}");
    }
}

#[test]
fn tfidf_is_the_cosine_of_its_definition() {
    let (found, _) = search("type = \"tfidf\"").unwrap();
    let (sublinear, _) = search("type = \"tfidf\"\nsublinear = true").unwrap();
    for ((query, found), sublinear) in QUERIES.iter().zip(&found).zip(&sublinear) {
        assert_close(found, &cosines(query, |tf| tf));
        assert_close(sublinear, &cosines(query, |tf| 1.0 + tf.ln()));
    }
    assert_ne!(found, sublinear);
    // Words of one document only are no terms.
    let (frequent, _) = search("type = \"tfidf\"\nmin_df = 3").unwrap();
    assert!(frequent[2].is_empty(), "{frequent:?}");
    assert!(!frequent[0].is_empty());
}

/// With as many dimensions as documents, the projection keeps the inner products with documents:
/// scores are those of TF-IDF, times a factor that is the same for all documents of a query.
#[test]
fn lsi_of_full_rank_ranks_as_tfidf() {
    let (found, _) = search("type = \"lsi\"\ndim = 6").unwrap();
    for (query, found) in QUERIES.iter().zip(found) {
        let expected = cosines(query, |tf| tf);
        let found = &found[..expected.len()];
        let factor = found[0].1 / expected[0].1;
        assert!(factor >= 0.999, "{factor}");
        assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        let expected = expected.into_iter();
        let expected: Vec<_> = expected.map(|(id, score)| (id, score * factor)).collect();
        // Documents with the same cosine are in any order.
        let by_id = |mut hits: Hits| {
            hits.sort_by(|a, b| a.0.cmp(&b.0));
            hits
        };
        assert_close(&by_id(found.to_vec()), &by_id(expected));
    }
    let error = search("type = \"lsi\"\ndim = 7").unwrap_err().to_string();
    assert!(error.contains("systems[0].dim: "), "{error}");
}

/// With a beam as wide as the collection, the search of the graph is exact.
#[cfg(feature = "dense")]
#[test]
fn hnsw_with_a_wide_beam_is_exact() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir-dense/testdata/tiny/bert");
    let encoder = format!("encoder = {{ model = {:?} }}", model.display().to_string());
    let (exact, _) = search(&format!("type = \"dense\"\n{encoder}")).unwrap();
    let (found, _) = search(&format!("type = \"hnsw\"\nef_search = 6\n{encoder}")).unwrap();
    for (found, exact) in found.iter().zip(&exact) {
        assert_eq!(found.len(), DOCUMENTS.len());
        assert_close(found, exact);
    }
    for (wrong, expected) in [
        (
            "m = 1",
            "systems[0].m: expected a number from 2 to 1024, found 1",
        ),
        (
            "ef_search = 0",
            "systems[0].ef_search: expected at least 1, found 0",
        ),
    ] {
        let error = search(&format!("type = \"hnsw\"\n{wrong}\n{encoder}"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn sparse_vectors_are_ranked_by_inner_product() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let keys = format!(
        "type = \"sparse\"\nvectors = {:?}\nqueries = {:?}",
        path("vectors"),
        path("queries")
    );
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    let vectors = "{\"id\": \"a\", \"vector\": {\"x\": 1.5, \"y\": 2}}\n\
                   {\"id\": \"b\", \"vector\": {\"y\": 0.5}}\n\
                   {\"id\": \"c\", \"vector\": {\"z\": 4}}\n";
    write("vectors", vectors);
    let queries = "{\"id\": \"q1\", \"vector\": {\"x\": 2, \"y\": 1, \"other\": 9}}\n\
                   {\"id\": \"q2\", \"vector\": {\"y\": 4, \"z\": 0.5}}\n";
    write("queries", queries);
    let (found, warnings) = search(&keys).unwrap();
    let hit = |id: &str, score| (id.to_owned(), score);
    assert_close(&found[0], &[hit("a", 5.0), hit("b", 0.5)]);
    assert_close(&found[1], &[hit("a", 8.0), hit("b", 2.0), hit("c", 2.0)]);
    assert!(found[2].is_empty() && found[3].is_empty());
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].ends_with("has no vectors of 2 queries, such as \"q3\""),
        "{warnings:?}"
    );
    write(
        "vectors",
        &format!("\u{feff}{vectors}").replace('\n', "\r\n"),
    );
    write("queries", &format!("\u{feff}{queries}"));
    assert_eq!(search(&keys).unwrap().0, found);
    for (name, text, expected) in [
        (
            "vectors",
            format!("{vectors}{{\"id\": \"a\", \"vector\": {{}}}}\n"),
            "vectors:4: expected a unique id, found \"a\", which is also on line 1",
        ),
        (
            "queries",
            format!("{queries}{{\"id\": \"q2\", \"vector\": {{}}}}\n"),
            "queries:3: expected a unique id, found \"q2\", which is also on line 2",
        ),
        (
            "queries",
            "{\"id\": \"q1\", \"vector\": {\"other\": 1e39}}\n".to_owned(),
            "queries:1: expected finite weights of at least 0",
        ),
        (
            "vectors",
            "{\"id\": \"a\", \"vector\": {\"x\": -0.5}}\n".to_owned(),
            "vectors:1: expected finite weights of at least 0, found \"-0.5 of token x\"",
        ),
        (
            "vectors",
            "{\"id\": \"a\", \"vector\": {\"x\": 1, \"x\": 2}}\n".to_owned(),
            "vectors:1: expected one field \"x\", found two",
        ),
        (
            "vectors",
            "{\"id\": \"nobody\", \"vector\": {\"x\": 1}}\n".to_owned(),
            "expected vectors of documents of the collection, found \"nobody\"",
        ),
        ("vectors", "{\"id\": \"a\"}\n".to_owned(), "vectors:1: "),
    ] {
        write("vectors", vectors);
        write("queries", queries);
        write(name, &text);
        let error = search(&keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Vectors of other documents are left out. Documents have the order of the collection.
#[test]
fn saved_vectors_of_documents_of_the_collection() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    let files = format!(
        "vectors = {:?}\nqueries = {:?}\n",
        path("docs.json"),
        path("queries.json")
    );
    let dense = format!("type = \"dense\"\n{files}");
    write(
        "docs.json",
        "[{\"docno\": \"b\", \"emb\": [1, 0]}, {\"docno\": \"x\", \"emb\": [9, 9]},\n\
         {\"docno\": \"a\", \"emb\": [0, 1]}]",
    );
    write(
        "queries.json",
        "{\"qid\": \"q1\", \"embeddings\": [1, 0.5]}\n{\"qid\": \"q2\", \"embeddings\": [1, 1]}\n",
    );
    let texts = ["tea.milk", "ship"];
    let hit = |id: &str, score| (id.to_owned(), score);
    let left_out = "docs.json: 1 of 3 vectors are left out, of documents that the collection \
                    lacks, such as \"x\"";
    let (found, warnings) = search_texts(&dense, &texts).unwrap();
    assert_eq!(found[0], [hit("b", 1.0), hit("a", 0.5)]);
    assert_eq!(found[1], [hit("a", 1.0), hit("b", 1.0)]);
    assert!(warnings.last().unwrap().ends_with(left_out), "{warnings:?}");
    let missing = "docs.json: 4 of 6 documents have no vector and cannot be retrieved (run `ir encode` again)";
    assert!(
        warnings.iter().any(|it| it.ends_with(missing)),
        "{warnings:?}"
    );
    // Vectors of queries are found by their ids, for texts that are cleaned.
    let cleaned = format!("{dense}cleaning = {{ punctuation = true }}\n");
    assert_eq!(search_texts(&cleaned, &texts).unwrap().0, found);

    write("docs.json", "{\"id\": \"x\", \"vector\": [9, 9]}");
    let error = search_texts(&dense, &texts).unwrap_err().to_string();
    let expected =
        "systems[0].vectors: expected vectors of documents of the collection, found \"x\"";
    assert!(error.ends_with(expected), "{error}");

    for (keys, expected) in [
        (
            "template = \"{text}\"",
            "template: expected either vectors or template, found both: saved vectors have no \
             template",
        ),
        (
            "questions = \"rules\"",
            "questions: expected either vectors or questions, found both: only an encoder of the \
             documents encodes questions",
        ),
        (
            "encoder = { model = \"m\" }",
            "encoder: expected either queries or encoder, found both: both give the vectors of the \
             queries",
        ),
    ] {
        let error = search(&format!("{dense}{keys}")).unwrap_err().to_string();
        let expected = format!(": systems[0].{expected}");
        assert!(error.ends_with(&expected), "{error}");
    }

    write("docs.json", "[]");
    let error = search_texts(&dense, &texts).unwrap_err().to_string();
    let expected = "expected vectors written by `ir encode MODEL COLLECTION -o FILE.ir`, found \
                    another file";
    assert!(error.contains("systems[0].vectors: "), "{error}");
    assert!(error.ends_with(expected), "{error}");

    write(
        "docs.json",
        "{\"id\": \"x\", \"vector\": {\"v\": 1}}\n{\"id\": \"b\", \"vector\": {\"v\": 2}}\n\
         {\"id\": \"a\", \"vector\": {\"v\": 3}}\n",
    );
    write(
        "queries.json",
        "{\"id\": \"q1\", \"vector\": {\"v\": 1}}\n{\"id\": \"q2\", \"vector\": {}}\n",
    );
    let sparse = format!("type = \"sparse\"\n{files}");
    let (found, warnings) = search_texts(&sparse, &texts).unwrap();
    assert_eq!(found[0], [hit("a", 3.0), hit("b", 2.0)]);
    assert!(found[1].is_empty());
    assert!(warnings.last().unwrap().ends_with(left_out), "{warnings:?}");
}

/// Documents with equal scores have the order of the documents, whatever the order of their vectors
/// and the number of hits.
#[test]
fn the_first_hits_are_the_first_of_a_longer_ranking() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: String| std::fs::write(path(name), text).unwrap();
    let files = format!(
        "vectors = {:?}\nqueries = {:?}\n",
        path("docs"),
        path("queries")
    );
    let documents = (0..90).map(|n| Document::new(format!("d{n:02}")).with_text("tea"));
    let documents: Vec<Document> = documents.collect();
    for (kind, vector) in [("dense", "[1, V]"), ("sparse", "{\"x\": 1, \"y\": V}")] {
        let lines = (0..90).map(|n| {
            // Vectors are not in document order.
            let n = (n * 7 + 3) % 90;
            let vector = vector.replace('V', &(n % 2 + 1).to_string());
            format!("{{\"id\": \"d{n:02}\", \"vector\": {vector}}}\n")
        });
        write("docs", lines.collect());
        let query = vector.replace('V', "1");
        write(
            "queries",
            format!("{{\"id\": \"q1\", \"vector\": {query}}}\n"),
        );
        let config = IndexConfig::default().with_store(StoredFields::Everything);
        let index = Index::build(&documents[..], &config, &mut NoProgress).unwrap();
        let queries = vec![Query::new("q1", "tea")];
        let data = IndexData::new("documents", index.into(), queries);
        let spec = format!("[[systems]]\nname = \"s\"\ntype = \"{kind}\"\n{files}");
        let spec = SystemSpec::from_toml(&spec).unwrap();
        let mut resources = Resources::new(Cache::temporary().unwrap());
        let registry = Registry::default();
        let open = spec.open_on(&registry, &data, &mut resources, &mut NoProgress);
        let retriever = open.unwrap().retriever;
        let found = |k| {
            let ranking = retriever.search("tea", &Search::top(k)).unwrap();
            let hits = ranking.hits().iter();
            hits.map(|hit| retriever.ids().id(hit.doc).to_owned())
                .collect::<Vec<_>>()
        };
        let odd = (0..90).filter(|n| n % 2 == 1);
        let expected = odd.chain((0..90).filter(|n| n % 2 == 0));
        let expected: Vec<String> = expected.map(|n| format!("d{n:02}")).collect();
        assert_eq!(found(1000), expected, "{kind}");
        for k in [0, 1, 3, 44, 45, 46, 60, 90] {
            assert_eq!(found(k), expected[..k], "{kind} {k}");
        }
    }
}

/// Explanations of a weighted sum name its parts.
#[test]
fn explanations_name_the_parts() {
    let index = Index::build(
        &[Document::new("a").with_text("tea")][..],
        &IndexConfig::default(),
        &mut NoProgress,
    );
    let data = IndexData::new("documents", index.unwrap().into(), Vec::new());
    let part =
        |name: &str| format!("[[systems]]\nname = {name:?}\ntype = \"bm25\"\nhidden = true\n");
    let spec = format!(
        "{}{}[[systems]]\nname = \"h\"\ntype = \"hybrid\"\nof = [\"x\", \"y\"]\nweights = [1, 2]\n",
        part("x"),
        part("y")
    );
    let spec = SystemSpec::from_toml(&spec).unwrap();
    let mut resources = Resources::new(Cache::temporary().unwrap());
    let registry = Registry::default();
    let open = spec.open_on(&registry, &data, &mut resources, &mut NoProgress);
    let open = open.unwrap();
    let explained = open
        .retriever
        .explain("tea", ir_core::DocNum::new(0), &Search::top(1))
        .unwrap()
        .unwrap()
        .to_string();
    for name in ["x: weight × score", "y: weight × score"] {
        assert!(explained.contains(name), "{explained}");
    }
    let model = ir_bm25::Bm25::ANSERINI;
    assert_eq!(open.description.unwrap(), format!("{model} and {model}"));
}

#[test]
fn a_weighted_sum_has_no_depth() {
    let parts = "type = \"tfidf\"\nhidden = true\n\
                 [[systems]]\nname = \"h\"\ntype = \"hybrid\"\nof = [\"s\", \"s\"]\ndepth = 10\n";
    for (key, first) in [
        ("weights = [1, 1]", "weights"),
        ("fusion = \"weighted-sum\"", "fusion"),
    ] {
        let error = search(&format!("{parts}{key}")).unwrap_err().to_string();
        let expected = format!(
            "systems[1].depth: expected either {first} or depth, found both: a weighted sum is \
             exact"
        );
        assert!(error.ends_with(&expected), "{error}");
    }
}

/// A word with a period inside is one token, and two words after cleaning.
#[test]
fn queries_of_fitted_vectors_are_cleaned() {
    for keys in [
        "type = \"tfidf\"",
        "type = \"lsi\"\ndim = 2",
        "type = \"random-indexing\"\ndim = 20",
    ] {
        let hits = |keys: &str, text: &str| search_texts(keys, &[text]).unwrap().0.remove(0);
        let cleaned = format!("{keys}\ncleaning = {{ punctuation = true }}");
        assert!(hits(keys, "tea.milk").is_empty(), "{keys}");
        let expected = hits(keys, "tea milk");
        assert!(!expected.is_empty(), "{keys}");
        assert_eq!(hits(&cleaned, "tea.milk"), expected, "{keys}");
        let wrong = format!("{keys}\ncleaning = {{ parts_of_speech = [\"NOUN\"] }}");
        let error = search(&wrong).unwrap_err().to_string();
        let expected = "systems[0].cleaning.parts_of_speech: expected the key cleaning.tags";
        assert!(error.contains(expected), "{error}");
    }
}
