//! What holds for every scoring model: the contract, pruning, segments, explanations, names.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::common::built;
use ir_bm25::models::{
    NAMED_MODELS, ParameterRange, ScoringModel, TermBound, TermScorer, TermStatistics,
};
use ir_bm25::{
    Analysis, Bm25, DocLengths, IndexConfig, IndexWriter, IndexedFields, Model, Pruning, Searcher,
    SearcherError, SegmentedIndex,
};
use ir_core::{DocNum, DocSet, Document, Explanation, Retriever, Search};
use ir_testkit::check_text;
use proptest::prelude::*;

/// Every model by name, with the defaults and both precisions of lengths.
fn all_models() -> Vec<Model> {
    let named = NAMED_MODELS.iter().flat_map(|model| {
        let all = [DocLengths::OneByte, DocLengths::Exact];
        all.map(|lengths| Model::named(model.name, &[], Some(lengths)).unwrap())
    });
    named.collect()
}

/// Parameters near the ends of their ranges.
fn extreme_models() -> Vec<Model> {
    let mut models = Vec::new();
    for model in NAMED_MODELS {
        for parameter in model.parameters {
            let values: &[f32] = match parameter.range {
                ParameterRange::Fraction => &[0.0, 1.0],
                ParameterRange::PositiveFraction => &[1e-6, 1.0],
                ParameterRange::Positive => &[1e-30, 1e-3, 1e6],
                _ => &[0.0, 1e6],
            };
            for &value in values {
                models.push(Model::named(model.name, &[(parameter.name, value)], None).unwrap());
            }
        }
    }
    models
}

#[test]
fn every_model_keeps_the_contract() {
    for model in all_models() {
        check_text(|documents: &[Document]| {
            built(documents, IndexConfig::default())
                .searcher(model.clone())
                .unwrap()
        });
        let fields = IndexConfig::default().with_fields(IndexedFields::Separate);
        check_text(|documents: &[Document]| {
            let searcher = built(documents, &fields).searcher(model.clone()).unwrap();
            searcher.with_weights(&[("title", 2.5)]).unwrap()
        });
    }
}

#[test]
fn extreme_parameters_keep_the_contract() {
    for model in extreme_models() {
        check_text(|documents: &[Document]| {
            built(documents, IndexConfig::default())
                .searcher(model.clone())
                .unwrap()
        });
    }
}

/// Words of very different frequencies; many documents of the same text.
fn document(n: usize, (a, b, c, filling): (usize, usize, usize, usize)) -> Document {
    let mut text = "a ".repeat(a) + &"b ".repeat(b) + &"c ".repeat(c);
    if n.is_multiple_of(23) {
        text.push_str("rare ");
    }
    if n == 17 {
        text.push_str("unique ");
    }
    Document::new(format!("d{n:05}")).with_text(text + &"filling ".repeat(filling))
}

