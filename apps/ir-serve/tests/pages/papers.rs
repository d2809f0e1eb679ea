//! The table of all papers, and files of citations.

use axum::http::StatusCode;
use ir_serve::AccessConfig;
use ir_serve::store::DocumentState;

use crate::support::{HOSTILE, Site, assert_contains, document, link};

/// Titles of the table in their order.
fn titles(page: &str) -> Vec<&str> {
    let rows = page.split("<td class=\"file\">").skip(1);
    let titles = rows.filter_map(|row| row.split_once("\">")?.1.split_once("</a>"));
    titles.map(|(title, _)| title).collect()
}

#[test]
fn papers_are_sorted_by_every_column() {
    let records = vec![
        document("a", "old", 2001),
        document("b", "new", 2020),
        document("c", "middle", 2010),
    ];
    let site = Site::new(records, false);
    let client = site.client();
    let page = client.get("/papers");
    let page = page.ok();
    assert_contains(page, "<a href=\"/papers\" aria-current=\"page\">Papers</a>");
    assert_eq!(titles(page), ["Tea middle", "Tea new", "Tea old"]);
    assert_contains(page, "aria-sort=\"ascending\"");
    // The latest year first, then the earliest.
    let years = link(page, "/papers?sort=year");
    assert_eq!(years, "/papers?sort=year&descending=1");
    let page = client.get(&years);
    assert_eq!(titles(page.ok()), ["Tea new", "Tea middle", "Tea old"]);
    let page = client.get(&link(page.ok(), "/papers?sort=year"));
    assert_eq!(titles(page.ok()), ["Tea old", "Tea middle", "Tea new"]);
    let page = client.get("/papers?titles=NEW&sort=nonsense");
    assert_eq!(titles(page.ok()), ["Tea new"]);
    page.has("1 paper<");
    // The title is the link to the paper.
    client
        .get(&link(&page.body, "/document/b"))
        .has("Black tea");
}

#[test]
fn papers_have_pages() {
    let records = (0..120).map(|n| document(&format!("p{n:03}"), &format!("{n:03}"), 2020));
    let site = Site::new(records.collect(), false);
    let client = site.client();
    let first = client.get("/papers?sort=title&descending=1");
    assert_eq!(titles(first.ok()).len(), 50);
    assert_eq!(titles(&first.body)[0], "Tea 119");
    let next = link(&first.body, "/papers?descending=1&amp;page=2");
    assert_eq!(titles(client.get(&next).ok())[0], "Tea 069");
    let third = client.get("/papers?page=3");
    assert_eq!(titles(third.ok()).len(), 20);
    // All papers are in the files, whatever the page is.
    let file = client.get("/cite/papers.ris");
    assert_eq!(file.body.matches("ER  - \r\n").count(), 120);
    let kind = file.headers["content-type"].to_str().unwrap();
    assert_eq!(kind, "application/x-research-info-systems; charset=utf-8");
}

#[test]
fn texts_are_escaped_and_visitors_sign_in() {
    let site = Site::new(vec![document(HOSTILE, HOSTILE, 2020)], false);
    let page = site.client().get("/papers");
    assert!(!page.ok().contains("<img"), "{}", page.body);
    assert_contains(&page.body, "&lt;script&gt;alert");
    let access = AccessConfig {
        needs_session: true,
        ..AccessConfig::default()
    };
    let site = Site::with_access(vec![document("a", "x", 2020)], access);
    for url in ["/papers", "/cite/papers.bib"] {
        let answer = site.client().get(url);
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{url}");
        assert!(answer.location().starts_with("/sign-in"), "{url}");
    }
}

