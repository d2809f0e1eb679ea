//! `ir search --vectors`: explanations, encoded queries, several weights, queries without words;
//! with a tiny model.

use serde_json::Value;

use crate::common::{BERT, Folder, tiny, words};

/// Folder with a collection and the vectors of its documents and queries.
fn encoded() -> (Folder, String) {
    let model = BERT.to_owned();
    let here = Folder::new();
    tiny(&here);
    here.ir(&["encode", &model, "tiny", "-o", "docs.ir"]).ok();
    let queries = ["encode", &model, "tiny", "--queries", "-o", "queries.ir"];
    here.ir(&queries).ok();
    (here, model)
}

/// Checks that the explanation of a hit adds up to its score, bit for bit; returns it.
fn explained(line: &str) -> Value {
    let hit: Value = serde_json::from_str(line).unwrap();
    let tree = &hit["explanation"];
    assert_eq!(tree["value"], hit["score"], "{tree:#}");
    tree.clone()
}

fn number(value: &Value) -> f64 {
    // Numbers that an f32 represents are printed with its digits.
    let value = value.as_f64().unwrap();
    let single = value as f32;
    if single.to_string() == value.to_string() {
        f64::from(single)
    } else {
        value
    }
}

fn sum(parts: &Value) -> f64 {
    let parts = parts.as_array().unwrap().iter();
    parts.fold(0.0, |sum, part| sum + number(&part["value"]))
}

#[test]
fn explanations_of_dense_and_hybrid_scores() {
    let (here, model) = encoded();
    let with = ["--vectors", "docs.ir", "--encoder", &model];
    let search = ["search", "tiny", "green", "tea", "--json", "--explain"];
    let dense = here.ir(&[&search[..], &with].concat()).ok().out;
    assert_eq!(dense.lines().count(), 3);
    for line in dense.lines() {
        let tree = explained(line);
        let what = tree["what"].as_str().unwrap();
        assert!(what.starts_with("inner product, "), "{what}");
        assert_eq!(sum(&tree["parts"]) as f32, number(&tree["value"]) as f32);
    }
    let hybrid = [
        &search[..],
        &with,
        &["--alpha", "0.05", "--filter", "year>=2012"],
    ]
    .concat();
    let hybrid = here.ir(&hybrid).ok().out;
    assert!(hybrid.lines().count() > 1, "{hybrid}");
    let first = explained(hybrid.lines().next().unwrap());
    for line in hybrid.lines() {
        let tree = explained(line);
        assert_eq!(sum(&tree["parts"]) as f32, number(&tree["value"]) as f32);
        for part in tree["parts"].as_array().unwrap() {
            let [weight, score] = [0, 1].map(|n| number(&part["parts"][n]["value"]));
            assert_eq!(number(&part["value"]), weight * score);
        }
    }
    // BM25 with its terms, times 0.05; the inner product, times 1.
    let bm25 = &first["parts"][0];
    assert_eq!(number(&bm25["parts"][0]["value"]), f64::from(0.05_f32));
    assert!(bm25.to_string().contains("idf = ln("), "{bm25:#}");
    assert!(first["parts"][1].to_string().contains("inner product, "));
    for (part, name) in ["BM25", "vectors"].iter().enumerate() {
        let what = &first["parts"][part]["what"];
        assert_eq!(*what, format!("{name}: weight × score"));
    }
    // A list, too.
    let list = ["search", "tiny", "tea", "--explain"];
    let list = here.ir(&[&list[..], &with].concat()).ok().out;
    assert!(
        list.contains("inner product, in double precision") && list.contains("component "),
        "{list}"
    );
}