pub(crate) fn documents(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Document>> {
    let tf = || prop_oneof![6 => Just(1_usize), 3 => Just(0), 1 => 2..9_usize, 1 => 9..60_usize];
    let filling = prop_oneof![4 => 0..6_usize, 2 => 0..40_usize, 1 => 0..3000_usize];
    prop::collection::vec((tf(), tf(), tf(), filling), sizes).prop_map(|all| {
        let all = all.into_iter().enumerate();
        all.map(|(n, shape)| document(n, shape)).collect()
    })
}

const DEPTHS: [usize; 3] = [1, 10, 101];
pub(crate) const QUERIES: [&str; 7] = [
    "a",
    "rare",
    "a b",
    "unique b b",
    "rare c a c",
    "filling unique",
    // More terms than block-max MaxScore takes.
    "a b c rare unique filling a x b x c q1 q2 q3 q4 q5 q6 q7 q8 q9 q10 q11 q12 q13",
];

pub(crate) fn config() -> IndexConfig {
    IndexConfig::default().with_analysis(Analysis::whitespace())
}

/// Compares rankings at `depths` with exhaustive search and with the rankings of `expected`.
pub(crate) fn check_pruning(searcher: &Searcher, expected: Option<&Searcher>, depths: &[usize]) {
    let some = |doc: DocNum| doc.get() % 3 != 1;
    let few: DocSet = (0..searcher.index().len() as u32)
        .step_by(29)
        .map(DocNum::new)
        .collect();
    let exhaustive = searcher.clone().with_pruning(Pruning::Exhaustive);
    for query in QUERIES {
        for &k in depths {
            for search in [
                Search::top(k),
                Search::top(k).within(&some),
                Search::top(k).within(&few),
            ] {
                let found = searcher.search(query, &search).unwrap();
                let all = exhaustive.search(query, &search).unwrap();
                assert_eq!(found, all, "{}, {query}, k = {k}", searcher.model());
                if let Some(expected) = expected {
                    let expected = expected.search(query, &search).unwrap();
                    assert_eq!(found, expected, "{}, {query}, k = {k}", searcher.model());
                }
            }
        }
        let ranking = searcher.search(query, &Search::top(3)).unwrap();
        for hit in &ranking {
            let why = searcher.explain(query, hit.doc, &Search::top(3)).unwrap();
            let why = why.unwrap();
            let sum: f64 = why.details.iter().map(|term| term.value).sum();
            assert_eq!((why.score(), sum as f32), (hit.score, hit.score));
        }
    }
}

/// Writes an index of `documents` in so many segments.
pub(crate) fn written(folder: &Path, documents: &[Document], segments: usize) -> IndexWriter {
    let writer = IndexWriter::create(folder, config()).unwrap();
    let mut writer = writer.with_merge_factor(100);
    for batch in documents.chunks(documents.len().div_ceil(segments)) {
        for document in batch {
            writer.put(document).unwrap();
        }
        writer.commit().unwrap();
    }
    writer
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn pruned_equals_exhaustive(documents in documents(1..1500)) {
        let index = built(&documents, config());
        for model in all_models().into_iter().chain(extreme_models()) {
            check_pruning(&index.searcher(model).unwrap(), None, &DEPTHS);
        }
    }

    #[test]
    fn segments_equal_one_index(
        mut left in documents(50..600),
        segments in 1..4_usize,
        deleted in 0..40_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = written(folder.path(), &left, segments);
        for document in left.drain(..deleted) {
            prop_assert!(writer.delete(&document.id).unwrap());
        }
        writer.commit().unwrap();
        let index = SegmentedIndex::open(folder.path()).unwrap();
        let whole = built(&left, config());
        for model in all_models() {
            let expected = whole.searcher(model.clone()).unwrap();
            check_pruning(&index.searcher(model).unwrap(), Some(&expected), &DEPTHS);
        }
    }
}

/// BM25 as Lucene computes it, through the seam.
#[derive(Debug)]
struct SlowBm25(Bm25);

#[derive(Debug)]
struct SlowBm25Term {
    weight: f32,
    bm25: Bm25,
    average: f32,
}

impl ScoringModel for SlowBm25 {
    fn name(&self) -> String {
        "slow".to_owned()
    }

    fn lengths(&self) -> DocLengths {
        self.0.lengths
    }

    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer> {
        let (n, df) = (term.documents as f64, term.df as f64);
        let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32;
        Box::new(SlowBm25Term {
            weight: term.boost() * idf,
            bm25: self.0,
            average: term.average_length() as f32,
        })
    }
}

impl TermScorer for SlowBm25Term {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let Bm25 { k1, b, .. } = self.bm25;
        let inverse = 1.0 / (k1 * ((1.0 - b) + b * length as f32 / self.average));
        self.weight - self.weight / (1.0 + tf as f32 * inverse)
    }

    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }
}

/// Contributions from -1 to 1, of which only an upper bound or nothing is known.
#[derive(Debug, Clone, Copy)]
struct Uneven(TermBound);

impl ScoringModel for Uneven {
    fn name(&self) -> String {
        "uneven".to_owned()
    }

    fn term_scorer(&self, _: &TermStatistics) -> Box<dyn TermScorer> {
        Box::new(*self)
    }
}

impl TermScorer for Uneven {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let wave = (f64::from(tf) * 1.7 + f64::from(length)).sin() as f32;
        match self.0 {
            TermBound::Unknown => wave,
            _ => wave.abs(),
        }
    }

    fn bound(&self) -> TermBound {
        self.0
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_model_of_the_user_has_the_same_rights(documents in documents(1..1500)) {
        let index = built(&documents, config());
        for bm25 in [Bm25::ANSERINI, Bm25::LUCENE.with_lengths(DocLengths::Exact)] {
            let fast = index.searcher(bm25).unwrap();
            check_pruning(&index.searcher(SlowBm25(bm25)).unwrap(), Some(&fast), &DEPTHS);
        }
        for bound in [TermBound::AtMost(1.0), TermBound::Unknown] {
            check_pruning(&index.searcher(Uneven(bound)).unwrap(), None, &DEPTHS);
        }
    }
}

/// The parts of a hit's explanation.
fn texts(explanation: &Explanation, to: &mut Vec<String>) {
    to.push(explanation.description.clone());
    explanation.details.iter().for_each(|part| texts(part, to));
}

