//! Downloads of collections from a server on the loopback interface.

#[path = "../../../ir-fetch/tests/server/mod.rs"]
#[allow(unreachable_pub)]
mod server;

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use ir_core::NoProgress;
use ir_data::catalog::{Catalog, FetchError};
use ir_data::{DataError, open};
use ir_fetch::DownloadError;
use server::{Reply, server};

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn zip(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(name.as_str(), zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn invalid_archives() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(folder.path());
    let fetch = |content: Vec<u8>| {
        let server = server(content, &[Reply::Serve]);
        catalog
            .fetch_mirror("beir/arguana", &server.address, &mut NoProgress)
            .unwrap_err()
    };
    let corpus = |content: Vec<u8>| zip(&[("arguana/corpus.jsonl".to_owned(), content)]);
    for content in [b"no zip".to_vec(), zip(&[])] {
        assert!(matches!(fetch(content), FetchError::Archive { .. }));
    }
    let entry = catalog.entry("beir/arguana").unwrap();
    let bytes = entry.files[0].plain.as_ref().unwrap().bytes as usize;
    for size in [5, bytes + 1] {
        let error = fetch(corpus(vec![b'x'; size]));
        assert!(
            matches!(error, FetchError::Data(DataError::Size { found, .. }) if found == size as u64),
            "{error}"
        );
    }
    let error = fetch(corpus(vec![b'x'; bytes]));
    assert!(
        matches!(error, FetchError::Data(DataError::Sha256 { .. })),
        "{error}"
    );
    let absent = server(Vec::new(), &[Reply::Status(404)]);
    let error = catalog.fetch_mirror("beir/arguana", &absent.address, &mut NoProgress);
    let error = error.unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::Download(DownloadError::Status { status: 404, .. })
        ),
        "{error}"
    );
    assert!(files(folder.path()).is_empty(), "no empty folder remains");

    let no_archive = catalog.fetch("makg", &mut NoProgress).unwrap_err();
    assert!(matches!(no_archive, FetchError::NoArchive { .. }));
    catalog.fetch("bundled", &mut NoProgress).unwrap();
    let unknown = catalog.fetch("none", &mut NoProgress).unwrap_err();
    assert!(matches!(
        unknown,
        FetchError::Data(DataError::UnknownCollection { .. })
    ));
}

#[test]
fn collection_from_its_archive() {
    let here = Catalog::from_env();
    if !here.has("beir/arguana").unwrap() {
        eprintln!("SKIPPED: beir/arguana is not in IR_DATA");
        return;
    }
    let entry = here.entry("beir/arguana").unwrap();
    let mut members = Vec::new();
    for file in &entry.files {
        let mut content = Vec::new();
        open(here.root().unwrap().join(&file.path))
            .unwrap()
            .read_to_end(&mut content)
            .unwrap();
        let name = file
            .path
            .strip_prefix("beir/")
            .unwrap()
            .trim_end_matches(".zst");
        members.push((name.to_owned(), content));
    }
    let server = server(zip(&members), &[Reply::Cut(1_000_000), Reply::Serve]);
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(folder.path());
    assert!(!catalog.has("beir/arguana").unwrap());
    let fetch = || {
        let fetched = catalog.fetch_mirror("beir/arguana", &server.address, &mut NoProgress);
        fetched.unwrap();
        server.ranges.lock().unwrap().clone()
    };
    assert_eq!(fetch(), ["", "bytes=1000000-"]);
    assert!(catalog.has("beir/arguana").unwrap());
    let verified = catalog.verify("beir/arguana", &mut NoProgress).unwrap();
    assert_eq!((verified.files, verified.documents), (3, 8674));
    assert_eq!(
        files(&folder.path().join("beir/arguana")),
        ["corpus.jsonl", "qrels", "queries.jsonl"]
    );
    // A complete collection is not downloaded again.
    assert_eq!(fetch().len(), 2);
}
