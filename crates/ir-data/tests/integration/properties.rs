//! Round trips preserve data, and parsers never panic.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::PathBuf;

use ir_core::trec::HeaderLine;
use ir_core::{AttributeValue, Attributes, Document, Qrels, Query, Run};
use ir_data::biocaddie::Record;
use ir_data::datafinder::{self, Quoting};
use ir_data::tsv::Column;
use ir_data::{
    Compression, DataError, DuplicateIds, FieldNames, JsonlWriter, LineReader, TextEncoding,
    TsvWriter, beir, decompress, indri, jsonl, smart, squad, trec, tsv,
};
use proptest::collection::{btree_map, hash_set, vec};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(AttributeValue::Bool),
        any::<i64>().prop_map(AttributeValue::Int),
        any::<f64>()
            .prop_filter("JSON has no infinity", |number| number.is_finite())
            .prop_map(AttributeValue::Float),
        any::<String>().prop_map(AttributeValue::Text),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(AttributeValue::List),
            btree_map(any::<String>(), inner, 0..4).prop_map(AttributeValue::Map),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    btree_map("[a-c]{1,3}|year|metadata|\\PC{0,4}", value(), 0..4)
        .prop_map(|map: BTreeMap<String, AttributeValue>| map.into_iter().collect())
}

prop_compose! {
    fn documents()(
        ids in hash_set("[a-z]{1,3}|\\PC{1,6}", 0..6),
        parts in vec((any::<String>(), any::<String>(), attributes()), 6),
    ) -> Vec<Document> {
        ids.into_iter().zip(parts).map(|(id, (title, text, attributes))| {
            let mut doc = Document::new(id).with_title(title).with_text(text);
            doc.attributes = attributes;
            doc
        }).collect()
    }
}

fn queries_of(docs: &[Document]) -> Vec<Query> {
    let query = |doc: &Document| {
        let mut query = Query::new(doc.id.clone(), doc.text.clone());
        query.attributes = doc.attributes.clone();
        query
    };
    docs.iter().map(query).collect()
}

fn file(folder: &tempfile::TempDir, stem: &str, compression: usize) -> PathBuf {
    let suffix = ["", ".gz", ".zst"][compression];
    folder.path().join(format!("{stem}{suffix}"))
}

fn qrels(id: &'static str) -> impl Strategy<Value = Qrels> {
    vec((id, id, any::<i64>()), 0..20).prop_map(|rows| {
        let mut qrels = Qrels::new();
        for (query, doc, grade) in rows {
            qrels.insert(&query, &doc, grade);
        }
        qrels
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn beir_folders(docs in documents(), qrels in qrels("[a-z \u{e9}\u{2028}\"]{1,5}"), zip in 0..3_usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = beir::BeirWriter::create(folder.path()).unwrap();
        match zip {
            1 => writer = writer.with_compression(Compression::Gzip),
            2 => writer = writer.with_compression(Compression::Zstd),
            _ => {}
        }
        let queries = queries_of(&docs);
        writer.documents(&docs).unwrap().queries(&queries).unwrap().qrels("test", &qrels).unwrap();
        let collection = ir_data::open_path_or_name(&folder.path().to_string_lossy()).unwrap();
        let read: Result<Vec<Document>, _> = collection.corpus().docs().unwrap().collect();
        // A folder without documents can be written, but not opened.
        prop_assert_eq!(read.is_err(), docs.is_empty());
        prop_assert_eq!(read.unwrap_or_default(), docs);
        prop_assert_eq!(collection.all_queries().unwrap(), queries);
        prop_assert_eq!(collection.qrels("test").unwrap(), qrels);
    }

    #[test]
    fn json_lines(docs in documents(), compression in 0..3_usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "docs.jsonl", compression);
        let fields = FieldNames { text: "body".into(), ..FieldNames::anserini() };
        let mut writer = JsonlWriter::create(&path).unwrap().with_fields(fields.clone());
        for doc in &docs {
            writer.document(doc).unwrap();
        }
        writer.commit().unwrap();
        let corpus = ir_data::JsonlCorpus::new(&path).with_fields(fields);
        let read: Result<Vec<Document>, _> = ir_core::Corpus::docs(&corpus).unwrap().collect();
        prop_assert_eq!(read.unwrap(), docs);
    }

    #[test]
    fn tsv_files(
        rows in btree_map("[^\t\n\r\0\u{feff}]{1,8}", ("[^\t\n\r\0]{0,8}", "[^\t\n\r\0]{0,8}", "[^\t\n\r\0]{1,8}"), 0..8),
        compression in 0..3_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "docs.tsv", compression);
        let layout = [Column::Attribute("url".into()), Column::Id, Column::Skip, Column::Text, Column::Title];
        let docs: Vec<Document> = rows.into_iter().map(|(id, (title, text, url))| {
            Document::new(id).with_title(title).with_text(text).with("url", url.trim_start_matches('\u{feff}').to_owned() + "x")
        }).collect();
        let mut writer = TsvWriter::create(&path, &layout).unwrap();
        for doc in &docs {
            writer.document(doc).unwrap();
        }
        writer.commit().unwrap();
        let read = tsv::read_documents(ir_data::open(&path).unwrap(), "f", &layout).unwrap();
        prop_assert_eq!(read, docs);
    }

    #[test]
    fn trec_files(
        qrels in qrels("[a-z\u{e9}\"_]{1,5}"),
        lists in btree_map("[a-z\u{e9}\"_]{1,5}", (hash_set("[a-z\"_]{1,4}", 1..6), any::<f64>()), 0..5),
        compression in 0..3_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "qrels", compression);
        ir_data::write_qrels(&path, &qrels).unwrap();
        prop_assert_eq!(&ir_data::read_qrels(&path, HeaderLine::AsData).unwrap().data, &qrels);
        prop_assert_eq!(&ir_data::read_qrels_any(&path, HeaderLine::AsData).unwrap().data, &qrels);
        let mut run = Run::new("mine");
        for (query, (docs, score)) in &lists {
            for (n, doc) in docs.iter().enumerate() {
                let score = if score.is_finite() { *score } else { 0.5 };
                run.push(query, doc.as_str(), score / (n + 1) as f64);
            }
        }
        if run.is_empty() {
            run.tag = String::new();
        }
        let path = file(&folder, "run", compression);
        ir_data::write_run(&path, &run, trec::ScoreFormat::Exact).unwrap();
        prop_assert_eq!(ir_data::read_run(&path, HeaderLine::AsData).unwrap().data, run);
    }
}

