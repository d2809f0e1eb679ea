use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn record(text: &str) -> SocoDocument {
    SocoDocument {
        content: SocoContent::Document(vec![Chunk::new(ChunkKind::Content, text)]),
        meta: ir_core::Attributes::new(),
    }
}

/// New folder and its store.
fn store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

fn ids(store: &Store, state: DocumentState) -> Vec<String> {
    let documents = store.documents(state, 0, 100).unwrap();
    documents.into_iter().map(|document| document.id).collect()
}

fn annotation(question: &str) -> NewAnnotation {
    NewAnnotation {
        document: "p".to_owned(),
        chunk: 0,
        start: 0,
        span: "Tea".to_owned(),
        question: question.to_owned(),
    }
}

#[test]
fn what_was_stored_is_there_after_reopening() {
    let folder = TempDir::new().unwrap();
    let key = {
        let store = Store::open(folder.path()).unwrap();
        let added = store
            .add(&[("p".to_owned(), record("Tea."))], Origin::Api)
            .unwrap();
        assert_eq!((added.new, added.replaced, added.unchanged), (1, 0, 0));
        store.annotate(&annotation("What?"), "me").unwrap();
        store.create_job("j").unwrap();
        store.create_key(KeyRole::Query).unwrap()
    };
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(ids(&store, DocumentState::Added), ["p"]);
    assert_eq!(ids(&store, DocumentState::Published), [""; 0]);
    assert!(store.has_changes().unwrap());
    assert_eq!(
        store.annotations(Some("p"), None).unwrap()[0].question,
        "What?"
    );
    assert_eq!(store.unfinished_jobs().unwrap(), ["j"]);
    let keys = store.keys().unwrap();
    assert_eq!(role_of(&keys, &key), Some(KeyRole::Query));
    assert_eq!(role_of(&keys, "other"), None);
    // The key itself is nowhere in the file.
    drop(store);
    let file = std::fs::read(folder.path().join("store.sqlite")).unwrap();
    assert!(!file.windows(key.len()).any(|bytes| bytes == key.as_bytes()));
}

#[test]
fn one_process_opens_a_store() {
    let (folder, store) = store();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    drop(store);
    Store::open(folder.path()).unwrap();
}

#[test]
fn other_files_are_rejected() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.sqlite");
    let open = || Store::open(folder.path()).unwrap_err().to_string();
    std::fs::write(
        &file,
        "not a database, but long enough to be one: ".repeat(100),
    )
    .unwrap();
    assert!(open().contains("not a database"), "{}", open());
    std::fs::remove_file(&file).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(other);
    assert!(open().contains("found another database"), "{}", open());
    std::fs::remove_file(&file).unwrap();
    drop(Store::open(folder.path()).unwrap());
    let later = rusqlite::Connection::open(&file).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    assert!(open().contains("found version 99"), "{}", open());
}

#[test]
fn damaged_records_are_reported() {
    let (_folder, store) = store();
    store
        .add(&[("p".to_owned(), record("Tea."))], Origin::Api)
        .unwrap();
    let sql = "UPDATE contents SET record = replace(record, 'Tea', 'Sea')";
    store.connection().execute(sql, []).unwrap();
    let error = store
        .documents(DocumentState::Added, 0, 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("document \"p\": damaged record"), "{error}");
    // Adding the document again repairs it.
    let tea = ("p".to_owned(), record("Tea."));
    store.add(std::slice::from_ref(&tea), Origin::Api).unwrap();
    let documents = store.documents(DocumentState::Added, 0, 1).unwrap();
    assert_eq!(documents[0].record, tea.1);
}

#[test]
fn records_are_deleted_by_index() {
    let (_folder, store) = store();
    let connection = store.connection();
    for table in ["documents", "published_documents"] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE hash = ?");
        let plan: String = connection
            .query_row(&sql, [[0; 32]], |row| row.get("detail"))
            .unwrap();
        assert!(plan.contains(&format!("{table}_by_hash")), "{plan}");
    }
}