#[test]
fn encoded_queries_give_the_run_of_the_encoder() {
    let (here, model) = encoded();
    let with_model = ["--vectors", "docs.ir", "--encoder", &model];
    let with_file = ["--vectors", "docs.ir", "--query-vectors", "queries.ir"];
    for alpha in [&[][..], &["--alpha", "0.3"]] {
        let run = |with: &[&str]| {
            here.ir(&[&["search", "tiny"], with, alpha].concat())
                .ok()
                .out
        };
        let expected = run(&with_model);
        assert_eq!(expected.lines().count(), 6, "{expected}");
        assert_eq!(run(&with_file), expected);
    }
    let search = |more: &[&str]| here.ir(&[&["search", "tiny"], more].concat());
    // Neither or both, words, and options of an encoder.
    search(&["--vectors", "docs.ir"]).fails(2, &["--encoder or --query-vectors"]);
    search(&[&with_file[..], &["--encoder", &model]].concat()).fails(2, &["--encoder"]);
    search(&[&["tea"], &with_file[..]].concat()).fails(2, &["--query-vectors"]);
    search(&[&with_file[..], &["--prefix", "q: "]].concat())
        .fails(2, &["--prefix: expected --encoder, found --query-vectors"]);
    // Documents in place of queries, and the other way round.
    search(&["--vectors", "docs.ir", "--query-vectors", "docs.ir"]).fails(
        1,
        &[
            "docs.ir: expected vectors of queries",
            "found vectors of documents",
        ],
    );
    search(&["--vectors", "queries.ir", "--query-vectors", "queries.ir"])
        .fails(1, &["queries.ir: expected vectors of documents"]);
    search(&["--vectors", "docs.ir", "--query-vectors", "none.ir"]).fails(1, &["none.ir"]);
    here.write("text.ir", "tea");
    search(&["--vectors", "docs.ir", "--query-vectors", "text.ir"])
        .fails(1, &["--query-vectors: text.ir: expected vectors"]);
    // Vectors of another pooling, of another text, and of no such query.
    let cls = [
        "encode",
        &model,
        "tiny",
        "--queries",
        "-o",
        "cls.ir",
        "--pooling",
        "cls",
    ];
    here.ir(&cls).ok();
    let other = ["--vectors", "docs.ir", "--query-vectors", "cls.ir"];
    search(&other).fails(1, &["cls.ir: expected pooling mean, found cls"]);
    let ran = search(&[&other[..], &["--any-encoder"]].concat()).ok();
    assert!(
        ran.err.contains("expected pooling mean, found cls"),
        "{}",
        ran.err
    );
    for (text, error) in [
        (
            "q1\tgreen tea\nq2\trivers\n",
            "found that of another text for \"q1\"",
        ),
        ("q1\ttea leaves\nq9\trivers\n", "found none of \"q9\""),
    ] {
        here.write("queries.tsv", text);
        search(&[&with_file[..], &["--queries", "queries.tsv"]].concat())
            .fails(1, &["queries.ir", error]);
    }
}

#[test]
fn several_weights_give_a_run_each() {
    let (here, _) = encoded();
    let with = words("search tiny --vectors docs.ir --query-vectors queries.ir");
    let search = |more: &[&str]| here.ir(&[&with[..], more].concat());
    search(&["--alpha", "0,0.25,2", "-o", "run-{alpha}.trec"]).ok();
    for alpha in ["0", "0.25", "2"] {
        let expected = search(&["--alpha", alpha]).ok().out;
        let found = here.read(&format!("run-{alpha}.trec"));
        assert!(
            found
                .lines()
                .all(|line| line.ends_with(&format!(" ir-hybrid-{alpha}")))
        );
        let tag = format!("ir-hybrid-{alpha}");
        assert_eq!(found.replace(&tag, "ir-hybrid"), expected);
    }
    assert_ne!(
        here.read("run-0.trec"),
        here.read("run-2.trec").replace("-2", "-0")
    );
    // Vectors and queries are opened once: a warning is printed once.
    let corpus = here.read("tiny/corpus.jsonl");
    let fourth = "{\"_id\": \"d4\", \"text\": \"green\"}\n";
    here.write("tiny/corpus.jsonl", format!("{corpus}{fourth}"));
    let ran = search(&["--alpha", "1,2,3", "-o", "{alpha}"]).ok();
    let warning = "warning: docs.ir: 1 of 4 documents have no vector and cannot be retrieved (run `ir encode` again)\n";
    assert_eq!(ran.err, warning);
    here.write("tiny/corpus.jsonl", corpus);
    search(&["--alpha", "1,2", "-o", "{alpha}", "--tag", "mine"]).ok();
    assert!(here.read("2").lines().all(|line| line.ends_with(" mine-2")));
    search(&["--alpha", "1", "-o", "one-{alpha}"]).ok();
    assert!(here.at("one-1").exists());
    // Names without the weight, lists, and a weight twice.
    search(&["--alpha", "1,2"]).fails(2, &["--output: expected a name with {alpha}"]);
    search(&["--alpha", "1,2", "-o", "run"]).fails(2, &["--output", "{alpha}"]);
    search(&["--alpha", "1,2", "--json"]).fails(2, &["--alpha: expected one weight"]);
    search(&["--alpha", "1,2,1", "-o", "{alpha}"]).fails(2, &["--alpha", "found 1 twice"]);
    // A computed name is not an input.
    search(&[
        "--alpha",
        "1,2",
        "-o",
        "tiny/qrels/{alpha}.tsv",
        "--queries",
        "tiny",
    ])
    .ok();
    here.write("run-1.jsonl", here.read("tiny/queries.jsonl"));
    let input = words("--queries run-1.jsonl --alpha 1,2 -o run-{alpha}.jsonl");
    search(&input).fails(2, &["run-1.jsonl"]);
}