/// Bytes that resemble the formats, so that parsers get beyond the first bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    const PLAIN: &str = r#"{ } [ ] "_id" "id" : , "text" "query" "documents" "contents" "metadata" "a" " \u
null 1 -1 1e999 q 0 d <DOC> </DOC> <DOCNO>1</DOCNO>
<REPOSITORY>geo_1</REPOSITORY> <METADATA> </METADATA> &lt; "DOCNO" "REPOSITORY"
"METADATA" .I .W .T .X Q0 NaN"#;
    const SPECIAL: &[&str] = &[
        "\n",
        "\r\n",
        "\t",
        " ",
        ".I 1",
        "\u{feff}",
        "\u{2028}",
        "\0",
        "\u{1f}\u{8b}",
    ];
    let words: Vec<&str> = PLAIN
        .split_ascii_whitespace()
        .chain(SPECIAL.iter().copied())
        .collect();
    let word = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word: &str| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
        1 => Just(vec![0x1f, 0x8b, 8, 0]),
        1 => Just(vec![0x28, 0xb5, 0x2f, 0xfd, 0x24]),
    ];
    vec(word, 0..60).prop_map(|words| words.concat())
}

/// Asserts that qrels that TREC's format can represent stay the same when written and read again.
fn qrels_read_back<E>(read: Result<Qrels, E>) {
    let mut text = Vec::new();
    if let Ok(qrels) = read
        && ir_core::trec::write_qrels(&qrels, &mut text).is_ok()
    {
        let again = ir_core::trec::read_qrels(&text[..], "again", HeaderLine::AsData).unwrap();
        assert_eq!(again.data, qrels);
    }
}

/// Asserts that a run that TREC's format can represent stays the same when written and read again.
fn run_reads_back<E>(read: Result<Run, E>) {
    let mut text = Vec::new();
    if let Ok(run) = read
        && ir_core::trec::write_run(&run, trec::ScoreFormat::Exact, &mut text).is_ok()
    {
        let again = ir_core::trec::read_run(&text[..], "again", HeaderLine::AsData).unwrap();
        assert!(again.data.iter().eq(run.iter()), "{run:?}");
    }
}

/// Asserts that a record stays the same when written as JSON and read again.
fn record_reads_back(read: Result<Record, DataError>) {
    if let Ok(record) = read {
        let line = serde_json::json!({
            "DOCNO": record.id,
            "TITLE": record.title,
            "REPOSITORY": record.repository,
            "METADATA": record.metadata,
        });
        let again = Record::from_json(&line.to_string(), "again", 1).unwrap();
        assert_eq!(again, record);
    }
}

fn assert_unique<'a>(ids: impl IntoIterator<Item = &'a str>) {
    let mut seen = HashSet::new();
    for id in ids {
        assert!(!id.is_empty() && seen.insert(id), "{id}");
    }
}

fn queries_are_unique(read: Result<Vec<Query>, DataError>) {
    let queries = read.unwrap_or_default();
    assert_unique(queries.iter().map(|query| query.id.as_str()));
}

fn documents_are_unique(read: Result<Vec<Document>, DataError>) {
    let docs = read.unwrap_or_default();
    assert_unique(docs.iter().map(|doc| doc.id.as_str()));
}