#[test]
fn explanations_have_the_formula_and_its_values() {
    let documents: Vec<_> = (0..40).map(|n| document(n, (1, n % 3, 0, n))).collect();
    let index = built(&documents, config());
    for model in all_models() {
        let searcher = index.searcher(model.clone()).unwrap();
        let hit = searcher.search("a b", &Search::top(1)).unwrap().hits()[0];
        let why = searcher.explain("a b", hit.doc, &Search::top(1)).unwrap();
        let mut parts = Vec::new();
        texts(&why.unwrap(), &mut parts);
        assert!(parts.iter().any(|part| part.starts_with("contents:a: ")));
        assert!(parts.iter().any(|part| part.starts_with("tf: ")), "{model}");
        assert!(parts.iter().any(|part| part.starts_with("length: ")));
        // Every parameter is printed, but k3, which is in the boost.
        let name = model.to_string();
        let (_, parameters) = name.split_once('(').unwrap();
        for parameter in parameters.split(',') {
            let (parameter, _) = parameter.split_once('=').unwrap();
            let has = |part: &String| part == parameter || part.contains("k3");
            let known = ["lengths", "k3"].contains(&parameter) || parts.iter().any(has);
            assert!(known, "{model} does not print {parameter}: {parts:?}");
        }
    }
}

/// Smoothing with the collection alone does not distinguish documents; without a mixture, two-stage
/// smoothing is that of Dirichlet, and without pseudo-counts nearly that of Jelinek-Mercer.
#[test]
fn limits_of_smoothing() {
    let documents: Vec<_> = (0..40).map(|n| document(n, (n % 5, n % 3, 1, n))).collect();
    let index = built(&documents, config());
    let ranking = |model: &str| {
        let model: Model = model.parse().unwrap();
        let searcher = index.searcher(model).unwrap();
        searcher.search("a b rare", &Search::top(40)).unwrap()
    };
    for model in ["qld(mu=1e12)", "qljm(lambda=1)"] {
        let hits = ranking(model);
        assert!(hits.iter().all(|hit| hit.score < 1e-6), "{model}");
    }
    assert!(ranking("qld(mu=10)").hits()[0].score > 0.5);
    // The probability of the query in the collection.
    let texts = documents.iter().map(|document| document.text.split(' '));
    let tokens: Vec<&str> = texts.flatten().filter(|token| !token.is_empty()).collect();
    let count = |term| tokens.iter().filter(|token| **token == term).count() as f64;
    assert_eq!((count("a"), count("b"), count("rare")), (80.0, 39.0, 2.0));
    let in_collection = (80.0 * 39.0 * 2.0 / (tokens.len() as f64).powi(3)).ln();
    for model in [
        "indri-dirichlet(mu=1e12)",
        "indri-jelinek-mercer(lambda=1)",
        "two-stage(lambda=1)",
    ] {
        let hits = ranking(model);
        let is_near = |score: f32| (f64::from(score) - in_collection).abs() < 1e-5;
        assert!(hits.iter().all(|hit| is_near(hit.score)), "{model}");
    }
    let dirichlet = ranking("indri-dirichlet(mu=10)");
    assert_eq!(ranking("two-stage(mu=10,lambda=0)"), dirichlet);
    let spread = dirichlet.hits()[0].score - dirichlet.hits()[9].score;
    assert!(spread > 0.5, "{spread}");
    let mercer = ranking("indri-jelinek-mercer(lambda=0.3)");
    for hit in &ranking("two-stage(mu=1e-6,lambda=0.3)") {
        let same = mercer.iter().find(|other| other.doc == hit.doc).unwrap();
        assert!((same.score - hit.score).abs() < 1e-5, "{hit:?} {same:?}");
    }
}

/// Lucene's Jelinek-Mercer smoothing ranks nearly as the log-likelihood: its scores differ by a
/// constant of the query, but for the estimate of `p`.
#[test]
fn jelinek_mercer_differs_by_a_constant() {
    let documents: Vec<_> = (0..40).map(|n| document(n, (n % 5, n % 3, 1, n))).collect();
    let index = built(&documents, config());
    let ranking = |model: &str| {
        let model: Model = model.parse().unwrap();
        let searcher = index.searcher(model).unwrap();
        searcher.search("a b", &Search::top(40)).unwrap()
    };
    let lucene = ranking("qljm(lambda=0.4,lengths=exact)");
    let indri = ranking("indri-jelinek-mercer(lambda=0.4)");
    let constant = lucene.hits()[0].score - indri.hits()[0].score;
    assert!(constant > 5.0, "{constant}");
    for hit in &indri {
        let same = lucene.iter().find(|other| other.doc == hit.doc).unwrap();
        assert!((same.score - hit.score - constant).abs() < 0.1);
    }
}

