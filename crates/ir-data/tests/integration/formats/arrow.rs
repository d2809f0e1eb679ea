//! Arrow files written by pyarrow, pandas and datasets (`testdata/arrow/write.py`), and by the
//! crate arrow-ipc.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
    DurationSecondArray, Float64Array, RecordBatch, StringArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use ir_core::{AttributeValue, Corpus, Document};
use ir_data::{
    DocumentFile, FileKind, GivenNames, ReadOptions, columnar, read_qrels_any, read_queries,
};
use proptest::prelude::*;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/arrow")
        .join(name)
}

fn read(path: &Path) -> Result<Vec<Document>, String> {
    super::read_documents(path, GivenNames::default())
}

/// Writes a file with one batch.
pub(super) fn write(path: &Path, table: &RecordBatch) {
    let out = std::fs::File::create(path).unwrap();
    let mut writer = FileWriter::try_new(out, &table.schema()).unwrap();
    writer.write(table).unwrap();
    writer.finish().unwrap();
}

#[test]
fn columns_of_all_types_in_every_writing() {
    let map = |name: &str, value: AttributeValue| {
        AttributeValue::Map([(name.to_owned(), value)].into_iter().collect())
    };
    let pair = |a: i64, b: i64| AttributeValue::List(vec![a.into(), b.into()]);
    let none = Vec::<AttributeValue>::new();
    let first = Document::new("d1").with_title("Tea").with_text("Green tea");
    let first = first
        .with("year", 2017)
        .with("score", 0.1)
        .with("open", true)
        .with("day", "2017-03-01")
        .with("time", "2017-03-01T12:10:45Z")
        .with("nanoseconds", "2017-03-01T12:10:45Z")
        .with("millennium", "2017-03-01")
        .with("price", "1.50")
        .with("tags", vec!["a", "b"])
        .with("pair", pair(1, 2))
        .with("venue", "ACL")
        .with("page", 7)
        .with("counts", map("tea", 2.into()))
        .with("language", "en");
    let second = Document::new("d2").with_text("Black tea é");
    let second = second.with("open", false).with("tags", none);
    let third = Document::new("d3").with_title("Milk");
    let third = third
        .with("year", 2020)
        .with("score", 2.0)
        .with("pair", pair(3, 4))
        .with("venue", "EMNLP")
        .with("counts", AttributeValue::Map(Default::default()))
        .with("language", "fr");
    let expected = [first, second, third];
    for name in ["uncompressed", "lz4", "stream"] {
        let found = read(&file(&format!("corpus-{name}.arrow"))).unwrap();
        assert_eq!(found, expected, "{name}");
    }
    let zstd = read(&file("corpus-zstd.arrow"));
    if cfg!(feature = "columnar-zstd") {
        assert_eq!(zstd.unwrap(), expected);
    } else {
        let error = zstd.unwrap_err();
        assert!(error.contains("expected valid Arrow"), "{error}");
        let expected = "the feature \"columnar-zstd\" reads zstd)";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn other_content() {
    let name = file("corpus-stream.arrow");
    let reader = columnar::ColumnarReader::open(&name).unwrap();
    assert_eq!(reader.skipped_columns(), ["image", "embedding"]);
    let vectors = columnar::read_vectors(&name).unwrap();
    assert_eq!(vectors.ids, ["d1", "d2", "d3"]);
    assert_eq!(vectors.values, [0.5, 1.5, 1.0, 2.0, 0.0, 0.25]);
    let docs = read(&file("pandas.feather")).unwrap();
    assert_eq!((&*docs[0].id, &*docs[0].text), ("7", "Green tea"));
    assert_eq!(docs[0].attributes.year(), Some(2017));
    assert_eq!(docs[1].attributes.text("language"), Some("fr"));
    let name = file("queries.arrow");
    let (queries, format) = read_queries(&name, &ReadOptions::default()).unwrap();
    assert_eq!((format.name(), &*queries[1].text), ("Arrow", "milk"));
    assert_eq!(FileKind::detect(&name).unwrap(), FileKind::Queries);
    let name = file("qrels.arrow");
    assert_eq!(FileKind::detect(&name).unwrap(), FileKind::Judgments);
    let qrels = read_qrels_any(&name, Default::default()).unwrap().data;
    assert_eq!(qrels.grade("q1", "d2"), Some(2));
}

/// The index of a data frame is in the metadata of the schema; ids may be floats.
#[test]
fn ids_of_pandas() {
    let numbers: Float64Array = [Some(1008.0), Some(1e15), None].into_iter().collect();
    let texts: StringArray = ["ship", "tea", "milk"].into_iter().map(Some).collect();
    let columns: [(&str, ArrayRef); 2] = [("number", Arc::new(numbers)), ("text", Arc::new(texts))];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let index = r#"{"index_columns": [{"kind": "range", "name": "doc_id", "start": 1000}]}"#;
    let metadata = HashMap::from([("pandas".to_owned(), index.to_owned())]);
    let schema = arrow_schema::Schema::clone(&table.schema());
    let table = table.with_schema(Arc::new(schema.with_metadata(metadata)));
    let table = table.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    write(&path, &table);
    let error = read(&path).unwrap_err();
    let expected = "found \"number\", \"text\" (the index of pandas is no column: `reset_index(names=\"id\")` makes it one)";
    assert!(error.ends_with(expected), "{error}");
    let names = GivenNames {
        id: Some("number".to_owned()),
        ..GivenNames::default()
    };
    let options = ReadOptions {
        names,
        ..ReadOptions::default()
    };
    let docs = DocumentFile::open(&path, &options).unwrap();
    let mut docs = docs.docs().unwrap();
    let mut id = || docs.next().unwrap().map(|doc| doc.id);
    assert_eq!([id().unwrap(), id().unwrap()], ["1008", "1000000000000000"]);
    let error = id().unwrap_err().reason().to_string();
    let expected = "x.arrow:3: expected an id in \"number\", found an empty cell";
    assert!(error.ends_with(expected), "{error}");
}

/// Durations of every unit are texts of ISO 8601.
#[test]
fn durations() {
    let texts = |texts: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let numbers = [Some(-1500), None];
    let columns: [(&str, ArrayRef); 6] = [
        ("id", texts(["a", "b"])),
        ("text", texts(["tea", "milk"])),
        ("s", Arc::new(DurationSecondArray::from(numbers.to_vec()))),
        (
            "ms",
            Arc::new(DurationMillisecondArray::from(numbers.to_vec())),
        ),
        (
            "us",
            Arc::new(DurationMicrosecondArray::from(numbers.to_vec())),
        ),
        (
            "ns",
            Arc::new(DurationNanosecondArray::from(numbers.to_vec())),
        ),
    ];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    write(&path, &table);
    let docs = read(&path).unwrap();
    let text = |name: &str| docs[0].attributes.text(name);
    assert_eq!(text("s"), Some("-PT1500S"));
    assert_eq!(text("ms"), Some("-PT1.5S"));
    assert_eq!(text("us"), Some("-PT0.0015S"));
    assert_eq!(text("ns"), Some("-PT0.0000015S"));
    assert!(docs[1].attributes.is_empty());
}

/// Arrow is read from files: pipes and compressed files are named.
#[test]
fn compressed_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.arrow.gz");
    let mut compressed = ir_data::create(&path).unwrap();
    let bytes = std::fs::read(file("corpus-stream.arrow")).unwrap();
    std::io::Write::write_all(&mut compressed, &bytes).unwrap();
    compressed.commit().unwrap();
    let error = read(&path).unwrap_err();
    let expected = "found Arrow data, which is read from a file that is not compressed";
    assert!(error.ends_with(expected), "{error}");
}

/// Every prefix and every file with altered bytes is read or is an error: nothing panics.
#[test]
fn damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let found = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(&path)
    };
    for name in ["corpus-lz4.arrow", "corpus-stream.arrow"] {
        let whole = std::fs::read(file(name)).unwrap();
        for end in (8..whole.len() - 8).step_by(61) {
            let error = found(&whole[..end]);
            // A stream may end after a message.
            let is_valid = name.contains("stream") && error.is_ok();
            assert!(
                is_valid || error.unwrap_err().contains("Arrow"),
                "{name} {end}"
            );
        }
        let mut errors = 0;
        for position in (8..whole.len()).step_by(5) {
            for change in [0x55, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[position] ^= change;
                errors += u32::from(found(&bytes).is_err());
            }
        }
        assert!(errors > 100, "{name}: {errors}");
    }
}

