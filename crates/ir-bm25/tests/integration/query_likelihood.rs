//! Query likelihood of Indri: equal to a slow scan of the texts, over fields and weights; phrases;
//! the weights of RM3 that follow from it; a user's own model with a summand of the document.

#![allow(clippy::unwrap_used)]

use crate::common::built;
use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::models::{
    DocumentScorer, IndriDirichlet, IndriJelinekMercer, ScoringModel, TermScorer, TermStatistics,
    TwoStage,
};
use ir_bm25::{
    Analysis, DocLengths, Index, IndexConfig, IndexedFields, Model, Pruning, QuerySyntax,
    StoredFields, StructuredQuery, StructuredSearcher, WeightedTerm,
};
use ir_core::{DocNum, DocSet, Document, Retriever, Search};
use ir_testkit::check_text;
use proptest::prelude::*;

/// The last one is in no document.
const WORDS: [&str; 7] = ["tea", "milk", "leaf", "water", "cup", "rare", "absent"];

fn config(fields: IndexedFields) -> IndexConfig {
    IndexConfig::default()
        .with_analysis(Analysis::whitespace())
        .with_fields(fields)
        .with_positions(true)
}

fn text(words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
    words.join(" ")
}

/// Titles and texts; "rare" is in few.
fn collection() -> impl Strategy<Value = Vec<Document>> {
    let words = |most: usize| {
        let word = prop_oneof![30 => 0..5_usize, 1 => Just(5)];
        prop_oneof![
            3 => prop::collection::vec(word.clone(), 0..=most),
            1 => prop::collection::vec(word, 0..=8 * most),
        ]
    };
    prop::collection::vec((words(4), words(20)), 1..60).prop_map(|all| {
        let all = all.into_iter().enumerate();
        all.map(|(n, (title, body))| {
            Document::new(format!("d{n:03}"))
                .with_title(text(&title))
                .with_text(text(&body))
        })
        .collect()
    })
}

/// A smoothing method: the probability of a term from tf, length and p.
#[derive(Debug, Clone, Copy)]
enum Method {
    Dirichlet(f64),
    JelinekMercer(f64),
    TwoStage(f64, f64),
}

impl Method {
    const ALL: [Self; 4] = [
        Self::Dirichlet(2500.0),
        Self::Dirichlet(3.0),
        Self::JelinekMercer(0.4),
        Self::TwoStage(20.0, 0.25),
    ];

    fn model(self) -> Model {
        match self {
            Self::Dirichlet(mu) => IndriDirichlet::new(mu as f32).into(),
            Self::JelinekMercer(lambda) => IndriJelinekMercer::new(lambda as f32).into(),
            Self::TwoStage(mu, lambda) => TwoStage::new(mu as f32, lambda as f32).into(),
        }
    }

    fn probability(self, tf: f64, length: f64, p: f64) -> f64 {
        let dirichlet = |mu: f64| (tf + mu * p) / (length + mu);
        // As in Indri, a text without tokens has no terms.
        let relative = if length > 0.0 { tf / length } else { 0.0 };
        match self {
            Self::Dirichlet(mu) => dirichlet(mu),
            Self::JelinekMercer(lambda) => {
                let lambda = f64::from(lambda as f32);
                (1.0 - lambda) * relative + lambda * p
            }
            Self::TwoStage(mu, lambda) => (1.0 - lambda) * dirichlet(mu) + lambda * p,
        }
    }
}

fn count(text: &str, word: &str) -> f64 {
    text.split_whitespace()
        .filter(|other| *other == word)
        .count() as f64
}

fn length(text: &str) -> f64 {
    text.split_whitespace().count() as f64
}

