//! Files of the folder of papers that could not be read.

use axum::http::StatusCode;
use ir_qa::documents::DocumentReader;
use ir_serve::store::KeyRole;
use ir_serve::{AccessConfig, Question, ServiceConfig};

use crate::support::{Site, assert_contains, document, wait_until};

#[test]
fn files_that_cannot_be_read_are_listed() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    let page = client.get("/files");
    page.has("No folder has been read yet.");
    assert!(!page.body.contains("All files were read"), "{}", page.body);
    // A reading that is canceled is none.
    let canceled = tempfile::tempdir().unwrap();
    std::fs::write(canceled.path().join("tea.txt"), "Tea is a drink.").unwrap();
    let mut stop = |_: &str, _: u64, _: Option<u64>| ir_core::Flow::Stop;
    let reader = DocumentReader::default();
    let read = site
        .service
        .read_folder(canceled.path(), &reader, &mut stop);
    assert!(read.is_err());
    let page = client.get("/files");
    page.has("No folder has been read yet.");
    assert!(page.body.contains("The last reading failed: canceled."));
    assert!(!client.get("/review").ok().contains("Folder of papers"));
    let papers = tempfile::tempdir().unwrap();
    for number in 0..150 {
        let name = format!("bad<b>{number:03}.xml");
        std::fs::write(papers.path().join(name), "<article>").unwrap();
    }
    std::fs::write(papers.path().join("tea.md"), "# Tea\n\nTea is a drink.").unwrap();
    let read = site
        .service
        .read_folder(papers.path(), &reader, &mut ir_core::NoProgress);
    assert_eq!(read.unwrap().report.failed(), 150);
    let numbers = "150 files failed, 1 file incomplete.";
    let review = client.get("/review");
    assert!(
        review.ok().contains(numbers) && review.body.contains("href=\"/files\""),
        "{}",
        review.body
    );
    let page = client.get("/files");
    let page = page.ok();
    assert_contains(page, numbers);
    assert_eq!(page.matches("<tr>").count(), 101);
    assert!(page.contains("<td class=\"file\">bad&lt;b&gt;000.xml</td>") && !page.contains("<b>0"));
    let last = client.get("/files?page=2");
    assert_eq!(last.ok().matches("<tr>").count(), 52);
    assert_contains(&last.body, "<td class=\"file\">tea.md</td>");
    assert_contains(&last.body, "no authors, no year");
    assert_eq!(client.get("/files?page=9").ok().matches("<tr>").count(), 1);
}

#[test]
fn the_folder_is_read_again() {
    let papers = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(papers.path().join(name), text).unwrap();
    let soco = |text: &str| {
        format!(
            r#"{{"doc_type": "soco_doc", "meta": {{"doc_id": "a", "year": 2020, "authors": "A"}}, "data": [{{"type": "title", "text": "Title"}}, {{"type": "section", "text": "One"}}, {{"type": "content", "text": "{text}", "page": 1}}]}}"#
        )
    };
    write("tea.jsonl", &soco("Tea is a drink."));
    let configure =
        |config: ServiceConfig| config.with_papers(papers.path(), DocumentReader::default());
    let site = Site::with_config(Vec::new(), AccessConfig::default(), configure);
    let client = site.client();
    let page = client.get("/files");
    page.has("No folder has been read yet.");
    assert!(
        page.body
            .contains("<form method=\"post\" action=\"/files\">")
    );
    // Reads the folder, waits for the publication, and returns its page.
    let read = || {
        let answer = client.post("/files", &[]);
        let job = answer.location().to_owned();
        assert!(job.starts_with("/jobs/"), "{job}");
        wait_until(|| site.service.unfinished_jobs() == 0);
    };
    let finds = |question: &str, sentence: &str| {
        let list = site.service.ask(&Question::new(question, 10)).unwrap();
        list.answers
            .iter()
            .any(|answer| answer.frame.answer == sentence)
    };
    read();
    assert!(finds("tea", "Tea is a drink."));
    let page = client.get("/files");
    let folder = papers.path().display().to_string();
    assert!(
        page.ok().contains(&folder) && page.body.contains("1 file."),
        "{}",
        page.body
    );
    // Nothing has changed.
    assert_eq!(client.post("/files", &[]).location(), "/files");
    write("cup.txt", "A cup is made of clay.");
    read();
    assert!(finds("cup", "A cup is made of clay."));
    std::fs::remove_file(papers.path().join("cup.txt")).unwrap();
    read();
    assert!(!finds("cup", "A cup is made of clay.") && finds("tea", "Tea is a drink."));
    // A folder without readable files changes nothing.
    std::fs::remove_file(papers.path().join("tea.jsonl")).unwrap();
    let answer = client.post("/files", &[]);
    let error = "expected papers, found none that can be read. Its 1 documents are kept";
    answer.has_part(StatusCode::CONFLICT, error);
    client.get("/files").has(error);
    assert!(finds("tea", "Tea is a drink."));
    std::fs::remove_dir(papers.path()).unwrap();
    let answer = client.post("/files", &[]);
    assert!(
        answer.page(StatusCode::CONFLICT).contains(&folder),
        "{}",
        answer.body
    );
}

#[test]
fn a_service_without_a_folder_reads_none() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    let page = client.get("/files");
    assert!(!page.ok().contains("action=\"/files\""), "{}", page.body);
    let answer = client.post("/files", &[]);
    let error = "expected a folder of papers, found none";
    answer.has_part(StatusCode::CONFLICT, error);
}

#[test]
fn files_are_for_admins() {
    let site = Site::new(vec![document("a", "x", 2020)], true);
    let query = site.service.create_key(KeyRole::Query).unwrap();
    let client = site.client();
    assert!(client.get("/files").location().starts_with("/sign-in"));
    client.post("/sign-in", &[("key", &query)]).location();
    assert_eq!(client.get("/files").status, StatusCode::FORBIDDEN);
    assert_eq!(client.post("/files", &[]).status, StatusCode::FORBIDDEN);
}
