//! Incomplete and miscounted collections.

use std::fs;

use ir_core::{Document, Flow, NoProgress, Progress};
use ir_data::{DataError, catalog};

#[test]
fn incomplete_copy_of_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    let here = catalog::Catalog::new(folder.path());
    let entry = here.entry("cranfield").unwrap();
    let error = here.open("cranfield").unwrap_err();
    assert!(error.is_missing(), "{error}");
    assert!(error.to_string().contains("place it there"), "{error}");
    fs::create_dir_all(folder.path().join("classic/cranfield")).unwrap();
    let write = |content: &dyn Fn(u64) -> Vec<u8>| {
        for file in &entry.files {
            fs::write(folder.path().join(&file.path), content(file.bytes)).unwrap();
        }
    };
    write(&|_| b"cut".to_vec());
    let error = here.open("cranfield").unwrap_err();
    assert!(matches!(error, DataError::Size { found: 3, .. }) && error.is_corrupt());
    write(&|bytes| vec![b'x'; bytes as usize]);
    let verify = |progress: &mut dyn Progress| here.verify("cranfield", progress).unwrap_err();
    let error = verify(&mut NoProgress);
    assert!(matches!(error, DataError::Sha256 { .. }), "{error}");
    let error = verify(&mut |_: &str, _: u64, _: Option<u64>| Flow::Stop);
    assert!(matches!(error, DataError::Canceled));
    let error = here.open("none").unwrap_err();
    assert!(matches!(error, DataError::UnknownCollection { .. }));
    assert!(here.open("bundled").is_ok());
}

#[test]
fn wrong_document_count() {
    use ir_core::Corpus;
    let docs = vec![Document::new("a"), Document::new("b")];
    let all = |expected| {
        let corpus = ir_data::CountedCorpus::new(docs.clone(), "c", expected);
        corpus.docs().unwrap().collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(all(2).unwrap().len(), 2);
    for wrong in [1, 3] {
        let error = all(wrong).unwrap_err();
        let error = error.reason().to_string();
        assert_eq!(error, format!("c: expected {wrong} documents, found 2"));
    }
}

/// The table of the README lists every collection with the counts of the catalog.
#[test]
fn table_of_the_readme() {
    let grouped = |number: u64| {
        let digits = number.to_string();
        let groups = digits.as_bytes().rchunks(3).rev();
        let groups = groups.map(|group| std::str::from_utf8(group).unwrap());
        groups.collect::<Vec<_>>().join(",")
    };
    let readme = include_str!("../../../README.md");
    let (_, rows) = readme
        .split_once("| name | documents | judged queries | origin |\n")
        .unwrap();
    let mut listed = Vec::new();
    for row in rows.lines().skip(1).take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, documents, queries, ..] = cells[..] else {
            panic!("{row}");
        };
        for name in names.split(", ").map(|name| name.trim_matches('`')) {
            listed.push(name.to_owned());
            let mut entries = catalog::entries().iter();
            let entry = entries.find(|entry| entry.name == name);
            let entry = entry.unwrap_or_else(|| panic!("{row}"));
            let none = |number| match number {
                0 => "none".to_owned(),
                number => grouped(number),
            };
            // The documents and their queries are not listed in the catalog.
            if documents == "not included" {
                continue;
            }
            assert_eq!(documents, none(entry.documents), "{row}");
            let mut found: Vec<&str> = match queries {
                "none" => Vec::new(),
                // No comma inside of a number is followed by a space.
                queries => queries.split(", ").collect(),
            };
            let counts = entry.splits.iter();
            let mut expected: Vec<String> = counts
                .map(|(split, counts)| format!("{} {split}", grouped(counts.queries)))
                .collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{row}");
        }
    }
    let names = catalog::entries().iter().map(|it| it.name.as_str());
    let mut names: Vec<&str> = names.collect();
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names);
}