/// The log-likelihood of weighted terms in every document, over the texts of some fields with
/// weights; [`None`] for documents without a term.
fn likelihoods(
    method: Method,
    fields: &[(f64, Vec<String>)],
    terms: &[(usize, f64)],
) -> Vec<Option<f64>> {
    let documents = fields[0].1.len();
    let mut sums = vec![0.0; documents];
    let mut is_match = vec![false; documents];
    for (weight, texts) in fields {
        let tokens: f64 = texts.iter().map(|text| length(text)).sum();
        if tokens == 0.0 {
            continue;
        }
        for &(word, count_in_query) in terms {
            let cf: f64 = texts.iter().map(|text| count(text, WORDS[word])).sum();
            let p = if cf > 0.0 { cf } else { 0.5 } / tokens;
            for (doc, text) in texts.iter().enumerate() {
                let tf = count(text, WORDS[word]);
                is_match[doc] |= tf > 0.0;
                let probability = method.probability(tf, length(text), p);
                sums[doc] += weight * count_in_query * probability.ln();
            }
        }
    }
    let all = sums.into_iter().zip(is_match);
    all.map(|(sum, is_match)| is_match.then_some(sum)).collect()
}

fn weighted(terms: &[(usize, f64)]) -> Vec<WeightedTerm> {
    let terms = terms.iter();
    terms
        .map(|&(word, weight)| WeightedTerm::new(WORDS[word], weight as f32))
        .collect()
}