#[test]
fn a_full_disk_changes_nothing() {
    let (_folder, store) = store();
    store
        .add(&[("p".to_owned(), record("Tea."))], Origin::Api)
        .unwrap();
    let pages: i64 = store
        .connection()
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    store
        .connection()
        .pragma_update(None, "max_page_count", pages + 2)
        .unwrap();
    let large = record(&"Tea. ".repeat(100_000));
    let documents = [("q".to_owned(), record("Small.")), ("r".to_owned(), large)];
    let error = store.add(&documents, Origin::Api).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(ids(&store, DocumentState::Added), ["p"]);
    store
        .connection()
        .pragma_update(None, "max_page_count", 1_000_000)
        .unwrap();
    store.add(&documents, Origin::Api).unwrap();
    assert_eq!(ids(&store, DocumentState::Added), ["p", "q", "r"]);
}

#[test]
fn edits_of_an_older_revision_are_rejected() {
    let (_folder, store) = store();
    let first = store.annotate(&annotation("a"), "me").unwrap();
    let edited = store
        .edit_annotation(first.id, first.revision, &annotation("b"))
        .unwrap();
    assert_eq!((edited.revision, &*edited.question), (2, "b"));
    let error = store
        .edit_annotation(first.id, first.revision, &annotation("c"))
        .unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Conflict {
                expected: 1,
                found: 2,
                ..
            }
        ),
        "{error}"
    );
    let error = store.delete_annotation(first.id, 1).unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(store.annotation(first.id).unwrap().question, "b");
    store.delete_annotation(first.id, 2).unwrap();
    assert!(matches!(
        store.annotation(first.id),
        Err(StoreError::NoAnnotation { .. })
    ));
}

#[test]
fn the_last_verdict_decides() {
    let (_folder, store) = store();
    let [a, b] = ["a", "b"].map(|text| store.annotate(&annotation(text), "me").unwrap());
    store.review(a.id, 1, "x", Verdict::Reject).unwrap();
    store.review(a.id, 2, "y", Verdict::Accept).unwrap();
    let merged = store.review(b.id, 1, "x", Verdict::Merge(a.id)).unwrap();
    assert_eq!(
        store.annotation(a.id).unwrap().status,
        AnnotationStatus::Accepted
    );
    assert_eq!(
        (merged.status, merged.merged_into),
        (AnnotationStatus::Merged, Some(a.id))
    );
    for target in [a.id, b.id] {
        let error = store
            .review(a.id, 3, "x", Verdict::Merge(target))
            .unwrap_err();
        assert!(matches!(error, StoreError::NoMerge { .. }), "{error}");
    }
    let verdicts: Vec<_> = store
        .verdicts()
        .unwrap()
        .into_iter()
        .map(|(id, reviewer, status)| (id, reviewer, status.name()))
        .collect();
    let expected = [
        (a.id, "x".to_owned(), "rejected"),
        (a.id, "y".to_owned(), "accepted"),
        (b.id, "x".to_owned(), "merged"),
    ];
    assert_eq!(verdicts, expected);
    store.delete_annotation(a.id, 3).unwrap();
    assert_eq!(
        store.annotation(b.id).unwrap().status,
        AnnotationStatus::Pending
    );
}

#[test]
fn annotations_merged_into_a_rejected_one_are_pending_again() {
    let (_folder, store) = store();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|text| {
        let annotation = store.annotate(&annotation(text), "me").unwrap();
        annotation.id
    });
    store.review(b, 1, "x", Verdict::Merge(a)).unwrap();
    store.review(c, 1, "x", Verdict::Merge(d)).unwrap();
    let state = |id| {
        let annotation = store.annotation(id).unwrap();
        (annotation.status.name(), annotation.merged_into)
    };
    store.review(a, 1, "x", Verdict::Accept).unwrap();
    assert_eq!(state(b), ("merged", Some(a)));
    store.review(a, 2, "x", Verdict::Reject).unwrap();
    assert_eq!(state(a), ("rejected", None));
    assert_eq!(state(b), ("pending", None));
    assert_eq!(state(c), ("merged", Some(d)));
    // A form that was loaded before is rejected.
    let error = store.review(b, 2, "x", Verdict::Accept).unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    store.review(b, 3, "x", Verdict::Accept).unwrap();
}