#[test]
fn files_are_added_and_published() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    let page = client.get("/papers");
    page.has("data-drop=\"/papers/add\"");
    let paper = "---\ntitle: On oolong\ndoi: 10.1000/182\n---\n\nOolong is steeped twice.\n";
    // Folders before the name are left out.
    let added = client.upload("/papers/add?name=..%2F..%2Fnotes.md", paper);
    assert_eq!(
        (added.status, &*added.body),
        (
            StatusCode::OK,
            "{\"doc_ids\":[\"notes.md\"],\"replaced\":0}"
        )
    );
    assert!(!client.get("/papers").ok().contains("On oolong"));
    // Another file with its DOI, before the publication.
    let copy = client.upload("/papers/add?name=copy.md", paper);
    assert_eq!(copy.status, StatusCode::CONFLICT, "{}", copy.body);
    site.publish();
    client.get("/papers").has("On oolong");
    client
        .get("/?q=oolong+steeped")
        .has("<mark><b>Oolong</b> is <b>steeped</b> twice.</mark>");
    // The same file again, and another one with its DOI.
    assert_eq!(
        client.upload("/papers/add?name=notes.md", paper).status,
        StatusCode::OK
    );
    let changed = paper.replace("10.1000", "https://doi.org/10.1000");
    for (name, body, status, part) in [
        (
            "copy.md",
            changed.as_str(),
            StatusCode::CONFLICT,
            "found it in \\\"notes.md\\\" too",
        ),
        (
            "logo.png",
            paper,
            StatusCode::BAD_REQUEST,
            "logo.png: expected an extension",
        ),
        (
            "notes.md.gz",
            paper,
            StatusCode::BAD_REQUEST,
            "expected an extension",
        ),
        (
            "..",
            paper,
            StatusCode::BAD_REQUEST,
            "expected an extension",
        ),
        ("", paper, StatusCode::BAD_REQUEST, "expected an extension"),
        ("bad.xml", "<article>", StatusCode::BAD_REQUEST, "bad.xml:"),
    ] {
        let answer = client.upload(&format!("/papers/add?name={name}"), body);
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
        assert_contains(&answer.body, part);
    }
    // Only admins add papers.
    let access = AccessConfig {
        needs_session: true,
        ..AccessConfig::default()
    };
    let site = Site::with_access(vec![document("a", "x", 2020)], access);
    let answer = site.client().upload("/papers/add?name=notes.md", paper);
    assert_ne!(answer.status, StatusCode::OK);
    assert_eq!(
        site.service
            .store()
            .documents(DocumentState::Added, 0, 9)
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn tags_are_edited_on_the_page_of_a_paper() {
    let site = Site::new(
        vec![document("a", "old", 2001), document("b", "new", 2020)],
        false,
    );
    let client = site.client();
    assert!(!client.get("/papers").ok().contains("name=\"tag\""));
    let tag = |id: &str, name: &str, value: &str| {
        let reply = client.post("/papers/tags", &[("doc", id), (name, value)]);
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    };
    let hostile = HOSTILE.replace(',', "");
    tag("a", "add", &format!(" to  read,, {hostile}"));
    tag("b", "add", "to read");
    let page = client.get("/document/a");
    page.has("Remove<span class=\"visually-hidden\"> tag to read</span>");
    let list = client.get("/papers?sort=tags");
    list.has("<option value=\"to read\">to read (2)</option>");
    list.has("All as CSV");
    for page in [&page, &list] {
        assert!(!page.body.contains(HOSTILE), "{}", page.body);
    }
    tag("a", "remove", "to read");
    let list = client.get("/papers?tag=to+read");
    assert_eq!(titles(list.ok()), ["Tea new"]);
    list.has("<option value=\"to read\" selected>to read (1)</option>");
    list.has("These as CSV");
    // Searches have the filter.
    let found = client.get("/?q=tea&tag=to+read");
    found.has("Tea new");
    assert!(!found.ok().contains("href=\"/document/a"), "{}", found.body);
    let csv = client.get("/papers/export/papers.csv?tag=to+read");
    let lines: Vec<&str> = csv.body.split("\r\n").collect();
    let header = "doc_id,title,authors,year,venue,doi,arxiv,url,answers,tags";
    assert_eq!(lines[0], header);
    assert!(
        lines[1].starts_with("b,Tea new,") && lines[1].ends_with(",to read"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 3);
    let json = client.get("/papers/export/papers.json?sort=year");
    let records: serde_json::Value = serde_json::from_str(&json.body).unwrap();
    assert_eq!(records[0]["doc_id"], "a");
    assert_eq!(records[1]["tags"], serde_json::json!(["to read"]));
    let reply = client.post("/papers/tags", &[("doc", "a"), ("add", &"x".repeat(101))]);
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    let reply = client.post("/papers/tags", &[("doc", "none"), ("add", "x")]);
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    let reply = client.get("/papers/export/papers.xml");
    reply.has_part(StatusCode::NOT_FOUND, "This file does not exist.");
}