fn query() -> impl Strategy<Value = Vec<(usize, f64)>> {
    let weights = prop_oneof![Just(1.0), Just(2.0), Just(0.25)];
    prop::collection::btree_map(0..WORDS.len(), weights, 1..5)
        .prop_map(|terms| terms.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn scores_are_those_of_a_slow_scan(documents in collection(), terms in query()) {
        let texts = |of: fn(&Document) -> String| documents.iter().map(of).collect::<Vec<_>>();
        let title = || texts(|document| document.title.to_string());
        let body = || texts(|document| document.text.to_string());
        let both = texts(|document| format!("{}\n{}", document.title, document.text));
        let one = built(&documents, config(IndexedFields::One));
        let separate = built(&documents, config(IndexedFields::Separate));
        for method in Method::ALL {
            let searcher = one.searcher(method.model()).unwrap();
            let with_fields = separate.searcher(method.model()).unwrap();
            let weights = [("title", 2.5), ("text", 0.5)];
            let with_weights = with_fields.clone().with_weights(&weights).unwrap();
            let title_only = with_fields.clone().with_weights(&[("text", 0.0)]).unwrap();
            for (searcher, fields) in [
                (searcher, vec![(1.0, both.clone())]),
                (with_fields, vec![(1.0, title()), (1.0, body())]),
                (with_weights, vec![(2.5, title()), (0.5, body())]),
                (title_only, vec![(1.0, title())]),
            ] {
                let expected = likelihoods(method, &fields, &terms);
                let query = weighted(&terms);
                let all = Search::top(documents.len());
                let ranking = searcher.search_terms(&query, &all).unwrap();
                prop_assert_eq!(ranking.len(), expected.iter().flatten().count());
                for hit in &ranking {
                    let expected = expected[hit.doc.index()].unwrap();
                    let difference = (f64::from(hit.score) - expected).abs();
                    prop_assert!(
                        difference < 1e-5 * (1.0 + expected.abs()),
                        "{method:?}, {terms:?}: {hit:?}, expected {expected}"
                    );
                    let why = searcher.explain_terms(&query, hit.doc, &all).unwrap().unwrap();
                    let sum: f64 = why.details.iter().map(|detail| detail.value).sum();
                    prop_assert_eq!((why.score(), sum as f32), (hit.score, hit.score));
                }
                let even: DocSet = (0..60).step_by(2).map(DocNum::new).collect();
                let kept: Vec<_> = ranking.iter().filter(|hit| hit.doc.get() % 2 == 0).collect();
                for k in [1, 2, 7] {
                    let first = searcher.search_terms(&query, &Search::top(k)).unwrap();
                    prop_assert_eq!(first.iter().collect::<Vec<_>>(), ranking.iter().take(k).collect::<Vec<_>>());
                    let of_even = searcher.search_terms(&query, &Search::top(k).within(&even)).unwrap();
                    prop_assert_eq!(of_even.iter().collect::<Vec<_>>(), kept.iter().take(k).copied().collect::<Vec<_>>());
                }
            }
        }
    }
}

/// The formula of the query likelihood, worked by hand.
#[test]
fn worked_example() {
    let documents = [
        Document::new("a").with_text("tea tea leaf"),
        Document::new("b").with_text("tea milk"),
        Document::new("c").with_text("water water water cup cup"),
    ];
    let index = built(&documents, config(IndexedFields::TextOnly));
    let search = |model: &str, query: &str| {
        let searcher = index.searcher(model.parse::<Model>().unwrap()).unwrap();
        let ranking = searcher.search(query, &Search::top(10)).unwrap();
        let hits = ranking.iter();
        hits.map(|hit| (index.ids().id(hit.doc).to_owned(), hit.score))
            .collect::<Vec<_>>()
    };
    // |C| = 10; tea 3, milk 1, absent 1/2. a: ln((2 + 4 · 3/10) / 7) + ln((0 + 4 · 1/10) / 7)
    // = ln(3.2 / 7) + ln(0.4 / 7); b: ln(2.2 / 6) + ln(1.4 / 6).
    let (a, b) = ((3.2 * 0.4 / 49.0_f64).ln(), (2.2 * 1.4 / 36.0_f64).ln());
    let found = search("indri-dirichlet(mu=4)", "tea milk");
    assert_eq!(
        found,
        [("b".to_owned(), b as f32), ("a".to_owned(), a as f32)]
    );
    // Twice in the query; a word that is in no document: ln(4 · 0.05 / 7).
    let (a, b) = (
        (3.2 * 3.2 / 49.0_f64 * 0.2 / 7.0).ln(),
        (2.2 * 2.2 / 36.0_f64 * 0.2 / 6.0).ln(),
    );
    let found = search("indri-dirichlet(mu=4)", "tea absent tea");
    assert_eq!(found[0].0, "a");
    assert!((f64::from(found[0].1) - a).abs() < 1e-6, "{found:?} {a}");
    assert!((f64::from(found[1].1) - b).abs() < 1e-6, "{found:?} {b}");
    // ln(0.5 · 2/3 + 0.5 · 0.3) + ln(0.5 · 0.1), ln(0.5 · 1/2 + 0.5 · 0.3) + ln(0.5 · 1/2 + 0.05)
    let (a, b) = ((0.29_f64 / 12.0).ln(), (0.4_f64 * 0.3).ln());
    let found = search("indri-jelinek-mercer(lambda=0.5)", "tea milk");
    assert!((f64::from(found[0].1) - b).abs() < 1e-6, "{found:?} {b}");
    assert!((f64::from(found[1].1) - a).abs() < 1e-6, "{found:?} {a}");
    // 0.5 · 3.2 / 7 + 0.5 · 0.3 = 0.378571, 0.5 · 0.4 / 7 + 0.5 · 0.1 = 0.078571.
    let a = ((1.6 / 7.0 + 0.15) * (0.2 / 7.0 + 0.05_f64)).ln();
    let found = search("two-stage(mu=4,lambda=0.5)", "tea milk");
    assert!((f64::from(found[1].1) - a).abs() < 1e-6, "{found:?} {a}");
    // No document contains a word.
    assert!(search("indri-dirichlet", "absent").is_empty());
}

/// A phrase has the collection frequency of its matches, and documents without it are no hits but
/// with other words.
#[test]
fn phrases_are_terms_of_their_own() {
    let documents = [
        Document::new("a").with_text("tea leaf tea leaf"),
        Document::new("b").with_text("leaf tea"),
        Document::new("c").with_text("tea tea leaf cup"),
    ];
    let index = built(&documents, config(IndexedFields::TextOnly));
    let searcher = index.searcher(IndriDirichlet::new(5.0)).unwrap();
    let searcher = StructuredSearcher::new(searcher, QuerySyntax::Indri);
    let scores = |query: &str| {
        let ranking = searcher.search(query, &Search::top(10)).unwrap();
        let mut scores = vec![None; documents.len()];
        for hit in &ranking {
            scores[hit.doc.index()] = Some(hit.score);
        }
        scores
    };
    // |C| = 10; the phrase is there 3 times: 2 in a, 1 in c; μ p = 1.5.
    let (a, c) = ((3.5_f64 / 9.0).ln(), (2.5_f64 / 9.0).ln());
    let near =
        |found: Option<f32>, expected: f64| (f64::from(found.unwrap()) - expected).abs() < 1e-6;
    let found = scores("#1(tea leaf)");
    assert!(near(found[0], a) && near(found[2], c), "{found:?}");
    assert_eq!(found[1], None);
    // Half of it, and half of cup: once in c, μ p = 0.5.
    let found = scores("#combine(#1(tea leaf) cup)");
    assert!(
        near(found[0], (a + (0.5_f64 / 9.0).ln()) / 2.0),
        "{found:?}"
    );
    assert!(
        near(found[2], (c + (1.5_f64 / 9.0).ln()) / 2.0),
        "{found:?}"
    );
    assert_eq!(found[1], None);
    // With tea: 2, 1 and 2 of 5, μ p = 2.5; the phrase is absent in b.
    let found = scores("#combine(#1(tea leaf) tea)");
    let b = ((1.5_f64 / 7.0).ln() + (3.5_f64 / 7.0).ln()) / 2.0;
    assert!(near(found[1], b), "{found:?} {b}");
}

/// `rm3(estimate=indri)` weights feedback documents by `p(q|d)`, which is the exponential of the
/// score.
#[test]
fn relevance_model_of_the_likelihood() {
    let mut documents = vec![
        Document::new("a").with_text("tea milk milk leaf"),
        Document::new("b").with_text("tea cup cup cup cup cup"),
    ];
    documents.extend((0..5).map(|n| Document::new(format!("z{n}")).with_text("water rare")));
    let config = config(IndexedFields::TextOnly).with_store(StoredFields::Everything);
    let index = Index::build(&documents, &config, &mut ir_core::NoProgress).unwrap();
    let searcher = index.searcher(IndriDirichlet::new(2.0)).unwrap();
    let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
    let model = "rm3(docs=2,terms=10,weight=0,estimate=indri)"
        .parse()
        .unwrap();
    let feedback = Feedback::new(searcher.clone(), own.clone(), model).unwrap();
    // 20 tokens, tea 2: p(q|a) = (1 + 0.2) / 6, p(q|b) = (1 + 0.2) / 8.
    let (a, b) = (1.2 / 6.0, 1.2 / 8.0);
    let expected = [
        ("milk", a * 2.0 / 4.0),
        ("leaf", a / 4.0),
        ("tea", a / 4.0 + b / 6.0),
        ("cup", b * 5.0 / 6.0),
    ];
    let sum: f64 = expected.iter().map(|(_, weight)| weight).sum();
    let found = feedback.expand("tea").unwrap();
    assert_eq!(found.len(), 4, "{found:?}");
    for (term, weight) in expected {
        let found = found.iter().find(|found| found.term == term).unwrap();
        let difference = (f64::from(found.weight) - weight / sum).abs();
        assert!(difference < 1e-6, "{found:?} {}", weight / sum);
    }
    // Anserini's estimate takes scores as weights, which log-likelihoods are not.
    let model = "rm3(docs=2)".parse().unwrap();
    let feedback = Feedback::new(searcher, own, model).unwrap();
    let error = feedback.search("tea", &Search::top(3)).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("use the estimate `indri`"), "{source}");
}