#[test]
fn annotations_are_merged_within_their_document() {
    let (_folder, store) = store();
    let a = store.annotate(&annotation("a"), "me").unwrap().id;
    let mut of_other = annotation("b");
    of_other.document = "other".to_owned();
    let b = store.annotate(&of_other, "me").unwrap().id;
    let error = store.review(b, 1, "x", Verdict::Merge(a)).unwrap_err();
    assert!(
        matches!(error, StoreError::NoMerge { id, target } if (id, target) == (b, a)),
        "{error}"
    );
    assert_eq!(
        store.annotation(b).unwrap().status,
        AnnotationStatus::Pending
    );
}

#[test]
fn annotations_are_not_merged_into_rejected_ones() {
    let (_folder, store) = store();
    let [a, b] = ["a", "b"].map(|text| store.annotate(&annotation(text), "me").unwrap().id);
    store.review(a, 1, "x", Verdict::Reject).unwrap();
    let error = store.review(b, 1, "x", Verdict::Merge(a)).unwrap_err();
    assert!(
        matches!(error, StoreError::NoMerge { id, target } if (id, target) == (b, a)),
        "{error}"
    );
    let pending = store.annotation(b).unwrap();
    assert_eq!(
        (pending.status, pending.revision, pending.merged_into),
        (AnnotationStatus::Pending, 1, None)
    );
    // An edited target is pending.
    store.edit_annotation(a, 2, &annotation("c")).unwrap();
    let merged = store.review(b, 1, "x", Verdict::Merge(a)).unwrap();
    assert_eq!(merged.merged_into, Some(a));
}

