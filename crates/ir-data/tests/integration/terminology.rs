//! Concepts of UMLS and MeSH.

use ir_data::DataError;
use ir_data::terminology::{
    Concept, read_concepts, read_mesh_n_triples, read_mesh_xml, read_mrconso,
};

fn terms(concepts: &[Concept]) -> Vec<String> {
    concepts
        .iter()
        .map(|concept| concept.terms.join("; "))
        .collect()
}

fn message(read: Result<Vec<Concept>, DataError>) -> String {
    read.unwrap_err().to_string()
}

#[test]
fn rows_of_a_concept_need_not_be_adjacent() {
    let row = |cui: &str, string: &str| {
        format!("{cui}|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{string}|0|N|256|\r\n")
    };
    let rows = [
        row("C0000001", "tea"),
        row("C0000002", "milk"),
        row("C0000003", "alone"),
        row("C0000001", "green tea"),
        row("C0000001", "tea"),
        row("C0000002", "cow milk"),
    ];
    let concepts = read_mrconso(rows.concat().as_bytes(), "m").unwrap();
    assert_eq!(terms(&concepts), ["tea; green tea", "milk; cow milk"]);
    assert_eq!((concepts[0].line, concepts[1].line), (1, 2));
    assert!(read_mrconso(&b""[..], "m").unwrap().is_empty());
    let error = message(read_mrconso(&b"C0000001|ENG\n"[..], "m"));
    assert!(error.starts_with("m:1: expected 18"), "{error}");
}

#[test]
fn concepts_of_records() {
    let concept = |terms: &str| format!("<Concept><TermList>{terms}</TermList></Concept>");
    let term = |text: &str| format!("<Term><String>{text}</String></Term>");
    let record = |name: &str, content: String| format!("<{name}>\n{content}\n</{name}>\n");
    let text = [
        "<?xml version=\"1.0\"?>\n<!DOCTYPE X>\n<DescriptorRecordSet>\n".to_owned(),
        record(
            "DescriptorRecord",
            [
                "<ConceptName><String>no term</String></ConceptName>".to_owned(),
                concept(
                    &[
                        term("A &lt; B"),
                        term("A&#x2D;B"),
                        term("<![CDATA[C & D]]>"),
                    ]
                    .concat(),
                ),
                concept(&term("alone")),
            ]
            .concat(),
        ),
        record(
            "SupplementalRecord",
            concept(&[term("E"), term("F")].concat()),
        ),
        "</DescriptorRecordSet>".to_owned(),
    ];
    let text = text.concat();
    let concepts = read_mesh_xml(text.as_bytes(), "m").unwrap();
    assert_eq!(terms(&concepts), ["A < B; A-B; C & D", "E; F"]);
    let wrong = |text: &str| message(read_mesh_xml(text.as_bytes(), "m"));
    assert!(wrong("<x/>").contains("m:1: expected <DescriptorRecord>"));
    let open = record("DescriptorRecord", "<a>\n<b></a>".to_owned());
    let error = wrong(&open);
    assert!(
        error.starts_with("m:3: expected well-formed XML"),
        "{error}"
    );
    let entity = record("DescriptorRecord", concept(&term("&mine;")));
    assert!(wrong(&entity).contains("&mine;"));
}

#[test]
fn triples() {
    let mesh = "http://id.nlm.nih.gov/mesh/";
    let text = format!(
        "# comment\n\
         <{mesh}T1> <{mesh}vocab#prefLabel> \"Caf\\u00E9 \\\"au lait\\\"\"@en .\n\
         <{mesh}M1> <{mesh}vocab#preferredTerm> <{mesh}T1> .\n\
         <{mesh}M1> <{mesh}vocab#active> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean> .\n\
         <{mesh}M1> <{mesh}vocab#term> <{mesh}T2> .\n\
         <{mesh}M2> <{mesh}vocab#term> <{mesh}T2> .\n\
         _:b1 <http://example.org/x> _:b2 .\n\
         <{mesh}T2> <{mesh}vocab#altLabel> \"milk coffee\" .\n"
    );
    let concepts = read_mesh_n_triples(text.as_bytes(), "m").unwrap();
    assert_eq!(terms(&concepts), ["Caf\u{e9} \"au lait\"; milk coffee"]);
    for line in [
        "<a> <b> <c>",
        "<a> <b> .",
        "a <b> <c> .",
        "<a> <b> \"c .",
        "<a> <b> \"\\x\" .",
        "<a> <b> \"c\" d .",
    ] {
        let error = message(read_mesh_n_triples(line.as_bytes(), "m"));
        assert!(
            error.starts_with("m:1: expected a triple"),
            "{line}: {error}"
        );
    }
}

#[test]
fn other_files_are_no_terminology() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for text in ["", "a, b\n", "C1 => c|d\n", "<notes>\n</notes>\n"] {
        std::fs::write(&path, text).unwrap();
        assert!(read_concepts(&path).unwrap().is_none(), "{text}");
    }
}