/// Scores of a user: the frequency, and a wave of the length, of which a bound is known or not.
#[derive(Debug, Clone, Copy)]
struct Wave {
    is_bounded: bool,
    lengths: DocLengths,
}

impl ScoringModel for Wave {
    fn name(&self) -> String {
        "wave".to_owned()
    }

    fn lengths(&self) -> DocLengths {
        self.lengths
    }

    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer> {
        Box::new(Frequency(term.boost()))
    }

    fn document_scorer(&self, query: &[TermStatistics]) -> Option<Box<dyn DocumentScorer>> {
        let boost = query.iter().map(|term| f64::from(term.boost())).sum();
        let is_bounded = self.is_bounded;
        Some(Box::new(WaveOfLength { boost, is_bounded }))
    }
}

#[derive(Debug)]
struct Frequency(f32);

impl TermScorer for Frequency {
    fn score(&self, tf: u32, _: u32) -> f32 {
        self.0 * tf as f32
    }

    fn bound(&self) -> ir_bm25::models::TermBound {
        ir_bm25::models::TermBound::Monotone
    }
}

#[derive(Debug)]
struct WaveOfLength {
    boost: f64,
    is_bounded: bool,
}

impl DocumentScorer for WaveOfLength {
    fn score(&self, length: u32) -> f64 {
        self.boost * (f64::from(length) * 1.7).sin() * 3.0
    }