/// Runs all parsers and verifies what they read.
fn parse(bytes: &[u8]) {
    let mut plain = Vec::new();
    // Other bytes are no magic number of gzip or zstd.
    let may_be_compressed = matches!(bytes.first(), Some(0x1f | 0x28 | 0x50..=0x5f));
    if let Ok(mut reader) = decompress(bytes, "f")
        && reader.read_to_end(&mut plain).is_ok()
    {
        assert!(may_be_compressed || plain == bytes);
    }
    let mut lines = LineReader::new(bytes, "f").with_limit(50);
    while let Ok(Some(line)) = lines.read() {
        assert!(line.text.len() <= 50 && !line.text.contains('\n'));
    }
    let mut doc = Document::default();
    for fields in [FieldNames::beir(), FieldNames::anserini()] {
        let mut docs = jsonl::JsonlReader::new(bytes, "f", fields.clone(), DuplicateIds::Reject);
        let mut ids = HashSet::new();
        while let Ok(true) = docs.read_into(&mut doc) {
            assert!(!doc.id.is_empty() && ids.insert(doc.id.clone()));
        }
        queries_are_unique(jsonl::read_queries(bytes, "f", &fields));
    }
    qrels_read_back(beir::read_qrels(bytes, "f"));
    for quoting in [Quoting::Raw, Quoting::Csv] {
        for header in [HeaderLine::AsData, HeaderLine::Skip] {
            let qrels = datafinder::read_qrels(bytes, "f", quoting, header);
            qrels_read_back(qrels.map(|parsed| parsed.data));
            let run = datafinder::read_run(bytes, "f", quoting, header);
            run_reads_back(run.map(|parsed| parsed.data));
            let qrels = ir_data::parse_qrels_any(bytes, "f", header);
            qrels_read_back(qrels.map(|parsed| parsed.data));
        }
    }
    for read in [
        datafinder::read_test_queries,
        datafinder::read_training_queries,
    ] {
        let rows = read(bytes, "f", "t").unwrap_or_default();
        assert_unique(rows.iter().map(|row| row.query.id.as_str()));
    }
    let mut reader = datafinder::DatasetCorpus::read(bytes, "f");
    while let Ok(true) = reader.read(&mut doc) {
        assert_eq!(doc.id, datafinder::underscored(&doc.id));
    }
    documents_are_unique(smart::read_documents(bytes, "f"));
    queries_are_unique(smart::read_queries(bytes, "f"));
    let (grades, document) = Default::default();
    let cranfield = smart::read_cranfield_judgments(bytes, "f", grades, document);
    qrels_read_back(cranfield);
    qrels_read_back(smart::read_cisi_judgments(bytes, "f"));
    documents_are_unique(tsv::read_documents(bytes, "f", &tsv::ID_TEXT_TITLE));
    queries_are_unique(indri::read_queries(bytes, "f"));
    record_reads_back(Record::read_xml(bytes, "f"));
    if let Ok(text) = std::str::from_utf8(bytes) {
        record_reads_back(Record::from_json(text, "f", 1));
    }
    queries_are_unique(squad::Squad::read(bytes, "f").map(|squad| squad.queries()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn parsers_return_an_error_or_valid_data(bytes in bytes()) {
        parse(&bytes);
    }

    #[test]
    fn decoders_never_panic(
        compression in 1..3_usize,
        at in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        seed in any::<u64>(),
    ) {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "f", compression);
        let mut content = String::new();
        let mut random = ir_core::SplitMix64::new(seed, 0);
        for _ in 0..200 {
            content.push_str(["tea ", "milk ", "x", "\n", "sugar and lemon "][random.below(5)]);
        }
        let mut out = ir_data::create(&path).unwrap();
        out.write_all(content.as_bytes()).unwrap();
        out.commit().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let whole = bytes.clone();
        for (index, byte) in at {
            let place = index.index(bytes.len());
            bytes[place] = byte;
        }
        let mut read = Vec::new();
        if let Ok(mut reader) = decompress(&*bytes, "f")
            && reader.read_to_end(&mut read).is_ok()
            && whole[..4] == bytes[..4]
        {
            prop_assert_eq!(read, content.as_bytes());
        }
    }

    #[test]
    fn latin_1(bytes in vec(any::<u8>(), 0..300), buffer in 1..9_usize, piece in 1..9_usize) {
        let reader = std::io::BufReader::with_capacity(buffer, &bytes[..]);
        let mut reader = TextEncoding::Latin1.decode(reader);
        let (mut text, mut part) = (Vec::new(), vec![0; piece]);
        while let count @ 1.. = reader.read(&mut part).unwrap() {
            text.extend_from_slice(&part[..count]);
        }
        let expected: String = bytes.iter().copied().map(char::from).collect();
        prop_assert_eq!(text, expected.into_bytes());
    }
}
