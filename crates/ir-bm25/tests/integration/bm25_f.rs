//! BM25F: equal to its formula over the texts of the documents, and to BM25 in one field.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::common::built;
use ir_bm25::models::Bm25F;
use ir_bm25::{
    Analysis, Bm25, DocLengths, FieldNames, IndexConfig, IndexedFields, Model, QuerySyntax,
    Searcher, SearcherError, StructuredSearcher,
};
use ir_core::{Document, Explanation, Retriever, Search};
use proptest::prelude::*;

const FIELDS: [&str; 3] = ["title", "text", "keywords"];
const WORDS: [&str; 4] = ["tea", "milk", "leaf", "water"];

fn config() -> IndexConfig {
    let names = FieldNames::new(FIELDS).unwrap();
    IndexConfig::default()
        .with_fields(IndexedFields::Named(names))
        .with_analysis(Analysis::whitespace())
}

fn document(n: usize, fields: &[Vec<usize>; 3]) -> Document {
    let text = |words: &Vec<usize>| -> String {
        let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
        words.join(" ")
    };
    Document::new(format!("d{n:03}"))
        .with_title(text(&fields[0]))
        .with_text(text(&fields[1]))
        .with("keywords", text(&fields[2]))
}

fn documents() -> impl Strategy<Value = Vec<[Vec<usize>; 3]>> {
    let words = |most| prop::collection::vec(0..WORDS.len(), 0..most);
    let fields = (words(4), words(30), words(6));
    prop::collection::vec(fields.prop_map(|(a, b, c)| [a, b, c]), 1..40)
}

