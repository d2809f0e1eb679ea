//! In-paper search: marked answers, steps between them, ids.

use std::sync::Arc;

use axum::http::StatusCode;
use ir_core::{EncodeError, Encoder, Side};
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use ir_serve::AccessConfig;

use crate::support::{HOSTILE, Site, assert_contains, document, link};

#[test]
fn all_answers_of_a_paper_are_marked_in_the_order_of_its_text() {
    let site = Site::bundled();
    let client = site.client();
    let page = client.get("/document/harvestqa.xml?q=questions+about+farming+leaflets");
    let page = page.ok();
    let numbers: Vec<usize> = (1..20)
        .map_while(|number| page.find(&format!(" id=\"answer-{number}\"")))
        .collect();
    assert!(numbers.len() > 2 && numbers.is_sorted(), "{numbers:?}");
    assert!(page.contains(&format!("of {}</span>", numbers.len())));
    assert_eq!(page.matches("<mark class=\"current\"").count(), 1);
    assert_eq!(page.matches("<span id=\"current\">").count(), 1);
    // Next and previous without JavaScript.
    let next = link(
        page,
        "/document/harvestqa.xml?q=questions+about+farming+leaflets&amp;query=0&amp;at=",
    );
    assert_contains(&next, "#answer-");
    let second =
        client.get("/document/harvestqa.xml?q=questions+about+farming+leaflets&query=0&at=2");
    second.has("<mark class=\"current\" id=\"answer-2\"");
    // Steps are not further queries of the log.
    assert_eq!(site.log().len(), 1);
}

/// Document whose sentences have words of a question in them: `counts` of tea, of cups, of neither.
fn sentences(counts: [usize; 3]) -> SocoDocument {
    let texts = [
        "Tea number {} is green.",
        "Cup number {} is made of clay.",
        "Lake number {} freezes.",
    ];
    let chunks = texts.iter().zip(counts).flat_map(|(text, count)| {
        (0..count).map(move |number| {
            Chunk::new(ChunkKind::Content, text.replace("{}", &number.to_string()))
        })
    });
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", "a");
    SocoDocument {
        content: SocoContent::Document(chunks.collect()),
        meta,
    }
}

#[test]
fn every_sentence_with_a_word_of_the_question_is_marked() {
    let site = Site::new(vec![sentences([30, 20, 10])], false);
    let client = site.client();
    let page = client.get("/document/a?q=green+cup");
    let page = page.ok();
    assert_eq!(page.matches("<mark").count(), 50);
    for sentence in ["Tea number 29", "Cup number 19"] {
        let at = page.find(&sentence.replace("Cup", "<b>Cup</b>")).unwrap();
        let before = &page[..at];
        assert!(
            before.rfind("<mark") > before.rfind("</mark>"),
            "{sentence}"
        );
    }
    assert!(!page.contains("best of"));
    // The first and the last are neighbors.
    let last = client.get("/document/a?q=green+cup&query=0&at=50");
    last.has("<mark class=\"current\" id=\"answer-50\"");
    let next = link(&last.body, "/document/a?q=green+cup&amp;query=0&amp;at=1#");
    assert!(next.ends_with("#answer-1"), "{next}");
    link(&last.body, "/document/a?q=green+cup&amp;query=0&amp;at=49#");
    // The log has the number of the answers.
    let results: Vec<u64> = site.log().iter().map(|query| query.results).collect();
    assert_eq!(results, [50]);
}

#[test]
fn the_best_of_many_answers_are_marked() {
    let site = Site::new(vec![sentences([400, 1_100, 10])], false);
    let client = site.client();
    let page = client.get("/document/a?q=green+cup");
    let page = page.ok();
    assert_contains(page, "Marked: the 100 best of 1,500 answers.");
    assert_eq!(page.matches("<mark").count(), 100);
    assert!(page.contains("of 100</span>"));
    // One that was opened is marked, whatever its rank.
    let opened = client.get("/document/a?q=green+cup&frame=a%2F1499%2F0&query=1");
    assert_eq!(opened.ok().matches("<mark").count(), 101);
    assert!(
        opened
            .body
            .contains("<mark class=\"current\" id=\"answer-101\"")
    );
}

/// The encoder has a positive cosine for any two texts.
#[test]
fn with_an_encoder_answers_have_half_the_score_of_the_best() {
    let records = vec![sentences([30, 0, 40])];
    let site = Site::with_config(records, AccessConfig::default(), |config| {
        config.with_encoder("words", Arc::new(WordEncoder))
    });
    let client = site.client();
    let page = client.get("/document/a?q=green+tea");
    let page = page.ok();
    assert_eq!(page.matches("<mark").count(), 30, "{page}");
    assert!(page.contains("data-chunk=\"30\">Lake number 0 freezes.</p>"));
}

