use ir_qa::documents::DocumentReader;

use super::*;

#[test]
fn the_folder_is_read_again() {
    let papers = TempDir::new().unwrap();
    let path = |name: &str| papers.path().join(name);
    std::fs::write(path("tea.txt"), "Tea is a drink.").unwrap();
    let server = TestServer::with_config(AccessConfig::default(), |config| {
        config.with_papers(papers.path(), DocumentReader::default())
    });
    let rescan = || server.post("/v1/index/rescan", &server.admin, &json!({}));
    // Reads the folder, and waits for the publication.
    let publish = || {
        let (status, body) = rescan();
        assert_eq!(status, 200, "{body}");
        server.wait(body["op_id"].as_str().unwrap());
        body
    };
    assert_eq!(publish()["read"], 1);
    let found = || server.answers(json!({"query": "tea cup", "n_best": 9}));
    assert_eq!(found(), ["Tea is a drink."]);
    let unchanged = json!({"read": 0, "unchanged": 1, "failed": 0, "skipped": 0});
    assert_eq!(rescan(), (200, unchanged));
    std::fs::write(path("cup.txt"), "A cup is made of clay.").unwrap();
    publish();
    assert_eq!(found().len(), 2);
    std::fs::remove_file(path("cup.txt")).unwrap();
    publish();
    assert_eq!(found(), ["Tea is a drink."]);
    std::fs::remove_dir_all(papers.path()).unwrap();
    let (status, body) = rescan();
    assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")));
    let (status, _) = server.post("/v1/index/rescan", &server.query, &json!({}));
    assert_eq!(status, 403);
}

#[test]
fn a_service_without_a_folder_reads_none() {
    let server = TestServer::new();
    let (status, body) = server.post("/v1/index/rescan", &server.admin, &json!({}));
    assert_eq!(status, 409, "{body}");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("expected a folder of papers, found none"),
        "{message}"
    );
}
