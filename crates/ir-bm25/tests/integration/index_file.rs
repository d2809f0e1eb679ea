//! Index files that are truncated, damaged, of another kind or of another version: the error, and
//! never a panic.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ir_bm25::{
    Bm25, DocLengths, Index, IndexConfig, IndexedFields, Pruning, QuerySyntax, StoredFields,
    StoredFieldsError, StructuredSearcher, TermStats,
};
use ir_core::store::{HEADER_LEN, IndexFormat, OpenIndexError, Verify};
use ir_core::{
    Attributes, DocNum, DocSet, Document, Explanation, NoProgress, Predicate, Ranking, Retriever,
    Search, SplitMix64, Years,
};
use tempfile::TempDir;

/// The documented format, for files that the tests write themselves.
pub(crate) static FORMAT: IndexFormat = IndexFormat {
    magic: *b"ir-bm25\n",
    version: 5,
    name: "a BM25 index",
    large_sections: &[],
};
pub(crate) const VERIFY: [Verify; 2] = [Verify::AllSections, Verify::SmallSections];
const QUERIES: [&str; 6] = [
    "tea milk",
    "leaf water salt tea",
    "salt",
    "green tea milk",
    "green tea milk leaf black",
    "nowhere",
];

const STRUCTURED: [&str; 3] = [
    "+\"tea milk\" -nowhere",
    "\"water tea\"~3 salt",
    "\"green tea\" \"tea tea milk\"~2",
];

fn build(documents: &[Document], positions: bool) -> Vec<u8> {
    let config = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_positions(positions)
        .with_store(StoredFields::Everything);
    let index = Index::build(documents, &config, &mut NoProgress).unwrap();
    index.as_bytes().to_vec()
}

/// All sections, posting lists with and without full blocks, with positions.
pub(crate) fn large() -> &'static [u8] {
    static INDEX: OnceLock<Vec<u8>> = OnceLock::new();
    INDEX.get_or_init(|| {
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
        build(&documents, true)
    })
}

fn small() -> Vec<u8> {
    let documents = [
        Document::new("b")
            .with_title("Green")
            .with_text("tea leaf tea")
            .with("year", 1999_i64),
        Document::new("a").with_title("Black").with_text("tea milk"),
        Document::new("c")
            .with_text("milk")
            .with("tags", vec!["x", "y"]),
    ];
    build(&documents, false)
}

pub(crate) fn open(bytes: &[u8], verify: Verify) -> Result<Index, OpenIndexError> {
    Index::from_bytes(bytes.to_vec(), verify)
}

/// What an index returns; [`None`] for an error.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Results {
    rankings: Vec<Option<Ranking>>,
    explanations: Vec<Option<Option<Explanation>>>,
    documents: Vec<Option<Document>>,
    attributes: Vec<Option<Attributes>>,
    terms: Vec<Option<Option<TermStats>>>,
    selected: Option<DocSet>,
    years: Years,
}

impl Results {
    /// Calls every method of an index. Results may be wrong or errors, but hits are documents of
    /// the index with a score.
    pub(crate) fn new(index: &Index) -> Self {
        let few = DocSet::select(5, |_| true);
        let mut results = Self::default();
        for lengths in [DocLengths::OneByte, DocLengths::Exact] {
            let searcher = index
                .searcher(Bm25::ANSERINI.with_lengths(lengths))
                .unwrap();
            for pruning in [Pruning::BlockMax, Pruning::Exhaustive] {
                let searcher = searcher.clone().with_pruning(pruning);
                for query in QUERIES {
                    for search in [
                        Search::top(3),
                        Search::top(1000),
                        Search::top(3).within(&few),
                    ] {
                        let ranking = searcher.search(query, &search).ok();
                        for hit in ranking.iter().flatten() {
                            assert!(hit.doc.index() < index.len() && !hit.score.is_nan());
                        }
                        results.rankings.push(ranking);
                    }
                }
            }
            if index.config().positions {
                let structured = StructuredSearcher::new(searcher.clone(), QuerySyntax::Lucene);
                for query in STRUCTURED {
                    let ranking = structured.search(query, &Search::top(1000)).ok();
                    for hit in ranking.iter().flatten() {
                        assert!(hit.doc.index() < index.len() && !hit.score.is_nan());
                    }
                    results.rankings.push(ranking);
                    for doc in [0, 3, 130].map(DocNum::new) {
                        let explanation = structured.explain(query, doc, &Search::top(3));
                        results.explanations.push(explanation.ok());
                    }
                }
            }
            for (query, doc) in QUERIES
                .iter()
                .flat_map(|query| [0, 1, 2, 3, 130].map(|n| (query, n)))
            {
                let explanation = searcher.explain(query, DocNum::new(doc), &Search::top(3));
                results.explanations.push(explanation.ok());
            }
        }
        for doc in [0, 1, 2, 3, 7, 150, 299, 300, u32::MAX].map(DocNum::new) {
            results.documents.push(index.document(doc).ok());
            results.attributes.push(index.attributes(doc).ok());
        }
        for term in ["tea", "salt", "nowhere"] {
            results.terms.push(index.term("text", term).ok());
        }
        let condition = Predicate::Known {
            name: "year".into(),
        };
        results.selected = index.select(&condition).ok();
        results.years = index.years().clone();
        let _ = (index.stats(), index.verify());
        results
    }