#[test]
fn queries_without_words_have_no_hits() {
    let (here, model) = encoded();
    here.write("blank.tsv", "q1\ttea leaves\nq2\t \n");
    let with = ["--vectors", "docs.ir", "--encoder", &model];
    let search = ["search", "tiny", "--queries", "blank.tsv"];
    for alpha in [&[][..], &["--alpha", "0.3"]] {
        let run = here.ir(&[&search[..], &with, alpha].concat()).ok().out;
        assert_eq!(run.lines().count(), 3, "{run}");
        assert!(run.lines().all(|line| line.starts_with("q1 ")), "{run}");
    }
}

#[test]
fn truncated_texts_are_counted() {
    let (here, model) = encoded();
    let encode = |more: &[&str]| {
        let args = ["encode", model.as_str(), "tiny", "-o"];
        here.ir(&[&args[..], more].concat()).ok().err
    };
    let whole = encode(&["whole.ir"]);
    assert!(!whole.contains("truncated"), "{whole}");
    for (limit, count) in [("12", 1), ("6", 2)] {
        let some = encode(&["some.ir", "--max-tokens", limit]);
        let note = format!("note: some.ir: {count} of 3 texts truncated to {limit} tokens");
        assert!(some.contains(&note), "{some}");
    }
    let short = encode(&["short.ir", "--queries"]);
    assert!(!short.contains("truncated"), "{short}");
    let cut = encode(&["cut.ir", "--max-tokens", "3"]);
    assert!(
        cut.contains("note: cut.ir: 3 of 3 texts truncated to 3 tokens"),
        "{cut}"
    );
    let queries = encode(&["q.ir", "--queries", "--max-tokens", "3"]);
    assert!(
        queries.contains("note: q.ir: 1 of 2 texts truncated to 3 tokens"),
        "{queries}"
    );
    let added = encode(&["folder", "--add", "--max-tokens", "3"]);
    assert!(
        added.contains("note: folder: 3 of 3 texts truncated to 3 tokens"),
        "{added}"
    );
}

/// The type `dense` of experiment files compares the encoders that the vector files record.
#[test]
fn experiments_compare_the_encoders_of_saved_vectors() {
    let (here, model) = encoded();
    let run = |system: &str| {
        let text = format!(
            "measures = [\"AP\"]\n[[tasks]]\ncollection = \"tiny\"\n[[systems]]\nname = \"saved\"\n\
             type = \"dense\"\n{system}\n"
        );
        here.write("e.toml", text);
        here.ir("run e.toml --cache cache")
    };
    let same = run("vectors = \"docs.ir\"\nqueries = \"queries.ir\"").ok();
    assert!(!same.err.contains("warning"), "{}", same.err);
    // Another length limit is that of the queries.
    let encode = [
        "encode",
        &model,
        "tiny",
        "--queries",
        "--max-tokens",
        "8",
        "-o",
        "short.ir",
    ];
    here.ir(&encode).ok();
    run("vectors = \"docs.ir\"\nqueries = \"short.ir\"").ok();
    let encode = [
        "encode",
        &model,
        "tiny",
        "--queries",
        "--pooling",
        "max",
        "-o",
        "max.ir",
    ];
    here.ir(&encode).ok();
    let other = "vectors = \"docs.ir\"\nqueries = \"max.ir\"";
    let error = "expected pooling mean, found max (encode the queries again, with the encoder of \
                 the documents";
    run(other).fails(
        1,
        &[
            "e.toml:8: systems[0].queries: ",
            error,
            "any_encoder = true",
        ],
    );
    let accepted = run(&format!("{other}\nany_encoder = true")).ok();
    let warning = "max.ir: expected pooling mean, found max";
    assert!(accepted.err.contains(warning), "{}", accepted.err);
    // Files of the other side.
    run("vectors = \"queries.ir\"\nqueries = \"queries.ir\"").fails(
        1,
        &["e.toml:7: systems[0].vectors: queries.ir: expected vectors of documents, found vectors of queries"],
    );
    run("vectors = \"docs.ir\"\nqueries = \"docs.ir\"").fails(
        1,
        &[
            "systems[0].queries: ",
            "expected vectors of queries (`ir encode --queries`), found vectors of documents",
        ],
    );
    run("encoder = \"m\"\nany_encoder = true\n[encoders.m]\nmodel = \"x\"").fails(
        1,
        &["e.toml:8: systems[0].any_encoder: expected saved vectors, found an encoder"],
    );
}

