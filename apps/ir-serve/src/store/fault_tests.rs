//! Damaged files, stores that cannot be written, clocks that go back, processes that are killed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use ir_core::{NoProgress, Side};
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
    let mut missed = 0;
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
        let store = Arc::new(store);
        // What a start checks.
        let started = BackgroundCheck::start(&store).unwrap();
        started.wait();
        let is_found = started.damage().is_some();
        assert_eq!(is_found, copy.path().join("damaged").exists(), "bit {bit}");
        // What `--check` checks.
        let is_checked = store.check(&mut NoProgress).is_ok();
        assert!(is_checked <= !is_found, "bit {bit}");
        if is_found {
            errors += 1;
            continue;
        }
        missed += u32::from(!is_checked);
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
    // A start does not read records; the reads above find what it misses.
    assert!(missed > 0, "{missed}");
    assert_eq!(lost, 0, "documents that are missing without an error");
}

/// A store of 400 documents with a vector each, and its file.
fn large_store() -> (TempDir, std::path::PathBuf) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let documents: Vec<_> = (0..400).map(|n| document(&format!("d{n}"))).collect();
    store.add(&documents, Origin::Api).unwrap();
    let publication = store.publication(DocumentState::Added).unwrap();
    store.set_published(&publication).unwrap();
    let hashes: Vec<[u8; 32]> = (0..400_u32).map(|n| sha256(&n.to_le_bytes())).collect();
    store
        .set_vectors("e", Side::Document, &hashes, &vec![0.5; 400 * 8], 8)
        .unwrap();
    drop(store);
    let file = folder.path().join("store.sqlite");
    (folder, file)
}

#[test]
fn a_check_counts_what_it_reads() {
    let (folder, _) = large_store();
    let store = Store::open(folder.path()).unwrap();
    let mut stages = Vec::new();
    let checked = store.check(&mut |stage: &str, _: u64, _: Option<u64>| {
        stages.push(stage.to_owned());
        ir_core::Flow::Continue
    });
    let checked = checked.unwrap();
    assert_eq!((checked.records, checked.vectors), (400, 400));
    assert_eq!(stages, ["checking pages"]);
    let stopped = store.check(&mut |_: &str, _: u64, _: Option<u64>| ir_core::Flow::Stop);
    assert!(matches!(stopped, Err(StoreError::Canceled)));
}

/// Opening reads a few pages: a damaged one of the others is found by the checks.
#[test]
fn damaged_pages_are_found_after_the_start() {
    let (folder, file) = large_store();
    let intact = fs::read(&file).unwrap();
    let pages = intact.len() / 4096;
    assert!(pages > 100, "{pages}");
    let (mut opened, mut found) = (0, 0);
    for page in (10..pages).step_by(7) {
        let mut damaged = intact.clone();
        damaged[page * 4096] ^= 0xff;
        fs::write(&file, &damaged).unwrap();
        let Ok(store) = Store::open(folder.path()) else {
            continue;
        };
        opened += 1;
        let store = Arc::new(store);
        let check = BackgroundCheck::start(&store).unwrap();
        // A page that continues a long record has no structure; its record is checked.
        if let Err(error) = store.check(&mut NoProgress) {
            assert!(matches!(error, StoreError::DamagedPages { .. }), "{error}");
            found += 1;
        }
        check.wait();
        let damage = check.damage().map(str::to_owned);
        drop((check, store));
        let marker = folder.path().join("damaged");
        assert!(marker.exists());
        // The next start checks before anything is served, until the file is restored.
        if let Some(damage) = damage {
            let error = Store::open(folder.path()).unwrap_err().to_string();
            assert_eq!(error, damage);
            assert!(error.contains("restore it from a copy"), "{error}");
            fs::write(&file, &intact).unwrap();
            Store::open(folder.path()).unwrap();
            assert!(!marker.exists());
        } else {
            fs::remove_file(marker).unwrap();
        }
    }
    assert!(opened > 10 && found == opened, "{found} of {opened}");
}

