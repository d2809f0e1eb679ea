//! DataFinder's form: storage, suggestions, export.

use axum::http::StatusCode;
use ir_data::datafinder::read_test_queries;

use crate::support::{HOSTILE, Site, assert_contains};

const FORM: [(&str, &str); 7] = [
    ("abstract", "We parse English text."),
    ("query", "A supervised parser of English"),
    ("task", "Parsing"),
    ("modality", "Text"),
    ("year", "2017"),
    ("datasets", "Penn Treebank\r\n\r\nCCGbank\r\nCCGbank"),
    ("name", "Ann"),
];

#[test]
fn queries_are_stored_edited_and_exported_in_datafinders_form() {
    let site = Site::new(Vec::new(), false);
    let client = site.client();
    client.get("/datasets/annotate").ok();
    assert_eq!(
        client.post("/datasets/annotate", &FORM).location(),
        "/datasets"
    );
    client
        .get("/datasets")
        .has("Datasets: Penn Treebank; CCGbank");
    let page = client.get("/datasets/1");
    page.has("Penn Treebank\nCCGbank</textarea>");
    let mut edited = FORM.to_vec();
    edited.extend([("revision", "1"), ("language", "English")]);
    assert_eq!(client.post("/datasets/1", &edited).location(), "/datasets");
    let conflict = client.post("/datasets/1", &edited);
    let page = conflict.page(StatusCode::CONFLICT);
    assert!(page.contains("Stored version") && page.contains("name=\"revision\" value=\"2\""));

    let export = client.get("/datasets/export/queries.jsonl");
    let read = read_test_queries(export.body.as_bytes(), "queries.jsonl", "t").unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].positives, ["CCGbank", "Penn Treebank"]);
    assert_eq!(read[0].query.text, "A supervised parser of English");
    assert_eq!(
        read[0].query.attributes.text("keyphrase_query"),
        Some("parsing text english")
    );
    assert_eq!(read[0].query.attributes.year(), Some(2017));

    let stale = client.post("/datasets/1/delete", &[("revision", "1")]);
    assert_eq!(stale.status, StatusCode::CONFLICT);
    assert_eq!(
        client
            .post("/datasets/1/delete", &[("revision", "2")])
            .location(),
        "/datasets"
    );
    assert_eq!(client.get("/datasets/1").status, StatusCode::NOT_FOUND);
    assert_eq!(client.get("/datasets/export/queries.jsonl").body, "");
}

#[test]
fn fields_and_datasets_are_suggested_from_the_abstract() {
    let site = Site::new(Vec::new(), false);
    let client = site.client();
    client.post("/datasets/annotate", &FORM).location();
    let form = [
        (
            "abstract",
            "Zero-shot PARSING of the Penn Treebank in German.",
        ),
        ("suggest", "1"),
    ];
    let page = client.post("/datasets/annotate", &form);
    let page = page.ok();
    for value in [
        "value=\"Parsing\"",
        "value=\"German\"",
        "value=\"zero-shot\"",
        "name=\"dataset\" value=\"Penn Treebank\"",
    ] {
        assert!(page.contains(value), "{value}: {page}");
    }
    assert!(!page.contains("value=\"CCGbank\""));
}

#[test]
fn invalid_forms_keep_what_was_entered() {
    let site = Site::new(Vec::new(), false);
    let client = site.client();
    for (form, message) in [
        (
            vec![("abstract", ""), ("query", "q")],
            "Abstract: expected 1 to 20000 characters, found 0.",
        ),
        (
            vec![("abstract", HOSTILE), ("datasets", HOSTILE)],
            "Query: expected a sentence",
        ),
        (
            vec![("abstract", "a"), ("query", "q"), ("year", "x")],
            "Year: expected a number",
        ),
    ] {
        let page = client.post("/datasets/annotate", &form);
        let page = page.page(StatusCode::UNPROCESSABLE_ENTITY);
        assert_contains(page, message);
    }
}