/// The encoder of the queries and the texts of the documents are compared in a system file and in
/// an experiment, too, and messages name keys.
#[test]
fn system_files_compare_the_encoder_and_the_texts() {
    let (here, model) = encoded();
    let system = |model: &str, keys: &str| {
        let encoder = format!("encoder = {{ model = {model:?}{keys} }}");
        let system = format!(
            "[[systems]]\nname = \"s\"\ntype = \"dense\"\nvectors = \"docs.ir\"\n{encoder}\n"
        );
        here.write("s.toml", &system);
        let task = "measures = [\"AP\"]\n[[tasks]]\ncollection = \"tiny\"\n";
        here.write("e.toml", format!("{task}{system}"));
        ["search tiny --system s.toml", "run e.toml --cache cache"].map(|it| here.ir(it))
    };
    for ran in system(&model, ", pooling = \"cls\"") {
        let settings = "docs.ir: expected pooling cls, found mean (give the model, pooling, normalize, \
                        truncate_dim and precision of `ir encode`, and query_prefix, the prefix of queries; \
                        any_encoder = true searches all the same)";
        ran.fails(1, &["systems[0].encoder: ", settings]);
    }
    let other = crate::common::DISTILBERT;
    for ran in system(other, "") {
        ran.fails(1, &["docs.ir: expected model ", "found bert"]);
    }
    for ran in system(&model, ", max_tokens = 1") {
        let limit = "systems[0].encoder.max_tokens: the limit of 1 tokens is too low";
        ran.fails(1, &[limit]);
    }
    for ran in system(&model, "") {
        assert!(!ran.ok().err.contains("warning"));
    }
    let corpus = here.read("tiny/corpus.jsonl");
    here.write("tiny/corpus.jsonl", corpus.replace("winter", "summer"));
    for ran in system(&model, "") {
        let changed = "systems[0].vectors: docs.ir: expected vectors of the texts of tiny, found \
                       other texts for 1 of its documents, such as \"d3\" (run `ir encode` again; \
                       any_encoder = true searches all the same)";
        ran.fails(1, &[changed]);
    }
}

/// Messages of a type name its keys as `--set` has them.
#[test]
fn types_compare_the_encoder() {
    let (here, model) = encoded();
    let model = format!("encoder.model={model}");
    let search = ["search", "tiny", "--type", "dense", "--set", &model];
    let keys = ["--set", "vectors=docs.ir", "--set", "encoder.pooling=cls"];
    here.ir(&[&search[..], &keys].concat()).fails(
        1,
        &[
            "--set encoder: docs.ir: expected pooling cls, found mean",
            "--set encoder.query_prefix, the prefix of queries; --set any_encoder=true searches",
        ],
    );
}

