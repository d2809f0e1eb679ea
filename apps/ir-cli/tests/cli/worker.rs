//! `ir worker`: records of standard input, in order.

use crate::common::{Folder, tiny, words};
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
    let ran = here.ir_with("worker tokenize", input).ok();
    let expected = [
        json!({"id": "a", "tokens": ["boat", "sail"]}),
        json!({"id": "b", "tokens": []}),
    ];
    assert_eq!(records(&ran.out), expected);
    // Titles, and integers as ids.
    let titled = "{\"id\": 7, \"title\": \"Harbors\", \"text\": \"The boats\"}\n{\"id\": -7, \"text\": \"tea\"}";
    let ran = here.ir_with("worker tokenize", titled).ok();
    let expected = [
        json!({"id": "7", "tokens": ["harbor", "boat"]}),
        json!({"id": "-7", "tokens": ["tea"]}),
    ];
    assert_eq!(records(&ran.out), expected);
    let text_only = ["worker", "tokenize", "--template", "{text}"];
    let ran = here.ir_with(&text_only, titled).ok();
    assert_eq!(records(&ran.out)[0]["tokens"], json!(["boat"]));
    let args = ["worker", "tokenize", "--analysis", "whitespace"];
    let ran = here.ir_with(&args, input).ok();
    assert_eq!(
        records(&ran.out)[0]["tokens"],
        json!(["The", "boats'", "sails"])
    );
}

/// Each record has its own names, so that the output does not depend on partitions.
#[test]
fn fields_have_the_names_of_collections_and_queries() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    let docs = "{\"docid\": \"a\", \"contents\": \"boat\"}\n\
                {\"pid\": 7.0, \"docid\": \"m\", \"passage\": \"boat\", \"year\": [2]}\n\
                {\"ID\": \"c\", \"Text\": \"boat\"}\n";
    let found = records(&here.ir_with("worker tokenize", docs).ok().out);
    let ids: Vec<&str> = found.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "7", "c"]);
    assert!(found.iter().all(|it| it["tokens"] == json!(["boat"])));
    let args = "worker tokenize --id-field key --text-field summary";
    let record = "{\"key\": 1, \"id\": 2, \"summary\": \"tea\", \"text\": \"boat\"}\n";
    let found = records(&here.ir_with(args, record).ok().out);
    assert_eq!(found, [json!({"id": "1", "tokens": ["tea"]})]);
    here.ir_with(args, docs)
        .fails(1, &["line 1: expected a field \"key\", found [\"docid\""]);
    let search = |query: &str| here.ir_with("worker search tiny.ir", query).ok().out;
    let expected = search("{\"id\": \"q\", \"text\": \"tea\"}");
    assert_eq!(
        search("{\"query_id\": \"q\", \"query\": \"tea\"}"),
        expected
    );
    assert_eq!(search("{\"qid\": \"q\", \"title\": \"tea\"}"), expected);
}

#[test]
fn hits_are_those_of_a_run() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    let search = words("search tiny.ir --queries tiny/queries.jsonl --scores exact");
    let run = here.ir(&search).ok().out;
    let queries = here.read("tiny/queries.jsonl");
    let ran = here.ir_with("worker search tiny.ir -k 1000", &queries).ok();
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
    let model = crate::common::BERT_PYTORCH;
    let here = Folder::new();
    let texts = (0..40)
        .map(|n| json!({"id": format!("d{n}"), "text": "tea ".repeat(1 + n % 7) + &n.to_string()}));
    let lines: Vec<String> = texts.map(|text| text.to_string()).collect();
    here.write("docs.jsonl", lines.join("\n"));
    here.ir(&format!(
        "encode {model} docs.jsonl --template {{text}} -o docs.vectors"
    ))
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
    let other = crate::common::DISTILBERT;
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
    here.ir("worker search --vectors docs.vectors --any-encoder")
        .fails(2, &["--encoder"]);
    let wrong = "{\"id\": \"a\", \"vector\": [1.0, 2.0]}";
    here.ir_with(&search, wrong)
        .fails(1, &["line 1", "dimensions, found 2"]);
    here.ir_with(&search, &lines[0])
        .fails(1, &["line 1", "field vector"]);
}

