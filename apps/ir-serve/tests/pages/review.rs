//! Review, agreement of reviewers, and publication.

use axum::http::StatusCode;
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use ir_serve::store::AnnotationStatus;

use crate::support::{Site, assert_contains, document, wait_until};

fn annotate(client: &crate::support::Client<'_>, question: &str) {
    let form = [
        ("document", "a"),
        ("chunk", "2"),
        ("start", "40"),
        ("span", "Black tea needs boiling water."),
        ("question", question),
    ];
    client.post("/annotations", &form).location();
}

#[test]
fn accepted_questions_are_found_after_publication() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    annotate(&client, "How hot is an infusion of oxidized leaves?");
    annotate(&client, "How hot?");
    annotate(&client, "Spam?");
    let page = client.get("/review");
    page.has("3 annotations");
    let review = |id: u32, form: &[(&str, &str)]| client.post(&format!("/review/{id}"), form);
    assert_eq!(
        review(1, &[("verdict", "accept"), ("revision", "1")]).location(),
        "/review"
    );
    review(
        2,
        &[("verdict", "merge"), ("target", "1"), ("revision", "1")],
    )
    .location();
    review(3, &[("verdict", "reject"), ("revision", "1")]).location();
    let store = site.service.store();
    let states: Vec<_> = store
        .annotations(None, None)
        .unwrap()
        .iter()
        .map(|a| a.status)
        .collect();
    assert_eq!(
        states,
        [
            AnnotationStatus::Accepted,
            AnnotationStatus::Merged,
            AnnotationStatus::Rejected
        ]
    );
    assert!(client.get("/suggest?q=how+hot").body.contains("[]"));
    let search = "/?q=oxidized+infusion";
    assert!(!client.get(search).ok().contains("<article"));
    let location = client.post("/publish", &[]).location().to_owned();
    wait_until(|| {
        let page = client.get(&location);
        let is_finished = page.ok().contains("finished");
        assert_ne!(is_finished, page.body.contains("http-equiv=\"refresh\""));
        is_finished
    });
    assert_eq!(
        client.get("/suggest?q=how+hot").body,
        r#"[{"value":"How hot is an infusion of oxidized leaves?","generated":false}]"#
    );
    let found = client.get(search);
    found.has("You may also want to know");
    assert!(found.body.contains("<article"), "the answer is found");
    client.get("/review").has(&location);
}

#[test]
fn verdicts_on_older_revisions_and_invalid_ones_are_rejected() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    annotate(&client, "One?");
    let review = |form: &[(&str, &str)]| client.post("/review/1", form).status;
    assert_eq!(
        review(&[("verdict", "accept"), ("revision", "7")]),
        StatusCode::CONFLICT
    );
    assert_eq!(review(&[("verdict", "accept")]), StatusCode::CONFLICT);
    assert_eq!(
        review(&[("verdict", "merge"), ("revision", "1")]),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        review(&[("verdict", "merge"), ("target", "1"), ("revision", "1")]),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        review(&[("verdict", "<b>"), ("revision", "1")]),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let unknown = client.post("/review/9", &[("verdict", "accept"), ("revision", "1")]);
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(client.get("/jobs/unknown").status, StatusCode::NOT_FOUND);
    assert_eq!(client.post("/abort", &[]).location(), "/review");
}

#[test]
fn second_verdicts_make_an_agreement() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let (ann, ben) = (site.client(), site.client());
    for question in ["One?", "Two?", "Three?"] {
        annotate(&ann, question);
    }
    // Every visitor of the loopback may review; cookies tell them apart.
    ann.get("/review").ok();
    for (id, verdict) in [("1", "accept"), ("2", "accept"), ("3", "reject")] {
        ann.post(
            &format!("/review/{id}"),
            &[("verdict", verdict), ("revision", "1")],
        )
        .location();
    }
    ann.get("/review")
        .has("Agreement needs verdicts of two reviewers.");
    let second = ben.get("/review?show=second");
    assert!(second.ok().contains("3 annotations") && !second.body.contains("Verdicts:"));
    // The first verdicts would bias the second ones.
    let shown = second.body.to_lowercase();
    for word in [
        "accepted",
        "rejected",
        "merged",
        ">into ",
        "class=\"status\"",
    ] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    for (id, verdict) in [("1", "accept"), ("2", "reject"), ("3", "reject")] {
        let form = [("verdict", verdict), ("revision", "2"), ("show", "second")];
        assert_eq!(
            ben.post(&format!("/review/{id}"), &form).location(),
            "/review?show=second"
        );
    }
    let page = ben.get("/review?show=mine");
    let page = page.ok();
    assert_contains(page, "<dt>Observed agreement</dt><dd>0.667</dd>");
    assert!(page.contains("<dt>Mean Cohen’s kappa</dt><dd>0.400</dd>"));
    assert!(page.contains("Krippendorff’s alpha</dt><dd>0.444</dd>"));
    assert!(page.contains("Verdicts: "));
}