#[test]
fn clicks_belong_to_queries() {
    let (_folder, store) = store();
    let query = |text: &str| LoggedQuery {
        user: "u".to_owned(),
        query: text.to_owned(),
        is_suggestion: text == "b",
        results: 3,
        micros: 7,
        records_clicks: text != "c",
    };
    assert_eq!(store.last_query().unwrap(), 0);
    store
        .log_queries(
            &[(1, 10, query("a")), (2, 9, query("b")), (3, 9, query("c"))],
            &[],
        )
        .unwrap();
    // The last three are of an unknown query, of another user, and of a query without recorded
    // clicks.
    let clicks = [
        (2, "u", "f", 1),
        (2, "u", "g", 3),
        (5, "u", "g", 3),
        (2, "v", "g", 3),
        (3, "u", "g", 3),
    ];
    let clicks = clicks.map(|(query, user, frame, rank)| LoggedClick {
        query,
        user: user.to_owned(),
        frame: frame.to_owned(),
        rank,
        answer: (rank == 3).then(|| sha256(b"text")),
    });
    store.log_queries(&[], &clicks).unwrap();
    let opened = store.opened_answers(1, 10).unwrap();
    let opened: Vec<_> = opened
        .iter()
        .map(|opened| (opened.query, &*opened.text, &*opened.frame, opened.answer))
        .collect();
    assert_eq!(
        opened,
        [(2, "b", "f", None), (2, "b", "g", Some(sha256(b"text")))]
    );
    assert!(store.opened_answers(0, 1).unwrap().is_empty());
    assert!(store.opened_answers(2, 10).unwrap().is_empty());
    let records = store.queries(0, 10).unwrap();
    let found: Vec<_> = records
        .iter()
        .map(|r| {
            (
                &*r.query,
                r.is_suggestion,
                r.records_clicks,
                r.clicks.clone(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", false, true, vec![]),
            ("b", true, true, vec!["f".to_owned(), "g".to_owned()]),
            ("c", false, false, vec![])
        ]
    );
    assert_eq!(store.queries(1, 10).unwrap().len(), 2);
    assert_eq!(store.last_query().unwrap(), 3);
}

#[test]
fn the_oldest_queries_are_deleted_with_their_clicks() {
    let (_folder, store) = store();
    assert_eq!(store.delete_old_queries(3, 100).unwrap(), 0);
    let query = LoggedQuery {
        user: "u".to_owned(),
        query: "tea".to_owned(),
        is_suggestion: false,
        results: 3,
        micros: 7,
        records_clicks: true,
    };
    let click = |query| LoggedClick {
        query,
        user: "u".to_owned(),
        frame: "f".to_owned(),
        rank: 1,
        answer: None,
    };
    let queries: Vec<_> = (1..=10).map(|id| (id, id, query.clone())).collect();
    let clicks: Vec<_> = (1..=10).map(click).collect();
    store.log_queries(&queries, &clicks).unwrap();
    let ids = || -> Vec<i64> {
        let queries = store.queries(0, 100).unwrap();
        queries.iter().map(|query| query.id).collect()
    };
    for keep in [usize::MAX, 10] {
        assert_eq!(store.delete_old_queries(keep, 100).unwrap(), 0);
    }
    // In parts, the oldest first.
    assert_eq!(store.delete_old_queries(3, 4).unwrap(), 4);
    assert_eq!(ids(), [5, 6, 7, 8, 9, 10]);
    assert_eq!(store.delete_old_queries(3, 4).unwrap(), 3);
    assert_eq!(ids(), [8, 9, 10]);
    assert_eq!(store.delete_old_queries(3, 4).unwrap(), 0);
    let opened = store.opened_answers(0, 100).unwrap();
    let opened: Vec<_> = opened.iter().map(|opened| opened.query).collect();
    assert_eq!(opened, [8, 9, 10]);
    let count = "SELECT count(*) FROM clicks";
    let clicks: i64 = store
        .connection()
        .query_row(count, [], |row| row.get(0))
        .unwrap();
    assert_eq!(clicks, 3);
    // Numbers are not given again, and clicks on answers of deleted queries are left out.
    assert_eq!(store.last_query().unwrap(), 10);
    store.log_queries(&[], &[click(2), click(9)]).unwrap();
    assert_eq!(store.opened_answers(0, 100).unwrap().len(), 4);
}

/// Change of a store.
#[derive(Debug, Clone)]
enum Change {
    Add(u8, u8),
    Delete(u8),
    DeleteAll,
    Publish,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        5 => (0..4_u8, 0..3_u8).prop_map(|(id, text)| Change::Add(id, text)),
        2 => (0..4_u8).prop_map(Change::Delete),
        1 => Just(Change::DeleteAll),
        2 => Just(Change::Publish),
        1 => Just(Change::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Added and published documents equal two maps.
    #[test]
    fn documents_are_those_of_a_map(changes in prop::collection::vec(change(), 0..20)) {
        use std::collections::BTreeMap;
        let folder = TempDir::new().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        let (mut added, mut published) = (BTreeMap::new(), BTreeMap::new());
        for change in changes {
            match change {
                Change::Add(id, text) => {
                    let (id, record) = (id.to_string(), record(&text.to_string()));
                    store.add(&[(id.clone(), record.clone())], Origin::Api).unwrap();
                    added.insert(id, record);
                }
                Change::Delete(id) => {
                    let id = id.to_string();
                    let deleted = store.delete(Some(std::slice::from_ref(&id))).unwrap();
                    prop_assert_eq!(deleted, usize::from(added.remove(&id).is_some()));
                }
                Change::DeleteAll => {
                    prop_assert_eq!(store.delete(None).unwrap(), added.len());
                    added.clear();
                }
                Change::Publish => {
                    let publication = store.publication(DocumentState::Added).unwrap();
                    store.set_published(&publication).unwrap();
                    published.clone_from(&added);
                }
                Change::Reopen => {
                    drop(store);
                    store = Store::open(folder.path()).unwrap();
                }
            }
            prop_assert_eq!(store.has_changes().unwrap(), added != published);
            for (state, expected) in
                [(DocumentState::Added, &added), (DocumentState::Published, &published)]
            {
                let found = store.documents(state, 0, 100).unwrap();
                let found: BTreeMap<_, _> =
                    found.into_iter().map(|document| (document.id, document.record)).collect();
                prop_assert_eq!(&found, expected);
            }
        }
    }
}
