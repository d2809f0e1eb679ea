//! Names of datasets in running text, as `examples/datafinder-ablations` finds them.

#![allow(clippy::unwrap_used)]

use ir_core::{Document, Value};
use datafinder_ablations::names::Names;

fn names() -> Names {
    let of = |id: &str, variants: &[&str]| {
        let list = variants.iter().map(|&name| Value::Text(name.to_owned()));
        Document::new(id).with("variants", Value::List(list.collect()))
    };
    Names::of(&[
        of("COCO", &["COCO", "MS COCO"]),
        of("COCO-Text", &["COCO-Text"]),
        of("Penn_Treebank", &["Penn Treebank", "PTB"]),
        of("SGD", &["SGD"]),
        of("Set5", &[]),
        of("Flying", &["Flying"]),
        of("WN18", &["WN"]),
        of("WN18RR", &["WN"]),
    ])
}

#[test]
fn names_are_found() {
    let names = names();
    for (text, expected) in [
        ("On MS COCO, results are good.", vec!["COCO"]),
        ("COCO-Text is not COCO.", vec!["COCO", "COCO-Text"]),
        ("parsing the Penn Treebank (PTB)", vec!["Penn_Treebank"]),
        ("the PTB corpus", vec!["Penn_Treebank"]),
        // Three capitals are a method more often than not.
        ("trained with SGD and momentum", vec![]),
        ("the SGD dataset has dialogues", vec!["SGD"]),
        ("Set5/Set14", vec![]),
        ("Set5.", vec!["Set5"]),
        // No name by its looks, and whose is this?
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
fn names_are_taken_out() {
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
        assert_eq!(names.without(text), expected, "{text}");
    }
}
