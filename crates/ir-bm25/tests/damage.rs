//! Damaged index files: cut, flipped, of other kinds and versions. Never a panic.

#![allow(clippy::unwrap_used)]

use std::sync::OnceLock;

use ir_bm25::{Bm25, DocLengths, Index, IndexConfig, IndexedFields, Pruning, StoredFields};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocNum, DocSet, Document, NoProgress, Predicate, Retriever, Search};

/// All sections, lists with and without full blocks.
fn sound() -> &'static [u8] {
    static INDEX: OnceLock<Index> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let documents: Vec<Document> = (0..300_u32)
            .map(|n| {
                let text =
                    "tea ".repeat(1 + n as usize % 5) + ["milk", "water", "salt"][n as usize % 3];
                let doc = Document::new(format!("d{n}"))
                    .with_title("Leaf")
                    .with_text(text);
                if n % 2 == 0 {
                    doc.with("year", 2000 + i64::from(n))
                } else {
                    doc
                }
            })
            .collect();
        let config = IndexConfig::default()
            .with_fields(IndexedFields::Separate)
            .with_store(StoredFields::Everything);
        Index::build(&documents, &config, &mut NoProgress).unwrap()
    });
    index.as_bytes()
}

/// Does everything that can be done with an index; results may be wrong or errors.
fn use_it(index: &Index) {
    let few = DocSet::select(5, |_| true);
    for lengths in [DocLengths::OneByte, DocLengths::Exact] {
        let searcher = index
            .searcher(Bm25::ANSERINI.with_lengths(lengths))
            .unwrap();
        let slow = searcher.clone().with_pruning(Pruning::Exhaustive);
        for query in ["tea milk", "leaf water salt tea", "salt"] {
            for how in [
                Search::top(3),
                Search::top(1000),
                Search::top(3).within(&few),
            ] {
                let _ = searcher.search(query, &how);
                let _ = slow.search(query, &how);
            }
            let _ = searcher.explain(query, DocNum::new(130));
        }
    }
    for n in [0, 7, 150, 299, 300, u32::MAX] {
        let _ = index.document(DocNum::new(n));
        let _ = index.years().get(DocNum::new(n));
    }
    let _ = index.select(&Predicate::Known {
        name: "year".into(),
    });
    let _ = (index.stats(), index.term("text", "tea"), index.verify());
}

fn open(bytes: &[u8], verify: Verify) -> Result<Index, OpenIndexError> {
    Index::from_bytes(bytes.to_vec(), verify)
}

#[test]
fn cut_anywhere() {
    for n in (0..sound().len())
        .step_by(7)
        .chain(sound().len() - 60..sound().len())
    {
        for verify in [Verify::AllSections, Verify::SmallSections] {
            let error = open(&sound()[..n], verify).unwrap_err();
            let expected = match n {
                0 => matches!(error, OpenIndexError::NotAnIndex { .. }),
                _ => {
                    matches!(error, OpenIndexError::Truncated { found, .. } if found as usize == n)
                }
            };
            assert!(expected, "{n} bytes: {error}");
        }
    }
}

#[test]
fn flipped_anywhere() {
    let mut bytes = sound().to_vec();
    let mut let_through = 0;
    for at in 0..bytes.len() {
        for flip in [0x01, 0xff] {
            bytes[at] ^= flip;
            let error = open(&bytes, Verify::AllSections).unwrap_err();
            let expected = match at {
                0..8 => matches!(error, OpenIndexError::NotAnIndex { .. }),
                _ => error.is_damage(),
            };
            assert!(expected, "byte {at}: {error}");
            if let Ok(index) = open(&bytes, Verify::SmallSections) {
                assert!(index.verify().is_err());
                if flip == 0xff && at % 3 == 0 {
                    use_it(&index);
                }
                let_through += 1;
            }
            bytes[at] ^= flip;
        }
    }
    assert!(
        let_through > 1000,
        "postings and stored documents are not looked at"
    );
    assert_eq!(bytes, sound());
    use_it(&open(&bytes, Verify::AllSections).unwrap());
}

#[test]
fn longer_than_written() {
    for extra in [&b"\0"[..], b"\nir-end\n", &sound()[..1000]] {
        let bytes = [sound(), extra].concat();
        assert!(open(&bytes, Verify::AllSections).unwrap_err().is_damage());
    }
    let twice = [sound(), sound()].concat();
    assert!(open(&twice, Verify::AllSections).unwrap_err().is_damage());
}

#[test]
fn other_kinds_and_versions() {
    for other in [
        &b"{\"_id\": \"a\"}"[..],
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd....",
        &[0; 100],
    ] {
        let error = open(other, Verify::AllSections).unwrap_err();
        assert!(
            matches!(error, OpenIndexError::NotAnIndex { .. }),
            "{error}"
        );
    }
    let mut newer = sound().to_vec();
    newer[8..12].copy_from_slice(&7_u32.to_le_bytes());
    let checksum = crc32fast::hash(&newer[..12]);
    newer[12..16].copy_from_slice(&checksum.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    std::fs::write(&path, newer).unwrap();
    let error = Index::open(&path).unwrap_err();
    assert!(matches!(
        error,
        OpenIndexError::Version {
            expected: 1,
            found: 7,
            ..
        }
    ));
    let message = format!(
        "{}: index format 7 is newer than 1, the newest that this version reads",
        path.display()
    );
    assert_eq!(error.to_string(), message);
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(
        Index::open(&path),
        Err(OpenIndexError::NotAnIndex { .. })
    ));
}

/// Sections whose checksum has been made to fit: what a program of bad intent could write. The dictionary of terms
/// is left alone: its decoder trusts it, and may panic (but does not read wild) on what it has not written.
#[test]
fn flipped_under_a_fitting_checksum() {
    let mut bytes = sound().to_vec();
    let sizes = open(&bytes, Verify::AllSections).unwrap().stats().sections;
    let end = bytes.len() - 24;
    let table = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap()) as usize;
    let (mut start, mut row, mut opened) = (16, table + 4, 0);
    for (name, size) in &sizes {
        let section = start..start + *size as usize;
        let checksum = row + 1 + name.len() + 8;
        (start, row) = (section.end, checksum + 4);
        if name == "terms" {
            continue;
        }
        // The long sections are alike all over.
        let step = if ["postings", "meta", "years"].contains(&name.as_str()) {
            1
        } else {
            11
        };
        for at in section.clone().step_by(step) {
            for flip in [0x01, 0xff] {
                bytes[at] ^= flip;
                let fitting = crc32fast::hash(&bytes[section.clone()]).to_le_bytes();
                bytes[checksum..checksum + 4].copy_from_slice(&fitting);
                let all = crc32fast::hash(&bytes[table..end + 12]).to_le_bytes();
                bytes[end + 12..end + 16].copy_from_slice(&all);
                if let Ok(index) = open(&bytes, Verify::AllSections) {
                    use_it(&index);
                    opened += 1;
                }
                bytes[at] ^= flip;
            }
        }
        bytes = sound().to_vec();
    }
    assert!(opened > 1000);
}
