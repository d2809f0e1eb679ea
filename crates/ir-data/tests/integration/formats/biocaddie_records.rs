//! Unusual records of bioCADDIE: without texts at their paths, with a prolog, without an id.

use std::fs;

use ir_core::Corpus;
use ir_data::biocaddie::{BioCaddieCorpus, REPOSITORIES, TextRule};

use super::biocaddie::{json, xml};

#[test]
fn records_without_texts_at_their_paths() {
    for repository in &REPOSITORIES {
        let document = |metadata: &str, rule| {
            let key = repository.key;
            let line = format!(
                r#"{{"DOCNO": 1, "TITLE": "t", "REPOSITORY": "{key}_x", "METADATA": {metadata}}}"#
            );
            json(&line).unwrap().into_document(rule)
        };
        // All texts, as for a repository without paths, without repetitions of the title.
        let elsewhere = r#"{"other": {"a": "x", "b": ["y", "t"]}, "z": 3}"#;
        for rule in [TextRule::Paths, TextRule::Fields] {
            assert_eq!(document(elsewhere, rule).text, "x\ny\n3", "{repository:?}");
        }
        assert_eq!(document("{}", TextRule::Paths).text, "");
        let path = repository.paths[0];
        let at_path = |value: &str| {
            let names: Vec<&str> = path.split('.').collect();
            let members = names.iter().rev().fold(value.to_owned(), |value, name| {
                format!("{{\"{name}\": {value}}}")
            });
            // Beside a text at no path.
            members.replacen('{', r#"{"other": "x", "#, 1)
        };
        assert_eq!(document(&at_path("\"y\""), TextRule::Paths).text, "y");
        // The title is a text.
        assert_eq!(document(&at_path("\"t\""), TextRule::Paths).text, "");
    }
}

#[test]
fn prolog_and_comments_of_xml_records() {
    let plain = "<DOC>\n<DOCNO>7</DOCNO><REPOSITORY>ctn_02</REPOSITORY>\
                 <METADATA>{\"desc\": \"a <!-- b --> c\"}</METADATA></DOC>\n";
    let expected = xml(plain).unwrap();
    assert_eq!(expected.texts("desc"), ["a <!-- b --> c"]);
    let subset = "<!DOCTYPE DOC [\n<!ELEMENT DOC (DOCNO)>\n<!ENTITY x \"y\">\n] >";
    let prologs = [
        "<!-- <DOC> of bioCADDIE -->\n",
        "<!DOCTYPE DOC>\n",
        "<!DOCTYPE DOC SYSTEM \"record.dtd\">",
        subset,
        "<?xml-stylesheet href='x.xsl'?>\n<!-- a --><!-- b -->\n<!DOCTYPE DOC>",
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.xml");
    for declaration in ["", "<?xml version='1.0' encoding='UTF-8'?>\n"] {
        for prolog in prologs {
            let text = format!("{declaration}{prolog}{plain}");
            assert_eq!(xml(&text).unwrap(), expected, "{text}");
            fs::write(&path, &text).unwrap();
            assert!(BioCaddieCorpus::detect(&path).unwrap().is_some(), "{text}");
        }
    }
    let within = plain
        .replace("<DOC>", "<DOC id=\"7\"\tn='1'>")
        .replace("<REPOSITORY>", "<!-- <DOCNO> -->\n<REPOSITORY>")
        .replace("</DOC>", "<!-- --></DOC> <!-- end -->");
    assert_eq!(xml(&within).unwrap(), expected);
    fs::write(&path, &within).unwrap();
    assert!(BioCaddieCorpus::detect(&path).unwrap().is_some());
    // No end of a comment.
    let plain = plain.replace("-->", "");
    let found = |text: &str| format!("found {:?}", text.lines().next().unwrap());
    for (text, expected) in [
        (plain.replace("<DOC>", "<DOCS>"), "1: expected <DOC>"),
        (plain.replace("<DOC>", "<DOC/>"), "1: expected <DOC>"),
        (format!("\n<!-- {plain}"), "2: expected -->"),
        (format!("<?x\n{plain}"), "1: expected ?>"),
        (
            "<!DOCTYPE DOC [ <!ELEMENT DOC>".to_owned(),
            "1: expected > of DOCTYPE",
        ),
        ("<!DOCTYPE DOC".to_owned(), "1: expected > of DOCTYPE"),
    ] {
        let error = xml(&text).unwrap_err();
        let expected = format!("7.xml:{expected}, {}", found(text.trim_start()));
        assert_eq!(error, expected);
        fs::write(&path, &text).unwrap();
        assert!(BioCaddieCorpus::detect(&path).unwrap().is_none(), "{text}");
    }
    let error = xml(&plain.replace("<REPOSITORY>", "<!-- <REPOSITORY>")).unwrap_err();
    assert!(
        error.starts_with("7.xml:2: expected -->, found "),
        "{error}"
    );
}

#[test]
fn records_without_an_id() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "1.json",
            r#"{"REPOSITORY": "ctn_02", "METADATA": {"_id": "5"}}"#,
        ),
        (
            "2.json",
            "{\"METADATA\": {\"_id\": \"5\"},\n\"REPOSITORY\": \"ctn_02\"}",
        ),
        (
            "3.xml",
            "<DOC><REPOSITORY>ctn_02</REPOSITORY><METADATA>{}</METADATA></DOC>",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let corpus = BioCaddieCorpus::detect(&path).unwrap().expect(name);
        let mut docs = corpus.docs().unwrap();
        let error = docs.next().unwrap().unwrap_err().reason().to_string();
        let expected = ":1: expected a field \"DOCNO\", found none";
        assert!(error.ends_with(&format!("{name}{expected}")), "{error}");
    }
}
