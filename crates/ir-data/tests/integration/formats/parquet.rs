//! Parquet files written by pyarrow, pandas and polars (`testdata/parquet/write.py`).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ir_core::{AttributeValue, Corpus, Document};
use ir_data::beir::BeirFolder;
use ir_data::{
    DocumentFile, FileKind, GivenNames, JudgedQueries, ReadOptions, columnar, read_qrels_any,
    read_queries,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/parquet")
        .join(name)
}

fn documents(name: &str) -> Vec<Document> {
    let docs = DocumentFile::open(file(name), &ReadOptions::default()).unwrap();
    docs.docs().unwrap().map(Result::unwrap).collect()
}

#[test]
fn columns_of_all_types_in_every_compression() {
    let expected = {
        let first = Document::new("d1").with_title("Tea").with_text("Green tea");
        let tags = vec!["a", "b"];
        let first = first
            .with("year", 2017)
            .with("score", 0.1)
            .with("open", true)
            .with("day", "2017-03-01")
            .with("time", "2017-03-01T12:10:45Z")
            .with("nanoseconds", "2017-03-01T12:10:45Z")
            .with("tags", tags)
            .with("venue", "ACL")
            .with("page", 7);
        let none = Vec::<AttributeValue>::new();
        let second = Document::new("d2").with_text("Black tea é");
        let second = second.with("open", false).with("tags", none);
        let third = Document::new("d3").with_title("Milk");
        let third = third
            .with("year", 2020)
            .with("score", 2.0)
            .with("venue", "EMNLP");
        [first, second, third]
    };
    for codec in ["none", "snappy", "gzip", "lz4", "brotli"] {
        assert_eq!(
            documents(&format!("corpus-{codec}.parquet")),
            expected,
            "{codec}"
        );
    }
    let zstd = DocumentFile::open(file("corpus-zstd.parquet"), &ReadOptions::default());
    let zstd = zstd.unwrap().docs().unwrap().next().unwrap();
    if cfg!(feature = "columnar-zstd") {
        assert_eq!(zstd.unwrap(), expected[0]);
    } else {
        let error = zstd.unwrap_err().reason().to_string();
        assert!(
            error.ends_with("the feature \"columnar-zstd\" reads zstd)"),
            "{error}"
        );
    }
}

#[test]
fn columns_that_are_not_documents() {
    let columns = columnar::columns(file("corpus-none.parquet")).unwrap();
    assert!(columns.has_vectors);
    assert!(
        !columns
            .read
            .iter()
            .any(|name| name == "embedding" || name == "image")
    );
    let reader = columnar::ColumnarReader::open(file("corpus-none.parquet")).unwrap();
    assert_eq!(reader.skipped_columns(), ["image", "embedding"]);
    assert_eq!(reader.len_hint(), Some(3));
    let vectors = columnar::read_vectors(file("corpus-snappy.parquet")).unwrap();
    assert_eq!(vectors.ids, ["d1", "d2", "d3"]);
    assert_eq!(
        (vectors.dimension, vectors.values),
        (2, vec![0.5, 1.5, 1.0, 2.0, 0.0, 0.25])
    );
}

#[test]
fn tables_of_pandas_and_polars() {
    let docs = documents("pandas.parquet");
    assert_eq!(
        (docs[0].id.as_str(), docs[0].text.as_str()),
        ("7", "Green tea")
    );
    assert_eq!(docs[0].attributes.year(), Some(2017));
    assert_eq!(docs[1].attributes.year(), None);
    assert_eq!(
        docs[1].attributes.text("date"),
        Some("2020-01-01T00:00:00Z")
    );
    let (queries, format) = read_queries(file("polars.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(format.name(), "Parquet");
    let found: Vec<_> = queries
        .iter()
        .map(|query| (&*query.id, &*query.text))
        .collect();
    assert_eq!(found, [("1", "tea"), ("2", "milk")]);
    assert_eq!(
        FileKind::detect(file("polars.parquet")).unwrap(),
        FileKind::Queries
    );
}

/// Durations of pandas are texts of ISO 8601; other writers have integers. Times of day are not
/// read.
#[test]
fn durations() {
    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::metadata::KeyValue;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    let schema = "message m {
        required binary id (UTF8);
        required binary text (UTF8);
        required int64 took;
        required int64 at (TIME(NANOS,true));
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let column = r#"{"name": "took", "field_name": "took", "numpy_type": "timedelta64[ms]"}"#;
    for (columns, expected) in [
        (column, AttributeValue::Text("PT90.5S".to_owned())),
        ("", AttributeValue::Int(90_500)),
    ] {
        let metadata = format!("{{\"index_columns\": [], \"columns\": [{columns}]}}");
        let metadata = KeyValue::new("pandas".to_owned(), metadata);
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![metadata]));
        let out = std::fs::File::create(&path).unwrap();
        let properties = Arc::new(properties.build());
        let mut writer = SerializedFileWriter::new(out, Arc::clone(&schema), properties).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        for text in ["a", "tea"] {
            let mut column = rows.next_column().unwrap().unwrap();
            let cells = column.typed::<ByteArrayType>();
            cells
                .write_batch(&[ByteArray::from(text)], None, None)
                .unwrap();
            column.close().unwrap();
        }
        for number in [90_500, 1] {
            let mut column = rows.next_column().unwrap().unwrap();
            let cells = column.typed::<Int64Type>();
            cells.write_batch(&[number], None, None).unwrap();
            column.close().unwrap();
        }
        rows.close().unwrap();
        writer.close().unwrap();
        let docs = DocumentFile::open(&path, &ReadOptions::default()).unwrap();
        let doc = docs.docs().unwrap().next().unwrap().unwrap();
        assert_eq!(
            doc,
            Document::new("a").with_text("tea").with("took", expected)
        );
    }
}

