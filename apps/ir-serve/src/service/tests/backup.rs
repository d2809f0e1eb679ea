//! Copies of a data folder that is served.

use std::fs;

use ir_core::{Flow, NoProgress};

use super::*;
use crate::store::{DocumentState, QUESTION_FILE, StoreError, back_up};

/// Names of the files of a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// Documents are added in pairs and published while the folder is copied: each copy has whole
/// transactions, and its answers are the ones of a service with the same documents.
#[test]
fn copies_during_writes_are_consistent() {
    let (data, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let encoder = Arc::new(CountingEncoder::default());
    let service = opened(encoding(&data, &encoder));
    let pair = |n: usize| {
        let text = format!("Tea number {n} is hot. Cup {n} is made of clay.");
        ["a", "b"].map(|name| document(&format!("{name}{n}"), &text))
    };
    service.add(pair(0).to_vec()).unwrap();
    publish(&service);
    let is_stopped = std::sync::atomic::AtomicBool::new(false);
    let copies: Vec<std::path::PathBuf> = thread::scope(|scope| {
        let (service, is_stopped) = (&service, &is_stopped);
        scope.spawn(move || {
            for n in 1.. {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                service.add(pair(n).to_vec()).unwrap();
                service.publish().unwrap();
            }
        });
        let copies = (0..4).map(|n| {
            let copy = folder.path().join(n.to_string());
            back_up(data.path(), &copy, &mut NoProgress).unwrap();
            copy
        });
        let copies = copies.collect();
        is_stopped.store(true, Ordering::Relaxed);
        copies
    });
    let mut last = 0;
    for copy in copies {
        // Nothing but the database: no lock, and no write-ahead log.
        assert_eq!(files(&copy), ["store.sqlite"]);
        let restored = opened(ServiceConfig::new(&copy).with_encoder("letters", encoder.clone()));
        let documents = restored.store().documents(DocumentState::Added, 0, 10_000);
        let documents = documents.unwrap();
        let count = documents.len() / 2;
        assert!(documents.len() == 2 * count && count >= last && count > 0);
        last = count;
        // Publications that waited or ran at the moment of the copy run again.
        wait_until(|| restored.unfinished_jobs() == 0);
        publish(&restored);
        let (scratch, expected) = (TempDir::new().unwrap(), documents.into_iter());
        let other = opened(encoding(&scratch, &encoder));
        other.add(expected.map(|it| it.record).collect()).unwrap();
        publish(&other);
        let found = |service: &Service| -> Vec<(String, u32)> {
            let list = service
                .ask(&Question::new("hot tea number 0", 1_000))
                .unwrap();
            let answers = list.answers.into_iter();
            answers
                .map(|it| (it.frame.id, it.score.to_bits()))
                .collect()
        };
        assert_eq!(found(&restored), found(&other));
        assert!(found(&restored).len() >= 2);
    }
}

#[test]
fn a_copy_has_everything_and_is_restored() {
    let (data, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let service = opened(ServiceConfig::new(data.path()));
    let key = service.create_key(KeyRole::Admin).unwrap();
    add(&service, "tea", "Tea is a drink.");
    publish(&service);
    let note = annotation("tea", 0, "Tea is a drink.", "What is tea?");
    let id = service.store().annotate(&note, "me").unwrap().id;
    fs::write(data.path().join(QUESTION_FILE), "{}\n").unwrap();
    let copy = folder.path().join("backups/monday");
    let checked = back_up(data.path(), &copy, &mut NoProgress).unwrap();
    assert_eq!((checked.records, checked.vectors), (1, 0));
    add(&service, "cup", "A cup of tea.");
    drop(service);
    // Restored by a copy in the other direction, into an empty folder.
    let restored = TempDir::new().unwrap();
    back_up(&copy, restored.path(), &mut NoProgress).unwrap();
    assert_eq!(files(restored.path()), [QUESTION_FILE, "store.sqlite"]);
    let service = opened(ServiceConfig::new(restored.path()));
    assert_eq!(answers(&service, "tea"), ["Tea is a drink."]);
    assert_eq!(service.role(&key), Some(KeyRole::Admin));
    assert_eq!(
        service.store().annotation(id).unwrap().question,
        "What is tea?"
    );
}

#[test]
fn copies_that_cannot_be_made_leave_nothing() {
    let (data, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let service = opened(ServiceConfig::new(data.path()));
    add(&service, "tea", "Tea is a drink.");
    let to = |name: &str| folder.path().join(name);
    let error = |from: &std::path::Path, name: &str| {
        let error = back_up(from, &to(name), &mut NoProgress).unwrap_err();
        error.to_string()
    };
    fs::create_dir(to("full")).unwrap();
    fs::write(to("full").join("mine.txt"), "").unwrap();
    fs::write(to("file"), "").unwrap();
    for name in ["full", "file"] {
        let found = error(data.path(), name);
        let expected = "expected a new or an empty folder, found a file or a folder with files";
        assert!(found.ends_with(expected), "{found}");
    }
    let found = error(&to("full"), "copy");
    assert!(
        found.ends_with("expected a data folder, found no store"),
        "{found}"
    );
    fs::write(
        to("full").join("store.sqlite"),
        "text, not a database. ".repeat(99),
    )
    .unwrap();
    let found = error(&to("full"), "copy");
    assert!(found.contains("not a database"), "{found}");
    let stopped = back_up(
        data.path(),
        &to("copy"),
        &mut |_: &str, _: u64, _: Option<u64>| Flow::Stop,
    );
    assert!(matches!(stopped, Err(StoreError::Canceled)), "{stopped:?}");
    // A record with another checksum.
    let sql = "UPDATE contents SET record = replace(record, 'Tea', 'Sea')";
    service.store().execute(sql);
    let found = error(data.path(), "copy");
    assert!(
        found.contains("found damage (the record of document \"tea\")"),
        "{found}"
    );
    assert!(
        found.contains(&data.path().display().to_string()),
        "{found}"
    );
    assert_eq!(files(folder.path()), ["file", "full"]);
    assert_eq!(files(&to("full")), ["mine.txt", "store.sqlite"]);
}
