//! Index files with forged sections and valid checksums, as a malicious program could write them:
//! an error or results, and never a panic or a search that hangs.

#![allow(clippy::unwrap_used)]

use crate::index_file::{FORMAT, Results, VERIFY, large, open};
use ir_bm25::{Bm25, Index, IndexConfig, Pruning};
use ir_core::store::{HEADER_LEN, IndexFileWriter, Verify};
use ir_core::{Document, NoProgress, Retriever, Search};

/// Names and contents of the sections of an index.
fn sections_of(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let index = open(bytes, Verify::AllSections).unwrap();
    let mut start = HEADER_LEN;
    let sections = index.stats().sections.into_iter().map(|(name, size)| {
        let end = start + size as usize;
        let content = bytes[start..end].to_vec();
        start = end.next_multiple_of(HEADER_LEN);
        (name, content)
    });
    sections.collect()
}

/// An index file of sections, with their checksums.
fn file(sections: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = IndexFileWriter::new(&FORMAT, Vec::new()).unwrap();
    for (name, content) in sections {
        writer.section(name, content).unwrap();
    }
    writer.finish().unwrap()
}

/// Random bytes in a term dictionary, with valid checksums: a search, a lookup and a merge return
/// errors or results.
#[test]
fn forged_term_dictionaries_do_not_panic() {
    let words = [
        "tea",
        "teapot",
        "team",
        "leaf",
        "leaves",
        "water",
        "hot",
        "\u{4e00}\u{8336}",
    ];
    let documents: Vec<_> = (0..30_usize)
        .map(|n| {
            let text: Vec<_> = (0..6)
                .map(|at| words[(n * 5 + at * at) % words.len()])
                .collect();
            Document::new(n.to_string()).with_text(text.join(" ") + &format!(" w{n}"))
        })
        .collect();
    let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    let mut sections = sections_of(index.as_bytes());
    let terms = sections
        .iter()
        .position(|(name, _)| name == "terms")
        .unwrap();
    let valid = sections[terms].1.clone();
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) as usize % below
    };
    let (mut errors, mut results) = (0, 0);
    for _ in 0..10_000 {
        let mut forged = valid.clone();
        for _ in 0..1 + next(3) {
            let at = next(forged.len());
            forged[at] = next(256) as u8;
        }
        sections[terms].1 = forged;
        let Ok(index) = open(&file(&sections), Verify::SmallSections) else {
            errors += 1;
            continue;
        };
        let searcher = index.searcher(Bm25::LUCENE).unwrap();
        for query in ["tea leaf hot w7", "teapot \u{4e00}", "unknown te wate w29"] {
            match searcher.search(query, &Search::top(3)) {
                Ok(_) => results += 1,
                Err(_) => errors += 1,
            }
        }
        let _ = index.term("contents", "water");
        let _ = open(index.as_bytes(), Verify::AllSections);
    }
    assert!(
        errors > 500 && results > 500,
        "{errors} errors, {results} results"
    );
}

/// A section by its name.
fn section<'a>(sections: &'a mut [(String, Vec<u8>)], name: &str) -> &'a mut Vec<u8> {
    let named = sections.iter_mut().find(|section| section.0 == name);
    &mut named.unwrap().1
}

/// Replaces statistics of the first field in the metadata.
fn forge_stats(sections: &mut [(String, Vec<u8>)], stats: &[(&str, u64)]) {
    let meta = section(sections, "meta");
    let mut json: serde_json::Value = serde_json::from_slice(meta).unwrap();
    for &(name, value) in stats {
        assert!(json["fields"][0][name].is_u64(), "{name}");
        json["fields"][0][name] = value.into();
    }
    *meta = serde_json::to_vec(&json).unwrap();
}

