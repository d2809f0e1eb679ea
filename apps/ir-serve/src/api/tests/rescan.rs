use ir_qa::documents::DocumentReader;

use super::*;
use crate::config::PaperFolder;

fn server(papers: &TempDir, limits: Limits) -> TestServer {
    TestServer::with_config(|config| {
        config.limits = limits;
        config.papers = Some(PaperFolder {
            path: papers.path().to_owned(),
            reader: DocumentReader::default(),
        });
    })
}

#[test]
fn the_folder_is_read_again() {
    let papers = TempDir::new().unwrap();
    let path = |name: &str| papers.path().join(name);
    std::fs::write(path("tea.txt"), "Tea is a drink.").unwrap();
    let server = server(&papers, Limits::default());
    // The body may be empty.
    let rescan = || {
        let (status, body) = server.request("POST", "/v1/index/rescan", Some(&server.admin), "");
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    // Reads the folder, and waits for the publication.
    let publish = || {
        let (status, body) = rescan();
        assert_eq!(status, 200, "{body}");
        server.wait_for(&body);
        body
    };
    assert_eq!(publish()["read"], 1);
    let found = || server.answers(json!({"query": "tea cup", "n_best": 9}));
    assert_eq!(found(), ["Tea is a drink."]);
    let unchanged = json!({"read": 0, "unchanged": 1, "failed": 0, "skipped": 0, "deleted": 0});
    assert_eq!(rescan(), (200, unchanged));
    std::fs::write(path("cup.txt"), "A cup is made of clay.").unwrap();
    publish();
    assert_eq!(found().len(), 2);
    std::fs::remove_file(path("cup.txt")).unwrap();
    assert_eq!(publish()["deleted"], 1);
    assert_eq!(found(), ["Tea is a drink."]);
    std::fs::remove_dir_all(papers.path()).unwrap();
    let (status, body) = rescan();
    assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")));
    for method in ["GET", "POST"] {
        let (status, _) = server.request(method, "/v1/index/rescan", Some(&server.query), "{}");
        assert_eq!(status, 403, "{method}");
    }
    let state = state(&server);
    assert_eq!(
        (&state["reading"], &state["op_id"]),
        (&Value::Null, &Value::Null)
    );
    assert!(!state["error"].as_str().unwrap().is_empty(), "{state}");
    assert_eq!(state["last"]["files"], 1, "{state}");
}

fn state(server: &TestServer) -> Value {
    let (status, body) = server.request("GET", "/v1/index/rescan", Some(&server.admin), "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// A reading that takes longer than half of the time limit continues after the response.
#[test]
fn a_long_reading_outlives_its_request() {
    let papers = TempDir::new().unwrap();
    std::fs::write(papers.path().join("tea.txt"), "Tea is a drink.").unwrap();
    let limits = Limits {
        time: Duration::from_secs(4),
        ..Limits::default()
    };
    let server = server(&papers, limits);
    let rescan = || server.post("/v1/index/rescan", &server.admin, &json!({}));
    // The reading waits for the store.
    let connection = server.service.store().connection();
    let reading = json!({"reading": {"done": 0, "total": 0}});
    assert_eq!(rescan(), (202, reading));
    let (status, body) = rescan();
    assert_eq!(status, 409, "{body}");
    drop(connection);
    wait_until(|| state(&server)["reading"].is_null());
    let end = state(&server);
    assert_eq!(
        (&end["last"]["files"], &end["error"]),
        (&json!(1), &Value::Null)
    );
    let publication = server.wait_for(&end);
    assert_eq!(publication["status"], "finished");
    assert_eq!(
        server.answers(json!({"query": "drink"})),
        ["Tea is a drink."]
    );
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