/// Messages of a search name options.
#[test]
fn other_models_dimensions_and_backends() {
    let (here, model) = encoded();
    let search = |more: &[&str]| here.ir(&[&["search", "tiny"], more].concat());
    search(&["--vectors", "docs.ir", "--encoder", "no/such"])
        .fails(1, &["no/such: expected a model folder"]);
    here.write("short.jsonl", "{\"id\": \"d1\", \"vector\": [1, 2]}\n");
    search(&["--vectors", "short.jsonl", "--encoder", &model]).fails(
        1,
        &["--encoder: expected vectors of 2 dimensions, as in short.jsonl, found "],
    );
    search(&["--vectors", "short.jsonl", "--query-vectors", "queries.ir"])
        .fails(1, &["--query-vectors: expected vectors of 2 dimensions"]);
    here.write("other.jsonl", "{\"id\": \"x\", \"vector\": [1, 2]}\n");
    here.write(
        "q.jsonl",
        "{\"id\": \"q1\", \"vector\": [1, 2]}\n{\"id\": \"q2\", \"vector\": [1, 2]}\n",
    );
    search(&["--vectors", "other.jsonl", "--query-vectors", "q.jsonl"]).fails(
        1,
        &["--vectors: expected vectors of documents of the collection, found \"x\""],
    );
    let on_cpu = [
        "--vectors",
        "docs.ir",
        "--encoder",
        &model,
        "--backend",
        "cpu",
    ];
    search(&on_cpu).ok();
    search(&[&on_cpu[..], &["--save", "s.toml"]].concat())
        .fails(2, &["--backend cpu: expected no --save"]);
    let weights = [
        "--vectors",
        "docs.ir",
        "--encoder",
        &model,
        "--alpha",
        "1,2",
    ];
    let saved = ["-o", "{alpha}.trec", "--save", "s.toml"];
    search(&[&weights[..], &saved].concat())
        .fails(2, &["--alpha: expected one weight with --save"]);
}

/// A blank document, and vectors of documents that are not in the collection: the system of a file
/// ranks as the options do, on documents and on an index.
#[test]
fn blank_documents_and_unknown_vectors() {
    let here = Folder::new();
    here.write(
        "blank/corpus.jsonl",
        "{\"_id\": \"a\", \"title\": \"\", \"text\": \"green tea\"}\n\
         {\"_id\": \"b\", \"title\": \"\", \"text\": \" \"}\n\
         {\"_id\": \"c\", \"title\": \"milk\", \"text\": \"\"}\n",
    );
    here.write(
        "blank/queries.jsonl",
        "{\"_id\": \"q\", \"text\": \"tea\"}\n",
    );
    here.write(
        "blank/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq\ta\t1\n",
    );
    here.write(
        "docs.jsonl",
        "{\"id\": \"c\", \"vector\": [3]}\n{\"id\": \"b\", \"vector\": [2]}\n\
         {\"id\": \"a\", \"vector\": [1]}\n{\"id\": \"z\", \"vector\": [9]}\n",
    );
    here.write("query.jsonl", "{\"id\": \"q\", \"vector\": [1]}\n");
    here.ir(&["index", "blank", "-o", "blank.ir", "--store", "all"])
        .ok();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let search = [&["search"][..], arguments, &["-o", "run.trec"]];
        here.ir(&search.concat()).ok();
        let run = here.read("run.trec");
        let ids = run.lines().map(|line| line.split(' ').nth(2).unwrap());
        ids.map(str::to_owned).collect()
    };
    let on_documents = &["blank"][..];
    let on_index = &["blank.ir", "--queries", "blank/queries.jsonl"][..];
    let system = &["--system", "system.toml"][..];
    for (options, keys) in [
        (
            &["--vectors", "docs.jsonl", "--query-vectors", "query.jsonl"][..],
            "type = \"dense\"\nvectors = \"docs.jsonl\"\nqueries = \"query.jsonl\"\n",
        ),
        (
            &["--model", "random-indexing(dim=20)"],
            "type = \"random-indexing\"\ndim = 20\nanalyzer = \"porter\"\n",
        ),
    ] {
        let expected = ids(&[on_documents, options].concat());
        assert!(!expected.contains(&"b".to_owned()), "{expected:?}");
        assert_eq!(ids(&[on_index, options].concat()), expected);
        let file = format!("[[systems]]\nname = \"s\"\n{keys}");
        here.write("system.toml", format!("{file}blank = \"drop\"\n"));
        assert_eq!(ids(&[on_documents, system].concat()), expected);
        here.write("system.toml", file);
        let kept = ids(&[on_documents, system].concat());
        assert!(kept.contains(&"b".to_owned()), "{kept:?}");
        assert_eq!(ids(&[on_index, system].concat()), expected);
    }
}
