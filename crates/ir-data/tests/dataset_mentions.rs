//! Detection of dataset mentions.

#![allow(clippy::unwrap_used)]

use ir_core::{AttributeValue, Document};
use ir_data::datafinder::DatasetNames;

fn names() -> DatasetNames {
    let dataset = |id: &str, variants: &[&str]| {
        let list = variants
            .iter()
            .map(|&name| AttributeValue::Text(name.to_owned()));
        Document::new(id).with("variants", AttributeValue::List(list.collect()))
    };
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
