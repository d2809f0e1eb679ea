//! `ir worker --format arrow`: values of JSON lines; errors that name batch, row and column.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../cli/common/mod.rs"]
#[allow(dead_code)]
mod command;

use std::io::Write;
use std::process::{Output, Stdio};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
#[cfg(feature = "dense")]
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, Int32Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
};
#[cfg(feature = "dense")]
use arrow_array::{FixedSizeListArray, ListArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use command::{Folder, tiny};
use serde_json::{Value, json};

/// Stream of batches with these columns.
fn stream(batches: &[Vec<(&str, ArrayRef)>]) -> Vec<u8> {
    let fields = batches[0].iter();
    let fields = fields.map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    for batch in batches {
        let columns = batch.iter().map(|(_, array)| Arc::clone(array)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn run(here: &Folder, args: &[&str], input: &[u8]) -> Output {
    let mut command = here.command(args);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early does not read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Records of a stream, as JSON lines have them.
fn records(stream: &[u8]) -> Vec<Value> {
    let mut records = Vec::new();
    for batch in StreamReader::try_new(stream, None).unwrap() {
        let batch = batch.unwrap();
        let name = batch.schema().field(1).name().clone();
        let ids = batch.column(0).as_string::<i32>();
        let lists = batch.column(1).as_list::<i32>();
        for row in 0..batch.num_rows() {
            let list = lists.value(row);
            let values: Vec<Value> = match name.as_str() {
                "vector" => {
                    let numbers = list.as_primitive::<Float32Type>().values().iter();
                    numbers.map(|&x| json!(x)).collect()
                }
                "tokens" => {
                    let texts = list.as_string::<i32>().iter();
                    texts.map(|text| json!(text.unwrap())).collect()
                }
                _ => {
                    let hits = list.as_struct();
                    let ids = hits.column(0).as_string::<i32>();
                    let scores = hits.column(1).as_primitive::<Float32Type>();
                    let hits = (0..hits.len())
                        .map(|at| json!({"id": ids.value(at), "score": scores.value(at)}));
                    hits.collect()
                }
            };
            records.push(json!({"id": ids.value(row), &*name: values}));
        }
    }
    records
}

/// Records of JSON lines, with numbers as f32.
fn lines(output: &Output) -> Vec<Value> {
    fn narrow(value: Value) -> Value {
        match value {
            Value::Number(number) => json!(number.as_f64().unwrap() as f32),
            Value::Array(all) => all.into_iter().map(narrow).collect(),
            Value::Object(all) => all.into_iter().map(|(k, v)| (k, narrow(v))).collect(),
            other => other,
        }
    }
    let text = std::str::from_utf8(&output.stdout).unwrap();
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
    parsed.map(narrow).collect()
}

fn ok(output: Output) -> Output {
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    output
}

/// Runs a task on JSON lines and on the stream, and compares the records.
fn compare(here: &Folder, args: &[&str], json_lines: &str, arrow: &[u8]) -> Vec<Value> {
    let expected = lines(&ok(run(here, args, json_lines.as_bytes())));
    let with_format = [args, &["--format", "arrow"]].concat();
    let found = records(&ok(run(here, &with_format, arrow)).stdout);
    assert_eq!(found, expected, "{args:?}");
    expected
}

fn text_lines(texts: &[(String, String)]) -> String {
    let lines = texts.iter();
    let lines = lines.map(|(id, text)| json!({"id": id, "text": text}).to_string() + "\n");
    lines.collect()
}

/// The texts in batches of different sizes, one of them empty, beside a column that is ignored.
fn text_stream(texts: &[(String, String)], id: &str, columns: fn(&[&str]) -> ArrayRef) -> Vec<u8> {
    let sizes = [1, 0, 700, usize::MAX];
    let mut rest = texts;
    let mut batches = Vec::new();
    for size in sizes {
        let (batch, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        let ids: Vec<&str> = batch.iter().map(|(id, _)| id.as_str()).collect();
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let years: ArrayRef = Arc::new(Int32Array::from(vec![7; batch.len()]));
        batches.push(vec![
            (id, columns(&ids)),
            ("year", years),
            ("text", columns(&texts)),
        ]);
    }
    stream(&batches)
}

fn texts() -> Vec<(String, String)> {
    let words = ["tea", "leaves", "The rivers", "winter", "", "größe"];
    let texts = (0..2500_usize).map(|n| {
        let text: Vec<&str> = (0..n % 9)
            .map(|at| words[(n * (at + 3) + at) % 6])
            .collect();
        (format!("q{n}"), text.join(" "))
    });
    texts.collect()
}

#[test]
fn tokens_and_hits_are_those_of_json_lines() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["index", "tiny", "-o", "tiny.ir"]).ok();
    let texts = texts();
    let json_lines = text_lines(&texts);
    let search = ["worker", "search", "tiny.ir", "-k", "2"];
    for (id, columns) in [
        (
            "id",
            (|all| Arc::new(StringArray::from(all.to_vec()))) as fn(&[&str]) -> ArrayRef,
        ),
        ("_id", |all| Arc::new(LargeStringArray::from(all.to_vec()))),
        ("id", |all| Arc::new(StringViewArray::from(all.to_vec()))),
    ] {
        let arrow = text_stream(&texts, id, columns);
        let tokens = compare(&here, &["worker", "tokenize"], &json_lines, &arrow);
        assert_eq!(tokens.len(), texts.len());
        let hits = compare(&here, &search, &json_lines, &arrow);
        assert!(
            hits.iter()
                .any(|record| record["hits"].as_array().unwrap().len() == 2)
        );
    }
    // Titles, one of which is null.
    let column = |all: [Option<&str>; 2]| -> ArrayRef { Arc::new(StringArray::from(all.to_vec())) };
    let titled = stream(&[vec![
        ("id", column([Some("a"), Some("b")])),
        ("title", column([Some("green"), None])),
        ("text", column([Some("tea"), Some("cups")])),
    ]]);
    let json_lines = "{\"id\": \"a\", \"title\": \"green\", \"text\": \"tea\"}\n{\"id\": \"b\", \"text\": \"cups\"}\n";
    let tokens = compare(&here, &["worker", "tokenize"], json_lines, &titled);
    assert_eq!(tokens[0]["tokens"], json!(["green", "tea"]));
    // No rows.
    let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let none = stream(&[vec![("id", Arc::clone(&none)), ("text", none)]]);
    assert!(compare(&here, &["worker", "tokenize"], "", &none).is_empty());
}

#[cfg(feature = "dense")]
#[test]
fn vectors_are_those_of_json_lines() {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-dense/testdata/tiny/bert-pytorch"
    );
    let here = Folder::new();
    let texts: Vec<(String, String)> = texts().into_iter().take(1500).collect();
    let (json_lines, arrow) = (
        text_lines(&texts),
        text_stream(&texts, "id", |all| {
            Arc::new(StringArray::from(all.to_vec()))
        }),
    );
    let encode = ["worker", "encode", model];
    let vectors = compare(&here, &encode, &json_lines, &arrow);
    assert_eq!(vectors.len(), texts.len());
    here.write("docs.jsonl", &json_lines);
    here.ir(&[
        "encode",
        model,
        "docs.jsonl",
        "--template",
        "{text}",
        "-o",
        "docs.vectors",
    ])
    .ok();
    // Vectors of the output as input, in every type of list.
    let search = ["worker", "search", "--vectors", "docs.vectors", "-k", "3"];
    let output = ok(run(
        &here,
        &[&encode[..], &["--format", "arrow"]].concat(),
        &arrow,
    ));
    let json_vectors = ok(run(&here, &encode, json_lines.as_bytes())).stdout;
    let json_vectors = String::from_utf8(json_vectors).unwrap();
    let hits = compare(&here, &search, &json_vectors, &output.stdout);
    assert_eq!(hits.len(), texts.len());
    let few = &vectors[..200];
    let ids: Vec<&str> = few
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    let ids: ArrayRef = Arc::new(StringArray::from(ids));
    let numbers = |record: &Value| -> Vec<Option<f64>> {
        let all = record["vector"].as_array().unwrap().iter();
        all.map(Value::as_f64).collect()
    };
    let rows: Vec<_> = few.iter().map(|record| Some(numbers(record))).collect();
    let dim = rows[0].as_ref().unwrap().len() as i32;
    let wide = ListArray::from_iter_primitive::<Float64Type, _, _>(rows.clone());
    let fixed = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(rows, dim);
    let json_vectors: String = json_vectors
        .lines()
        .take(200)
        .map(|line| format!("{line}\n"))
        .collect();
    for column in [Arc::new(wide) as ArrayRef, Arc::new(fixed)] {
        let arrow = stream(&[vec![("id", Arc::clone(&ids)), ("vector", column)]]);
        assert_eq!(compare(&here, &search, &json_vectors, &arrow).len(), 200);
    }
    let fails = |column: ArrayRef, parts: &[&str]| {
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["a"; column.len()]));
        let arrow = stream(&[vec![("id", ids), ("vector", column)]]);
        failure(&here, &search, &arrow, parts);
    };
    let lists = |rows: Vec<Option<Vec<Option<f32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows))
    };
    let good = || Some(vec![Some(0.5); dim as usize]);
    fails(
        lists(vec![good(), None]),
        &["batch 1, row 2", "column vector", "none"],
    );
    fails(
        lists(vec![good(), Some(vec![Some(1.0)])]),
        &["row 2, column vector", "dimensions, found 1"],
    );
    fails(
        lists(vec![Some(vec![None])]),
        &["row 1, column vector", "found null"],
    );
    fails(
        lists(vec![Some(vec![Some(f32::NAN); dim as usize])]),
        &["column vector", "finite", "NaN"],
    );
    fails(
        Arc::new(Int32Array::from(vec![1])),
        &["column vector: expected lists of numbers, found Int32"],
    );
}