/// Spans outside of answer sentences belong to the nearest sentence of their section. Spans of
/// sections without one are rejected, and are not announced.
#[test]
fn accepted_questions_are_published_or_announced_as_left_out() {
    let mut record = document("a", "x", 2020);
    let SocoContent::Document(chunks) = &mut record.content else {
        unreachable!()
    };
    let long = format!("Long {}.", "leaf ".repeat(120));
    chunks.push(Chunk::new(ChunkKind::Section, "Bags".to_owned()));
    chunks.push(Chunk::new(
        ChunkKind::Content,
        format!("Bags are flat. {long} Some are round. Yes."),
    ));
    let lonely = SocoDocument {
        content: SocoContent::Document(vec![
            Chunk::new(ChunkKind::Title, "Lonely".to_owned()),
            Chunk::new(ChunkKind::Section, "Body".to_owned()),
            Chunk::new(ChunkKind::Content, "Leaves are picked by hand.".to_owned()),
        ]),
        meta: [("doc_id", "b")].into_iter().collect(),
    };
    let site = Site::new(vec![record.clone(), lonely], false);
    let client = site.client();
    let annotate = |document: &str, chunk: usize, start: usize, span: &str| {
        let (chunk, start) = (chunk.to_string(), start.to_string());
        let form = [
            ("document", document),
            ("chunk", &chunk),
            ("start", &start),
            ("span", span),
            ("question", &format!("Q {span}?")),
        ];
        client.post("/annotations", &form)
    };
    // A title without a sentence before the first heading.
    let page = annotate("b", 0, 0, "Lonely");
    let page = page.page(StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("its section has no sentence that can be an answer"));
    let yes = 15 + long.len() + " Some are round. ".len();
    annotate("a", 1, 0, "Leaves").location();
    annotate("a", 3, 0, "Bags").location();
    annotate("a", 4, 20, "leaf leaf").location();
    annotate("a", 4, yes, "Yes.").location();
    annotate("b", 1, 0, "Body").location();
    for id in 1..=5 {
        let form = [("verdict", "accept"), ("revision", "1")];
        client.post(&format!("/review/{id}"), &form).location();
    }
    let review = client.get("/review");
    review.has("includes 5 accepted questions.");
    site.publish();
    let state = site.service.published().unwrap();
    let questions = |frame: &str| -> Vec<&str> {
        let questions = &state.frame(frame).unwrap().questions;
        questions.iter().map(|question| &*question.text).collect()
    };
    let frames = state.index().frames().iter();
    let all: usize = frames.map(|frame| frame.questions.len()).sum();
    assert_eq!(all, 5);
    assert_eq!(questions("a/2/0"), ["Q Leaves?"]);
    let (first, last) = ("a/4/0", "a/4/2");
    assert_eq!(state.frame(last).unwrap().answer, "Some are round.");
    assert_eq!(questions(first), ["Q Bags?"]);
    assert_eq!(questions(last), ["Q leaf leaf?", "Q Yes.?"]);
    assert_eq!(questions("b/2/0"), ["Q Body?"]);

    // The section loses its sentences.
    let SocoContent::Document(chunks) = &mut record.content else {
        unreachable!()
    };
    chunks.truncate(4);
    site.service.add(vec![record]).unwrap();
    site.publish();
    let review = client.get("/review");
    let page = review.ok();
    assert_contains(page, "includes 2 accepted questions.");
    assert!(page.contains("It leaves out 1 question about sections without an answer sentence."));
    let list = client.get("/annotations");
    let missing = "<span class=\"status\">no answer sentence</span>";
    assert_eq!(list.ok().matches(missing).count(), 1);
    let state = site.service.published().unwrap();
    let frames = state.index().frames().iter();
    let all: usize = frames.map(|frame| frame.questions.len()).sum();
    assert_eq!(all, 2);
}