    /// Returns whether every result is equal or an error.
    fn are_those_of(&self, undamaged: &Self) -> bool {
        fn equal<T: PartialEq>(found: &[Option<T>], expected: &[Option<T>]) -> bool {
            let mut pairs = found.iter().zip(expected);
            found.len() == expected.len() && pairs.all(|(a, b)| a.is_none() || a == b)
        }
        equal(&self.rankings, &undamaged.rankings)
            && equal(&self.explanations, &undamaged.explanations)
            && equal(&self.documents, &undamaged.documents)
            && equal(&self.attributes, &undamaged.attributes)
            && equal(&self.terms, &undamaged.terms)
            && (self.selected.is_none() || self.selected == undamaged.selected)
            && self.years == undamaged.years
    }
}

fn write(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn truncation_at_any_length_is_an_error() {
    let small = small();
    let every_length = (0..small.len()).map(|n| (&small[..], n));
    let tail = large().len() - 60..large().len();
    let some_lengths = (0..large().len()).step_by(7).chain(tail);
    for (bytes, n) in every_length.chain(some_lengths.map(|n| (large(), n))) {
        for verify in VERIFY {
            let error = open(&bytes[..n], verify).unwrap_err();
            assert_eq!(error.is_damage(), n > 0, "{n} bytes: {error}");
            let expected = match n {
                0 => matches!(error, OpenIndexError::NotAnIndex { .. }),
                _ => {
                    matches!(error, OpenIndexError::Truncated { found, .. } if found as usize == n)
                }
            };
            assert!(expected, "{n} bytes: {error}");
        }
    }
    for n in 0..small.len() {
        assert!(open(&small[n + 1..], Verify::SmallSections).is_err());
    }
    for n in (0..small.len()).step_by(97) {
        let (_folder, path) = write(&small[..n]);
        assert!(
            VERIFY
                .iter()
                .all(|&verify| Index::open_with(&path, verify).is_err())
        );
    }
}

/// Flips bits of every byte in turn: opening fails, unless it skips the section; then every result
/// is right or an error. Returns how often it opened.
fn flip_every_byte(bytes: &[u8], patterns: &[u8], use_every: usize) -> usize {
    let undamaged = Results::new(&open(bytes, Verify::AllSections).unwrap());
    let mut damaged = bytes.to_vec();
    let mut opened = 0;
    for at in 0..bytes.len() {
        for &pattern in patterns {
            damaged[at] ^= pattern;
            let error = open(&damaged, Verify::AllSections).unwrap_err();
            let expected = match at {
                0..8 => matches!(error, OpenIndexError::NotAnIndex { .. }),
                _ => error.is_damage(),
            };
            assert!(expected, "byte {at} ^ {pattern:#x}: {error}");
            if let Ok(index) = open(&damaged, Verify::SmallSections) {
                assert!(index.verify().is_err());
                if at % use_every == 0 {
                    let right = Results::new(&index).are_those_of(&undamaged);
                    assert!(right, "byte {at} ^ {pattern:#x}: undetected");
                }
                opened += 1;
            }
            damaged[at] ^= pattern;
        }
    }
    assert_eq!(damaged, bytes);
    let index = open(bytes, Verify::SmallSections).unwrap();
    assert_eq!(Results::new(&index), undamaged);
    let skipped = index.stats().sections.into_iter();
    let skipped = skipped.filter(|(name, _)| ["postings", "stored"].contains(&name.as_str()));
    let skipped: u64 = skipped.map(|(_, n)| n.next_multiple_of(64)).sum();
    assert_eq!(opened, patterns.len() * skipped as usize);
    opened
}

#[test]
fn flipped_bytes_are_detected() {
    if cfg!(debug_assertions) {
        // .ci/full has both patterns.
        assert!(flip_every_byte(large(), &[0xff], 5) > 500);
    } else {
        assert!(flip_every_byte(large(), &[0x01, 0xff], 3) > 1000);
    }
}

#[test]
fn flipped_bits_are_detected() {
    let bits = (0..8).map(|bit| 1 << bit);
    let patterns: Vec<u8> = bits.chain([0x0f, 0xaa, 0xff]).collect();
    assert!(flip_every_byte(&small(), &patterns, 1) > patterns.len());
}

/// Flips random bits of an index whose postings and stored fields have many pages. Without
/// [`Verify::AllSections`] every result is right or an error that names file, section and
/// checksums, and damage in one page does not affect searches that read others.
#[test]
fn flipped_bits_are_detected_when_their_page_is_read() {
    let mut random = SplitMix64::new(12, 0);
    let words: Vec<String> = (10..74).map(|n| n.to_string()).collect();
    // The first word occurs in half of the documents, the last in a ninth, up to four times each.
    let mut document = |id: usize| {
        let mut text = String::new();
        for (n, word) in words.iter().enumerate() {
            if random.below(2 + n / 8) == 0 {
                text.push_str(&format!("{word} ").repeat(1 + random.below(4)));
            }
        }
        Document::new(format!("d{id}")).with_text(text)
    };
    let documents: Vec<Document> = (0..9000).map(&mut document).collect();
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let index = Index::build(&documents, &config, &mut NoProgress).unwrap();
    let bytes = index.as_bytes().to_vec();
    let sections = index.stats().sections;
    for name in ["postings", "stored"] {
        let (_, len) = sections.iter().find(|(found, _)| found == name).unwrap();
        assert!(*len > 4 * 16_384, "{name}: {len} bytes");
    }
    let queries: Vec<String> = (0..words.len())
        .map(|n| format!("{} {}", words[n], words[n * 7 % words.len()]))
        .collect();
    let search = |index: &Index, query: &str, pruning| {
        let searcher = index.searcher(Bm25::ANSERINI).unwrap();
        let searcher = searcher.with_pruning(pruning);
        searcher.search(query, &Search::top(10))
    };
    let expected: Vec<Ranking> = queries
        .iter()
        .map(|query| search(&index, query, Pruning::Exhaustive).unwrap())
        .collect();

    let (_folder, path) = write(&bytes);
    let mut damaged = bytes.clone();
    let (mut rejected, mut partly_searchable, mut unread) = (0, 0, 0);
    for _ in 0..300 {
        let at = random.below(bytes.len());
        let bit = 1 << random.below(8);
        damaged[at] ^= bit;
        fs::write(&path, &damaged).unwrap();
        damaged[at] ^= bit;
        let index = match Index::open_with(&path, Verify::SmallSections) {
            Ok(index) => index,
            Err(error) => {
                assert!(error.is_damage() || at < 8, "byte {at}: {error}");
                rejected += 1;
                continue;
            }
        };
        let is_checksum_error = |error: &(dyn Error + 'static)| match error.downcast_ref() {
            Some(OpenIndexError::Checksum {
                path: found,
                section,
                ..
            }) => *found == path && ["postings", "stored"].contains(&&**section),
            _ => false,
        };
        let (mut right, mut errors) = (0, 0);
        for (query, expected) in queries.iter().zip(&expected) {
            for pruning in [Pruning::BlockMax, Pruning::Exhaustive] {
                match search(&index, query, pruning) {
                    Ok(ranking) => {
                        assert_eq!(&ranking, expected, "byte {at} ^ {bit:#x}: {query}");
                        right += 1;
                    }
                    Err(error) => {
                        let source = error.source().unwrap();
                        assert!(is_checksum_error(source), "byte {at}: {source}");
                        errors += 1;
                    }
                }
            }
        }
        for document in documents.iter().step_by(50) {
            let doc = index.ids().get(&document.id).unwrap();
            match index.document(doc) {
                Ok(found) => assert_eq!(&found, document, "byte {at} ^ {bit:#x}"),
                Err(StoredFieldsError::Read(error)) => {
                    assert!(is_checksum_error(&error), "byte {at}: {error}");
                    errors += 1;
                }
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
        partly_searchable += usize::from(errors > 0 && right > 0);
        unread += usize::from(errors == 0);
        assert!(index.verify().is_err());
    }
    assert!(
        rejected > 20 && partly_searchable > 100,
        "{rejected} {partly_searchable}"
    );
    // Every page is read, but not the padding of a section.
    assert!(unread < 3, "{unread}");
}

/// Two bytes swapped, one inserted, one removed.
#[test]
fn moved_bytes_are_detected() {
    let bytes = small();
    let undamaged = Results::new(&open(&bytes, Verify::AllSections).unwrap());
    for at in 0..bytes.len() - 1 {
        let mut longer = bytes.clone();
        longer.insert(at, 0x55);
        let mut shorter = bytes.clone();
        shorter.remove(at);
        let mut swapped = bytes.clone();
        swapped.swap(at, at + 1);
        for other in [longer, shorter, swapped] {
            if other == bytes {
                continue;
            }
            for verify in VERIFY {
                if let Ok(index) = open(&other, verify) {
                    assert_eq!(verify, Verify::SmallSections, "undetected at {at}");
                    let right = Results::new(&index).are_those_of(&undamaged);
                    assert!(right, "undetected at {at}");
                }
            }
        }
    }
}

#[test]
fn appended_bytes_are_detected() {
    let start = &large()[..1000];
    for extra in [&b"\0"[..], b"\nir-end\n", start, large()] {
        let bytes = [large(), extra].concat();
        assert!(open(&bytes, Verify::AllSections).unwrap_err().is_damage());
    }
}

/// The error and its causes, with FILE for the path.
fn message(path: &Path, verify: Verify) -> String {
    let error = Index::open_with(path, verify).unwrap_err();
    let mut text = error
        .to_string()
        .replace(&path.display().to_string(), "FILE");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[test]
fn errors_name_file_expectation_and_finding() {
    let bytes = small();
    let n = bytes.len();
    let with_version = |version: u32| {
        let header = IndexFormat { version, ..FORMAT }.header();
        [&header[..], &bytes[HEADER_LEN..]].concat()
    };
    let not_an_index = |found: &str| {
        format!(r#"FILE: not a BM25 index: expected it to start with "ir-bm25\n", found {found:?}"#)
    };
    let truncated = |n: usize| {
        format!(
            "FILE: truncated, or damaged at the end: no end marker in the last of its {n} bytes"
        )
    };
    let version = |found: u32| {
        format!(
            "FILE: expected version 5 of the file format, found {found}, written by another version of this program; write the file again (an index with `ir index`, vectors with `ir encode`)"
        )
    };
    let cases = [
        (Vec::new(), not_an_index("")),
        (b"{\"_id\": \"1\"}\n".to_vec(), not_an_index("{\"_id\": ")),
        (b"\x1f\x8b".to_vec(), not_an_index("\x1f\u{fffd}")),
        (
            b"\x28\xb5\x2f\xfd....".to_vec(),
            not_an_index("(\u{fffd}/\u{fffd}...."),
        ),
        (vec![0; 100], not_an_index("\0\0\0\0\0\0\0\0")),
        (b"ir".to_vec(), truncated(2)),
        (bytes[..16].to_vec(), truncated(16)),
        (bytes[..n - 1].to_vec(), truncated(n - 1)),
        (with_version(7), version(7)),
        (with_version(2), version(2)),
        (with_version(1), version(1)),
        (with_version(0), version(0)),
    ];
    for (bytes, expected) in cases {
        let (_folder, path) = write(&bytes);
        for verify in VERIFY {
            assert_eq!(message(&path, verify), expected);
        }
    }
    // The first section holds the ids; the section table precedes the footer.
    for (at, section) in [(9, "header"), (HEADER_LEN, "ids"), (n - 30, "table")] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let (_folder, path) = write(&bytes);
        let text = message(&path, Verify::AllSections);
        assert!(
            text.starts_with("FILE: damaged: expected checksum "),
            "{text}"
        );
        assert!(
            text.contains(&format!("in section {section}, found ")),
            "{text}"
        );
        assert!(Index::open(&path).unwrap_err().is_damage());
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        message(folder.path(), Verify::AllSections),
        "FILE: expected an index file, found a directory"
    );
    let missing = folder.path().join("none.ir");
    let text = message(&missing, Verify::AllSections);
    assert!(
        text.starts_with("FILE: cannot read the index file: "),
        "{text}"
    );
    let error = Index::open(&missing).unwrap_err();
    assert!(
        matches!(&error, OpenIndexError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    );
    assert!(!error.is_damage());
}
