//! Annotations, and their questions after a publication.

use super::*;
use crate::store::{AnnotationStatus, Verdict};

#[test]
fn accepted_questions_are_found_after_a_publication() {
    let (data, service) = empty_service();
    let text = "Ünlü tea is hot. It comes from Asia.";
    add(&service, "p", text);
    publish(&service);
    let store = service.store();
    let new = annotation("p", 17, "It comes from Asia.", "Where is its origin?");
    let asia = store.annotate(&new, "me").unwrap();
    store
        .annotate(&annotation("p", 0, "Ünlü", "Rejected?"), "me")
        .unwrap();
    let suggestions = || suggested(&service, "where is");
    publish(&service);
    assert!(suggestions().is_empty());
    store
        .review(asia.id, asia.revision, "you", Verdict::Accept)
        .unwrap();
    assert!(suggestions().is_empty());
    publish(&service);
    assert_eq!(suggestions(), ["Where is its origin?"]);
    let state = service.published().unwrap();
    let frames = state.index().frames();
    let questions: Vec<(&str, usize)> = frames
        .iter()
        .map(|frame| (&*frame.answer, frame.questions.len()))
        .collect();
    assert_eq!(
        questions,
        [("Ünlü tea is hot.", 0), ("It comes from Asia.", 1)]
    );
    drop(state);
    drop(service);
    // The state of the last publication is loaded, whatever has changed since.
    let service = opened(ServiceConfig::new(data.path()));
    service.store().delete_annotation(asia.id, 2).unwrap();
    assert_eq!(suggested(&service, "where is"), ["Where is its origin?"]);
    publish(&service);
    assert!(suggested(&service, "where is").is_empty());
}

#[test]
fn spans_follow_their_text_or_are_displaced() {
    let (_data, service) = empty_service();
    add(&service, "p", "Tea is hot. It comes from Asia.");
    let store = service.store();
    let asia = annotation("p", 12, "It comes from Asia.", "Where?");
    let asia = store.annotate(&asia, "me").unwrap().id;
    let hot = store
        .annotate(&annotation("p", 0, "Tea is hot.", "How?"), "me")
        .unwrap()
        .id;
    let state = |id| {
        let annotation = store.annotation(id).unwrap();
        (annotation.start, annotation.is_displaced, annotation.status)
    };
    publish(&service);
    assert_eq!(state(asia), (12, false, AnnotationStatus::Pending));
    add(&service, "p", "Ünlü. Tea is cold. It comes from Asia.");
    publish(&service);
    assert_eq!(state(asia), (19, false, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, true, AnnotationStatus::Pending));
    add(&service, "p", "Tea is hot. Tea is hot.");
    publish(&service);
    assert_eq!(state(asia), (19, true, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, false, AnnotationStatus::Pending));
    // Merged and rejected ones may become pending again.
    store.review(asia, 1, "x", Verdict::Merge(hot)).unwrap();
    add(&service, "p", "It comes from Asia.");
    publish(&service);
    assert_eq!(state(asia), (0, false, AnnotationStatus::Merged));
    store.review(hot, 1, "x", Verdict::Reject).unwrap();
    service.delete(None).unwrap();
    publish(&service);
    assert_eq!(state(asia), (0, true, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, true, AnnotationStatus::Rejected));
}
