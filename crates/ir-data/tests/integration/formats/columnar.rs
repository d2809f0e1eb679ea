//! The same columns in Parquet and Arrow.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ::parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, Decimal32Array, Decimal64Array, Decimal128Array,
    LargeBinaryArray, RecordBatch, StringArray,
};
use ir_core::Document;
use ir_data::{FileKind, GivenNames, columnar, read_qrels_any};

use super::parquet::write_column;
use super::read_documents as read;

fn write_arrow(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    super::arrow::write(path, &RecordBatch::try_from_iter(columns).unwrap());
}

/// Decimals of 32, 64 and 128 bits. Expected texts: `str(Decimal(number).scaleb(-scale))` in
/// Python.
#[test]
fn decimals() {
    let folder = tempfile::tempdir().unwrap();
    let [parquet, arrow] = ["x.parquet", "x.arrow"].map(|name| folder.path().join(name));
    for (scale, numbers, expected) in [
        (0_i8, [0_i32, 2015, -1], ["0", "2015", "-1"]),
        (2, [5, -5, -1234], ["0.05", "-0.05", "-12.34"]),
    ] {
        let schema = format!(
            "message m {{
                required int32 id (DECIMAL(9,{scale}));
                required int64 year (DECIMAL(18,{scale}));
                required fixed_len_byte_array(16) long (DECIMAL(38,{scale}));
                required binary text (UTF8);
            }}"
        );
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let out = File::create(&parquet).unwrap();
        let mut file = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let none = [None; 2];
        write_column::<Int32Type>(&mut group, &numbers, none);
        write_column::<Int64Type>(&mut group, &numbers.map(i64::from), none);
        let long = numbers.map(|it| i128::from(it).to_be_bytes().to_vec());
        let long = long.map(FixedLenByteArray::from);
        write_column::<FixedLenByteArrayType>(&mut group, &long, none);
        let texts = ["tea"; 3].map(ByteArray::from);
        write_column::<ByteArrayType>(&mut group, &texts, none);
        group.close().unwrap();
        file.close().unwrap();

        let short = Decimal32Array::from_iter_values(numbers);
        let year = Decimal64Array::from_iter_values(numbers.map(i64::from));
        let long = Decimal128Array::from_iter_values(numbers.map(i128::from));
        let columns: Vec<(&str, ArrayRef)> = vec![
            (
                "id",
                Arc::new(short.with_precision_and_scale(9, scale).unwrap()),
            ),
            (
                "year",
                Arc::new(year.with_precision_and_scale(18, scale).unwrap()),
            ),
            (
                "long",
                Arc::new(long.with_precision_and_scale(38, scale).unwrap()),
            ),
            ("text", Arc::new(StringArray::from(vec!["tea"; 3]))),
        ];
        write_arrow(&arrow, columns);

        let docs = expected.map(|text| {
            let doc = Document::new(text).with_text("tea");
            doc.with("year", text).with("long", text)
        });
        for path in [&parquet, &arrow] {
            assert_eq!(read(path, GivenNames::default()).unwrap(), docs);
        }
    }
}

/// Ids and vectors of Parquet: decimals and byte strings are ids.
#[test]
fn ids_of_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let ids = ["required int32 id (DECIMAL(9,0));", "required binary id;"];
    for (id, expected) in ids.into_iter().zip([["1", "20"], ["a", "é"]]) {
        let schema = format!("message m {{ {id} repeated float vector; }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let out = File::create(&path).unwrap();
        let mut file = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        if expected == ["1", "20"] {
            write_column::<Int32Type>(&mut group, &[1, 20], [None; 2]);
        } else {
            write_column::<ByteArrayType>(&mut group, &expected.map(ByteArray::from), [None; 2]);
        }
        let levels: [Option<&[i16]>; 2] = [Some(&[1; 4]), Some(&[0, 1, 0, 1])];
        write_column::<FloatType>(&mut group, &[0.5, 1.0, 2.0, 4.0], levels);
        group.close().unwrap();
        file.close().unwrap();
        let vectors = columnar::read_vectors(&path).unwrap();
        assert_eq!(vectors.ids, expected);
        assert_eq!(vectors.dimension, 2);
        assert_eq!(vectors.values, [0.5, 1.0, 2.0, 4.0]);
    }
}