/// Dimensions of the words tea and lake, and one that all texts have.
struct WordEncoder;

impl Encoder for WordEncoder {
    fn dim(&self) -> usize {
        3
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(3)) {
            let has = |word: &str| f32::from(u8::from(text.to_lowercase().contains(word)));
            row.copy_from_slice(&[has("tea"), has("lake"), 0.3]);
        }
        Ok(())
    }
}

#[test]
fn text_is_complete_with_headings_and_pages() {
    let site = Site::new(vec![document("a/b", "x", 2020)], false);
    let page = site.client().get("/document/a%2Fb");
    let page = page.ok();
    assert_contains(
        page,
        "<h1 class=\"text\" id=\"chunk-0\" data-chunk=\"0\">Tea x</h1>",
    );
    assert!(page.contains("<h2 class=\"text\" id=\"chunk-1\" data-chunk=\"1\">Leaves x</h2>"));
    assert!(page.contains("<p class=\"page\">Page 3</p>"));
    assert!(page.contains(
        "data-chunk=\"2\">Green tea is steeped for two minutes x. Black tea needs boiling water.</p>"
    ));
    assert!(!page.contains("<nav class=\"step\""));
    let page = site.client().get("/document/a/b?q=zzz");
    page.has("No sentence of this paper answers the question.");
}

#[test]
fn an_opened_answer_is_the_current_one() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let page = site
        .client()
        .get("/document/a?q=steeped&frame=a%2F2%2F1&query=1");
    let page = page.ok();
    assert_contains(
        page,
        "<mark class=\"current\" id=\"answer-2\" data-answer=\"2\"",
    );
    assert!(page.contains("<b>steeped</b>"));
}

#[test]
fn unknown_documents_are_not_found_and_any_id_is_reachable() {
    let ids = ["..", ".", "a b/c?d#e%f", HOSTILE, "ü茶"];
    let records = ids.iter().map(|id| document(id, "x", 2020)).collect();
    let site = Site::new(records, false);
    let client = site.client();
    let page = client.get("/?q=black+tea");
    for (rank, _) in ids.iter().enumerate() {
        let rank = format!("&amp;rank={}&amp;", rank + 1);
        let at = page.ok().find(&rank).unwrap();
        let start = page.body[..at].rfind("href=\"").unwrap() + 6;
        let end = at + page.body[at..].find('"').unwrap();
        let open = page.body[start..end].replace("&amp;", "&");
        let location = client.get(&open).location().to_owned();
        assert!(
            client
                .get(location.split('#').next().unwrap())
                .ok()
                .contains("Black"),
            "{location}"
        );
    }
    let gone = client.get("/document/%3Cscript%3E");
    gone.has_part(StatusCode::NOT_FOUND, "&lt;script&gt;");
    assert_eq!(client.get("/document").status, StatusCode::NOT_FOUND);
    assert_eq!(client.get("/document/%FF").status, StatusCode::NOT_FOUND);
}

#[test]
fn sentences_are_links_to_the_form_of_annotations() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let page = site.client().get("/document/a?annotate=1");
    let form = link(
        page.ok(),
        "/annotate?document=a&amp;chunk=2&amp;start=40&amp;span=Black",
    );
    let page = site.client().get(&form);
    page.has("<blockquote>Black tea needs boiling water.</blockquote>");
}

