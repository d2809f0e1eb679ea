//! Review, agreement of reviewers, and publication.

use std::time::Duration;

use axum::http::StatusCode;
use ir_serve::store::AnnotationStatus;

use crate::support::{Site, document};

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
    assert!(page.ok().contains("3 annotations"));
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
    let mut page = client.get(&location);
    for _ in 0..1000 {
        if page.body.contains("finished") {
            break;
        }
        assert!(page.ok().contains("http-equiv=\"refresh\""));
        std::thread::sleep(Duration::from_millis(10));
        page = client.get(&location);
    }
    assert!(page.ok().contains("finished") && !page.body.contains("http-equiv=\"refresh\""));
    assert_eq!(
        client.get("/suggest?q=how+hot").body,
        "[\"How hot is an infusion of oxidized leaves?\"]"
    );
    let found = client.get(search);
    assert!(found.ok().contains("You may also want to know"));
    assert!(found.body.contains("<article"), "the answer is found");
    assert!(client.get("/review").ok().contains(&location));
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
    assert!(
        ann.get("/review")
            .ok()
            .contains("Agreement needs verdicts of two reviewers.")
    );
    let second = ben.get("/review?show=second");
    assert!(second.ok().contains("3 annotations") && !second.body.contains("Verdicts:"));
    for (id, verdict) in [("1", "accept"), ("2", "reject"), ("3", "reject")] {
        let form = [("verdict", verdict), ("revision", "2"), ("show", "second")];
        assert_eq!(
            ben.post(&format!("/review/{id}"), &form).location(),
            "/review?show=second"
        );
    }
    let page = ben.get("/review?show=mine");
    let page = page.ok();
    assert!(
        page.contains("<dt>Observed agreement</dt><dd>0.667</dd>"),
        "{page}"
    );
    assert!(page.contains("<dt>Mean Cohen’s kappa</dt><dd>0.400</dd>"));
    assert!(page.contains("Krippendorff’s alpha</dt><dd>0.444</dd>"));
    assert!(page.contains("Verdicts: "));
}
