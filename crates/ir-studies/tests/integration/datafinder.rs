//! Dataset mentions, and keyphrase queries beside the published ones.

use ir_core::Document;
use ir_data::{attribute, datafinder, open};
use ir_studies::datafinder::{
    DatasetNames, keyphrase_product_from_attributes, keyphrase_query,
    keyphrase_query_from_attributes,
};

use crate::file;

fn names() -> DatasetNames {
    let dataset =
        |id: &str, variants: &[&str]| Document::new(id).with("variants", variants.to_vec());
    DatasetNames::new(&[
        dataset("COCO", &["COCO", "MS COCO"]),
        dataset("COCO-Text", &["COCO-Text"]),
        dataset("Penn_Treebank", &["Penn Treebank", "PTB"]),
        dataset("SGD", &["SGD"]),
        dataset("Set5", &[]),
        dataset("Flying", &["Flying"]),
        dataset("WN18", &["WN"]),
        dataset("WN18RR", &["WN"]),
    ])
}

#[test]
fn mentions_are_found() {
    let names = names();
    for (text, expected) in [
        ("On MS COCO, results are good.", vec!["COCO"]),
        ("COCO-Text is not COCO.", vec!["COCO", "COCO-Text"]),
        ("parsing the Penn Treebank (PTB)", vec!["Penn_Treebank"]),
        ("the PTB corpus", vec!["Penn_Treebank"]),
        // Three capitals alone are usually a method.
        ("trained with SGD and momentum", vec![]),
        ("the SGD dataset has dialogues", vec!["SGD"]),
        ("Set5/Set14", vec![]),
        ("Set5.", vec!["Set5"]),
        // Not a name by its form; an ambiguous variant.
        ("Flying robots", vec![]),
        ("the WN dataset", vec![]),
        ("COCOs, coco", vec![]),
        ("", vec![]),
    ] {
        let found: Vec<&str> = names.datasets(text).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn mentions_are_removed() {
    let names = names();
    for (text, expected) in [
        (
            "On MS COCO [3] and the Penn Treebank [1, 22].",
            "On and the .",
        ),
        ("[4] naïve [sic] (2015) Set5", "naïve [sic] (2015)"),
        ("an open [ bracket, [5", "an open [ bracket, [5"),
        ("SGD", "SGD"),
    ] {
        assert_eq!(names.remove_from(text), expected, "{text}");
    }
}

#[test]
fn keyphrases() {
    let query = |fields: &[&str]| keyphrase_query(fields.iter().copied());
    assert_eq!(query(&["Images", "image age"]), "images");
    let fields = ["question answering, text", "text", "N/A", " None ", ""];
    assert_eq!(query(&fields), "question answering, text");
    assert_eq!(query(&["the Analysis of an image"]), "analysis image");
    assert_eq!(query(&[]), "");
}

/// 77 of the 406 test queries have several tasks.
#[test]
fn products_of_several_tasks() {
    let Some(path) = file("datafinder/test_data.jsonl") else {
        return;
    };
    let rows = datafinder::read_test_queries(open(path).unwrap(), "406", "t").unwrap();
    assert_eq!(rows.len(), 406);
    let several = |text: Option<&str>| text.is_some_and(|text| text.contains(','));
    let mut counts = [0, 0, 0];
    for row in &rows {
        let attributes = &row.query.attributes;
        let queries = keyphrase_product_from_attributes(attributes);
        let fields = ["task", "modality", "domain", "language", "text_length"];
        let values = fields.map(|name| attributes.text(name));
        let counts_of_values = values.map(|text| text.map_or(1, |text| text.split(',').count()));
        let combinations: usize = counts_of_values.iter().product();
        assert!((1..=combinations).contains(&queries.len()), "{queries:?}");
        if several(attributes.text("task")) {
            counts[0] += 1;
            counts[1] += usize::from(queries.len() > 1);
        }
        for query in &queries {
            let words: Vec<&str> = query.split(' ').collect();
            counts[2] += 1;
            for (at, word) in words.iter().enumerate() {
                let others = words[..at].iter();
                let mut others =
                    others.filter(|other| other.contains(word) || word.contains(*other));
                assert_eq!(others.next(), None, "{query}");
            }
        }
    }
    assert_eq!(counts[0], 77);
    // As a plain Python loop over `itertools.product` counts.
    assert_eq!(counts[1..], [77, 572]);
}

#[test]
fn keyphrase_queries_match_the_published_ones() {
    let Some(path) = file("datafinder/test_data_411.json") else {
        return;
    };
    let rows = datafinder::read_test_queries(open(path).unwrap(), "411", "t").unwrap();
    assert_eq!(rows.len(), 411);
    for row in &rows {
        let attributes = &row.query.attributes;
        let found = keyphrase_query_from_attributes(attributes);
        let expected = attributes.text(attribute::KEYPHRASES);
        assert_eq!(Some(found.as_str()), expected, "{}", row.query.id);
    }
    let unanswered = rows.iter().filter(|row| row.positives.is_empty());
    assert_eq!(unanswered.count(), 19);

    let short = file("datafinder/test_data.jsonl").unwrap();
    let short = datafinder::read_test_queries(open(short).unwrap(), "406", "t").unwrap();
    assert_eq!(short.len(), 406);
    assert_eq!(short[..], rows[..406]);
}