/// Judgments without grades, and grades as texts.
#[test]
fn judgments_of_two_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let read = |columns: &[(&str, [&str; 2])]| {
        let columns = columns.iter().map(|(name, cells)| {
            let cells: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
            (*name, cells)
        });
        let table = RecordBatch::try_from_iter(columns).unwrap();
        write(&path, &table);
        let parsed = read_qrels_any(&path, Default::default());
        let qrels = parsed.map_err(|error| error.to_string())?.data;
        Ok::<_, String>(["d", "e"].map(|doc| qrels.grade("q", doc).unwrap()))
    };
    let (query, doc) = (("query-id", ["q", "q"]), ("pid", ["d", "e"]));
    let index = ("__index_level_0__", ["0", "1"]);
    let score = ("score", ["2", " 0.0"]);
    assert_eq!(read(&[query, doc]).unwrap(), [1, 1]);
    assert_eq!(FileKind::detect(&path).unwrap(), FileKind::Judgments);
    assert_eq!(read(&[index, doc, query]).unwrap(), [1, 1]);
    assert_eq!(read(&[query, doc, score, index]).unwrap(), [2, 0]);
    let error = read(&[query, doc, ("rating", ["2", "0"])]).unwrap_err();
    assert!(error.contains(":1: expected a field \"score\""), "{error}");
    let error = read(&[query, doc, ("score", ["2", "high"])]).unwrap_err();
    assert!(
        error.contains(":2: expected an integer as grade, found \"high\""),
        "{error}"
    );
}

