use std::fmt::Write as _;

use ir_core::{Document, NoProgress, Retriever, Search};

use super::*;
use crate::{Bm25, Index, IndexConfig};

fn read(text: &str) -> Result<Synonyms, SynonymError> {
    Synonyms::read(text.as_bytes(), "synonyms.txt")
}

fn searcher() -> Searcher {
    let texts = [
        "myocardial infarction of a patient",
        "heart attack",
        "heart and infarction",
        "an attack",
        "nothing else",
    ];
    let documents: Vec<Document> = (0..)
        .zip(texts)
        .map(|(n, text)| Document::new(format!("d{n}")).with_text(text))
        .collect();
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

fn expanded(synonyms: &str, weight: f32, query: &str) -> Vec<(String, f32)> {
    let synonyms = read(synonyms).unwrap();
    let expansion = SynonymExpansion::new(searcher(), &synonyms, weight).unwrap();
    let terms = expansion.expand(query).into_iter();
    terms.map(|it| (it.term, it.weight)).collect()
}

#[test]
fn equivalent_entries_and_rules() {
    let text = "# comment\n\nheart attack, myocardial infarction , MI\nMG => myasthenia gravis\n\
                a\\, b => c\\=>d, e\nx, y => x, z\n";
    let synonyms = read(text).unwrap();
    let of = |entry: &str| synonyms.get(entry).collect::<Vec<_>>();
    assert_eq!(of("MI"), ["heart attack", "myocardial infarction"]);
    assert_eq!(of("heart attack"), ["MI", "myocardial infarction"]);
    assert_eq!(of("MG"), ["myasthenia gravis"]);
    assert_eq!(of("myasthenia gravis"), [""; 0]);
    assert_eq!(of("a, b"), ["c=>d", "e"]);
    assert_eq!((of("x"), of("y")), (vec!["z"], vec!["x", "z"]));
    assert_eq!(synonyms.len(), 7);
}

/// Both keyword queries of Table 3 of the bioCADDIE paper, with invented extracts of a terminology;
/// the subset of UMLS that the paper used is not public.
#[test]
fn keywords_of_biocaddie_with_concepts() {
    let concepts: [&[&str]; 4] = [
        &["Myasthenia Gravis", "MG"],
        &["NF KB", "Nuclear Factor kappa B"],
        &["TP53INP1", "Teap protein"],
        // Stop words only.
        &["the", "p53"],
    ];
    let concepts: [Vec<String>; 4] =
        concepts.map(|terms| terms.iter().map(|&term| term.to_owned()).collect());
    let lines = (1..).zip(concepts.iter().map(Vec::as_slice));
    let synonyms = Synonyms::from_concepts("MRCONSO.RRF", lines);
    let expansion = SynonymExpansion::new(searcher(), &synonyms, 0.2).unwrap();
    let terms = |text: &str, weight: f32| {
        let terms = expansion.searcher().analyzer().terms(text).into_iter();
        terms.map(move |term| (term, weight)).collect::<Vec<_>>()
    };
    let expanded = |query: &str| {
        let terms = expansion.expand(query).into_iter();
        terms.map(|it| (it.term, it.weight)).collect::<Vec<_>>()
    };
    let expected = [
        terms("NF KB signaling pathway", 1.0),
        terms("Myasthenia gravis MG", 1.0 + 0.2),
        terms("Nuclear Factor kappa B", 0.2),
    ];
    let query = "NF KB signaling pathway Myasthenia gravis MG";
    assert_eq!(expanded(query), expected.concat());
    // p53 and activation have no synonyms here.
    let expected = [
        terms("TP53INP1 p53 activation", 1.0),
        terms("Teap protein", 0.2),
    ];
    assert_eq!(expanded("TP53INP1 p53 activation"), expected.concat());
}

#[test]
fn expanded_terms_and_weights() {
    let file = "heart attack, myocardial infarction\nheart => cardiac muscle\n";
    let term = |term: &str, weight: f32| (term.to_owned(), weight);
    // The longest entry: "heart" is not an entry of its own here.
    let found = expanded(file, 0.2, "Heart attacks");
    let (heart, attack) = (term("heart", 1.0), term("attack", 1.0));
    let bag = [term("myocardi", 0.2), term("infarct", 0.2)];
    let expected = [
        heart.clone(),
        attack.clone(),
        bag[0].clone(),
        bag[1].clone(),
    ];
    assert_eq!(found, expected);
    let found = expanded(file, 0.2, "heart");
    assert_eq!(
        found,
        [heart.clone(), term("cardiac", 0.2), term("muscl", 0.2)]
    );
    // A term of the query gains the weight of the synonym, for each occurrence of the entry.
    let found = expanded("attack => heart", 0.5, "heart attack attack");
    assert_eq!(found, [term("heart", 2.0), term("attack", 2.0)]);
    // No entry, and weight 0.
    assert_eq!(
        expanded(file, 0.2, "attack heart other")[..2],
        [attack.clone(), heart.clone()]
    );
    assert_eq!(expanded(file, 0.0, "heart attack"), [heart, attack]);
    assert_eq!(expanded("", 0.2, "heart").len(), 1);
}

#[test]
fn cycles_are_expanded_once() {
    let file = "a1 => b1\nb1 => c1\nc1 => a1\n";
    let terms = |query| -> Vec<String> {
        let terms = expanded(file, 1.0, query).into_iter();
        terms.map(|it| it.0).collect()
    };
    assert_eq!(terms("a1"), ["a1", "b1"]);
    assert_eq!(terms("c1 b1"), ["c1", "b1", "a1"]);
}

/// The terms of a query followed by the synonym of two of them, as one bag of words.
#[test]
fn query_terms_precede_their_synonyms() {
    let searcher = searcher();
    let synonyms = read("Myasthenia gravis => MG\n").unwrap();
    let expansion = SynonymExpansion::new(searcher.clone(), &synonyms, 1.0).unwrap();
    let expanded = expansion.expand("NF KB signaling pathway Myasthenia gravis");
    let expected = searcher.query_terms("NF KB signaling pathway Myasthenia gravis MG");
    assert_eq!(expanded, expected);
    assert_eq!(expanded.len(), 7);
}

/// A thousand equivalent entries exceed the limit; 257 of them do not.
#[test]
fn large_groups() {
    let group = |count: usize| {
        let words: Vec<String> = (0..count).map(|n| format!("word{n}")).collect();
        words.join(", ")
    };
    let synonyms = read(&group(257)).unwrap();
    let expansion = SynonymExpansion::new(searcher(), &synonyms, 0.5).unwrap();
    assert_eq!(expansion.expand("word7").len(), 257);
    let error = read(&group(1000)).unwrap_err().to_string();
    assert!(
        error.starts_with("synonyms.txt:1: expected at most 256 synonyms of \"word0\", found more"),
        "{error}"
    );
}

#[test]
fn rankings() {
    let searcher = searcher();
    let synonyms = read("heart attack => myocardial infarction\n").unwrap();
    let ids = |weight: f32| -> Vec<String> {
        let expansion = SynonymExpansion::new(searcher.clone(), &synonyms, weight).unwrap();
        let ranking = expansion.search("heart attack", &Search::top(10)).unwrap();
        let id = |hit: &ir_core::Hit| expansion.ids().id(hit.doc).to_owned();
        for hit in ranking.iter() {
            let tree = expansion
                .explain("heart attack", hit.doc, &Search::top(10))
                .unwrap();
            assert_eq!(tree.unwrap().score(), hit.score);
        }
        ranking.iter().map(id).collect()
    };
    assert_eq!(ids(0.2)[0], "d1");
    assert!(ids(0.2).contains(&"d0".to_owned()));
    assert_eq!(ids(10.0)[0], "d0");
    // Weight 0 is the base run, bit for bit.
    let base = searcher.search("heart attack", &Search::top(10)).unwrap();
    let expansion = SynonymExpansion::new(searcher, &synonyms, 0.0).unwrap();
    let found = expansion.search("heart attack", &Search::top(10)).unwrap();
    assert_eq!(found, base);
    assert_eq!(base.len(), 3);
}

#[test]
fn contract() {
    ir_testkit::check_text(|documents| {
        let index = Index::build(documents, &IndexConfig::default(), &mut NoProgress).unwrap();
        let synonyms = read("ships, boats\ntea => green coffee\n").unwrap();
        let searcher = index.searcher(Bm25::ANSERINI).unwrap();
        SynonymExpansion::new(searcher, &synonyms, 0.2).unwrap()
    });
}

#[test]
fn errors_name_the_line() {
    let error = |text: &str| read(text).unwrap_err().to_string();
    let expected =
        "synonyms.txt:2: expected two entries or more, or a rule `a => b`, found \"alone\"";
    assert_eq!(error("a, b\nalone\n"), expected);
    let expected = "synonyms.txt:1: expected entries between commas, found \"a,,b\"";
    assert_eq!(error("a,,b"), expected);
    assert!(error("a =>").contains("expected entries between commas"));
    assert!(error("a => b => c").contains("expected one `=>`"));
    let invalid = Synonyms::read(&b"a, \xff\n"[..], "synonyms.txt").unwrap_err();
    let expected = "synonyms.txt:1: expected UTF-8 text, found invalid bytes at column 4";
    assert_eq!(invalid.to_string(), expected);

    let many = |count: usize| {
        let mut text = "a, b\n".to_owned();
        (0..count).for_each(|n| writeln!(text, "word => synonym{n}").unwrap());
        text
    };
    assert_eq!(read(&many(256)).unwrap().get("word").count(), 256);
    let expected = "synonyms.txt:258: expected at most 256 synonyms of \"word\", found more";
    assert_eq!(error(&many(1000)), expected);

    let new = |text: &str, weight| SynonymExpansion::new(searcher(), &read(text).unwrap(), weight);
    let expected = "synonyms.txt:2: expected a text with terms, found \"the\", stop words only";
    assert_eq!(
        new("a1, b1\nthe => x1\n", 0.2).unwrap_err().to_string(),
        expected
    );
    // An entry that is its only synonym has a line, too.
    let itself = new("a1, b1\nthe => the\n", 0.2).unwrap_err().to_string();
    assert_eq!(itself, expected);
    for weight in [-0.1, f32::NAN, f32::INFINITY] {
        let error = new("a1, b1", weight).unwrap_err().to_string();
        assert!(error.contains("expected a finite number >= 0"), "{error}");
    }
}