#[cfg(feature = "dense")]
#[test]
fn titles_are_encoded_as_by_encode() {
    use ir_core::Retriever as _;
    let model = crate::common::BERT_PYTORCH;
    let here = Folder::new();
    let docs = (0..20).map(|n| match n % 3 {
        0 => json!({"id": n, "text": format!("tea {n}")}),
        _ => json!({"id": n, "title": format!("green {n}"), "text": format!("tea {n}")}),
    });
    let lines: Vec<String> = docs.map(|doc| doc.to_string()).collect();
    let lines = lines.join("\n");
    here.write("docs.jsonl", &lines);
    let mut outputs = Vec::new();
    for options in [&[][..], &["--template", "{text} [SEP] {title}"]] {
        let encode = ["encode", model, "docs.jsonl", "-o", "docs.vectors"];
        here.ir(&[&encode[..], options].concat()).ok();
        let index = ir_knn::FlatIndex::open(here.at("docs.vectors")).unwrap();
        let worker = ["worker", "encode", model];
        let out = here.ir_with(&[&worker[..], options].concat(), &lines);
        let found = records(&out.ok().out);
        assert_eq!(found.len(), index.ids().len());
        for (doc, record) in (0..).map(ir_core::DocNum::new).zip(&found) {
            assert_eq!(record["id"], index.ids().id(doc));
            let vector: Vec<f32> = serde_json::from_value(record["vector"].clone()).unwrap();
            assert_eq!(vector, index.vector(doc));
        }
        outputs.push(found);
    }
    assert_ne!(outputs[0][1], outputs[1][1]);
    // Queries have no titles, whatever a field of this name has.
    let queries = |more: &[&str], lines: &str| {
        let args = [&["worker", "encode", model, "--queries"], more].concat();
        here.ir_with(&args, lines)
    };
    let number = lines.replace("\"title\":", "\"title\":[7],\"other\":");
    queries(&[], &number).ok();
    let untitled = lines.replace("\"title\"", "\"other\"");
    let titled = queries(&[], &lines).ok().out;
    assert_eq!(titled, queries(&[], &untitled).ok().out);
    queries(&["--template", "{text}"], &lines).fails(2, &["--template"]);
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
        ("tea", ["line 2, column 2: expected a record", "ident"]),
        (
            "[\"b\", \"\", \"tea\"]",
            ["line 2: expected an object", "JSON"],
        ),
        ("7", ["line 2: expected an object", "JSON"]),
        (
            "{\"id\": 7.5, \"text\": \"b\"}",
            ["line 2, field id: expected a string", "found 7.5"],
        ),
        (
            "{\"id\": null, \"text\": \"b\"}",
            ["line 2", "string or an integer"],
        ),
        (
            "{\"id\": \"\", \"text\": \"b\"}",
            ["line 2, field id", "found an empty string"],
        ),
        (
            "{\"docid\": 1, \"docno\": 2, \"text\": \"b\"}",
            ["line 2: expected one field of", "docno"],
        ),
        (
            "{\"id\": 1, \"contents\": 7}",
            ["line 2, field contents: expected a string", "found 7"],
        ),
        (
            "{\"id\": 1, \"text\": \"a\", \"text\": \"b\"}",
            ["line 2", "duplicate field `text`"],
        ),
    ] {
        here.ir_with(&tokenize, &format!("{first}{line}\n"))
            .fails(1, &parts);
    }
    let ran = here.ir_with(&tokenize, "tea");
    assert!(!ran.err.contains("at line"), "{}", ran.err);
    let author = ["worker", "tokenize", "--template", "{author} {text}"];
    here.ir_with(&author, first)
        .fails(2, &["--template: expected", "found {author}"]);
    here.ir_with("worker search tiny", first)
        .fails(1, &["tiny", "expected an index"]);
    here.ir_with("worker search", first).fails(2, &["INDEX"]);
    assert_eq!(here.ir_with(&tokenize, "").ok().out, "");
}

/// Records have texts, and no ids of queries with vectors.
#[test]
fn systems_with_vectors_of_queries_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["index", "tiny", "-o", "tiny.ir", "--store", "all"])
        .ok();
    here.write("docs.jsonl", "{\"id\": \"d1\", \"vector\": {\"x\": 1.0}}\n");
    here.write(
        "queries.jsonl",
        "{\"id\": \"q1\", \"vector\": {\"x\": 1.0}}\n",
    );
    here.write(
        "sparse.toml",
        "systems = [{ name = \"s\", type = \"sparse\", vectors = \"docs.jsonl\", queries = \"queries.jsonl\" }]\n",
    );
    let worker = ["worker", "search", "tiny.ir", "--system", "sparse.toml"];
    here.ir_with(&worker, "{\"id\": \"q1\", \"text\": \"tea leaves\"}\n")
        .fails(
            1,
            &["--system: sparse.toml: expected a system for any query, found saved vectors of queries"],
        );
}