/// The command fails with one line that has all of these parts.
fn failure(here: &Folder, args: &[&str], input: &[u8], parts: &[&str]) {
    let output = run(here, &[args, &["--format", "arrow"]].concat(), input);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    let errors = err.lines().filter(|line| !line.starts_with("warning: "));
    assert_eq!(errors.count(), 1, "{err}");
    for part in parts {
        assert!(err.contains(part), "expected {part:?} in: {err}");
    }
}

#[test]
fn invalid_input_names_batch_row_and_column() {
    let here = Folder::new();
    let fails = |input: &[u8], parts: &[&str]| {
        failure(&here, &["worker", "tokenize"], input, parts);
    };
    let text = |all: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringArray::from(all)) };
    let ids = || text(vec![Some("a"), Some("b")]);
    let good = || vec![("id", ids()), ("text", ids())];
    let two = |second| stream(&[good(), second]);
    fails(
        &two(vec![("id", text(vec![Some("a"), None])), ("text", ids())]),
        &["standard input, batch 2, row 2, column id: expected text, found null"],
    );
    fails(
        &two(vec![("id", ids()), ("text", text(vec![None, Some("a")]))]),
        &["batch 2, row 1: expected the column text, found none"],
    );
    fails(&stream(&[vec![("id", ids())]]), &["row 1", "column text"]);
    fails(
        &stream(&[vec![("name", ids())]]),
        &["expected a field \"_id\"", "name"],
    );
    let named = vec![("docid", ids()), ("contents", ids())];
    let output = run(
        &here,
        &["worker", "tokenize", "--format", "arrow"],
        &stream(&[named]),
    );
    assert!(output.status.success());
    fails(
        &stream(&[vec![
            ("id", text(vec![Some("")])),
            ("text", text(vec![None])),
        ]]),
        &["row 1, column id: expected an id, found an empty text"],
    );
    fails(
        &stream(&[vec![("id", ids()), ("_id", ids())]]),
        &["id and _id"],
    );
    fails(
        &stream(&[vec![("id", ids()), ("id", ids())]]),
        &["column id", "several"],
    );
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    fails(
        &stream(&[vec![("id", numbers)]]),
        &["column id: expected text, found Int32"],
    );
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    fails(
        &stream(&[vec![("id", ids()), ("title", numbers), ("text", ids())]]),
        &["title: expected text, found Int32"],
    );
    fails(b"", &["standard input: expected an Arrow IPC stream"]);
    fails(
        b"{\"id\": \"a\", \"text\": \"tea\"}\n",
        &["expected an Arrow IPC stream"],
    );
    // Cut off within the second batch, and damaged bytes anywhere: an error or other values, never
    // a panic or signal.
    let whole = stream(&[good(), good(), good()]);
    let first = stream(&[good()]).len();
    fails(&whole[..first + 20], &["batch 2"]);
    let mut random = ir_core::SplitMix64::new(5, 1);
    for _ in 0..200 {
        let mut damaged = whole.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        let output = run(
            &here,
            &["worker", "tokenize", "--format", "arrow"],
            &damaged,
        );
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "byte {at}: {err}"
        );
        assert!(!err.contains("panicked"), "byte {at}: {err}");
    }
    // Arrow where JSON lines are expected.
    let output = run(&here, &["worker", "tokenize"], &whole);
    assert_eq!(output.status.code(), Some(1));
}
