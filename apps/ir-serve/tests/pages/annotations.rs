//! Annotations: form, list, edit, conflict, deletion, exports.

use axum::http::StatusCode;
use ir_data::squad::Squad;
use ir_serve::store::{AnnotationStatus, KeyRole, Verdict};

use crate::support::{HOSTILE, Site, assert_contains, document, link};

const SPAN: &str = "tea needs boiling water";

fn form<'a>(question: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("document", "a b"),
        ("chunk", "2"),
        ("start", "46"),
        ("span", SPAN),
        ("question", question),
        ("name", name),
    ]
}

fn site() -> Site {
    Site::new(vec![document("a b", "x", 2020)], false)
}

#[test]
fn a_question_is_saved_shown_and_listed() {
    let site = site();
    let client = site.client();
    let saved = client.post(
        "/annotations",
        &form("  What does\nblack tea need? ", "Ann"),
    );
    assert_eq!(saved.location(), "/document/a%20b?saved=1#chunk-2");
    let page = client.get("/document/a%20b?saved=1");
    let page = page.ok();
    assert!(page.contains("The question is saved"));
    assert_contains(
        page,
        "Black <span class=\"annotated\">tea needs boiling water</span>.",
    );
    assert!(page.contains("What does black tea need? <span class=\"status\">pending</span> <span class=\"hint\">by Ann</span>"));
    let list = client.get("/annotations");
    assert!(list.ok().contains("What does black tea need?") && list.body.contains("1 annotation<"));
    let stored = site.service.store().annotation(1).unwrap();
    assert!(
        stored.annotator.starts_with("Ann (") && stored.annotator.len() == 22,
        "{}",
        stored.annotator
    );
    // The name is kept.
    client.get("/annotate?document=a").has("value=\"Ann\"");
}

