//! Query log: counts and exports.

use std::time::Duration;

use ir_core::training::TrainingSet;
use ir_data::training::TrainingFile;

use crate::support::{Site, document, link};

#[test]
fn the_log_is_counted_and_exported() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    assert!(
        client
            .get("/insight")
            .ok()
            .contains("Nobody has asked anything yet.")
    );
    let page = client.get("/?q=boiling+water&suggested=1");
    client.get("/?q=zzz%3Cscript%3E").ok();
    // Opened answers of questions within a document are not logged.
    client.get("/document/a?q=tea").ok();
    // The query itself may not be stored yet.
    client.get(&link(page.ok(), "/open?")).location();
    std::thread::sleep(Duration::from_millis(600));
    let page = client.get("/insight");
    let page = page.ok();
    assert!(
        page.contains("<dt>From suggestions</dt><dd>33.3 %</dd>"),
        "{page}"
    );
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