#[test]
fn dataset_of_the_hub() {
    let folder = BeirFolder::open(file("hub")).unwrap();
    assert_eq!(folder.splits(), ["test"]);
    let qrels = folder.qrels("test").unwrap();
    assert_eq!(
        (qrels.grade("q1", "d2"), qrels.grade("q2", "d3")),
        (Some(2), Some(1))
    );
    let collection = folder.into_collection();
    let ids: Vec<String> = collection
        .corpus()
        .docs()
        .unwrap()
        .map(|doc| doc.unwrap().id)
        .collect();
    assert_eq!(ids, ["d1", "d2", "d3"]);
    assert_eq!(collection.queries("test").unwrap()[1].text, "milk");
    let part = file("hub/data/test-00001-of-00002.parquet");
    assert_eq!(FileKind::detect(&part).unwrap(), FileKind::Judgments);
    let read = read_qrels_any(&part, Default::default()).unwrap().data;
    assert_eq!((read.judgments(), read.grade("q2", "d3")), (1, Some(1)));
}

/// Writes the next column of a group. `levels` are definition and repetition levels.
pub(super) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: [Option<&[i16]>; 2],
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<T>();
    writer.write_batch(values, levels[0], levels[1]).unwrap();
    column.close().unwrap();
}

/// Numbers in half precision are values, and lists of them vectors.
#[test]
fn half_precision() {
    let schema = "message docs {
        required binary id (UTF8);
        required binary text (UTF8);
        optional fixed_len_byte_array(2) score (FLOAT16);
        required group vector (LIST) {
            repeated group list { required fixed_len_byte_array(2) element (FLOAT16); }
        }
        required fixed_len_byte_array(2) bytes;
    }";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.parquet");
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let out = File::create(&path).unwrap();
    let mut file = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let texts = |texts: [&str; 2]| texts.map(|text| ByteArray::from(text.as_bytes().to_vec()));
    // Bits of numbers in half precision.
    let halves = |bits: &[u16]| -> Vec<FixedLenByteArray> {
        let bytes = bits.iter().map(|bits| bits.to_le_bytes().to_vec());
        bytes.map(FixedLenByteArray::from).collect()
    };
    // Levels of a score and a null, and of two lists of two numbers.
    const PRESENT: &[i16] = &[1, 0];
    const DEFINED: &[i16] = &[1; 4];
    const REPEATED: &[i16] = &[0, 1, 0, 1];
    let none = [None; 2];
    write_column::<ByteArrayType>(&mut group, &texts(["d1", "d2"]), none);
    write_column::<ByteArrayType>(&mut group, &texts(["tea", "milk"]), none);
    let (score, vectors) = (halves(&[0x3e00]), halves(&[0x3800, 0x0000, 0xbc00, 0x4000]));
    write_column::<FixedLenByteArrayType>(&mut group, &score, [Some(PRESENT), None]);
    let levels = [Some(DEFINED), Some(REPEATED)];
    write_column::<FixedLenByteArrayType>(&mut group, &vectors, levels);
    write_column::<FixedLenByteArrayType>(&mut group, &halves(&[0, 0]), none);
    group.close().unwrap();
    file.close().unwrap();

    let mut docs = columnar::ColumnarReader::open(&path).unwrap();
    assert_eq!(docs.skipped_columns(), ["vector", "bytes"]);
    let mut doc = Document::default();
    assert!(docs.read_into(&mut doc).unwrap());
    assert_eq!(doc, Document::new("d1").with_text("tea").with("score", 1.5));
    assert!(docs.read_into(&mut doc).unwrap());
    assert_eq!(doc, Document::new("d2").with_text("milk"));
    let read = columnar::read_vectors(&path).unwrap();
    assert_eq!(read.ids, ["d1", "d2"]);
    assert_eq!(read.values, [0.5, 0.0, -1.0, 2.0]);
}