/// A term dictionary of 2^64 keys in field 0, all with the posting list at offset 0: the two
/// transitions of each of 64 nodes lead to the same next node.
fn shared_nodes() -> Vec<u8> {
    let mut bytes = 3_u64.to_le_bytes().to_vec();
    bytes.extend(0_u64.to_le_bytes());
    for level in 0..64 {
        // Two addresses, as distances, of which 0 is the final node; two inputs; the size of an
        // address; the number of transitions.
        let distance = u8::from(level > 0);
        bytes.extend([distance, distance, b'b', b'a', 0x10, 2]);
    }
    bytes.extend([1, 0, 0x10, 1]);
    let root = bytes.len() as u64 - 1;
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.extend(root.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// Statistics that contradict each other, the number of documents or the sizes of sections.
#[test]
fn forged_statistics_are_rejected() {
    let sections = sections_of(large());
    let postings = section(&mut sections.clone(), "postings").len() as u64;
    for stats in [
        &[("terms", u64::MAX)][..],
        &[("terms", postings)],
        &[("terms", 0)],
        &[("docs", u64::MAX)],
        &[("docs", 301)],
        &[("docs", 0)],
        &[("tokens", u64::MAX)],
        &[("tokens", 299)],
        &[("tokens", 0)],
        &[("longest", 0)],
        &[("longest", u64::from(u32::MAX))],
        &[("postings", u64::MAX)],
        &[("postings", 0)],
        // Consistent with each other.
        &[
            ("terms", postings + 1),
            ("postings", postings + 1),
            ("tokens", postings + 1),
            ("longest", postings + 1),
        ],
        &[
            ("terms", postings),
            ("postings", 128 * postings + 1),
            ("tokens", 128 * postings + 1),
            ("longest", postings),
        ],
    ] {
        let mut forged = sections.clone();
        forge_stats(&mut forged, stats);
        for verify in VERIFY {
            let error = open(&file(&forged), verify).unwrap_err().to_string();
            assert!(error.contains("section meta"), "{stats:?}: {error}");
        }
    }
    // Possible, but they disagree with the document lengths.
    for stats in [
        &[("tokens", 301), ("longest", 2)][..],
        &[("docs", 299), ("longest", 2), ("postings", 299)],
    ] {
        let mut forged = sections.clone();
        forge_stats(&mut forged, stats);
        open(&file(&forged), Verify::SmallSections).unwrap();
        let error = open(&file(&forged), Verify::AllSections).unwrap_err();
        let expected = "the statistics of the document lengths";
        assert!(error.to_string().contains(expected), "{stats:?}: {error}");
    }
}

/// Keys of a forged dictionary are listed up to the number of terms and postings of the metadata,
/// which the size of the file limits.
#[test]
fn forged_dictionaries_and_statistics_do_not_hang() {
    let mut sections = sections_of(large());
    *section(&mut sections, "terms") = shared_nodes();
    let postings = section(&mut sections, "postings").len() as u64;
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.ir");
    let mut check = |stats: &[(&str, u64)]| {
        forge_stats(&mut sections, stats);
        let bytes = file(&sections);
        let expected = "the terms of every field";
        let error = open(&bytes, Verify::AllSections).unwrap_err().to_string();
        assert!(error.contains(expected), "{stats:?}: {error}");
        let index = open(&bytes, Verify::SmallSections).unwrap();
        // 2^64 terms, of which one is looked up.
        let term = index.term("title", &"ab".repeat(32)).unwrap();
        assert_eq!(term.unwrap().docs, 300);
        let merge = Index::merge_to(&merged, &[&index], 1 << 16, &mut NoProgress);
        let error = merge.unwrap_err().to_string();
        assert!(error.contains(expected), "{stats:?}: {error}");
        assert!(!merged.exists());
    };
    check(&[]);
    // As many terms as possible, each with one posting or with as many as the file allows.
    check(&[
        ("terms", postings - 4),
        ("postings", postings),
        ("tokens", postings),
        ("longest", postings),
    ]);
    check(&[
        ("postings", 100 * postings),
        ("tokens", 100 * postings),
        ("longest", postings),
    ]);
}

/// Every how many bytes are damaged. Without optimization, some: .ci/full damages all.
const THINNING: usize = if cfg!(debug_assertions) { 3 } else { 1 };

/// Damaged sections with valid checksums, as a malicious program could write them.
#[test]
fn damaged_sections_with_valid_checksums_do_not_panic() {
    let mut sections = sections_of(large());
    assert_eq!(file(&sections), large());
    let mut opened = 0;
    for number in 0..sections.len() {
        let name = sections[number].0.clone();
        // The other sections are uniform.
        let step = if ["postings", "meta", "years", "terms"].contains(&name.as_str()) {
            THINNING
        } else {
            11 * THINNING
        };
        for at in (0..sections[number].1.len()).step_by(step) {
            for flip in [0x01, 0xff] {
                sections[number].1[at] ^= flip;
                if let Ok(index) = open(&file(&sections), Verify::AllSections) {
                    let _ = Results::new(&index);
                    if name == "postings" && at % 8 == 0 {
                        let searcher = index.searcher(Bm25::LUCENE).unwrap();
                        let searcher = searcher.with_pruning(Pruning::Columns);
                        let _ = searcher.search("w1 w2 w3 w4 w5 w6", &Search::top(10));
                    }
                    opened += 1;
                }
                sections[number].1[at] ^= flip;
            }
        }
    }
    assert!(opened > 1000 / THINNING);
}
