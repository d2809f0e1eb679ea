//! Files of the folder of papers that could not be read.

use axum::http::StatusCode;
use ir_qa::documents::DocumentReader;
use ir_serve::store::KeyRole;

use crate::support::{Site, document};

#[test]
fn files_that_cannot_be_read_are_listed() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    assert!(
        client
            .get("/files")
            .ok()
            .contains("All files were read, and lack nothing.")
    );
    assert!(!client.get("/review").ok().contains("Folder of papers"));
    let papers = tempfile::tempdir().unwrap();
    for number in 0..150 {
        let name = format!("bad<b>{number:03}.xml");
        std::fs::write(papers.path().join(name), "<article>").unwrap();
    }
    std::fs::write(papers.path().join("tea.md"), "# Tea\n\nTea is a drink.").unwrap();
    let reader = DocumentReader::default();
    let read = site
        .service
        .read_folder(papers.path(), &reader, &mut ir_core::NoProgress);
    assert_eq!(read.unwrap().0.failed(), 150);
    let numbers = "150 files failed, 1 file incomplete.";
    let review = client.get("/review");
    assert!(
        review.ok().contains(numbers) && review.body.contains("href=\"/files\""),
        "{}",
        review.body
    );
    let page = client.get("/files");
    let page = page.ok();
    assert!(page.contains(numbers), "{page}");
    assert_eq!(page.matches("<tr>").count(), 101);
    assert!(page.contains("<td class=\"file\">bad&lt;b&gt;000.xml</td>") && !page.contains("<b>0"));
    let last = client.get("/files?page=2");
    assert_eq!(last.ok().matches("<tr>").count(), 52);
    assert!(
        last.body.contains("<td class=\"file\">tea.md</td>"),
        "{}",
        last.body
    );
    assert!(last.body.contains("no authors, no year"), "{}", last.body);
    assert_eq!(client.get("/files?page=9").ok().matches("<tr>").count(), 1);
}

#[test]
fn files_are_for_admins() {
    let site = Site::new(vec![document("a", "x", 2020)], true);
    let query = site.service.create_key(KeyRole::Query).unwrap();
    let client = site.client();
    assert!(client.get("/files").location().starts_with("/sign-in"));
    client.post("/sign-in", &[("key", &query)]).location();
    assert_eq!(client.get("/files").status, StatusCode::FORBIDDEN);
}
