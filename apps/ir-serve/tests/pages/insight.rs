//! Query log: counts and exports.

use std::collections::BTreeSet;

use ir_core::training::TrainingSet;
use ir_data::training::TrainingFile;
use ir_qa::soco::SocoContent;

use crate::support::{Site, assert_contains, document, link};

#[test]
fn the_log_is_counted_and_exported() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    client.get("/insight").has("Nobody has asked anything yet.");
    let page = client.get("/?q=boiling+water&suggested=1");
    client.get("/?q=zzz%3Cscript%3E").ok();
    // Opened answers of questions within a document are not logged.
    client.get("/document/a?q=tea").ok();
    // The query itself may not be stored yet.
    client.get(&link(page.ok(), "/open?")).location();
    site.wait_for_log(3, 1);
    let page = client.get("/insight");
    let page = page.ok();
    assert_contains(page, "<dt>From suggestions</dt><dd>33.3 %</dd>");
    assert!(page.contains("<dt>With an opened answer, on the search page</dt><dd>50.0 %</dd>"));
    assert!(
        page.contains("Questions without an opened answer") && page.contains("zzz&lt;script&gt;")
    );
    assert_eq!(page.matches(">tea</a>").count(), 1, "{page}");
    let log = client.get("/insight/export/queries.jsonl");
    let lines: Vec<serde_json::Value> = log
        .body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["clicks"], serde_json::json!(["a/2/1"]));
    assert_eq!(
        client
            .get("/insight/export/queries.jsonl?after=1")
            .body
            .lines()
            .count(),
        2
    );
    // Read as `ir mine --examples` does.
    let examples = client.get("/insight/export/examples.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("examples.jsonl");
    std::fs::write(&path, examples.body).unwrap();
    let set = TrainingFile::open(&path).unwrap();
    assert_eq!(set.len(), 1);
    let example = set.get(0).unwrap();
    assert_eq!(example.query, "boiling water");
    assert_eq!(example.positives[0].text, "Black tea needs boiling water.");
}

/// Clicks of the log as evaluation data, in the formats that `ir search` and `ir eval` read.
#[test]
fn opened_answers_are_judgments() {
    let site = Site::new(
        vec![document("a b", "x", 2020), document("c", "y", 2021)],
        false,
    );
    let client = site.client();
    let open = |query: &str, frame: &str| {
        let page = client.get(&format!("/?q={query}"));
        let of_frame = format!("&amp;frame={frame}&amp;");
        let mut links = page
            .ok()
            .split("href=\"")
            .filter(|rest| rest.starts_with("/open?"));
        let link = links.find(|rest| rest.contains(&of_frame)).unwrap();
        let link = link.split('"').next().unwrap().replace("&amp;", "&");
        client.get(&link).location();
    };
    open("boiling+water", "a+b%2F2%2F1");
    open("Boiling++WATER", "c%2F2%2F1");
    open("boiling+water", "c%2F2%2F1");
    open("minutes", "c%2F2%2F0");
    client.get("/?q=nobody+opened+tea").ok();
    site.wait_for_log(5, 4);
    let export = |name: &str| client.get(&format!("/insight/export/{name}")).body;
    assert_eq!(export("queries.tsv"), "1\tboiling water\n4\tminutes\n");
    let qrels = "1 0 a%20b/2/1 1\n1 0 c/2/1 1\n4 0 c/2/0 1\n";
    assert_eq!(export("qrels.txt"), qrels);
    let documents = export("documents.jsonl");
    assert!(documents.lines().any(|line| {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        document["id"] == "a%20b/2/1" && document["text"] == "Black tea needs boiling water."
    }));
    let examples = export("examples.jsonl");
    assert_eq!(examples.lines().count(), 2, "{examples}");
    let page = client.get("/insight");
    for name in ["queries.tsv", "qrels.txt", "documents.jsonl"] {
        link(page.ok(), &format!("/insight/export/{name}"));
    }
    assert_eq!(
        client.get("/insight/export/qrels.txt?after=1").body,
        "2 0 c/2/1 1\n4 0 c/2/0 1\n"
    );
    assert_eq!(client.get("/insight/export/x").status, 404);
    // Nobody has judged the text that a sentence has now.
    let mut changed = document("c", "y", 2021);
    let SocoContent::Document(chunks) = &mut changed.content else {
        unreachable!()
    };
    chunks[2].text = Some("Green tea is cold. Black tea needs boiling water.".to_owned());
    site.service.add(vec![changed]).unwrap();
    site.publish();
    assert_eq!(export("qrels.txt"), "1 0 a%20b/2/1 1\n1 0 c/2/1 1\n");
    assert_eq!(export("queries.tsv"), "1\tboiling water\n");
    // Answers of deleted papers are left out.
    site.service.delete(Some(&["c".to_owned()])).unwrap();
    site.publish();
    assert_eq!(export("qrels.txt"), "1 0 a%20b/2/1 1\n");
    assert_eq!(export("examples.jsonl").lines().count(), 1);
}

/// Distinct sentences have distinct ids in all files, and the files belong together.
#[test]
fn exported_ids_are_distinct() {
    let ids = ["a b", "a_b", "a%20b", "a\u{a0}b", "a\tb", "a  b"];
    let records = ids.map(|id| document(id, "x", 2020)).to_vec();
    let site = Site::new(records, false);
    let client = site.client();
    let page = client.get("/?q=boiling");
    let opened = page.ok().split("href=\"");
    let mut opened: Vec<&str> = opened
        .filter(|rest| rest.starts_with("/open?"))
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    opened.sort_unstable();
    opened.dedup();
    assert_eq!(opened.len(), ids.len());
    for link in opened {
        client.get(&link.replace("&amp;", "&")).location();
    }
    site.wait_for_log(1, ids.len());
    let documents = client.get("/insight/export/documents.jsonl").body;
    let documents: Vec<String> = documents
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|document| document["id"].as_str().unwrap().to_owned())
        .collect();
    let distinct: BTreeSet<&str> = documents.iter().map(String::as_str).collect();
    assert_eq!((documents.len(), distinct.len()), (12, 12), "{distinct:?}");
    let qrels = client.get("/insight/export/qrels.txt").body;
    let judged: BTreeSet<&str> = qrels
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(judged.len(), ids.len(), "{qrels}");
    assert!(judged.is_subset(&distinct), "{qrels}");
}
