//! Damaged files of token stores.

use std::fs;

use ir_core::store::{AtomicFile, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify};
use ir_core::{DocNum, SearchError};
use ir_knn::{SegmentedTokenStore, TokenEncoding, TokenStore, TokenStoreConfig};

use super::{codebook, configs, documents, write};

static TOKENS: IndexFormat = IndexFormat {
    magic: *b"ir-toks\n",
    version: 2,
    name: "a token store",
    large_sections: &["documents"],
};

/// A flipped bit is an error, or changes nothing that is read.
#[test]
fn every_flipped_byte_is_found() {
    let documents = documents(3, 6, 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    for config in configs(3, &codebook(&documents, 3)) {
        write(&path, &config, &documents);
        let bytes = fs::read(&path).unwrap();
        let docs = (0..documents.len() as u32).map(DocNum::new);
        let read = |verify| {
            let store = TokenStore::open_with(&path, verify)?;
            docs.clone()
                .map(|doc| store.vectors(doc))
                .collect::<Result<Vec<_>, _>>()
        };
        let expected = read(Verify::FirstUse).unwrap();
        let mut errors = 0;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            fs::write(&path, &damaged).unwrap();
            read(Verify::AllSections).unwrap_err();
            match read(Verify::FirstUse) {
                // Padding between sections.
                Ok(found) => assert_eq!(found, expected, "byte {at}"),
                Err(_) => errors += 1,
            }
            // Wrong values, but no panic.
            let _ = read(Verify::SmallSections);
        }
        assert!(errors > bytes.len() - 64, "{errors} of {}", bytes.len());
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            read(Verify::FirstUse).unwrap_err();
        }
    }
}

#[test]
fn damage_names_the_document() {
    let documents = documents(3, 6, 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    write(&path, &TokenStoreConfig::new(3), &documents);
    let mut bytes = fs::read(&path).unwrap();
    bytes[64] ^= 1;
    fs::write(&path, bytes).unwrap();
    let first = documents.iter().position(|(_, it)| !it.is_empty()).unwrap();
    let doc = DocNum::new(first as u32);
    let store = TokenStore::open(&path).unwrap();
    let error = store.vectors(doc).unwrap_err();
    assert!(matches!(&error, OpenIndexError::Checksum { section, .. }
        if *section == format!("documents, \"ü{first}\"")));
    assert!(store.verify().is_err());
    let store = SegmentedTokenStore::from(store);
    let query = &documents[first].1;
    for _ in 0..2 {
        let error = store.scores(query, &[doc]).unwrap_err();
        assert!(matches!(
            error,
            SearchError::Engine {
                engine: "the token store",
                ..
            }
        ));
        store.top(query, &[doc], 1).unwrap_err();
    }
}

/// Writes a store again with changed sections and correct checksums.
fn rewrite(path: &std::path::Path, change: impl Fn(&str, &[u8]) -> Option<Vec<u8>>) {
    let file = IndexFile::open(&TOKENS, path, Verify::AllSections).unwrap();
    let mut writer = IndexFileWriter::new(&TOKENS, AtomicFile::create(path).unwrap()).unwrap();
    for (name, _) in file.sections() {
        let section = file.section(name).unwrap();
        if let Some(bytes) = change(name, section.as_ref()) {
            writer.section(name, &bytes).unwrap();
        }
    }
    writer.finish().unwrap().commit().unwrap();
}

#[test]
fn sections_that_contradict_each_other() {
    let documents = documents(3, 6, 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let config = TokenStoreConfig::new(4)
        .with_encoding(TokenEncoding::Residual2)
        .with_codebook(codebook(&documents, 3));
    for (section, expected) in [
        ("centroids", "the centroids of the residuals"),
        ("buckets", "cutoffs and weights of 2 and 4 bits"),
        ("table", "an entry for every document"),
        ("ids", "an id for every document"),
        ("metadata", "the properties of the index"),
        ("documents", "ascending ends of the documents"),
    ] {
        write(&path, &config, &documents);
        rewrite(&path, |name, bytes| {
            (name != section).then(|| bytes.to_vec())
        });
        let error = TokenStore::open(&path).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("does not contain {expected}")),
            "{error}"
        );
        if section == "metadata" {
            continue;
        }
        write(&path, &config, &documents);
        rewrite(&path, |name, bytes| {
            let end = bytes.len() - usize::from(name == section);
            Some(bytes[..end].to_vec())
        });
        TokenStore::open(&path).unwrap_err();
    }
    // More tokens than bytes; documents that end before they start.
    for at in [8, 9, 11, 0, 5, 7, 16] {
        write(&path, &config, &documents);
        rewrite(&path, |name, bytes| {
            let mut bytes = bytes.to_vec();
            if name == "table" {
                bytes[at] = 0xf7;
            }
            Some(bytes)
        });
        let error = TokenStore::open(&path).unwrap_err();
        assert!(
            matches!(error, OpenIndexError::Malformed { .. }),
            "{at} {error}"
        );
    }
}

/// Forged documents with correct checksums give wrong vectors, but no panic.
#[test]
fn forged_documents() {
    let documents = documents(3, 6, 4);
    let docs: Vec<DocNum> = (0..6).map(DocNum::new).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    for config in configs(4, &codebook(&documents, 3)) {
        for byte in [0, 0x7f, 0xff] {
            write(&path, &config, &documents);
            rewrite(&path, |name, bytes| {
                if name == "documents" {
                    Some(vec![byte; bytes.len()])
                } else {
                    Some(bytes.to_vec())
                }
            });
            let store = TokenStore::open_with(&path, Verify::SmallSections).unwrap();
            for &doc in &docs {
                let tokens = store.vectors(doc).unwrap();
                assert_eq!(tokens.len(), documents[doc.index()].1.len());
            }
            let store = SegmentedTokenStore::from(store);
            let query = &documents[1].1;
            if let Ok(scores) = store.scores(query, &docs) {
                assert_eq!(scores.len(), docs.len());
                assert!(!scores.iter().any(|score| score.is_nan()), "{scores:?}");
            }
            drop(store.top(query, &docs, 2));
        }
    }
}

#[test]
fn another_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    fs::write(&path, b"ir-flat\n").unwrap();
    let error = TokenStore::open(&path).unwrap_err();
    assert!(matches!(
        error,
        OpenIndexError::NotAnIndex {
            name: "a token store",
            ..
        }
    ));
    let error = TokenStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenIndexError::Directory { .. }));
    let error = TokenStore::open(folder.path().join("none")).unwrap_err();
    assert!(matches!(error, OpenIndexError::Io { .. }));
}