/// Half of a dataset is not read as if it were all of it.
#[test]
fn parts_of_the_hub_are_complete() {
    let [corpus, queries, data] = [
        "corpus/corpus-00001-of-00002.parquet",
        "queries/queries-00000-of-00001.parquet",
        "data/test-00000-of-00002.parquet",
    ];
    for missing in [corpus, queries, data] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for part in [
            corpus,
            "corpus/corpus-00000-of-00002.parquet",
            queries,
            data,
            "data/test-00001-of-00002.parquet",
        ] {
            let to = root.join(part);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            if part != missing {
                std::fs::copy(file("hub").join(part), to).unwrap();
            } else if part == queries {
                // An additional part in place of the only one.
                let to = root.join("queries/queries-00001-of-00001.parquet");
                std::fs::copy(file("hub").join(part), to).unwrap();
            }
        }
        let opened = BeirFolder::open(root);
        let error = if missing == data {
            opened.unwrap().qrels("test").unwrap_err()
        } else {
            opened.unwrap_err()
        };
        let error = error.to_string();
        assert!(error.contains(" parts, as "), "{error}");
        let path = root.join(missing).display().to_string();
        assert!(error.starts_with(&path) || missing == queries, "{error}");
    }
}

#[test]
fn errors_name_column_and_row() {
    let open = |names: GivenNames| {
        let options = ReadOptions {
            names,
            ..ReadOptions::default()
        };
        DocumentFile::open(file("corpus-none.parquet"), &options)
    };
    let names = GivenNames {
        text: Some("body".to_owned()),
        ..GivenNames::default()
    };
    let error = open(names).unwrap_err().to_string();
    assert!(
        error.contains("corpus-none.parquet:1: expected a field \"body\", found \"_id\""),
        "{error}"
    );
    let names = GivenNames {
        id: Some("day".to_owned()),
        ..GivenNames::default()
    };
    let docs = open(names).unwrap();
    let error = docs.docs().unwrap().nth(1).unwrap().unwrap_err();
    let error = error.reason().to_string();
    assert!(
        error.ends_with(":2: expected an id in \"day\", found an empty cell"),
        "{error}"
    );
    let names = GivenNames {
        text: Some("year".to_owned()),
        ..GivenNames::default()
    };
    let error = open(names)
        .unwrap()
        .docs()
        .unwrap()
        .next()
        .unwrap()
        .unwrap_err();
    assert!(
        error
            .reason()
            .to_string()
            .ends_with(":1: expected a string in \"year\", found a number")
    );
}

/// An index of pandas is in the metadata, or a column without a name. Ids may be floats.
#[test]
fn ids_of_pandas() {
    let open = |name: &str, id: Option<&str>| {
        let names = GivenNames {
            id: id.map(str::to_owned),
            ..GivenNames::default()
        };
        let options = ReadOptions {
            names,
            ..ReadOptions::default()
        };
        DocumentFile::open(file(name), &options)
    };
    let range = "(the index of pandas is no column: `reset_index(names=\"id\")` makes it one)";
    let unnamed = "(the column \"__index_level_0__\" is the index of pandas: `reset_index(names=\"id\")` names it)";
    for (name, id, expected) in [
        ("pandas-range.parquet", None, range),
        ("pandas-range.parquet", Some("doc_id"), range),
        ("pandas.parquet", Some("key"), unnamed),
    ] {
        let error = open(name, id).unwrap_err();
        assert!(error.lacks_names());
        let error = error.to_string();
        assert!(
            error.contains(&format!("{name}:1: expected a field")),
            "{error}"
        );
        assert!(error.ends_with(expected), "{error}");
    }
    let docs = open("pandas-range.parquet", Some("number")).unwrap();
    let mut docs = docs.docs().unwrap();
    let mut id = || docs.next().unwrap().map(|doc| doc.id);
    assert_eq!([id().unwrap(), id().unwrap()], ["1008", "1009"]);
    let error = id().unwrap_err().reason().to_string();
    assert!(
        error.ends_with("range.parquet:3: expected an id in \"number\", found the number 0.5"),
        "{error}"
    );
}

/// Every prefix and every file with one altered byte is read or is an error: nothing panics.
#[test]
fn damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let whole = std::fs::read(file("corpus-snappy.parquet")).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        super::read_documents(&path, GivenNames::default())
    };
    for end in (4..whole.len()).step_by(97) {
        assert!(
            read(&whole[..end])
                .unwrap_err()
                .contains("expected valid Parquet"),
            "{end}"
        );
    }
    let mut differs = 0;
    for position in (4..whole.len()).step_by(13) {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x55;
        differs += u32::from(read(&bytes).is_err());
    }
    assert!(differs > 10, "{differs}");
}