#[test]
fn names_are_read_as_they_are_printed() {
    for model in all_models().into_iter().chain(extreme_models()) {
        let text = model.to_string();
        let read: Model = text.parse().unwrap();
        assert_eq!(read.to_string(), text);
    }
    for (alias, name) in [
        ("QL", "qld"),
        ("Dirichlet", "qld"),
        ("jm", "qljm"),
        ("In_expB2", "in_expb2"),
        ("twostage", "two-stage"),
        ("DirichletLM", "qld"),
        ("jelinek-mercer", "qljm"),
        ("InExpB2", "in_expb2"),
        ("DFRee", "dfree"),
        ("TF-IDF", "tfidf"),
        ("Terrier_TFIDF", "terrier-tfidf"),
        ("indri-tf-idf", "indri-tfidf"),
        ("IndriDirichlet", "indri-dirichlet"),
        ("indri-jm", "indri-jelinek-mercer"),
        ("indri-two-stage", "two-stage"),
        ("ClassicSimilarity", "tfidf"),
        ("bm25plus", "bm25+"),
        ("okapi", "robertson"),
        ("lucene", "bm25"),
    ] {
        let model: Model = alias.parse().unwrap();
        assert!(
            model.to_string().starts_with(&format!("{name}(")),
            "{alias}"
        );
    }
    let model: Model = " qld ( mu = 250 , lengths = exact ) ".parse().unwrap();
    assert_eq!(model.to_string(), "qld(mu=250,lengths=exact)");
}

#[test]
fn wrong_names_and_parameters_are_rejected() {
    let message = |text: &str| text.parse::<Model>().unwrap_err().to_string();
    for (found, nearest) in [
        ("dhp", "dph"),
        ("pl22", "pl2"),
        ("qldd", "qld"),
        ("bm52", "bm25"),
    ] {
        let hint = format!("found {found:?} (did you mean {nearest}?)");
        assert!(message(found).ends_with(&hint), "{}", message(found));
    }
    assert!(message("word2vec").ends_with("found \"word2vec\""));
    for name in ["TF_IDF", "tf_idf"] {
        let expected = format!(
            "expected an unambiguous scoring model, found {name:?}: terrier-tfidf is TF_IDF of \
             Terrier, tfidf is TF-IDF of Lucene's ClassicSimilarity"
        );
        assert_eq!(message(name), expected);
    }
    assert!(message("").starts_with("expected a scoring model (bm25, atire"));
    assert_eq!(
        message("dph(c=1)"),
        "expected no parameter of dph, found \"c\""
    );
    assert_eq!(
        message("two-stage(nu=1)"),
        "expected a parameter of two-stage (mu, lambda), found \"nu\" (did you mean mu?)"
    );
    assert_eq!(
        message("two-stage(lamda=1)"),
        "expected a parameter of two-stage (mu, lambda), found \"lamda\" (did you mean lambda?)"
    );
    // Not b, which is as near as any letter.
    assert_eq!(
        message("bm25(c=1)"),
        "expected a parameter of bm25 (k1, b), found \"c\""
    );
    for text in [
        "qld(",
        "qld(mu)",
        "qld(mu=x)",
        "qld(lengths=short)",
        "qld(mu=1",
    ] {
        let error = text.parse::<Model>().unwrap_err();
        assert!(matches!(error, SearcherError::ModelSyntax { .. }), "{text}");
    }
    for (text, expected) in [
        ("qld(mu=0)", "mu: expected a finite number > 0, found 0"),
        ("qld(mu=inf)", "mu: expected a finite number > 0, found inf"),
        (
            "qljm(lambda=0)",
            "lambda: expected a number > 0, at most 1, found 0",
        ),
        (
            "two-stage(lambda=1.5)",
            "lambda: expected a number from 0 to 1, found 1.5",
        ),
        ("pl2(c=-1)", "c: expected a finite number > 0, found -1"),
        (
            "pivoted(s=NaN)",
            "s: expected a number from 0 to 1, found NaN",
        ),
        (
            "robertson(k3=-1)",
            "k3: expected a number >= 0 or inf, found -1",
        ),
        ("bm25(b=2)", "b: expected a number from 0 to 1, found 2"),
    ] {
        assert_eq!(message(text), expected);
    }
    // Values that did not pass through the names are checked by the searcher.
    let index = built(&[], config());
    let mut model = ir_bm25::models::Dirichlet::default();
    model.mu = -1.0;
    assert!(index.searcher(model).is_err());
}