/// Byte strings without an encoding are texts in columns of ids, titles and texts.
#[test]
fn binary_columns() {
    let folder = tempfile::tempdir().unwrap();
    let [parquet, arrow] = ["x.parquet", "x.arrow"].map(|name| folder.path().join(name));
    // Id, title, text and a column without a role, in both formats.
    let write = |names: [&str; 4], cells: [&[u8]; 4]| {
        let columns = names.map(|name| format!("required binary {name};"));
        let schema = format!("message m {{ {} }}", columns.concat());
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let out = File::create(&parquet).unwrap();
        let mut file = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        for cell in cells {
            let cell = ByteArray::from(cell.to_vec());
            write_column::<ByteArrayType>(&mut group, &[cell], [None; 2]);
        }
        group.close().unwrap();
        file.close().unwrap();
        let [id, title, text, other] = cells.map(|cell| vec![cell]);
        let arrays: [ArrayRef; 4] = [
            Arc::new(BinaryArray::from_vec(id)),
            Arc::new(LargeBinaryArray::from_vec(title)),
            Arc::new(BinaryViewArray::from_iter_values(text)),
            Arc::new(BinaryArray::from_vec(other)),
        ];
        write_arrow(&arrow, names.into_iter().zip(arrays).collect());
        [&parquet, &arrow]
    };
    let cells: [&[u8]; 4] = [b"d1", b"Tea", "Thé vert".as_bytes(), b"\xff\xd8"];
    let expected = Document::new("d1").with_title("Tea").with_text("Thé vert");
    for path in write(["ID", "Title", "text", "image"], cells) {
        let found = read(path, GivenNames::default()).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected));
        let reader = columnar::ColumnarReader::open(path).unwrap();
        assert_eq!(reader.skipped_columns(), ["image"]);
        assert_eq!(FileKind::detect(path).unwrap(), FileKind::Documents);
    }
    let given = GivenNames {
        id: Some("key".to_owned()),
        title: Some("name".to_owned()),
        text: Some("summary".to_owned()),
    };
    for path in write(["key", "name", "summary", "image"], cells) {
        let found = read(path, given.clone()).unwrap();
        assert_eq!(found, std::slice::from_ref(&expected));
        let error = read(path, GivenNames::default()).unwrap_err();
        let expected = ", found \"key\", \"name\", \"summary\", \"image\"";
        assert!(error.contains(expected), "{error}");
    }
    for path in write(
        ["id", "title", "text", "image"],
        [b"d1", b"", b"caf\xe9", b""],
    ) {
        let error = read(path, GivenNames::default()).unwrap_err();
        let name = path.display();
        assert_eq!(
            error,
            format!(
                "{name}:1: expected UTF-8 text in \"text\", found other bytes (\"text\" is a binary column)"
            )
        );
    }
    let judgment: [&[u8]; 4] = [b"q1", b"d1", b"2", b""];
    for path in write(["query_id", "corpus_id", "score", "note"], judgment) {
        assert_eq!(FileKind::detect(path).unwrap(), FileKind::Judgments);
        let qrels = read_qrels_any(path, Default::default()).unwrap().data;
        assert_eq!(qrels.grade("q1", "d1"), Some(2));
    }
}

/// A binary column is no text beside a column of texts.
#[test]
fn binary_columns_beside_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let bytes = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from_vec(vec![bytes])) };
    let columns = vec![
        ("docid", texts("d1")),
        ("body", texts("tea")),
        ("content", bytes(b"%PDF-1.7\xff")),
        ("docno", bytes(b"\0\x01")),
    ];
    write_arrow(&path, columns);
    let expected = Document::new("d1").with_text("tea");
    assert_eq!(read(&path, GivenNames::default()).unwrap(), [expected]);
}