/// Score of a document by the formula of the paper, with exact lengths; [`None`] if it has no
/// query term in a field with a weight.
fn score(
    documents: &[[Vec<usize>; 3]],
    doc: usize,
    query: &[usize],
    k1: f64,
    parameters: &[(f64, f64); 3],
) -> Option<f64> {
    let mut sum = None;
    for word in query.iter().collect::<BTreeSet<_>>() {
        let tf = |doc: &[Vec<usize>; 3], field: usize| {
            doc[field].iter().filter(|other| *other == word).count() as f64
        };
        let mut x = 0.0;
        for (field, (weight, b)) in parameters.iter().enumerate() {
            let lengths = documents.iter().map(|doc| doc[field].len());
            let filled: Vec<usize> = lengths.filter(|&length| length > 0).collect();
            let average = filled.iter().sum::<usize>() as f64 / filled.len().max(1) as f64;
            let norm = 1.0 - b + b * documents[doc][field].len() as f64 / average;
            if tf(&documents[doc], field) > 0.0 {
                x += weight * tf(&documents[doc], field) / norm;
            }
        }
        let has = |doc: &&[Vec<usize>; 3]| {
            (0..3).any(|field| parameters[field].0 > 0.0 && tf(doc, field) > 0.0)
        };
        let (n, df) = (
            documents.len() as f64,
            documents.iter().filter(has).count() as f64,
        );
        if has(&&documents[doc]) {
            let count = query.iter().filter(|other| *other == word).count() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            *sum.get_or_insert(0.0) += count * idf * x / (k1 + x);
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn scores_are_those_of_the_formula(
        documents in documents(),
        query in prop::collection::vec(0..WORDS.len(), 1..5),
        k1 in 0.1..3.0_f32,
        weights in prop::array::uniform3(prop_oneof![1 => Just(0.0), 4 => 0.1..9.0_f32]),
        bs in prop::array::uniform3(0.0..=1.0_f32),
    ) {
        let all = documents.iter().enumerate();
        let all: Vec<Document> = all.map(|(n, fields)| document(n, fields)).collect();
        let mut model = Bm25F::new(k1, 0.3);
        for (field, name) in FIELDS.into_iter().enumerate() {
            model = model.with_field(name, weights[field], bs[field]);
        }
        model.lengths = DocLengths::Exact;
        let index = built(&all, config());
        let searcher = index.searcher(model).unwrap();
        let text: Vec<&str> = query.iter().map(|&word| WORDS[word]).collect();
        let ranking = searcher.search(&text.join(" "), &Search::top(100)).unwrap();
        let parameters = [0, 1, 2].map(|at| (f64::from(weights[at]), f64::from(bs[at])));
        let mut found = 0;
        for (doc, Document { id, .. }) in all.iter().enumerate() {
            let expected = score(&documents, doc, &query, f64::from(k1), &parameters);
            let hit = ranking.iter().find(|hit| index.ids().id(hit.doc) == id);
            match (expected, hit) {
                (None, None) => {}
                (Some(expected), Some(hit)) => {
                    found += 1;
                    let near = (f64::from(hit.score) - expected).abs() <= 1e-6 * expected.max(1.0);
                    prop_assert!(near, "{id}: {} instead of {expected}", hit.score);
                }
                (expected, hit) => prop_assert!(false, "{id}: {expected:?}, {hit:?}"),
            }
        }
        prop_assert_eq!(found, ranking.len());
    }

    #[test]
    fn one_field_is_bm25(documents in documents(), query in 0..WORDS.len()) {
        let all = documents.iter().enumerate();
        let all: Vec<Document> = all
            .map(|(n, fields)| document(n, fields))
            // Of blank documents BM25 does not know.
            .filter(|document| !document.text.is_empty())
            .collect();
        let config = config().with_fields(IndexedFields::TextOnly);
        let index = built(&all, config);
        let bm25f = index.searcher(Bm25F::new(1.2, 0.75)).unwrap();
        let bm25 = index.searcher(Bm25::LUCENE).unwrap();
        for query in [WORDS[query].to_owned(), WORDS.join(" ")] {
            let expected = bm25.search(&query, &Search::top(100)).unwrap();
            let found = bm25f.search(&query, &Search::top(100)).unwrap();
            prop_assert_eq!(expected.len(), found.len());
            for hit in &found {
                let same = expected.iter().find(|other| other.doc == hit.doc).unwrap();
                prop_assert!((same.score - hit.score).abs() < 1e-5);
            }
        }
    }
}

/// Worked by hand from the formula of Robertson and Zaragoza (2009), equations 3.19 to 3.21, with
/// the idf of Lucene.
#[test]
fn worked_example() {
    let documents = [
        Document::new("a")
            .with_title("tea")
            .with_text("tea milk water")
            .with("keywords", "leaf"),
        Document::new("b")
            .with_title("milk")
            .with_text("leaf leaf leaf tea tea"),
        Document::new("c")
            .with_title("water milk leaf")
            .with_text("water"),
    ];
    let index = built(&documents, config());
    let mut model = Bm25F::new(1.2, 0.75).with_field("title", 3.0, 0.5);
    model.lengths = DocLengths::Exact;
    let searcher = index.searcher(model).unwrap();
    let ranking = searcher.search("tea leaf", &Search::top(9)).unwrap();
    let score = |id: &str| {
        let mut hits = ranking.iter();
        hits.find(|hit| index.ids().id(hit.doc) == id)
            .unwrap()
            .score
    };
    // Average lengths: title 5/3, text 3, keywords 1. N = 3; df: tea 2, leaf 3.
    // idf: tea ln(1 + 1.5 / 2.5) = 0.470004, leaf ln(1 + 0.5 / 3.5) = 0.133531.
    // a, tea: 3 · 1 / (0.5 + 0.5 · 0.6) + 1 / 1 = 4.75; leaf: 1 / 1 = 1.
    // 0.470004 · 4.75 / 5.95 + 0.133531 · 1 / 2.2 = 0.375213 + 0.060696
    assert!((score("a") - 0.435_909).abs() < 1e-5, "{}", score("a"));
    // b, tea: 2 / (0.25 + 0.75 · 5 / 3) = 1.333333; leaf: 2.
    // 0.470004 · 1.333333 / 2.533333 + 0.133531 · 2 / 3.2 = 0.247371 + 0.083457
    assert!((score("b") - 0.330_828).abs() < 1e-5, "{}", score("b"));
    // c, leaf: 3 · 1 / (0.5 + 0.5 · 1.8) = 2.142857; 0.133531 · 2.142857 / 3.342857
    assert!((score("c") - 0.085_597).abs() < 1e-5, "{}", score("c"));
}

fn searcher(model: &str) -> Result<Searcher, SearcherError> {
    let documents = [Document::new("a").with_title("tea").with_text("green tea")];
    built(&documents, config()).searcher(model.parse::<Model>()?)
}

#[test]
fn parameters_of_fields_by_name() {
    let model = "bm25f(k1=1.2,b=0.5,weight.title=2,b.title=0.1,lengths=one-byte)";
    let by_name = searcher(model).unwrap();
    assert_eq!(by_name.model().to_string(), model);
    // The general b is that of a field with a weight alone.
    let weight: Model = "BM25F(weight.title=2,b=0.5)".parse().unwrap();
    assert_eq!(
        weight.to_string(),
        "bm25f(k1=0.9,b=0.5,weight.title=2,b.title=0.5,lengths=one-byte)"
    );
    // Weights of the searcher override those of the model.
    let top = |searcher: &Searcher| searcher.search("tea", &Search::top(1)).unwrap().hits()[0];
    let weighted = searcher("bm25f(weight.title=1,b.title=0.1,b=0.5,k1=1.2)").unwrap();
    assert_ne!(top(&weighted), top(&by_name));
    let weighted = weighted.with_weights(&[("title", 2.0)]).unwrap();
    assert_eq!(top(&weighted), top(&by_name));
    for (model, expected) in [
        (
            "bm25f(b.title=1.5)",
            "b.title: expected a number from 0 to 1, found 1.5",
        ),
        (
            "bm25f(weight.title=-1)",
            "weight.title: expected 0 or a number from 1e-9 to 1e9, found -1",
        ),
        (
            "bm25f(weight.titel=1)",
            "expected a field of the index (title, text, keywords), found \"titel\"",
        ),
        (
            "bm25f(c.title=1)",
            "expected a parameter of bm25f (k1, b, weight.FIELD, b.FIELD), found \"c.title\"",
        ),
        (
            "bm25f(b.=1)",
            "expected a parameter of bm25f (k1, b, weight.FIELD, b.FIELD), found \"b.\" (did you mean b?)",
        ),
        (
            "bm25(b.title=1)",
            "expected a parameter of bm25 (k1, b), found \"b.title\"",
        ),
        (
            "bm25f(k1=-1)",
            "k1: expected a finite number >= 0, found -1",
        ),
    ] {
        assert_eq!(
            searcher(model).unwrap_err().to_string(),
            expected,
            "{model}"
        );
    }
}

#[test]
fn explanations_have_the_fields_of_a_term() {
    let searcher = searcher("bm25f(weight.title=2,b.title=0.1)").unwrap();
    let hit = searcher
        .search("tea green", &Search::top(1))
        .unwrap()
        .hits()[0];
    let why = searcher
        .explain("tea green", hit.doc, &Search::top(1))
        .unwrap()
        .unwrap();
    assert_eq!(why.score(), hit.score);
    let tea = &why.details[0];
    assert!(
        tea.description
            .starts_with("tea: count × idf × x / (k1 + x)")
    );
    let value = |tree: &Explanation, name: &str| -> f64 {
        let mut details = tree.details.iter();
        details
            .find(|detail| detail.description.starts_with(name))
            .unwrap()
            .value
    };
    let x = value(tea, "x: ");
    let expected = value(tea, "count") * value(tea, "idf") * x / (value(tea, "k1") + x);
    // Rounded to a multiple of 2^-36.
    assert!((tea.value - expected).abs() < 1e-11);
    let fields = &tea.details.last().unwrap().details;
    assert_eq!(fields.len(), 2);
    assert_eq!(fields.iter().map(|field| field.value).sum::<f64>(), x);
    for (field, name) in fields.iter().zip(["title:tea", "text:tea"]) {
        assert!(field.description.starts_with(name));
        let (tf, weight, b) = (
            value(field, "tf"),
            value(field, "weight"),
            value(field, "b"),
        );
        let norm = 1.0 - b + b * value(field, "length") / value(field, "average");
        assert!((field.value - weight * tf / norm).abs() < 1e-12);
    }
    assert!(
        searcher
            .explain("milk", hit.doc, &Search::top(1))
            .unwrap()
            .is_none()
    );
}

#[test]
fn structured_queries_need_scores_of_each_field() {
    let searcher = searcher("bm25f").unwrap();
    let plain = searcher.search("tea green", &Search::top(1)).unwrap();
    let structured = StructuredSearcher::new(searcher, QuerySyntax::Lucene);
    assert_eq!(
        structured.search("tea green", &Search::top(1)).unwrap(),
        plain
    );
    let error = structured
        .search("+tea title:green", &Search::top(1))
        .unwrap_err();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        reason,
        "expected words and weights, or a model that scores each field, found \
         bm25f(k1=0.9,b=0.4,lengths=one-byte): it adds up the frequencies of a term over all \
         fields, and clauses, phrases and windows are matched in single fields"
    );
}

#[test]
fn the_model_of_a_searcher_has_its_weights() {
    let searcher = searcher("bm25f(weight.title=3)").unwrap();
    let weighted = searcher.with_weights(&[("title", 2.0), ("text", 0.0)]);
    let weighted = weighted.unwrap();
    let model = weighted.model().to_string();
    assert_eq!(
        model,
        "bm25f(k1=0.9,b=0.4,weight.title=2,b.title=0.4,weight.text=0,b.text=0.4,lengths=one-byte)"
    );
    // A searcher of the printed model has the same scores.
    let again = weighted.index().searcher(model.parse::<Model>().unwrap());
    let (again, search) = (again.unwrap(), Search::top(10));
    let found = weighted.search("tea green", &search).unwrap();
    assert_eq!(found, again.search("tea green", &search).unwrap());
}

#[test]
fn repeated_parameters_are_errors() {
    for text in ["bm25f(b.title=0.1,b.title=0.2)", "qld(mu=1,mu=2)"] {
        let error = text.parse::<Model>().unwrap_err().to_string();
        assert!(
            error.starts_with("expected every parameter once"),
            "{error}"
        );
    }
}