#[test]
fn a_document_of_one_long_line_is_complete() {
    let mut long = document("a", "x", 2020);
    let ir_qa::soco::SocoContent::Document(chunks) = &mut long.content else {
        unreachable!()
    };
    let sentence = "Black tea needs boiling water and <time>. ";
    chunks[2].text = Some(sentence.repeat(50_000));
    let site = Site::new(vec![long], false);
    let client = site.client();
    let start = std::time::Instant::now();
    let page = client.get("/document/a?q=black+tea");
    let bold = page
        .ok()
        .matches("<b>Black</b> <b>tea</b> needs boiling water and &lt;time&gt;.");
    assert_eq!(bold.count(), 50_000);
    // Linear in the length: quadratic time would be minutes.
    assert!(start.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn a_document_of_two_thousand_pages_is_complete() {
    let chunks = (1..=2_000_u32).flat_map(|page| {
        let text = format!("Page {page} is about cups. It has a second sentence about tea.");
        let heading = Chunk::new(ChunkKind::Section, format!("Section {page}"));
        [heading, Chunk::new(ChunkKind::Content, text)].map(|chunk| chunk.with_page(Some(page)))
    });
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", "long");
    let content = SocoContent::Document(chunks.collect());
    let site = Site::new(vec![SocoDocument { content, meta }], false);
    let client = site.client();
    let start = std::time::Instant::now();
    let page = client.get("/document/long?q=second+sentence+about+tea");
    let time = start.elapsed();
    let page = page.ok();
    assert!(page.contains("<p class=\"page\">Page 2000</p>"));
    // Every paragraph is there, whatever is marked in it.
    assert_eq!(page.matches("<p class=\"page\">Page ").count(), 2_000);
    assert_eq!(page.matches(" cups.").count(), 2_000);
    // Linear in the length of the document; on an idle machine a fraction of a second.
    assert!(time.as_secs() < 30, "{time:?}");
    let found = client.get("/?q=cups+of+page+1234");
    found.has("<span>Page 1234</span>");
}

#[test]
fn sentences_without_answers_are_counted() {
    let mut record = document("p", "x", 2020);
    let SocoContent::Document(chunks) = &mut record.content else {
        unreachable!()
    };
    let long = "tea and ".repeat(80) + "coffee. Short tea.";
    chunks.push(ir_qa::Chunk::new(ir_qa::ChunkKind::Content, long));
    let site = Site::new(vec![record], false);
    let page = site.client().get("/document/p");
    page.has("Too long to be answers: 1 sentence.");
    let page = Site::new(vec![document("p", "x", 2020)], false);
    assert!(!page.client().get("/document/p").ok().contains("Too long"));
}

/// A permanent link names the sentence, whatever the number of its paragraph is.
#[test]
fn permanent_links_find_their_sentence() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    let page = client.get("/?q=boiling+water");
    let link = link(page.ok(), "/document/a?frame=");
    let target = link.split('#').next().unwrap();
    let is_marked = |page: &str| {
        let (_, rest) = page.split_once("<mark class=\"current\"").unwrap();
        rest.starts_with(" id=\"answer-1\"") && rest.contains(">Black tea needs boiling water.")
    };
    assert!(is_marked(client.get(target).ok()));
    let mut changed = document("a", "x", 2020);
    let SocoContent::Document(chunks) = &mut changed.content else {
        unreachable!()
    };
    chunks.insert(
        1,
        Chunk::new(ChunkKind::Content, "A new sentence about cups."),
    );
    site.service.add(vec![changed]).unwrap();
    site.publish();
    assert!(is_marked(client.get(target).ok()));
    let mut gone = document("a", "y", 2020);
    let SocoContent::Document(chunks) = &mut gone.content else {
        unreachable!()
    };
    chunks.truncate(2);
    chunks.push(Chunk::new(ChunkKind::Content, "Cups hold tea."));
    site.service.add(vec![gone]).unwrap();
    site.publish();
    let page = client.get(target);
    page.has("The sentence of this link is not in the published text any more.");
    assert!(!page.body.contains("<mark"), "{}", page.body);
}

#[test]
fn the_ten_best_answers_are_marked_strongly_and_stepped_through_by_score() {
    let site = Site::new(vec![sentences([30, 0, 0])], false);
    let client = site.client();
    let page = client.get("/document/a?q=tea+number+7");
    let page = page.ok();
    assert_eq!(page.matches("<mark").count(), 30);
    assert_eq!(page.matches(" data-faint").count(), 20);
    // The best answer is in the middle of the text, and the first step by score.
    let best = "<mark class=\"current\" id=\"answer-8\" data-answer=\"8\" data-rank=\"1\"";
    assert_contains(page, best);
    assert_contains(page, "Answer <span data-current>8</span> of 30");
    let by_score = link(
        page,
        "/document/a?q=tea+number+7&amp;query=0&amp;at=8&amp;by=score",
    );
    let page = client.get(by_score.split('#').next().unwrap());
    assert_contains(page.ok(), best);
    assert_contains(&page.body, "Answer <span data-current>1</span> of 30");
    assert_contains(&page.body, "data-order=\"score\"");
    // The next answer by score is the one of rank 2.
    let (_, rest) = page.body.split_once("data-step=\"-1\"").unwrap();
    let next = link(rest, "/document/a?q=tea+number+7&amp;query=0&amp;at=");
    let page = client.get(next.split('#').next().unwrap());
    let (_, rest) = page.ok().split_once("<mark class=\"current\"").unwrap();
    let (mark, _) = rest.split_once('>').unwrap();
    assert!(mark.contains("data-rank=\"2\""), "{mark}");
}

#[test]
fn sections_are_links() {
    let site = Site::bundled();
    let page = site.client().get("/document/harvestqa.xml");
    let (_, outline) = page
        .ok()
        .split_once("<nav aria-label=\"Sections\">")
        .unwrap();
    let (outline, _) = outline.split_once("</nav>").unwrap();
    assert!(
        outline.matches("<a href=\"#chunk-").count() > 1,
        "{outline}"
    );
}
