//! Damaged files, stores that cannot be written, clocks that go back, processes that are killed.

use std::collections::BTreeMap;
use std::fs;

use ir_core::Side;
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use tempfile::TempDir;

use super::jobs::MAX_ATTEMPTS;
use super::*;

fn document(id: &str) -> (String, SocoDocument) {
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", id);
    let text = format!("The text of {id} is a few sentences long. It is about tea.").repeat(9);
    let content = SocoContent::Document(vec![Chunk::new(ChunkKind::Content, text)]);
    (id.to_owned(), SocoDocument { content, meta })
}

/// Whatever bit of the file is wrong, what is read is what was written, or an error.
#[test]
fn wrong_bits_are_errors_or_change_nothing() {
    let folder = TempDir::new().unwrap();
    let written: BTreeMap<String, SocoDocument> = (0..40)
        .map(|n| document(&format!("document {n}")))
        .collect();
    {
        let store = Store::open(folder.path()).unwrap();
        let documents: Vec<_> = written.clone().into_iter().collect();
        store.add(&documents, Origin::Api).unwrap();
        let publication = store.publication(DocumentState::Added).unwrap();
        store.set_published(&publication).unwrap();
        store.create_job("j").unwrap();
        store.create_key(KeyRole::Admin).unwrap();
    }
    let file = folder.path().join("store.sqlite");
    let bytes = fs::read(&file).unwrap();
    let (mut random, mut errors, mut lost) = (0x2545_f491_4f6c_dd1d_u64, 0, 0);
    for _ in 0..300 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let bit = random as usize % (bytes.len() * 8);
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let copy = TempDir::new().unwrap();
        fs::write(copy.path().join("store.sqlite"), damaged).unwrap();
        let Ok(store) = Store::open(copy.path()) else {
            errors += 1;
            continue;
        };
        for state in [DocumentState::Added, DocumentState::Published] {
            let Ok(documents) = store.documents(state, 0, 1_000) else {
                errors += 1;
                continue;
            };
            lost += written.len() - documents.len().min(written.len());
            for document in documents {
                assert_eq!(
                    written.get(&document.id),
                    Some(&document.record),
                    "bit {bit}"
                );
            }
        }
        // Other tables: an error, or something.
        let _ = (store.unfinished_jobs(), store.keys(), store.has_changes());
    }
    assert!(errors > 20, "{errors}");
    assert_eq!(lost, 0, "documents that are missing without an error");
}

#[test]
fn a_store_that_cannot_be_written_is_read() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.add(&[document("tea")], Origin::Api).unwrap();
    store.execute("PRAGMA query_only = ON");
    let error = store.add(&[document("cup")], Origin::Api).unwrap_err();
    assert!(error.to_string().contains("readonly database"), "{error}");
    assert!(store.create_job("j").is_err());
    assert_eq!(
        store.documents(DocumentState::Added, 0, 9).unwrap().len(),
        1
    );
    store.execute("PRAGMA query_only = OFF");
    store.add(&[document("cup")], Origin::Api).unwrap();
}

#[test]
fn clocks_that_go_back_change_no_order() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.create_job("first").unwrap();
    store.create_job("second").unwrap();
    // A century later than the clock is now.
    store.execute("UPDATE jobs SET enqueued_at = enqueued_at + 3155760000000");
    store.create_job("third").unwrap();
    assert_eq!(
        store.unfinished_jobs().unwrap(),
        ["first", "second", "third"]
    );
    store.start_jobs(&["first".to_owned()], &[0; 32]).unwrap();
    store
        .end_jobs(&["first".to_owned()], JobStatus::Finished, ("", 0, 0), None)
        .unwrap();
    let job = store.job("first").unwrap().unwrap();
    assert!(job.started_at < Some(job.enqueued_at) && job.status == JobStatus::Finished);
    let ids: Vec<String> = store
        .jobs(9)
        .unwrap()
        .into_iter()
        .map(|job| job.id)
        .collect();
    assert_eq!(ids, ["third", "second", "first"]);
}

#[test]
fn jobs_that_end_the_process_are_given_up() {
    let folder = TempDir::new().unwrap();
    let content = {
        let store = Store::open(folder.path()).unwrap();
        store.add(&[document("tea")], Origin::Api).unwrap();
        store.create_job("j").unwrap();
        store.content_hash().unwrap()
    };
    for attempt in 0..MAX_ATTEMPTS {
        // The process is killed: the job neither ends nor waits again.
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.unfinished_jobs().unwrap(), ["j"], "attempt {attempt}");
        assert!(!store.was_given_up(&content).unwrap());
        store.start_jobs(&["j".to_owned()], &content).unwrap();
        // A stop in order is no attempt.
        store.requeue_jobs(&["j".to_owned()]).unwrap();
        store.start_jobs(&["j".to_owned()], &content).unwrap();
    }
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.unfinished_jobs().unwrap(), [""; 0]);
    let job = store.job("j").unwrap().unwrap();
    assert_eq!(job.status, JobStatus::Failed);
    let error = job.error.unwrap();
    assert!(
        error.contains("the process ended 5 times during this publication"),
        "{error}"
    );
    assert!(store.was_given_up(&store.content_hash().unwrap()).unwrap());
    // Another document makes it worth another attempt, as does a job that someone asks for.
    store.add(&[document("cup")], Origin::Api).unwrap();
    assert!(!store.was_given_up(&store.content_hash().unwrap()).unwrap());
    store.delete(Some(&["cup".to_owned()])).unwrap();
    assert!(store.was_given_up(&store.content_hash().unwrap()).unwrap());
    store.create_job("k").unwrap();
    assert!(!store.was_given_up(&store.content_hash().unwrap()).unwrap());
}

#[test]
fn vectors_of_other_texts_are_deleted() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let hashes = [[1; 32], [2; 32]];
    for encoder in ["a", "b"] {
        for side in [Side::Document, Side::Query] {
            store
                .set_vectors(encoder, side, &hashes, &[1.0, 2.0], 1)
                .unwrap();
        }
    }
    let used = [(Side::Document, [1; 32]), (Side::Query, [2; 32])].into();
    assert_eq!(store.retain_vectors(&used).unwrap(), 4);
    for encoder in ["a", "b"] {
        let vector = |side, n: u8| store.vector(encoder, side, &[n; 32]).unwrap();
        assert_eq!(vector(Side::Document, 1), Some(vec![1.0]));
        assert_eq!(vector(Side::Document, 2), None);
        assert_eq!(vector(Side::Query, 1), None);
        assert_eq!(vector(Side::Query, 2), Some(vec![2.0]));
    }
}

/// A store of the first version gets the columns of the second.
#[test]
fn older_stores_are_migrated() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.sqlite");
    let old = Connection::open(&file).unwrap();
    old.execute_batch(include_str!("migrations/1.sql")).unwrap();
    old.execute_batch("INSERT INTO jobs (id, status, enqueued_at) VALUES ('j', 'started', 1)")
        .unwrap();
    old.pragma_update(None, "application_id", 0x6972_7161)
        .unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    drop(old);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.unfinished_jobs().unwrap(), ["j"]);
    store.start_jobs(&["j".to_owned()], &[7; 32]).unwrap();
}
