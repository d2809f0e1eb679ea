//! One question to all papers.

use axum::http::StatusCode;
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};

use crate::support::{HOSTILE, Site, assert_contains, document, link};

/// A paper with one sentence.
fn paper(id: &str, title: &str, sentence: &str) -> SocoDocument {
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", id);
    meta.set("title", title);
    meta.set("authors", vec!["Ann Ash", "Bo Birch"]);
    SocoDocument {
        content: SocoContent::Document(vec![
            Chunk::new(ChunkKind::Section, "Results"),
            Chunk::new(ChunkKind::Content, sentence),
        ]),
        meta,
    }
}

fn site() -> Site {
    let records = vec![
        paper(
            "a",
            "On \"tea\", black",
            "Black tea is served with milk and sugar, or lemon.",
        ),
        paper("b", "On coffee", "Coffee beans are roasted."),
        paper("c", "On green tea", "Black tea."),
    ];
    Site::new(records, false)
}

#[test]
fn every_paper_has_a_row_with_its_best_answer() {
    let site = site();
    let client = site.client();
    let page = client.get("/table?q=black+tea");
    page.has("Answers in 2 of 3 papers");
    let rows: Vec<&str> = page.body.split("<td class=\"file\">").skip(1).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].contains("On green tea") && rows[0].contains(">Black tea.</a>"));
    assert!(rows[1].contains("served with milk"));
    assert!(rows[2].contains("On coffee") && rows[2].contains("No answer"));
    // The answer is a permanent link.
    let sentence = link(rows[0], "/document/c?frame=");
    client.get(sentence.split('#').next().unwrap()).has("<mark");
    // Without a question there is the form alone; the question is logged once.
    assert!(!client.get("/table").ok().contains("<table"));
    client.get("/table?q=black+tea&query=0&page=2").ok();
    client.get("/table/answers.csv?q=black+tea");
    let log = site.log();
    assert_eq!(log.len(), 1);
    assert_eq!((&*log[0].query, log[0].results), ("black tea", 2));
}

#[test]
fn the_file_has_all_papers_with_quoted_fields() {
    let site = site();
    let answer = site.client().get("/table/answers.csv?q=black+tea");
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<&str> = answer.body.split("\r\n").collect();
    assert_eq!(lines.len(), 5, "{}", answer.body);
    assert_eq!(
        lines[0],
        "doc_id,title,authors,year,venue,doi,arxiv,answer,section,page,score,link"
    );
    let first = "c,On green tea,Ann Ash; Bo Birch,,,,,Black tea.,Results,,";
    assert!(lines[1].starts_with(first), "{}", lines[1]);
    let quoted = "a,\"On \"\"tea\"\", black\",Ann Ash; Bo Birch,,,,,\
                  \"Black tea is served with milk and sugar, or lemon.\",Results,,";
    assert!(lines[2].starts_with(quoted), "{}", lines[2]);
    assert_eq!(lines[3], "b,On coffee,Ann Ash; Bo Birch,,,,,,,,,");
    assert_eq!(lines[4], "");
}

#[test]
fn a_thousand_papers_have_pages() {
    let records = (0..1_000).map(|n| document(&format!("p{n:04}"), "x", 2020));
    let site = Site::new(records.collect(), false);
    let client = site.client();
    let page = client.get("/table?q=black+tea&page=20");
    assert_eq!(page.ok().matches("<td class=\"file\">").count(), 50);
    assert!(!page.body.contains("rel=\"next\""));
    let file = client.get("/table/answers.csv?q=black+tea");
    assert_eq!(file.body.lines().count(), 1_001);
    let long = "tea+".repeat(3_000);
    let long = client.get(&format!("/table?q={long}"));
    assert_eq!(long.status, StatusCode::BAD_REQUEST);
}

#[test]
fn texts_are_escaped() {
    let site = Site::new(vec![document(HOSTILE, HOSTILE, 2020)], false);
    let page = site.client().get("/table?q=green+tea");
    assert!(!page.ok().contains("<img"), "{}", page.body);
    assert_contains(&page.body, "&lt;script&gt;alert");
}
