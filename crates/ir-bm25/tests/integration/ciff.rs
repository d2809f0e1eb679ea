//! Common Index File Format: files written here from the definition of the format, and round trips.

#![allow(clippy::unwrap_used)]

use std::io::{self, Read};

use ir_bm25::{
    Analysis, Bm25, BuildError, CiffError, CiffReader, DocOrder, Index, IndexConfig, IndexedFields,
};
use ir_core::{Document, Flow, NoProgress, Ranking, Retriever, Search};
use proptest::prelude::*;

/// A varint of Protocol Buffers: seven bits per byte, lowest first.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// An integer field. Negative numbers have 64 bits; 0 is the default, which is not written.
fn integer(tag: u8, number: i64) -> Vec<u8> {
    if number == 0 {
        return Vec::new();
    }
    [vec![tag << 3], varint(number as u64)].concat()
}

/// A string or message.
fn bytes(tag: u8, content: &[u8]) -> Vec<u8> {
    [
        vec![tag << 3 | 2],
        varint(content.len() as u64),
        content.to_vec(),
    ]
    .concat()
}

fn double(tag: u8, number: f64) -> Vec<u8> {
    [vec![tag << 3 | 1], number.to_le_bytes().to_vec()].concat()
}

/// A message after its size.
fn delimited(message: &[u8]) -> Vec<u8> {
    [varint(message.len() as u64), message.to_vec()].concat()
}

/// A posting list: `postings` are gaps and frequencies.
fn list(term: &str, df: i64, cf: i64, postings: &[(i64, i64)]) -> Vec<u8> {
    let mut message = [bytes(1, term.as_bytes()), integer(2, df), integer(3, cf)].concat();
    for (gap, tf) in postings {
        message.extend(bytes(4, &[integer(1, *gap), integer(2, *tf)].concat()));
    }
    delimited(&message)
}

fn record(number: i64, id: &str, length: i64) -> Vec<u8> {
    let id = bytes(2, id.as_bytes());
    delimited(&[integer(1, number), id, integer(3, length)].concat())
}

fn header(version: i64, lists: i64, documents: i64, total_documents: i64) -> Vec<u8> {
    let fields = [
        integer(1, version),
        integer(2, lists),
        integer(3, documents),
        integer(4, 9),
        integer(5, total_documents),
        integer(6, 8),
        double(7, 8.0 / 3.0),
        bytes(8, b"by hand"),
        // A field that later versions may have.
        bytes(15, b"?"),
    ];
    delimited(&fields.concat())
}

/// The documents z "tea tea green", a "milk tea", b "green green milk", in this order.
fn golden() -> Vec<Vec<u8>> {
    vec![
        header(1, 3, 3, 3),
        list("green", 2, 3, &[(0, 1), (2, 2)]),
        list("milk", 2, 2, &[(1, 1), (1, 1)]),
        list("tea", 2, 3, &[(0, 2), (1, 1)]),
        record(0, "z", 3),
        record(1, "a", 2),
        record(2, "b", 3),
    ]
}

fn original() -> Index {
    let texts = [
        ("z", "tea tea green"),
        ("a", "milk tea"),
        ("b", "green green milk"),
    ];
    let documents = texts.map(|(id, text)| Document::new(id).with_text(text));
    let config = IndexConfig::default()
        .with_analysis(Analysis::whitespace())
        .with_order(DocOrder::Insertion);
    Index::build(&documents[..], &config, &mut NoProgress).unwrap()
}

fn import(file: &[u8]) -> Result<Index, CiffError> {
    CiffReader::new(file, "f.ciff")?.build(Analysis::whitespace(), 0, &mut NoProgress)
}

fn search(index: &Index, query: &str) -> Ranking {
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    searcher.search(query, &Search::top(10)).unwrap()
}

#[test]
fn file_written_by_hand_has_the_ranking_of_the_texts() {
    let index = import(&golden().concat()).unwrap();
    let expected = original();
    for query in ["tea", "green", "milk", "tea green milk", "coffee"] {
        assert_eq!(search(&index, query), search(&expected, query), "{query}");
    }
    assert!(index.ids().iter().eq(["z", "a", "b"]));
    let stats = &index.stats().fields[0];
    let counts = (
        stats.docs,
        stats.tokens,
        stats.terms,
        stats.postings,
        stats.longest,
    );
    assert_eq!(counts, (3, 8, 3, 6, 3));
    index.verify().unwrap();

    // k1 = 0.9, b = 0.4, N = 3, df = 2, mean length 8/3, one-byte lengths are exact below 40.
    let idf = (1.0_f64 + (3.0 - 2.0 + 0.5) / (2.0 + 0.5)).ln();
    let tf = 2.0 / (2.0 + 0.9 * (1.0 - 0.4 + 0.4 * 3.0 / (8.0 / 3.0)));
    let best = search(&index, "tea").hits()[0];
    assert!(
        (f64::from(best.score) - idf * tf).abs() < 1e-6,
        "{}",
        best.score
    );
}