/// A file that cannot be read is damaged; a store that is busy, or a check that is stopped, is not.
#[test]
fn errors_of_reading_are_damage() {
    use rusqlite::ffi;

    let damage = |code| {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let error = super::damage::damage_of(error.into(), "f");
        match error {
            StoreError::DamagedPages { path, found } if path == "f" => Some(found),
            _ => None,
        }
    };
    for code in [
        ffi::SQLITE_IOERR_READ,
        ffi::SQLITE_IOERR_SHORT_READ,
        ffi::SQLITE_IOERR_CORRUPTFS,
    ] {
        let found = damage(code).unwrap();
        assert!(found.contains("the file cannot be read"), "{found}");
    }
    assert!(damage(ffi::SQLITE_CORRUPT).is_some());
    for code in [
        ffi::SQLITE_BUSY,
        ffi::SQLITE_INTERRUPT,
        ffi::SQLITE_IOERR_NOMEM,
        ffi::SQLITE_IOERR_WRITE,
    ] {
        assert_eq!(damage(code), None, "{code}");
    }
}

#[test]
fn a_check_ends_with_its_service() {
    let (folder, _) = large_store();
    for _ in 0..20 {
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let check = BackgroundCheck::start(&store).unwrap();
        drop(check);
        assert_eq!(Arc::strong_count(&store), 1);
    }
    assert!(!folder.path().join("damaged").exists());
}

#[test]
fn damaged_records_and_vectors_are_found() {
    let (folder, _) = large_store();
    let store = Store::open(folder.path()).unwrap();
    let found = || store.check(&mut NoProgress).unwrap_err().to_string();
    let hash = sha256(&7_u32.to_le_bytes());
    assert!(store.vector("e", Side::Document, &hash).unwrap().is_some());
    store.execute("UPDATE vectors SET vector = zeroblob(32)");
    // A damaged vector is encoded again.
    assert_eq!(store.vector("e", Side::Document, &hash).unwrap(), None);
    assert!(found().contains("a vector with another checksum"));
    // Vectors of older versions have no checksum.
    store.execute("UPDATE vectors SET checksum = NULL");
    assert!(store.vector("e", Side::Document, &hash).unwrap().is_some());
    let checked = store.check(&mut NoProgress).unwrap();
    assert_eq!(
        (checked.vectors, checked.vectors_without_checksum),
        (400, 400)
    );
    let sql = "UPDATE contents SET record = replace(record, 'tea', 'sea')
               WHERE hash = (SELECT hash FROM documents WHERE id = 'd5')";
    store.execute(sql);
    assert!(
        found().contains("the record of document \"d5\""),
        "{}",
        found()
    );
    store.execute("PRAGMA foreign_keys = OFF; DELETE FROM contents");
    assert!(found().contains("no record of document"), "{}", found());
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

/// A store of the first version gets the columns of the second; so does its copy.
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
    let copy = TempDir::new().unwrap();
    back_up(folder.path(), copy.path(), &mut NoProgress).unwrap();
    let version = "PRAGMA user_version";
    let version = old.query_row(version, [], |row| row.get::<_, i64>(0));
    assert_eq!(version.unwrap(), 1);
    drop(old);
    for folder in [&folder, &copy] {
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.unfinished_jobs().unwrap(), ["j"]);
        store.start_jobs(&["j".to_owned()], &[7; 32]).unwrap();
    }
}

/// Documents of files that an older version read, and that were changed over REST.
#[test]
fn file_versions_of_older_stores_are_migrated() {
    let folder = TempDir::new().unwrap();
    let old = Store::open(folder.path()).unwrap();
    let documents = ["cup", "tea"].map(document);
    old.add(&documents, Origin::Folder).unwrap();
    for (id, _) in &documents {
        let file = (
            format!("{id}.txt"),
            "12 345 678 9 R".to_owned(),
            vec![id.clone()],
        );
        old.set_files(&[file]).unwrap();
    }
    old.execute(
        "DROP TABLE read_documents; DROP TABLE encoding_attempts; DROP TABLE tags;
         PRAGMA user_version = 6",
    );
    drop(old);
    let store = Store::open(folder.path()).unwrap();
    store.delete(Some(&["tea".to_owned()])).unwrap();
    let unchanged = |path| store.documents_of_file(path, "12 345", "678 9 R").unwrap();
    assert_eq!(unchanged("cup.txt"), Some(vec!["cup".to_owned()]));
    assert_eq!(unchanged("tea.txt"), Some(vec!["tea".to_owned()]));
    let read = |stamp: &str| {
        let (id, record) = document("tea");
        let stamp = stamp.to_owned();
        let read = ReadDocument { id, record, stamp };
        store.add_read_documents(&[read]).unwrap();
        store.folder_documents().unwrap().contains("tea")
    };
    assert!(!read("12 345"));
    assert!(read("12 346"));
}
