//! `ir worker`: records of standard input, in order.

use crate::common::{Folder, tiny};
use serde_json::{Value, json};

fn records(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn tokens_are_those_of_the_analyzer() {
    let here = Folder::new();
    let input = "{\"id\": \"a\", \"text\": \"The boats' sails\"}\n\n{\"_id\": \"b\", \"text\": \"\", \"year\": 2}\n";
    let ran = here.ir_with(&["worker", "tokenize"], input).ok();
    let expected = [
        json!({"id": "a", "tokens": ["boat", "sail"]}),
        json!({"id": "b", "tokens": []}),
    ];
    assert_eq!(records(&ran.out), expected);
    let args = ["worker", "tokenize", "--analysis", "whitespace"];
    let ran = here.ir_with(&args, input).ok();
    assert_eq!(
        records(&ran.out)[0]["tokens"],
        json!(["The", "boats'", "sails"])
    );
}

#[test]
fn hits_are_those_of_a_run() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["index", "tiny", "-o", "tiny.ir"]).ok();
    let search = [
        "search",
        "tiny.ir",
        "--queries",
        "tiny/queries.jsonl",
        "--scores",
        "exact",
    ];
    let run = here.ir(&search).ok().out;
    let queries = here.read("tiny/queries.jsonl");
    let ran = here
        .ir_with(&["worker", "search", "tiny.ir", "-k", "1000"], &queries)
        .ok();
    let found = records(&ran.out);
    let ids: Vec<&str> = found
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["q1", "q2", "q3"]);
    let found: Vec<String> = found
        .iter()
        .flat_map(|record| {
            let id = record["id"].as_str().unwrap();
            let hits = record["hits"].as_array().unwrap().iter();
            hits.map(move |hit| {
                format!(
                    "{id} {} {}",
                    hit["id"].as_str().unwrap(),
                    hit["score"].as_f64().unwrap() as f32
                )
            })
        })
        .collect();
    let expected: Vec<String> = run
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split(' ').collect();
            format!(
                "{} {} {}",
                columns[0],
                columns[2],
                columns[4].parse::<f32>().unwrap()
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert!(!found.is_empty());
}

#[cfg(feature = "dense")]
#[test]
fn vectors_are_those_of_encode_in_any_partition() {
    use ir_core::Retriever as _;
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ir-dense/testdata/tiny/bert-pytorch"
    );
    let here = Folder::new();
    let texts = (0..40)
        .map(|n| json!({"id": format!("d{n}"), "text": "tea ".repeat(1 + n % 7) + &n.to_string()}));
    let lines: Vec<String> = texts.map(|text| text.to_string()).collect();
    here.write("docs.jsonl", lines.join("\n"));
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
    let index = ir_knn::FlatIndex::open(here.at("docs.vectors")).unwrap();
    let mut all = String::new();
    for partition in lines.chunks(13) {
        let input = partition.join("\n");
        all += &here.ir_with(&["worker", "encode", model], &input).ok().out;
    }
    for (doc, record) in (0..).zip(records(&all)) {
        let doc = ir_core::DocNum::new(doc);
        assert_eq!(record["id"], index.ids().id(doc));
        let vector: Vec<f32> = serde_json::from_value(record["vector"].clone()).unwrap();
        assert_eq!(vector, index.vector(doc));
    }
    // The nearest documents of their vectors, and of their texts.
    let search = ["worker", "search", "--vectors", "docs.vectors", "-k", "1"];
    let by_vector = here.ir_with(&search, &all).ok().out;
    let with_encoder = [&search[..], &["--encoder", model]].concat();
    let by_text = here.ir_with(&with_encoder, &lines.join("\n")).ok().out;
    assert_eq!(by_vector, by_text);
    for (doc, record) in (0..).zip(records(&by_vector)) {
        let vector = index.vector(ir_core::DocNum::new(doc));
        let nearest = index.search(vector, &ir_core::Search::top(1)).unwrap();
        let hit = nearest.iter().next().unwrap();
        assert_eq!(record["hits"][0]["id"], index.ids().id(hit.doc));
        assert_eq!(
            record["hits"][0]["score"].as_f64().unwrap() as f32,
            hit.score
        );
    }
    // Vectors of another model, precision or pooling, as in `ir search`.
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ir-dense/testdata/tiny/distilbert"
    );
    let with = |model, more: &[&str]| {
        let options = [&search[..], &["--encoder", model], more].concat();
        here.ir_with(&options, &lines[0])
    };
    with(other, &[]).fails(
        1,
        &["docs.vectors: expected model distilbert", "bert-pytorch"],
    );
    with(model, &["--precision", "int8"]).fails(1, &["expected precision int8, found f32"]);
    with(model, &["--pooling", "cls"]).fails(1, &["expected pooling cls, found mean"]);
    let int8 = ["--precision", "int8", "--any-encoder"];
    let ran = with(model, &int8).ok();
    assert_eq!(records(&ran.out).len(), 1);
    assert!(
        ran.err.contains("expected precision int8, found f32"),
        "{}",
        ran.err
    );
    here.ir(&[
        "worker",
        "search",
        "--vectors",
        "docs.vectors",
        "--any-encoder",
    ])
    .fails(2, &["--encoder"]);
    let wrong = "{\"id\": \"a\", \"vector\": [1.0, 2.0]}";
    here.ir_with(&search, wrong)
        .fails(1, &["line 1", "dimensions, found 2"]);
    here.ir_with(&search, &lines[0])
        .fails(1, &["line 1", "field vector"]);
}

#[test]
fn invalid_records_name_the_line() {
    let here = Folder::new();
    tiny(&here);
    let tokenize = ["worker", "tokenize"];
    let first = "{\"id\": \"a\", \"text\": \"tea\"}\n";
    for (line, parts) in [
        ("{\"id\": \"b\"}", ["line 2", "field text"]),
        ("{\"text\": \"b\"}", ["line 2", "id"]),
        ("tea", ["line 2", "record"]),
        ("{\"id\": 7, \"text\": \"b\"}", ["line 2", "string"]),
    ] {
        here.ir_with(&tokenize, &format!("{first}{line}\n"))
            .fails(1, &parts);
    }
    here.ir_with(&["worker", "search", "tiny"], first)
        .fails(1, &["tiny", "expected an index"]);
    here.ir_with(&["worker", "search"], first)
        .fails(2, &["INDEX"]);
    assert_eq!(here.ir_with(&tokenize, "").ok().out, "");
}