#[test]
fn header_names_program_and_counts() {
    let file = golden().concat();
    let reader = CiffReader::new(&file[..], "f.ciff").unwrap();
    let header = reader.header();
    assert_eq!((header.posting_lists, header.documents), (3, 3));
    assert_eq!((header.total_posting_lists, header.tokens), (9, 8));
    assert_eq!(
        (header.average_length, &*header.description),
        (8.0 / 3.0, "by hand")
    );
    assert_eq!(header.analysis(), None);
}

#[test]
fn terms_may_have_any_order_but_occur_once() {
    let mut parts = golden();
    parts.swap(1, 3);
    let index = import(&parts.concat()).unwrap();
    assert_eq!(
        index.as_bytes(),
        import(&golden().concat()).unwrap().as_bytes()
    );
    // Adjacent, distant, and with lists of different documents.
    for repeated in [
        ["tea", "tea", "green"],
        ["tea", "green", "tea"],
        ["green", "tea", "green"],
    ] {
        let lists = (0..)
            .zip(repeated)
            .map(|(doc, term)| list(term, 1, 1, &[(doc, 1)]));
        let mut parts = golden();
        parts.splice(1..4, lists);
        let term = if repeated[0] == "tea" { "tea" } else { "green" };
        let expected = format!("f.ciff: expected one posting list per term, found two of {term:?}");
        for memory in [0, 1 << 20] {
            let file = parts.concat();
            let reader = CiffReader::new(&file[..], "f.ciff").unwrap();
            let error = reader.build(Analysis::whitespace(), memory, &mut NoProgress);
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn damage_is_an_error_with_its_position() {
    let parts = golden();
    let offset = |part: usize| parts[..part].concat().len();
    // Replaces a part, and expects the error of the message at its offset.
    let check = |part: usize, replacement: Vec<u8>, message: &str, error: &str| {
        let mut parts = parts.clone();
        parts[part] = replacement;
        let found = import(&parts.concat()).unwrap_err().to_string();
        assert_eq!(
            found,
            format!("f.ciff: {message} at byte {}: {error}", offset(part))
        );
    };
    check(
        0,
        header(2, 3, 3, 3),
        "header",
        "expected version 1, found 2",
    );
    check(
        0,
        header(1, -3, 3, 3),
        "header",
        "expected num_postings_lists of at least 0, found -3",
    );
    check(
        0,
        header(1, 3, 3, 4),
        "header",
        "expected all 4 documents of the collection, found 3",
    );
    for (replacement, error) in [
        (list("", 1, 1, &[(0, 1)]), "a term, found an empty one"),
        (
            list("milk", 2, 2, &[(1, 1), (0, 1)]),
            "ascending document numbers of term \"milk\", found the gap 0",
        ),
        (
            list("milk", 1, 1, &[(-1, 1)]),
            "ascending document numbers of term \"milk\", found the gap -1",
        ),
        (
            list("milk", 2, 2, &[(1, 1), (2, 1)]),
            "document numbers below 3, found 3",
        ),
        (
            list("milk", 2, 2, &[(1, 1), (1, 0)]),
            "frequencies of term \"milk\" of at least 1, found 0",
        ),
        (
            list("milk", 3, 2, &[(1, 1), (1, 1)]),
            "df 2 of term \"milk\", found 3",
        ),
        (list("milk", 0, 0, &[]), "df 1 of term \"milk\", found 0"),
        (
            list("milk", 2, 3, &[(1, 1), (1, 1)]),
            "cf 2 of term \"milk\", found 3",
        ),
    ] {
        check(
            2,
            replacement,
            "posting list 2 of 3",
            &format!("expected {error}"),
        );
    }
    for (replacement, error) in [
        (record(2, "a", 2), "docid 1, found 2"),
        (record(1, "", 2), "a collection_docid, found an empty one"),
        (
            record(1, "a", -2),
            "a doclength of at least 1, because the document has postings, found -2",
        ),
        (
            record(1, "a", 0),
            "a doclength of at least 1, because the document has postings, found 0",
        ),
    ] {
        check(
            5,
            replacement,
            "document 2 of 3",
            &format!("expected {error}"),
        );
    }
    let short = [
        parts[..4].concat(),
        record(0, "z", 1),
        record(1, "a", 1),
        record(2, "b", 1),
    ];
    let found = import(&short.concat()).unwrap_err().to_string();
    assert!(
        found.ends_with("expected document lengths of at least 6 in total, found 3"),
        "{found}"
    );
}

#[test]
fn truncated_and_foreign_files_are_rejected() {
    let file = golden().concat();
    for end in 0..file.len() {
        let error = import(&file[..end]).unwrap_err();
        let is_end = matches!(&error, CiffError::Invalid { found, .. } if found.contains("the end of the file"));
        assert!(is_end, "{end}: {error}");
    }
    let longer = [&file[..], b"x"].concat();
    let expected = format!(
        "f.ciff: after the last document at byte {}: expected the end of the file, found more bytes",
        file.len()
    );
    assert_eq!(import(&longer).unwrap_err().to_string(), expected);
    for foreign in [
        &b"{\"id\": 1}\n"[..],
        b"\xff\xff\xff\xff\xff\xff",
        b"\x01\x0f",
        b"\x03\x42\x01\xff",
    ] {
        let error = import(foreign).unwrap_err().to_string();
        assert!(
            error.starts_with("f.ciff: header at byte 0: expected "),
            "{error}"
        );
    }
}

#[test]
fn repeated_ids_and_reading_errors_are_reported() {
    let mut parts = golden();
    parts[6] = record(2, "z", 3);
    let error = import(&parts.concat()).unwrap_err();
    assert!(
        matches!(error, CiffError::Build(BuildError::Ids(_))),
        "{error}"
    );

    #[derive(Debug)]
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    let error = CiffReader::new(io::BufReader::new(Fails), "f.ciff").unwrap_err();
    assert_eq!(error.to_string(), "f.ciff: cannot be read");
}

#[test]
fn exported_bytes_are_the_definition() {
    let index = original();
    let mut file = Vec::new();
    let header = index
        .write_ciff("contents", &mut file, &mut NoProgress)
        .unwrap();
    assert!(file.ends_with(&golden()[1..].concat()));
    let description = header.description.clone();
    assert!(description.starts_with("ir-bm25 "), "{description}");
    assert!(
        description.contains("; field contents; analysis {"),
        "{description}"
    );
    assert_eq!(header.analysis(), Some(Analysis::whitespace()));
    let reader = CiffReader::new(&file[..], "f.ciff").unwrap();
    assert_eq!(reader.header(), &header);
    let imported = reader
        .build(Analysis::whitespace(), 0, &mut NoProgress)
        .unwrap();
    assert_eq!(
        imported.as_bytes(),
        import(&golden().concat()).unwrap().as_bytes()
    );
}

#[test]
fn unknown_fields_and_canceled_exports_are_errors() {
    let index = original();
    let error = index
        .write_ciff("title", Vec::new(), &mut NoProgress)
        .unwrap_err();
    let expected = "expected a field of the index (contents), found \"title\"";
    assert_eq!(error.to_string(), expected);
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = index
        .write_ciff("contents", Vec::new(), &mut stop)
        .unwrap_err();
    assert!(matches!(error, CiffError::Canceled), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn imported_indexes_rank_as_the_exported_ones(
        texts in prop::collection::vec(("([a-e]{1,2}|tea)( [a-e]{1,2}){0,9}|", "([a-c]{1,2} ){0,4}"), 1..40),
        is_separate in any::<bool>(),
        positions in any::<bool>(),
        memory in prop_oneof![Just(0), Just(1 << 20)],
    ) {
        let documents = (0..).zip(&texts).map(|(n, (text, title))| {
            Document::new(format!("d{}", 97 - n)).with_title(title.as_str()).with_text(text.as_str())
        });
        let documents: Vec<Document> = documents.collect();
        let whole = if is_separate { IndexedFields::Separate } else { IndexedFields::TextOnly };
        let config = IndexConfig::default().with_analysis(Analysis::whitespace());
        let build = |fields, positions| {
            let config = config.clone().with_fields(fields).with_positions(positions);
            Index::build(&documents, &config, &mut NoProgress).unwrap()
        };
        let (exported, expected) = (build(whole, positions), build(IndexedFields::TextOnly, false));
        let mut file = Vec::new();
        let name = expected.config().fields.names()[0];
        exported.write_ciff(name, &mut file, &mut NoProgress).unwrap();
        let reader = CiffReader::new(&file[..], "f.ciff").unwrap();
        let index = reader.build(Analysis::whitespace(), memory, &mut NoProgress).unwrap();
        for query in ["tea", "a", "ab c de", "a b c d e aa bb cc"] {
            prop_assert_eq!(search(&index, query), search(&expected, query));
        }
        // An imported index exports the same lists and documents.
        let mut again = Vec::new();
        index.write_ciff("contents", &mut again, &mut NoProgress).unwrap();
        let second = CiffReader::new(&again[..], "f.ciff").unwrap();
        let second = second.build(Analysis::whitespace(), memory, &mut NoProgress).unwrap();
        prop_assert!(second.as_bytes() == index.as_bytes());
    }
}
