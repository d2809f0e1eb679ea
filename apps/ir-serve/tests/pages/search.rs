//! Search, suggestions and links into documents.

use std::sync::Arc;

use axum::http::StatusCode;
use ir_qa::questions::RuleQuestions;
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use ir_serve::{AccessConfig, ServiceConfig, ServiceQuestions};

use crate::support::{HOSTILE, Site, assert_contains, document, link};

#[test]
fn the_first_page_has_the_form_and_suggestions() {
    let site = Site::bundled();
    let page = site.client().get("/");
    let page = page.ok();
    assert!(page.contains("20 papers, "));
    assert!(page.contains("<label for=\"q\">Question</label>"));
    assert!(page.contains("suggested=1"));
    assert!(page.contains("name=\"doc\" value=\"harvestqa.xml\""));
}

#[test]
fn answers_are_marked_in_context_with_title_year_score_and_explanation() {
    let site = Site::bundled();
    let page = site
        .client()
        .get("/?q=who+wrote+questions+after+a+visit+to+a+farm");
    let page = page.ok();
    assert_contains(
        page,
        "<mark>Volunteers <b>wrote</b> the <b>questions</b> <b>after</b> a <b>visit</b> to a <b>farm</b>.</mark>",
    );
    assert!(page.contains("HarvestQA: Questions About Farming Leaflets</a></h3>"));
    assert!(page.contains("<span class=\"year\">2014</span>"));
    let (_, why) = page.split_once("<summary>Why? Score ").unwrap();
    let (line, _) = why.split_once("</summary>").unwrap();
    // The contributions are of words of the question, not of stems.
    let (_, line) = line.split_once(": ").unwrap();
    let words: Vec<&str> = line
        .split(" + ")
        .filter_map(|part| part.split(' ').next())
        .collect();
    for word in ["wrote", "questions", "visit", "farm"] {
        assert!(words.contains(&word), "{line}");
    }
    assert!(page.contains("<ul class=\"explanation\"><li><span class=\"value\">"));
    assert!(page.contains("<ol class=\"answers\" start=\"1\">"));
}

#[test]
fn results_have_pages_and_only_the_first_is_logged() {
    let site = Site::bundled();
    let client = site.client();
    let first = client.get("/?q=the+model+and+the+data");
    let next = link(first.ok(), "/?q=the+model+and+the+data&amp;query=");
    assert!(next.ends_with("&query=1&page=2"), "{next}");
    let second = client.get(&next);
    second.has("<ol class=\"answers\" start=\"11\">");
    assert!(link(second.ok(), "/open?").starts_with("/open?query=1&"));
    assert_ne!(link(first.ok(), "/open?"), link(second.ok(), "/open?"));
    let far = client.get("/?q=data&page=99999&query=1");
    far.has("There are no further answers.");
    client.get("/?q=dropout&suggested=1").ok();
    let log = site.log();
    let log: Vec<_> = log
        .iter()
        .map(|query| (&*query.query, query.is_suggestion))
        .collect();
    assert_eq!(log, [("the model and the data", false), ("dropout", true)]);
}

#[test]
fn filters_restrict_years_and_documents() {
    let site = Site::new(
        vec![
            document("a/1", "old", 2001),
            document("b \"2\"", "new", 2020),
        ],
        false,
    );
    let client = site.client();
    let both = client.get("/?q=green+tea");
    assert!(both.ok().contains("Tea old</a>") && both.ok().contains("Tea new</a>"));
    for (filter, is_old, is_new) in [
        ("from=2010", false, true),
        ("to=2010", true, false),
        ("from=2001&to=2020", true, true),
        ("doc=a%2F1", true, false),
        ("doc=a%2F1&doc=b+%222%22", true, true),
        ("doc=unknown", false, false),
    ] {
        let page = client.get(&format!("/?q=green+tea&{filter}"));
        let page = page.ok();
        assert_eq!(page.contains("Tea old</a>"), is_old, "{filter}");
        assert_eq!(page.contains("Tea new</a>"), is_new, "{filter}");
        assert!(
            page.contains("<details class=\"filters\" open>"),
            "{filter}"
        );
    }
    let page = client.get("/?q=green+tea&doc=unknown");
    page.has("Search all papers and years");
    client.get("/?titles=NEW").has("value=\"b &quot;2&quot;\"");
    assert!(!client.get("/?titles=NEW").ok().contains("value=\"a/1\""));
    // Words of titles filter the answers, too.
    let titled = client.get("/?q=green+tea&titles=NEW");
    titled.has("Tea new</a>");
    assert!(!titled.body.contains("Tea old</a>"), "{}", titled.body);
    let years = client.get("/?q=tea&from=2020&to=2010");
    let years = years.page(StatusCode::BAD_REQUEST);
    assert_contains(years, "found 2020 and 2010");
    let page = client.get("/?q=tea&from=%3Cb%3E");
    let page = page.page(StatusCode::BAD_REQUEST);
    assert_contains(
        page,
        "Year: expected a number such as 2020, found &quot;&lt;b&gt;&quot;.",
    );
}

