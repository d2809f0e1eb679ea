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
fn papers_with_one_doi_are_published_once() {
    let site = Site::new(Vec::new(), false);
    let papers = tempfile::tempdir().unwrap();
    for (name, doi) in [
        ("a", "10.1000/ABC"),
        ("b", "https://doi.org/10.1000/abc"),
        ("c", "10.1000/d"),
    ] {
        let text = format!("---\ndoi: {doi}\n---\n\nTea of number {name} is green.\n");
        std::fs::write(papers.path().join(name).with_extension("md"), text).unwrap();
    }
    let read = || {
        let reader = DocumentReader::default();
        let read = site
            .service
            .read_folder(papers.path(), &reader, &mut ir_core::NoProgress);
        read.unwrap();
        site.publish();
        let state = site.service.published().unwrap();
        let ids: Vec<String> = state
            .documents()
            .iter()
            .map(|paper| paper.id.clone())
            .collect();
        ids
    };
    assert_eq!(read(), ["a.md", "c.md"]);
    let client = site.client();
    client
        .get("/files")
        .has("b.md: the same as <a href=\"/document/a.md\">a.md</a>");
    // The file that is left is no duplicate.
    std::fs::remove_file(papers.path().join("a.md")).unwrap();
    assert_eq!(read(), ["b.md", "c.md"]);
    assert!(!client.get("/files").ok().contains("Hidden papers"));
}

#[test]
fn papers_have_links_to_their_files() {
    let papers = tempfile::tempdir().unwrap();
    let outside = papers.path().join("outside.md");
    std::fs::write(&outside, "Secret.").unwrap();
    let folder = papers.path().join("folder");
    std::fs::create_dir_all(folder.join("a b")).unwrap();
    std::fs::write(folder.join("a b/té.md"), "# Tea\n\nTea is a drink.\n").unwrap();
    let records = r#"{"doc_type": "soco_doc", "meta": {"doc_id": "x#y"}, "data": [{"type": "content", "text": "Cups are blue."}]}"#;
    std::fs::write(folder.join("r.json"), records).unwrap();
    let site = Site::with_config(
        vec![document("../outside.md", "x", 2020)],
        AccessConfig::default(),
        |config| config.with_papers(&folder, DocumentReader::default()),
    );
    site.service.rescan().unwrap();
    wait_until(|| site.service.unfinished_jobs() == 0);
    let client = site.client();
    let url = "/original?doc=a+b%2Ft%C3%A9.md";
    client.get("/?q=drink").has(url);
    client.get("/document/a%20b%2Ft%C3%A9.md").has(url);
    let file = client.get(url);
    let text = "# Tea\n\nTea is a drink.\n";
    assert_eq!((file.status, &*file.body), (StatusCode::OK, text));
    assert_eq!(
        (
            &file.headers["content-type"],
            &file.headers["content-disposition"]
        ),
        (
            &"application/octet-stream".parse().unwrap(),
            &"attachment; filename*=UTF-8''t%C3%A9.md".parse().unwrap()
        )
    );
    let file = client.get("/original?doc=r.json%23x%23y");
    assert_eq!((file.status, &*file.body), (StatusCode::OK, records));
    // Documents of REST have no file, whatever their ids are.
    for id in ["..%2Foutside.md", "unknown.md", "", "%2Fetc%2Fpasswd"] {
        let status = client.get(&format!("/original?doc={id}")).status;
        assert_eq!(status, StatusCode::NOT_FOUND, "{id}");
    }
    std::fs::remove_file(folder.join("a b/té.md")).unwrap();
    assert_eq!(client.get(url).status, StatusCode::NOT_FOUND);
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