#[test]
fn invalid_forms_keep_what_was_entered() {
    let site = site();
    let client = site.client();
    for (field, value, message) in [
        ("question", " ", "Question: expected a text"),
        ("start", "45", "does not have the text at this place"),
        ("chunk", "-1", "does not have the text at this place"),
        (
            "start",
            "18446744073709551615",
            "does not have the text at this place",
        ),
        ("document", "unknown", "There is no published document"),
        ("span", "", "Text: expected 1 to 5000 characters"),
    ] {
        let mut form = form("What?", "");
        for pair in &mut form {
            if pair.0 == field {
                pair.1 = value;
            }
        }
        let page = client.post("/annotations", &form);
        let page = page.page(StatusCode::UNPROCESSABLE_ENTITY);
        assert!(page.contains(message), "{field}: {page}");
        assert!(field == "question" || page.contains("value=\"What?\""));
    }
    let long = "a".repeat(1_001);
    let page = client.post("/annotations", &form(&long, ""));
    page.has_part(
        StatusCode::UNPROCESSABLE_ENTITY,
        "at most 1000 characters, found 1001",
    );
    assert!(
        site.service
            .store()
            .annotations(None, None)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn two_tabs_that_edit_one_annotation_see_both_versions() {
    let site = site();
    let client = site.client();
    client.post("/annotations", &form("First?", "")).location();
    let page = client.get("/annotations/1");
    assert!(
        page.ok().contains("name=\"revision\" value=\"1\"")
            && page.body.contains("value=\"First?\"")
    );
    let edit = |question, revision| {
        let mut form = form(question, "");
        form.push(("revision", revision));
        client.post("/annotations/1", &form)
    };
    assert_eq!(edit("Second?", "1").location(), "/annotations");
    let conflict = edit("Mine?", "1");
    let page = conflict.page(StatusCode::CONFLICT);
    assert!(page.contains("<strong>Second?</strong>") && page.contains("<strong>Mine?</strong>"));
    assert!(page.contains("name=\"revision\" value=\"2\""));
    assert_eq!(
        site.service.store().annotation(1).unwrap().question,
        "Second?"
    );
    assert_eq!(edit("Mine?", "2").location(), "/annotations");
    let stored = site.service.store().annotation(1).unwrap();
    assert_eq!((stored.question.as_str(), stored.revision), ("Mine?", 3));
    let conflict = client.post("/annotations/1/delete", &[("revision", "1")]);
    conflict.has_part(StatusCode::CONFLICT, "Delete it all the same");
    assert_eq!(
        client
            .post("/annotations/1/delete", &[("revision", "3")])
            .location(),
        "/annotations"
    );
    assert_eq!(client.get("/annotations/1").status, StatusCode::NOT_FOUND);
}

#[test]
fn annotations_of_others_need_an_admin() {
    let site = Site::new(vec![document("a b", "x", 2020)], true);
    let sign_in = |role| {
        let client = site.client();
        let key = site.service.create_key(role).unwrap();
        client.post("/sign-in", &[("key", &key)]).location();
        client
    };
    let (ann, eve, admin) = (
        sign_in(KeyRole::Query),
        sign_in(KeyRole::Query),
        sign_in(KeyRole::Admin),
    );
    ann.post("/annotations", &form("Ann's?", "Ann")).location();
    let annotator = site.service.store().annotation(1).unwrap().annotator;
    assert!(
        ann.get("/annotations/1").ok().contains("Ann&#39;s?")
            || ann.get("/annotations/1").body.contains("Ann's?")
    );
    // The name of another annotator is not enough.
    let eve_form: Vec<_> = form("Eve's?", &annotator);
    eve.post("/annotations", &eve_form).location();
    for answer in [
        eve.get("/annotations/1"),
        eve.post("/annotations/1", &form("Eve's?", "")),
        eve.post("/annotations/1/delete", &[("revision", "1")]),
        eve.get("/review"),
        eve.post("/review/1", &[("verdict", "accept"), ("revision", "1")]),
        eve.post("/publish", &[]),
        eve.post("/abort", &[]),
        eve.get("/insight"),
        eve.get("/insight/export/queries.jsonl"),
    ] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    }
    assert!(!eve.get("/annotations").ok().contains("/annotations/1\""));
    admin.get("/annotations/1").ok();
    admin.get("/review").ok();
    assert_eq!(
        admin
            .post("/annotations/1/delete", &[("revision", "1")])
            .location(),
        "/annotations"
    );
    let anonymous = site.client();
    let answer = anonymous.post("/annotations", &form("Who?", ""));
    answer.has_part(StatusCode::UNAUTHORIZED, "The session has ended");
}

#[test]
fn displaced_annotations_are_shown_for_repair() {
    let site = site();
    let client = site.client();
    client.post("/annotations", &form("What?", "")).location();
    let mut changed = document("a b", "x", 2020);
    let ir_qa::soco::SocoContent::Document(chunks) = &mut changed.content else {
        unreachable!()
    };
    chunks[2].text = Some("Black tea needs hot water. Other text.".to_owned());
    site.service.add(vec![changed]).unwrap();
    site.publish();
    let list = client.get("/annotations?displaced=1");
    list.has("<span class=\"status\">text has changed</span>");
    let page = client.get("/document/a%20b");
    page.has("Questions about text that has changed");
    let page = client.get("/annotations/1");
    let select = link(page.ok(), "/document/a%20b?annotate=1&amp;repair=1");
    let page = client.get(&select);
    let chosen = link(
        page.ok(),
        "/annotations/1?chunk=2&amp;start=0&amp;span=Black",
    );
    let page = client.get(&chosen);
    page.has("<blockquote>Black tea needs hot water.</blockquote>");
    let form = [
        ("revision", "1"),
        ("chunk", "2"),
        ("start", "0"),
        ("span", "Black tea needs hot water."),
        ("question", "What?"),
    ];
    assert_eq!(
        client.post("/annotations/1", &form).location(),
        "/annotations"
    );
    assert!(!site.service.store().annotation(1).unwrap().is_displaced);
}

#[test]
fn lists_have_pages() {
    let site = site();
    let client = site.client();
    for number in 0..51 {
        client
            .post("/annotations", &form(&format!("Question {number}?"), ""))
            .location();
    }
    let first = client.get("/annotations?status=pending");
    assert!(first.ok().contains("Question 50?") && !first.body.contains("Question 0?"));
    let next = link(&first.body, "/annotations?status=pending&amp;page=2");
    client.get(&next).has("Question 0?");
    client
        .get("/annotations?status=rejected")
        .has("0 annotations");
}

#[test]
fn exports_are_read_back() {
    let site = Site::new(
        vec![
            document("a b", "x", 2020),
            document("ü \"q\"", HOSTILE, 2020),
        ],
        false,
    );
    let client = site.client();
    client
        .post("/annotations", &form("What does black tea need?", "Ann"))
        .location();
    client
        .post("/annotations", &form("Rejected?", ""))
        .location();
    let hostile = [
        ("document", "ü \"q\""),
        ("chunk", "2"),
        ("start", "0"),
        ("span", "Green tea"),
        ("question", HOSTILE),
    ];
    client.post("/annotations", &hostile).location();
    let store = site.service.store();
    store.review(1, 1, "r", Verdict::Accept).unwrap();
    store.review(2, 1, "r", Verdict::Reject).unwrap();
    store.review(3, 1, "r", Verdict::Accept).unwrap();

    let lines = client.get("/annotations/export/annotations.jsonl");
    assert_eq!(
        lines.headers["content-disposition"],
        "attachment; filename=\"annotations.jsonl\""
    );
    let lines: Vec<serde_json::Value> = lines
        .body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[0]["question"], &lines[1]["status"]),
        (&"What does black tea need?".into(), &"rejected".into())
    );

    let squad = client.get("/annotations/export/squad.json");
    let squad = Squad::read(squad.body.as_bytes(), "squad.json").unwrap();
    assert_eq!(squad.articles.len(), 2);
    assert_eq!(squad.articles[0].title, "a b");
    let paragraph = &squad.articles[0].paragraphs[0];
    assert_eq!(paragraph.questions.len(), 1);
    assert_eq!(paragraph.questions[0].answers[0].text, SPAN);
    assert_eq!(
        squad.articles[1].paragraphs[0].questions[0].text,
        HOSTILE.split_whitespace().collect::<Vec<_>>().join(" ")
    );

    let qrels = client.get("/annotations/export/qrels.txt");
    let parsed = ir_core::trec::read_qrels(
        qrels.body.as_bytes(),
        "qrels.txt",
        ir_core::trec::HeaderLine::AsData,
    );
    let parsed = parsed.unwrap();
    let (qrels, warnings) = (parsed.data, parsed.warnings);
    assert!(warnings.is_empty());
    assert_eq!(
        (qrels.judgments(), qrels.grade("1", "a%20b/2/1")),
        (2, Some(1))
    );
    let queries = client.get("/annotations/export/queries.tsv");
    assert!(
        queries
            .body
            .starts_with("1\tWhat does black tea need?\n3\t")
    );
    let examples = client.get("/annotations/export/examples.jsonl");
    let first: serde_json::Value =
        serde_json::from_str(examples.body.lines().next().unwrap()).unwrap();
    assert_eq!(first["positive_passages"][0]["docid"], "a%20b/2/1");
    let documents = client.get("/annotations/export/documents.jsonl");
    assert_contains(
        &documents.body,
        "{\"id\":\"a%20b/2/1\",\"text\":\"Black tea needs boiling water.\"}\n",
    );
    assert_eq!(
        first["positive_passages"][0]["text"],
        "Black tea needs boiling water."
    );
    assert_eq!(
        client.get("/annotations/export/x").status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        store
            .annotations(None, Some(AnnotationStatus::Accepted))
            .unwrap()
            .len(),
        2
    );
}