#[test]
fn nothing_found_helps() {
    let site = Site::bundled();
    let page = site.client().get("/?q=zzzyzx");
    page.has("No sentence answers this question.");
    let page = site.client().get("/?q=harvstqa");
    page.has("Did you mean <a");
    let empty = Site::new(Vec::new(), false);
    empty
        .client()
        .get("/")
        .has("There are no published papers yet");
    empty
        .client()
        .get("/?q=tea")
        .has("There are no published papers yet");
}

#[test]
fn long_questions_are_rejected_on_the_page() {
    let site = Site::bundled();
    let page = site.client().get(&format!("/?q={}", "a".repeat(10_001)));
    let page = page.page(StatusCode::BAD_REQUEST);
    assert!(page.contains("expected at most 10000, found 10001"));
}

#[test]
fn suggestions_are_json() {
    let site = Site::bundled();
    let answer = site.client().get("/suggest?q=harv");
    assert_eq!(answer.headers["content-type"], "application/json");
    let suggestions: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let expected = ["harvestqa", "HarvestQA: Questions About Farming Leaflets"];
    let expected = expected.map(|text| serde_json::json!({"value": text, "generated": false}));
    assert_eq!(suggestions, serde_json::json!(expected));
    assert_eq!(site.client().get("/suggest?q=+").body, "[]");
    let answer = site
        .client()
        .get(&format!("/suggest?q={}", "a".repeat(10_001)));
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[test]
fn opening_an_answer_logs_a_click_and_leads_to_its_document() {
    let id = "a/b \"<script>\" ünï..";
    let site = Site::new(vec![document(id, HOSTILE, 2020)], false);
    let client = site.client();
    let page = client.get("/?q=black+tea+boiling");
    let open = link(page.ok(), "/open?");
    let answer = client.get(&open);
    let location = answer.location();
    assert!(
        location.starts_with(
            "/document/a%2Fb%20%22%3Cscript%3E%22%20%C3%BCn%C3%AF..?q=black+tea+boiling&frame="
        ),
        "{location}"
    );
    let log = site.log();
    assert_eq!(log[0].clicks, [format!("{id}/2/1")]);
    let gone = client.get("/open?query=1&frame=unknown");
    gone.has_part(StatusCode::NOT_FOUND, "Search again");
}

#[test]
fn texts_of_papers_and_users_are_escaped() {
    let site = Site::new(vec![document(HOSTILE, HOSTILE, 2020)], false);
    let hostile: String = form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    for url in [
        format!("/?q=green+tea+{hostile}"),
        format!("/?q={hostile}&titles={hostile}&doc={hostile}"),
        format!("/?from={hostile}"),
    ] {
        let page = site.client().get(&url);
        assert!(
            !page.body.contains("<script>") && !page.body.contains("<img"),
            "{}",
            page.body
        );
        assert!(page.body.contains("&lt;script&gt;alert"), "{url}");
    }
}

#[test]
fn a_paragraph_is_shown_once_with_all_its_answers() {
    let text = "Green tea is brewed with cool water. Black tea needs boiling water. \
                Nothing is said here. White tea is water with few leaves.";
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", "tea");
    let chunks = vec![
        Chunk::new(ChunkKind::Content, text),
        Chunk::new(ChunkKind::Content, "Mate tea is water of another plant."),
    ];
    let content = SocoContent::Document(chunks);
    let site = Site::new(vec![SocoDocument { content, meta }], false);
    let page = site.client().get("/?q=tea+water");
    let page = page.ok();
    // A sentence without the words is an answer by its context.
    assert_contains(page, "5 answers in ");
    assert_eq!(page.matches("<article").count(), 1, "{page}");
    assert_contains(page, "<span>4 answers in this paragraph</span>");
    assert_contains(page, "<summary>1 more<span");
    for answer in [
        "<mark>Green <b>tea</b> is brewed with cool <b>water</b>.</mark> ",
        "<mark>Black <b>tea</b> needs boiling <b>water</b>.</mark> <mark>Nothing is said here.</mark> ",
        "<mark>White <b>tea</b> is <b>water</b> with few leaves.</mark>",
        "<mark>Mate <b>tea</b> is <b>water</b> of another plant.</mark>",
    ] {
        assert_eq!(page.matches(answer).count(), 1, "{answer} {page}");
    }
    // The rank is the one of the best answer of the paper.
    let ranks: Vec<&str> = page
        .split("<li value=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(ranks, ["1"]);
}

#[test]
fn years_say_how_many_papers_they_leave_out() {
    let mut undated = document("b", "y", 2020);
    let mut fields = ir_core::Attributes::new();
    for (name, value) in undated.meta.iter().filter(|(name, _)| *name != "year") {
        fields.set(name, value.clone());
    }
    undated.meta = fields;
    let site = Site::new(vec![document("a", "x", 2020), undated], false);
    let client = site.client();
    let page = client.get("/?q=tea&from=2010");
    page.has("Years leave out 1 paper without a year.");
    assert!(!client.get("/?q=tea").ok().contains("Years leave out"));
}

#[test]
fn related_questions_of_a_generator_are_marked() {
    let record = || {
        let mut meta = ir_core::Attributes::new();
        meta.set("doc_id", "bridge");
        let sentence = "The bridge was finished in 1890.";
        let content = SocoContent::Document(vec![Chunk::new(ChunkKind::Content, sentence)]);
        SocoDocument { content, meta }
    };
    let questions = ServiceQuestions {
        generator: Arc::new(RuleQuestions::default()),
        file: None,
    };
    let access = AccessConfig::default();
    let site = Site::with_config(vec![record()], access, |config| ServiceConfig {
        questions: Some(questions),
        ..config
    });
    let address = "/?q=Who+finished+the+bridge%3F";
    let page = site.client().get(address);
    let (_, related) = page.ok().split_once("You may also want to know").unwrap();
    let marked = "When was the bridge finished?</a> <span class=\"hint\">(generated)</span></li>";
    assert_contains(related, marked);
    // A generated question that a user has chosen is marked in the query log, too.
    let chosen = "/?q=When+was+the+bridge+finished%3F&suggested=1";
    site.client().get(chosen).ok();
    site.wait_for_log(2, 0);
    let insight = site.client().get("/insight");
    let marked = "When was the bridge finished?</a> <span class=\"hint\">(generated)</span></td>";
    insight.has(marked);
    assert_eq!(insight.body.matches("(generated)").count(), 2);
    let page = Site::new(vec![record()], false).client().get(address);
    assert!(!page.ok().contains("You may also want to know"));
}

#[test]
fn papers_are_shown_once_in_the_order_of_their_best_answers() {
    let record = |id: &str, texts: &[&str]| {
        let mut meta = ir_core::Attributes::new();
        meta.set("doc_id", id);
        meta.set(
            "authors",
            vec!["Ann Ash", "Bo Birch", "Cy Cedar", "Di Date"],
        );
        meta.set("venue", "Tea Letters");
        meta.set("doi", "10.1000/182");
        let chunks = texts
            .iter()
            .map(|text| Chunk::new(ChunkKind::Content, *text));
        let content = SocoContent::Document(chunks.collect());
        SocoDocument { content, meta }
    };
    let records = vec![
        record(
            "a",
            &[
                "Green tea.",
                "Tea with milk and much sugar and lemon is served.",
            ],
        ),
        record("b", &["Green tea leaves are steeped in warm water."]),
    ];
    let site = Site::new(records, false);
    let client = site.client();
    let page = client.get("/?q=green+tea");
    let page = page.ok();
    assert_contains(page, "3 answers in ");
    assert_eq!(page.matches("<article").count(), 2, "{page}");
    let ranks: Vec<&str> = page
        .split("<li value=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(ranks, ["1", "2"]);
    let (first, second) = page.split_once("<li value=\"2\"").unwrap();
    assert_contains(first, "<span>Ann Ash, Bo Birch, Cy Cedar et al.</span>");
    assert_contains(first, "<span>Tea Letters</span>");
    assert_contains(first, "<summary>1 more<span");
    assert!(!second.contains(" more<span"), "{second}");
    // Links to the bibliography, and to the sentence.
    assert_contains(first, "href=\"https://doi.org/10.1000/182\"");
    let file = client.get(&link(first, "/cite/papers.bib?"));
    assert_eq!(file.status, StatusCode::OK);
    let disposition = &file.headers["content-disposition"];
    assert_eq!(disposition, "attachment; filename=\"papers.bib\"");
    assert!(file.body.starts_with("@article{ash"), "{}", file.body);
    assert!(
        file.body.contains("annote = {“Green tea.”}"),
        "{}",
        file.body
    );
    let sentence = link(first, "/document/a?frame=");
    let opened = client.get(sentence.split('#').next().unwrap());
    assert_contains(opened.ok(), "tabindex=\"-1\">Green tea.</mark>");
    let copied =
        "data-copy=\"“Green tea.”\nAsh et al. a. Tea Letters. https://doi.org/10.1000/182\"";
    assert_contains(first, copied);
    let unknown = client.get("/cite/papers.bib?frame=x");
    unknown.page(StatusCode::NOT_FOUND);
    assert_eq!(client.get("/cite/papers.doc").status, StatusCode::NOT_FOUND);
}
