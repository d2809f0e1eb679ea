//! Publication, abort and deletion with the bodies that clients send; large documents; files.

use std::time::Instant;

use super::*;

fn added(server: &TestServer, documents: &[Value]) {
    let body = json!({"data": documents, "auto_index": true});
    let body = server.success("/v1/index/add", &server.admin, &body);
    assert_eq!(server.wait_for(&body)["status"], "finished");
}

fn ids(server: &TestServer) -> Vec<String> {
    let (_, page) = server.post("/v1/index/read", &server.admin, &json!({}));
    let documents = page.as_array().unwrap().iter();
    let ids = documents.map(|document| document["meta"]["doc_id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn publications_ignore_parameters_and_aborts_need_no_body() {
    let server = TestServer::new();
    let body = json!({"data": [document("p", "Tea is a drink.")]});
    server.post("/v1/index/add", &server.admin, &body);
    let parameters = json!({"params": {"model": "m", "rebuild": true}, "uid": "u"});
    let body = server.success("/v1/index/publish", &server.admin, &parameters);
    assert_eq!(server.wait_for(&body)["status"], "finished");
    assert_eq!(server.answers(json!({"query": "tea"})), ["Tea is a drink."]);
    for body in ["", "{}", "{\"op_id\": \"x\"}", "no JSON"] {
        let (status, text) = server.request("POST", "/v1/index/abort", Some(&server.admin), body);
        assert_eq!((status, &*text), (200, "{\"aborted\":[]}"), "{body}");
    }
    // A publication needs a body, as its schema says.
    for body in ["", "[]", "5"] {
        let (status, text) = server.request("POST", "/v1/index/publish", Some(&server.admin), body);
        assert_eq!(status, 400, "{body} {text}");
    }
}

#[test]
fn deletions_publish_if_asked_to() {
    let server = TestServer::new();
    let documents = ["a", "b", "c", "d"].map(|id| document(id, &format!("Tea of {id}.")));
    added(&server, &documents);
    let delete = |body: Value| server.success("/v1/index/delete", &server.admin, &body);
    let tea = || {
        let mut answers = server.answers(json!({"query": "tea"}));
        answers.sort();
        answers
    };
    let deleted = delete(json!({"doc_ids": ["a"], "auto_index": true}));
    assert_eq!(deleted["deleted"], 1);
    let job = server.wait_for(&deleted);
    assert_eq!(job["status"], "finished");
    assert_eq!(tea(), ["Tea of b.", "Tea of c.", "Tea of d."]);
    // An empty list deletes nothing; without one, all are deleted.
    assert_eq!(delete(json!({"doc_ids": []}))["deleted"], 0);
    assert_eq!(ids(&server), ["b", "c", "d"]);
    let deleted = delete(json!({}));
    assert_eq!(deleted, json!({"deleted": 3}));
    assert_eq!(ids(&server), [""; 0]);
    assert_eq!(tea().len(), 3);
    assert_eq!(server.publish()["status"], "finished");
    assert_eq!(tea(), [""; 0]);
    // `null` is an error, not all documents.
    added(&server, &documents);
    let (status, _) = server.post("/v1/index/delete", &server.admin, &json!({"doc_ids": null}));
    assert_eq!(status, 400);
    assert_eq!(ids(&server), ["a", "b", "c", "d"]);
}

/// Documents of 10 MB in one line: sentences, words without an end of a sentence, and one word.
#[test]
fn lines_of_ten_megabytes_are_asked() {
    let server = TestServer::new();
    let mut prose = String::with_capacity(10_100_000);
    for number in 0.. {
        if prose.len() >= 10_000_000 {
            break;
        }
        prose += &format!("Sentence {number} of the line goes on about green leaves. ");
    }
    prose += "The last cup holds oolong.";
    let endless = prose.replace(". ", " ");
    let word = "x".repeat(10_000_000) + " oolong.";
    let start = Instant::now();
    for (id, text) in [("prose", &prose), ("endless", &endless), ("word", &word)] {
        added(&server, &[document(id, text)]);
        let query = json!({"query": "oolong", "n_best": 1, "filter": format!("doc_id={id}")});
        // Sentences of more than 500 characters are no answers.
        let expected = match id {
            "prose" => vec!["The last cup holds oolong."],
            _ => Vec::new(),
        };
        assert_eq!(server.answers(query), expected, "{id}");
        // The page has the whole text, and its words are found there.
        let page = server.page(&format!("/document/{id}?q=oolong"));
        assert!(page.len() >= text.len(), "{id}");
        assert!(page.contains("<b>oolong</b>"), "{id}");
    }
    let query = json!({"query": "sentence 98765", "n_best": 1});
    let answers = server.answers(query);
    assert_eq!(
        answers,
        ["Sentence 98765 of the line goes on about green leaves."]
    );
    // Quadratic time would be hours.
    assert!(start.elapsed() < Duration::from_secs(300));
}

#[test]
fn files_with_problems_are_listed() {
    let papers = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(papers.path().join(name), text).unwrap();
    write("b.xml", "<article><unclosed>");
    write("a.xml", "<article>");
    write("tea.md", "# Tea\n\nTea is a drink.\n");
    write("logo.png", "PNG");
    let server = TestServer::new();
    let read = || {
        let reader = ir_qa::documents::DocumentReader::default();
        let read = server
            .service
            .read_folder(papers.path(), &reader, &mut ir_core::NoProgress);
        read.unwrap();
    };
    let files = |body: Value| server.success("/v1/index/files", &server.admin, &body);
    let none = json!({"failed": 0, "skipped": 0, "incomplete": 0, "files": []});
    assert_eq!(files(json!({})), none);
    // Problems of files that are not read again are kept.
    for _ in 0..2 {
        read();
        let found = files(json!({}));
        assert_eq!(
            (&found["failed"], &found["skipped"], &found["incomplete"]),
            (&json!(2), &json!(1), &json!(1))
        );
        let found = found["files"].as_array().unwrap();
        let statuses: Vec<_> = found
            .iter()
            .map(|file| {
                (
                    file["path"].as_str().unwrap(),
                    file["status"].as_str().unwrap(),
                )
            })
            .collect();
        let expected = [
            ("a.xml", "failed"),
            ("b.xml", "failed"),
            ("logo.png", "skipped"),
            ("tea.md", "incomplete"),
        ];
        assert_eq!(statuses, expected);
        assert!(found[0]["reason"].as_str().unwrap().contains("a.xml"));
        assert_eq!(found[2]["reason"], "unknown extension");
        assert_eq!(found[3]["reason"], "no authors, no year, no sections");
    }
    let page = files(json!({"skip": 1, "limit": 1}));
    assert_eq!(page["files"].as_array().unwrap().len(), 1);
    assert_eq!(page["files"][0]["path"], "b.xml");
    let (status, body) = server.post("/v1/index/files", &server.admin, &json!({"limit": 1001}));
    assert_eq!(status, 400, "{body}");
    // Files that are repaired, or gone, have no problems.
    write(
        "a.xml",
        "<article><front/><body><p>Lakes freeze.</p></body></article>",
    );
    std::fs::remove_file(papers.path().join("b.xml")).unwrap();
    read();
    let found = files(json!({}));
    assert_eq!(
        (&found["failed"], &found["incomplete"]),
        (&json!(0), &json!(2)),
        "{found}"
    );
}
