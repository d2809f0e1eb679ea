//! Pseudo-relevance feedback: the contract of retrievers, weights, base runs, and Anserini's runs
//! (those of query likelihood beside them).

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackError, FeedbackModel, Rm3, Rocchio};
use ir_bm25::{
    Bm25, Index, IndexConfig, IndexWriter, IndexedFields, Model, Pruning, Searcher, SegmentedIndex,
    StoredFields, WeightedTerm,
};
use ir_core::trec::{HeaderLine, ScoreFormat};
use ir_core::{DocNum, Document, NoProgress, Query, Retriever, Run, RunOrder, Search};
use ir_testkit::{check_text, toy};
use proptest::prelude::*;

fn stored() -> IndexConfig {
    IndexConfig::default().with_store(StoredFields::Everything)
}

fn searcher(documents: &[Document], config: &IndexConfig) -> Searcher {
    let index = Index::build(documents, config, &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

fn feedback(searcher: &Searcher, model: &str) -> Feedback {
    let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
    Feedback::new(searcher.clone(), own, model.parse().unwrap()).unwrap()
}

const MODELS: [&str; 5] = [
    "rm3(docs=2)",
    "rm3(docs=3,terms=4,weight=0.1,estimate=indri)",
    "rocchio(docs=2,terms=5)",
    "rocchio(docs=1,gamma=0.5,negative_docs=1,depth=3)",
    "rm3(weight=0)",
];

#[test]
fn contract() {
    for model in MODELS {
        check_text(|documents| feedback(&searcher(documents, &stored()), model));
    }
    let separate = stored().with_fields(IndexedFields::Separate);
    check_text(|documents| {
        let searcher = searcher(documents, &separate);
        let searcher = searcher.with_weights(&[("title", 2.0)]).unwrap();
        feedback(&searcher, "rm3(docs=2)")
    });
}

/// `count` documents without the words of queries, so that feedback terms are rare.
fn others(count: usize) -> impl Iterator<Item = Document> {
    (0..count).map(|n| Document::new(format!("z{n:03}")).with_text("something else entirely"))
}

#[test]
fn worked_example_of_rm3() {
    let mut documents = vec![
        Document::new("a").with_text("alpha beta beta gamma"),
        Document::new("b").with_text("alpha beta delta delta delta"),
    ];
    documents.extend(others(30));
    let config = stored().with_analysis(ir_bm25::Analysis::whitespace());
    let searcher = searcher(&documents, &config);
    let hits = searcher.search("alpha", &Search::top(5)).unwrap();
    let score: HashMap<&str, f64> = hits
        .iter()
        .map(|hit| (searcher.ids().id(hit.doc), f64::from(hit.score)))
        .collect();
    let (a, b) = (score["a"], score["b"]);
    // p(t | R) ∝ Σ p(t | d) score(d).
    let raw = [
        ("alpha", a / 4.0 + b / 5.0),
        ("beta", a / 2.0 + b / 5.0),
        ("gamma", a / 4.0),
        ("delta", b * 3.0 / 5.0),
    ];
    let sum: f64 = raw.iter().map(|(_, weight)| weight).sum();
    let found = feedback(&searcher, "rm3(weight=0.4)")
        .expand("alpha")
        .unwrap();
    assert_eq!(found.len(), 4);
    for (term, weight) in raw {
        let original = if term == "alpha" { 0.4 } else { 0.0 };
        let expected = original + 0.6 * weight / sum;
        let found = found.iter().find(|found| found.term == term).unwrap();
        assert!(
            (f64::from(found.weight) - expected).abs() < 1e-6,
            "{found:?} {expected}"
        );
    }
    // The two heaviest: beta and delta.
    let found = feedback(&searcher, "rm3(weight=0.4,terms=2)")
        .expand("alpha")
        .unwrap();
    let terms: Vec<&str> = found.iter().map(|found| found.term.as_str()).collect();
    assert_eq!((terms[0], terms.len()), ("alpha", 3));
    // Indri: weights exp(score), over all terms.
    let (wa, wb) = (a.exp(), b.exp());
    let raw = [
        wa / 4.0 + wb / 5.0,
        wa / 2.0 + wb / 5.0,
        wa / 4.0,
        wb * 3.0 / 5.0,
    ];
    let sum: f64 = raw.iter().sum();
    let found = feedback(&searcher, "rm3(weight=0,estimate=indri)")
        .expand("alpha")
        .unwrap();
    let alpha = found.iter().find(|found| found.term == "alpha").unwrap();
    assert!((f64::from(alpha.weight) - raw[0] / sum).abs() < 1e-6);
}

#[test]
fn worked_example_of_rocchio() {
    let mut documents = vec![
        Document::new("a").with_text("alpha beta beta"),
        Document::new("b").with_text("alpha alpha alpha gamma"),
    ];
    documents.extend(others(30));
    let config = stored().with_analysis(ir_bm25::Analysis::whitespace());
    let searcher = searcher(&documents, &config);
    // Unit vectors: a = (1, 2) / √5, b = (3, 1) / √10 over (alpha, beta) and (alpha, gamma).
    let mean = [
        ("alpha", (1.0 / 5_f64.sqrt() + 3.0 / 10_f64.sqrt()) / 2.0),
        ("beta", 2.0 / 5_f64.sqrt() / 2.0),
        ("gamma", 1.0 / 10_f64.sqrt() / 2.0),
    ];
    let norm = mean.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
    let found = feedback(&searcher, "rocchio").expand("alpha").unwrap();
    for (term, weight) in mean {
        let original = if term == "alpha" { 1.0 } else { 0.0 };
        let expected = original + 0.75 * weight / norm;
        let found = found.iter().find(|found| found.term == term).unwrap();
        assert!(
            (f64::from(found.weight) - expected).abs() < 1e-6,
            "{found:?} {expected}"
        );
    }
}

#[test]
fn frequent_terms_are_no_candidates() {
    // 3 of 31 documents contain "common": 0.097; of 29: 0.103.
    for (others_count, is_candidate) in [(28, true), (26, false)] {
        let mut documents = vec![
            Document::new("a").with_text("alpha common"),
            Document::new("b").with_text("common"),
            Document::new("c").with_text("common"),
        ];
        documents.extend(others(others_count));
        let searcher = searcher(&documents, &stored());
        for (model, expected) in [
            ("rm3", is_candidate),
            ("rocchio", is_candidate),
            ("rm3(estimate=indri)", true),
        ] {
            let found = feedback(&searcher, model).expand("alpha").unwrap();
            let found = found.iter().any(|found| found.term == "common");
            assert_eq!(found, expected, "{model}");
        }
    }
}

#[test]
fn external_collection() {
    // Only the external collection relates the two words.
    let mut own = vec![
        Document::new("a").with_text("alpha"),
        Document::new("b").with_text("beta"),
    ];
    own.extend(others(30));
    let mut external = vec![Document::new("x").with_text("alpha beta unknown")];
    external.extend(others(30));
    let own = searcher(&own, &IndexConfig::default());
    let error = FeedbackDocuments::stored(own.clone()).unwrap_err();
    let found = StoredFields::Nothing;
    assert_eq!(error, FeedbackError::NotStored { found });
    let external = FeedbackDocuments::stored(searcher(&external, &stored())).unwrap();
    let model = FeedbackModel::Rm3(Rm3::ANSERINI);
    let feedback = Feedback::new(own.clone(), external, model).unwrap();
    let found = feedback.search("alpha", &Search::top(10)).unwrap();
    let ids: Vec<&str> = found.iter().map(|hit| feedback.ids().id(hit.doc)).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(feedback.short_queries(), 1);
    // The same query again, and another one.
    for (query, short) in [("alpha", 1), ("beta", 2)] {
        let found = feedback.search(query, &Search::top(20)).unwrap();
        assert_eq!((found.is_empty(), feedback.short_queries()), (false, short));
    }
    // Terms that the searched index lacks are ignored.
    let terms = feedback.expand("alpha").unwrap();
    assert!(terms.iter().all(|found| found.term != "unknown"));
    assert!((terms.iter().map(|found| found.weight).sum::<f32>() - 1.0).abs() < 1e-6);
    // Texts that cannot be read.
    let texts = FeedbackDocuments::with_texts(own.clone(), |_| Err("no text".into()));
    let feedback = Feedback::new(own, texts, model).unwrap();
    let error = feedback.search("alpha", &Search::top(10)).unwrap_err();
    assert_eq!(error.to_string(), "feedback failed");
}

#[test]
fn segments_have_the_feedback_of_one_index() {
    let mut documents = toy::documents();
    documents.extend(others(30));
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    documents.dedup_by(|a, b| a.id == b.id);
    let folder = tempfile::tempdir().unwrap();
    let mut writer = IndexWriter::create(folder.path(), stored()).unwrap();
    for (n, document) in documents.iter().enumerate() {
        writer.put(document).unwrap();
        writer
            .put(&Document::new(format!("deleted {n}")).with_text("tea"))
            .unwrap();
        if n % 3 == 0 {
            writer.commit().unwrap();
        }
    }
    for n in 0..documents.len() {
        writer.delete(&format!("deleted {n}")).unwrap();
    }
    writer.commit().unwrap();
    let segmented = SegmentedIndex::open(folder.path()).unwrap();
    let segmented = segmented.searcher(Bm25::ANSERINI).unwrap();
    let whole = searcher(&documents, &stored());
    for model in MODELS {
        for query in toy::text_queries() {
            let [one, other] = [&whole, &segmented].map(|searcher| feedback(searcher, model));
            assert_eq!(one.expand(query).unwrap(), other.expand(query).unwrap());
            let search = Search::top(20);
            assert_eq!(
                one.search(query, &search).unwrap(),
                other.search(query, &search).unwrap()
            );
        }
    }
}

#[test]
fn invalid_weights() {
    let searcher = searcher(&toy::documents(), &stored());
    for weight in [-1.0, f32::NAN, f32::INFINITY] {
        let terms = [WeightedTerm::new("tea", weight)];
        let error = searcher.search_terms(&terms, &Search::top(3)).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        let expected = "weight of the term \"tea\": expected a finite number >= 0";
        assert!(source.starts_with(expected), "{source}");
        assert!(
            searcher
                .explain_terms(&terms, DocNum::new(0), &Search::top(3))
                .is_err()
        );
    }
    let none = [WeightedTerm::new("tea", 0.0)];
    assert!(
        searcher
            .search_terms(&none, &Search::top(3))
            .unwrap()
            .is_empty()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn disabled_feedback_is_the_base_run(documents in toy::collections(), k in 0_usize..20) {
        let searcher = searcher(&documents, &stored());
        for model in ["rm3(weight=1)", "rm3(weight=1,estimate=indri)", "rocchio(beta=0)"] {
            let feedback = feedback(&searcher, model);
            for query in toy::text_queries() {
                let base = searcher.search(query, &Search::top(k)).unwrap();
                // Not only documents: scores bit for bit.
                prop_assert_eq!(feedback.search(query, &Search::top(k)).unwrap(), base);
            }
        }
    }

    #[test]
    fn weights_of_rm3_sum_to_1(
        documents in toy::collections(), docs in 1_usize..5, terms in 1_usize..8,
        weight in 0.0_f32..0.99, indri: bool,
    ) {
        let mut documents = documents;
        documents.extend(others(20));
        let searcher = searcher(&documents, &stored());
        let estimate = if indri { Rm3::INDRI.estimate } else { Rm3::ANSERINI.estimate };
        let model = FeedbackModel::Rm3(Rm3 { docs, terms, weight, estimate });
        let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
        let feedback = Feedback::new(searcher.clone(), own, model).unwrap();
        for query in toy::text_queries() {
            let expanded = feedback.expand(query).unwrap();
            let original = searcher.query_terms(query);
            if expanded == original {
                continue;
            }
            let sum: f64 = expanded.iter().map(|term| f64::from(term.weight)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-5, "{} {}", query, sum);
            prop_assert!(expanded.iter().all(|term| term.weight >= 0.0));
            prop_assert!(expanded.len() <= original.len() + terms);
        }
    }

    #[test]
    fn weighted_terms(
        documents in toy::collections(), weights in prop::collection::vec(0.0_f32..3.0, 6),
        k in 1_usize..20,
    ) {
        let searcher = searcher(&documents, &stored());
        let slow = searcher.clone().with_pruning(Pruning::Exhaustive);
        let search = Search::top(k);
        for query in toy::text_queries() {
            // Counts as weights are the text query.
            let mut terms = searcher.query_terms(query);
            let found = searcher.search_terms(&terms, &search).unwrap();
            prop_assert_eq!(&found, &searcher.search(query, &search).unwrap());
            for (term, &weight) in terms.iter_mut().zip(weights.iter().cycle()) {
                term.weight = weight;
            }
            let found = searcher.search_terms(&terms, &search).unwrap();
            prop_assert_eq!(&found, &slow.search_terms(&terms, &search).unwrap());
            for hit in &found {
                let why = searcher.explain_terms(&terms, hit.doc, &search).unwrap().unwrap();
                prop_assert_eq!(why.score(), hit.score);
                let sum: f64 = why.details.iter().map(|term| term.value).sum();
                prop_assert_eq!(sum as f32, hit.score);
            }
        }
    }
}

#[test]
fn rocchio_of_unit_vectors() {
    let mut documents = toy::documents();
    documents.extend(others(30));
    let searcher = searcher(&documents, &stored());
    let model = FeedbackModel::Rocchio(Rocchio {
        alpha: 0.0,
        beta: 1.0,
        ..Rocchio::ANSERINI
    });
    let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
    let feedback = Feedback::new(searcher.clone(), own, model).unwrap();
    for query in toy::text_queries() {
        let expanded = feedback.expand(query).unwrap();
        if expanded != searcher.query_terms(query) {
            let norm: f64 = expanded
                .iter()
                .map(|term| f64::from(term.weight).powi(2))
                .sum();
            assert!((norm - 1.0).abs() < 1e-5, "{query}: {norm}");
        }
    }
}

fn testdata(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/anserini-feedback");
    folder.join(name)
}

/// The judgments of a BEIR folder.
fn judgments(folder: &Path) -> BTreeMap<String, HashMap<String, i64>> {
    let mut judged: BTreeMap<String, HashMap<String, i64>> = BTreeMap::new();
    let text = std::fs::read_to_string(folder.join("qrels/test.tsv")).unwrap();
    for line in text.lines().skip(1) {
        let [query, doc, grade] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let grade = grade.trim().parse().unwrap();
        judged
            .entry(query.to_owned())
            .or_default()
            .insert(doc.to_owned(), grade);
    }
    judged
}

/// nDCG@10, R@100 and MAP as trec_eval computes them with `-c`.
fn measures(run: &Run, judged: &BTreeMap<String, HashMap<String, i64>>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (query, grades) in judged {
        let list = run.get(query).unwrap_or_default();
        let ranked = RunOrder::default().ranked(list);
        let gains: Vec<f64> = (ranked.iter())
            .map(|scored| grades.get(&scored.doc).copied().unwrap_or(0) as f64)
            .collect();
        let mut ideal: Vec<f64> = grades.values().map(|&grade| grade as f64).collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let dcg = |gains: &[f64]| -> f64 {
            let gains = gains.iter().zip(2_u32..).take(10);
            gains
                .map(|(gain, rank)| gain / f64::from(rank).log2())
                .sum()
        };
        let relevant = ideal.iter().filter(|gain| **gain > 0.0).count() as f64;
        if relevant == 0.0 {
            continue;
        }
        sums[0] += dcg(&gains) / dcg(&ideal);
        let hits = |depth: usize| gains.iter().take(depth).filter(|gain| **gain > 0.0).count();
        sums[1] += hits(100) as f64 / relevant;
        let precisions = (1..=gains.len()).filter(|&rank| gains[rank - 1] > 0.0);
        sums[2] += precisions
            .map(|rank| hits(rank) as f64 / rank as f64)
            .sum::<f64>()
            / relevant;
    }
    sums.map(|sum| sum / judged.len() as f64)
}

/// A run as Anserini writes it, read again.
fn written(mut run: Run, remove_query: bool) -> Run {
    if remove_query {
        run.remove_identical_ids();
    }
    let mut bytes = Vec::new();
    ir_core::trec::write_run(&run, ScoreFormat::Anserini, &mut bytes).unwrap();
    let read = ir_core::trec::read_run(&bytes[..], "run", HeaderLine::AsData);
    read.unwrap().data
}

/// The rows of a file without comments.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut reader = flate2::read::GzDecoder::new(File::open(path).unwrap());
        reader.read_to_string(&mut text).unwrap();
    } else {
        text = std::fs::read_to_string(path).unwrap();
    }
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// Compares the runs of a collection with Anserini's.
fn as_in_anserini(collection: &str) {
    let Some(folder) = crate::common::data() else {
        return;
    };
    let folder = folder.join("beir").join(collection);
    let judged = judgments(&folder);
    let queries: Vec<Query> = crate::common::records(&folder, "queries")
        .into_iter()
        .filter(|query| judged.contains_key(&query.id))
        .map(|query| Query::new(query.id, query.text))
        .collect();
    assert_eq!(queries.len(), judged.len());
    let index = Index::build(&crate::common::corpus(&folder), &stored(), &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let figures = rows(&testdata("figures.tsv"));
    let (mut compared, mut files) = (0, 0);
    for row in figures.iter().filter(|row| row[0] == collection) {
        let model = row[1].as_str();
        let run = match model {
            "bm25" => Run::from_retriever("bm25", &searcher, &queries, 1000),
            model if model.starts_with("ql") => {
                let searcher = index.searcher(model.parse::<Model>().unwrap()).unwrap();
                Run::from_retriever(model, &searcher, &queries, 1000)
            }
            model => Run::from_retriever("bm25", &feedback(&searcher, model), &queries, 1000),
        };
        let run = written(run.unwrap(), collection == "arguana");
        let found = measures(&run, &judged);
        eprintln!("{collection} {model}: {found:.5?}");
        for (found, expected) in found.iter().zip(&row[3..]) {
            let expected: f64 = expected.parse().unwrap();
            assert!(
                (found - expected).abs() <= 0.0005,
                "{model}: {found}, Anserini {expected}"
            );
        }
        if row[2] != "-" {
            compare_top10(model, &run, &rows(&testdata(&row[2])));
            files += 1;
        }
        compared += 1;
    }
    assert_eq!((compared, files), (6, 3), "runs and files of {collection}");
}

/// Compares documents and scores of the first ten hits. Documents with equal scores may be ordered
/// differently; every document of the reference has its score in the run.
fn compare_top10(model: &str, run: &Run, expected: &[Vec<String>]) {
    let mut lists: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
    for row in expected {
        let list = lists.entry(&row[0]).or_default();
        list.push((row[2].parse().unwrap(), &row[1]));
    }
    assert_eq!(run.len(), lists.len(), "{model}");
    let mut different = 0;
    for (query, expected) in &lists {
        let list = run.get(query).unwrap();
        assert!(list.len() >= expected.len(), "{model} {query}");
        for (scored, (score, doc)) in list.iter().zip(expected) {
            let tied = (scored.score - score).abs() <= 2e-4;
            assert!(tied, "{model} {query}: {scored:?}, Anserini {doc} {score}");
            if scored.doc != *doc {
                let found = list.iter().find(|scored| scored.doc == *doc);
                let found = found.map_or(f64::NAN, |scored| scored.score);
                let tied = (found - score).abs() <= 2e-4;
                assert!(tied, "{model} {query}: {doc} {found}, Anserini {score}");
                different += 1;
            }
        }
    }
    eprintln!("{model}: {different} documents at other ranks, with equal scores");
}

#[test]
fn nfcorpus_is_as_in_anserini() {
    as_in_anserini("nfcorpus");
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "slow without optimization: .ci/full runs it"
)]
fn arguana_is_as_in_anserini() {
    as_in_anserini("arguana");
}