    fn bound(&self) -> f64 {
        if self.is_bounded {
            3.0 * self.boost
        } else {
            f64::INFINITY
        }
    }
}

#[test]
fn a_model_of_the_user_keeps_the_contract() {
    for is_bounded in [true, false] {
        for lengths in [DocLengths::OneByte, DocLengths::Exact] {
            let model = Wave {
                is_bounded,
                lengths,
            };
            for fields in [IndexedFields::One, IndexedFields::Separate] {
                let config = IndexConfig::default().with_fields(fields);
                check_text(|documents: &[Document]| {
                    built(documents, &config).searcher(model).unwrap()
                });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Sums of single words and of one phrase, which is pruned, over k.
    #[test]
    fn models_of_the_user_are_pruned(documents in collection(), terms in query()) {
        for is_bounded in [true, false] {
            let model = Wave { is_bounded, lengths: DocLengths::Exact };
            let index = built(&documents, config(IndexedFields::One));
            let searcher = index.searcher(model).unwrap();
            let boost: f64 = terms.iter().map(|(_, weight)| weight).sum();
            let query = weighted(&terms);
            let all = searcher.search_terms(&query, &Search::top(100)).unwrap();
            for hit in &all {
                let document = &documents[hit.doc.index()];
                let text = format!("{}\n{}", document.title, document.text);
                let tfs = terms.iter().map(|&(word, weight)| weight * count(&text, WORDS[word]));
                let expected = tfs.sum::<f64>() + boost * (length(&text) * 1.7).sin() * 3.0;
                prop_assert!((f64::from(hit.score) - expected).abs() < 1e-4);
            }
            let exhaustive = searcher.clone().with_pruning(Pruning::Exhaustive);
            let structured = StructuredSearcher::new(searcher.clone(), QuerySyntax::Lucene);
            let phrase = StructuredQuery::phrase("tea milk");
            let nowhere = StructuredQuery::text("nowhere").must_not();
            let evaluated = StructuredQuery::boolean([phrase.clone().should(), nowhere]);
            for k in [1, 4] {
                let search = Search::top(k);
                let first = searcher.search_terms(&query, &search).unwrap();
                prop_assert_eq!(&first, &exhaustive.search_terms(&query, &search).unwrap());
                prop_assert_eq!(first.iter().collect::<Vec<_>>(), all.iter().take(k).collect::<Vec<_>>());
                let found = structured.search_query(&phrase, &search).unwrap();
                prop_assert_eq!(&found, &structured.search_query(&evaluated, &search).unwrap());
                for hit in &found {
                    let why = structured.explain_query(&phrase, hit.doc, &search).unwrap().unwrap();
                    prop_assert_eq!(why.score(), hit.score);
                }
            }
        }
    }
}