/// Buffers that claim to become larger than LZ4 allows are errors before memory is allocated.
#[test]
fn lengths_of_compressed_buffers_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let mut bytes = std::fs::read(file("corpus-lz4.arrow")).unwrap();
    let frame = [0x04, 0x22, 0x4d, 0x18];
    let start = bytes.windows(4).position(|window| window == frame).unwrap();
    bytes[start - 8..start].copy_from_slice(&(1_i64 << 60).to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let error = read(&path).unwrap_err();
    assert!(
        error.contains("that become 1152921504606846976 bytes"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Documents in batches of any size, with columns that are dictionaries, are read as written.
    #[test]
    fn documents_are_as_written(
        texts in prop::collection::vec(("[a-zé😀]{0,6}", prop::option::of("[a-c]")), 1..20),
        batch in 1..8_usize,
        is_stream in any::<bool>(),
    ) {
        let docs: Vec<Document> = (0..).zip(&texts).map(|(number, (text, language))| {
            let doc = Document::new(format!("d{number}")).with_text(text.as_str());
            match language {
                Some(language) => doc.with("language", language.as_str()),
                None => doc,
            }
        }).collect();
        let ids: StringArray = docs.iter().map(|doc| Some(doc.id.as_str())).collect();
        let texts_of_docs: StringArray = docs.iter().map(|doc| Some(doc.text.as_str())).collect();
        let mut languages = StringDictionaryBuilder::<Int8Type>::new();
        for (_, language) in &texts {
            languages.append_option(language.as_deref());
        }
        let columns: [(&str, ArrayRef); 3] = [
            ("docno", Arc::new(ids)),
            ("Text", Arc::new(texts_of_docs)),
            ("language", Arc::new(languages.finish())),
        ];
        let table = RecordBatch::try_from_iter(columns).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.arrow");
        let out = std::fs::File::create(&path).unwrap();
        let starts = (0..table.num_rows()).step_by(batch);
        let batches = starts.map(|start| table.slice(start, batch.min(table.num_rows() - start)));
        if is_stream {
            let mut writer = StreamWriter::try_new(out, &table.schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        } else {
            let mut writer = FileWriter::try_new(out, &table.schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        prop_assert_eq!(read(&path).unwrap(), docs);
    }
}
