//! `ir search --vectors`: dense retrieval and hybrid search. One test needs a model
//! (`IR_MODEL=$(.ci/model)`) and is skipped with a notice without one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::Folder;

/// The vectors of a `.npy` file of 32-bit numbers, by id.
fn vectors(here: &Folder, name: &str, ids: &str) -> Vec<(String, Vec<f32>)> {
    let bytes = fs::read(here.at(name)).unwrap();
    let head = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let values: Vec<f32> = bytes[head..]
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let ids = here.read(ids);
    let ids: Vec<String> = ids.lines().map(str::to_owned).collect();
    let dim = values.len() / ids.len();
    ids.into_iter()
        .zip(values.chunks_exact(dim).map(<[f32]>::to_vec))
        .collect()
}

/// Scores by query and document, and the documents of each query in their order.
type Lists = BTreeMap<String, Vec<(String, f64)>>;

fn lists(run: &str) -> Lists {
    let mut lists = Lists::new();
    for line in run.lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let list = lists.entry(columns[0].to_owned()).or_default();
        list.push((columns[2].to_owned(), columns[4].parse().unwrap()));
    }
    lists
}

#[test]
fn dense_and_hybrid_search() {
    let model = std::env::var("IR_MODEL").unwrap_or_default();
    if !Path::new(&model).join("config.json").exists() {
        eprintln!("skipped: IR_MODEL names no model (.ci/model fetches one)");
        return;
    }
    let here = Folder::new();
    let ir = |args: &[&str]| here.ir(args);
    ir(&["encode", &model, "bundled", "-o", "docs.ir"]).ok();
    ir(&[
        "encode", &model, "bundled", "-o", "docs.npy", "--ids", "docs",
    ])
    .ok();
    ir(&[
        "encode",
        &model,
        "bundled",
        "--queries",
        "-o",
        "q.npy",
        "--ids",
        "q",
    ])
    .ok();
    let (docs, queries) = (
        vectors(&here, "docs.npy", "docs"),
        vectors(&here, "q.npy", "q"),
    );
    let search = |more: &[&str]| {
        let usual = ["search", "bundled", "--scores", "exact", "-k", "1000"];
        ir(&[&usual[..], more].concat()).ok().out
    };
    let with = ["--vectors", "docs.ir", "--encoder", model.as_str()];
    let words = lists(&search(&[]));
    let dense = search(&with);
    assert!(dense.lines().all(|line| line.ends_with(" ir-vectors")));
    let hybrid = search(&[&with[..], &["--alpha", "0.05"]].concat());
    assert!(hybrid.lines().all(|line| line.ends_with(" ir-hybrid")));
    for (found, alpha) in [(lists(&dense), 0.0), (lists(&hybrid), 0.05)] {
        assert_eq!(found.len(), queries.len());
        for (query, vector) in &queries {
            let bm25 = |doc: &str| {
                let list = words.get(query).into_iter().flatten();
                list.clone()
                    .find(|(id, _)| id == doc)
                    .map_or(0.0, |(_, score)| *score)
            };
            let sums: BTreeMap<&str, f64> = docs
                .iter()
                .map(|(id, row)| {
                    let pairs = row
                        .iter()
                        .zip(vector)
                        .map(|(a, b)| f64::from(*a) * f64::from(*b));
                    (id.as_str(), pairs.sum::<f64>() + alpha * bm25(id))
                })
                .collect();
            let list = &found[query];
            assert_eq!(list.len(), docs.len());
            assert!(list.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            for (doc, score) in list {
                let expected = sums[doc.as_str()];
                assert!(
                    (score - expected).abs() < 1e-5,
                    "{query} {doc} {score} {expected}"
                );
            }
        }
    }
    // A result list with a filter; invalid combinations.
    let typed = ["search", "bundled", "ships", "--filter", "year<=2015"];
    let list = ir(&[&typed[..], &with[..]].concat()).ok();
    assert!(list.out.lines().count() > 5, "{}", list.out);
    let list = ir(&[&typed[..], &with[..], &["--explain"]].concat()).ok();
    assert!(
        list.out.contains("inner product, in double"),
        "{}",
        list.out
    );
    ir(&["search", "bundled", "--vectors", "docs.ir"]).fails(2, &["--encoder"]);
    let published = ["search", "bundled", "--not-later-than-query=published"];
    ir(&[&published[..], &with[..]].concat()).fails(2, &["expected BM25, found --vectors"]);
    here.write("other.jsonl", "{\"_id\": \"x\", \"text\": \"ships\"}\n");
    let other = ["search", "other.jsonl", "ships"];
    let first = &docs[0].0;
    let expected =
        format!("--vectors: expected vectors of documents of the collection, found {first:?}");
    ir(&[&other[..], &with[..]].concat()).fails(1, &[&expected]);
}

/// `ir search` accepts the encoder options of `ir encode`.
#[test]
fn query_encoder_options() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ir-dense/testdata/tiny/bert");
    let model = folder.to_str().unwrap();
    let here = Folder::new();
    crate::common::tiny(&here);
    let how = [
        "--prefix",
        "the sea at night: ",
        "--max-tokens",
        "6",
        "--pooling",
        "cls",
        "--normalize",
        "false",
        "--backend",
        "cpu",
    ];
    let encode = |more: &[&str]| {
        here.ir(&[&["encode", model, "tiny"], more, &how].concat())
            .ok();
    };
    encode(&["-o", "docs.ir"]);
    encode(&["-o", "docs.npy", "--ids", "docs"]);
    encode(&["--queries", "-o", "q.npy", "--ids", "q"]);
    let with = [
        "search",
        "tiny",
        "--scores",
        "exact",
        "--vectors",
        "docs.ir",
        "--encoder",
        model,
    ];
    let configured = here.ir(&[&with[..], &how].concat()).ok().out;
    let default = here.ir(&[&with[..], &["--prefix", ""], &how[4..]].concat());
    assert!(configured != default.ok().out);
    let found = lists(&configured);
    let queries = vectors(&here, "q.npy", "q");
    let docs = vectors(&here, "docs.npy", "docs");
    assert_eq!((found.len(), docs.len()), (queries.len(), 3));
    for (query, vector) in &queries {
        let list = &found[query];
        assert_eq!(list.len(), docs.len());
        for (doc, score) in list {
            let (_, row) = docs.iter().find(|(id, _)| id == doc).unwrap();
            let pairs = row.iter().zip(vector);
            let expected: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert!((score - expected).abs() < 1e-5 * expected.abs().max(1.0));
        }
    }
    let low = here.ir(&[&with[..], &["--max-tokens", "1"]].concat());
    low.fails(2, &["--max-tokens: the limit of 1 tokens is too low"]);
}

/// Without --vectors or --alpha, options of the encoder or of BM25 have no effect.
#[test]
fn options_without_effect() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "tiny", "-o", "docs.ir"]).ok();
    here.ir(&["search", "tiny", "--pooling", "cls"])
        .fails(2, &["--pooling: expected --vectors"]);
    let with = ["search", "tiny", "--vectors", "docs.ir", "--encoder", bert];
    for (option, value) in [
        ("--k1", "1.2"),
        ("--b", "0.5"),
        ("--preset", "lucene"),
        ("--lengths", "one-byte"),
        ("--model", "bm25"),
        ("--weights", "contents=2"),
        ("--analysis", "english"),
        ("--fields", "text"),
        ("--order", "id"),
        ("--feedback", "rm3"),
        ("--sdm", "1,0,0"),
    ] {
        let expected = format!("{option}: expected --alpha (hybrid search), found --vectors");
        let dense = here.ir(&[&with[..], &[option, value]].concat());
        dense.fails(2, &[&expected]);
        let hybrid = [&with[..], &["--alpha", "0.1", option, value]].concat();
        here.ir(&hybrid).ok();
    }
    here.ir(&[&with[..], &["--memory", "64MB"]].concat()).ok();
}

pub(crate) const TINY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/tiny/"
);

/// Vectors of another encoder, of the same encoder with other options, or of other texts are an
/// error that names what differs.
#[test]
fn other_encoders_and_texts() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    let encode = |more: &[&str]| {
        here.ir(&[&["encode", bert, "tiny", "-o", "docs.ir"], more].concat())
            .ok();
    };
    let search = |model: &str, more: &[&str]| {
        let args = ["search", "tiny", "--vectors", "docs.ir", "--encoder", model];
        here.ir(&[&args[..], more].concat())
    };
    encode(&["--max-tokens", "9", "--template", "{text}: {title}"]);
    let model = here.ir(&["encode", bert, "tiny", "-o", "v.npy"]).ok().err;
    assert!(
        model.contains("dimensions (mean pooling, not normalized, at most "),
        "{model}"
    );
    assert_eq!(search(bert, &[]).ok().err, "");
    search(bert, &["--max-tokens", "7", "--prefix", "the "]).ok();
    let other = format!("{TINY}distilbert");
    search(&other, &[]).fails(1, &["docs.ir: expected model distilbert (", "found bert ("]);
    let ran = search(&other, &["--any-encoder"]).ok();
    assert!(
        ran.err
            .starts_with("warning: docs.ir: expected model distilbert ("),
        "{}",
        ran.err
    );
    let options = ["--pooling", "cls", "--normalize", "true"];
    let parts = [
        "docs.ir: expected pooling cls, found mean; expected normalize true, found false",
        "`ir encode`",
    ];
    search(bert, &options).fails(1, &parts);
    encode(&options);
    search(bert, &options).ok();
    let parts = ["expected pooling mean, found cls; expected normalize false, found true"];
    search(bert, &[]).fails(1, &parts);

    // Documents with a prefix need queries with a prefix, which may be empty.
    encode(&["--prefix", "a "]);
    search(bert, &[]).fails(
        1,
        &["docs.ir: expected prefix \"\", found \"a \"", "--prefix"],
    );
    assert_eq!(search(bert, &["--prefix", "the "]).ok().err, "");
    assert_eq!(search(bert, &["--prefix", ""]).ok().err, "");
    assert_eq!(
        search(bert, &["--prefix", "a "]).ok().err,
        "warning: --prefix: the prefix of the documents (`ir encode`); here it is that of queries\n"
    );
}

/// Vectors of another precision are an error that names both, of documents, queries and unfinished
/// or updated files.
#[test]
fn precisions() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    let encode = |more: &[&str]| here.ir(&[&["encode", bert, "tiny", "-o"], more].concat());
    let search =
        |more: &[&str]| here.ir(&[&["search", "tiny", "--vectors", "docs.ir"], more].concat());
    let with = |precision| ["--encoder", bert, "--precision", precision];
    let log = encode(&["docs.ir", "--precision", "int8"]).ok().err;
    assert!(log.contains(" tokens, int8), "), "{log}");
    let int8 = search(&with("int8")).ok().out;
    assert!(int8.lines().count() > 1, "{int8}");
    search(&["--encoder", bert]).fails(
        1,
        &["docs.ir: expected precision f32, found int8", "--precision"],
    );
    search(&with("bf16")).fails(1, &["docs.ir: expected precision bf16, found int8"]);
    let any = [&with("bf16")[..], &["--any-encoder"]].concat();
    let warning = search(&any).ok().err;
    assert!(
        warning.starts_with("warning: docs.ir: expected precision bf16, found int8"),
        "{warning}"
    );
    for (name, precision) in [("q8.ir", "int8"), ("q32.ir", "f32")] {
        encode(&[name, "--queries", "--precision", precision]).ok();
    }
    assert_eq!(search(&["--query-vectors", "q8.ir"]).ok().out, int8);
    search(&["--query-vectors", "q32.ir"])
        .fails(1, &["q32.ir: expected precision int8, found f32"]);

    // f32 is not recorded: files are those of earlier versions.
    encode(&["v32.ir"]).ok();
    encode(&["f32.ir", "--precision", "f32"]).ok();
    let bytes = |name: &str| std::fs::read(here.at(name)).unwrap();
    assert_eq!(bytes("v32.ir"), bytes("f32.ir"));
    assert_ne!(bytes("v32.ir"), bytes("docs.ir"));
    encode(&["folder", "--add", "--precision", "bf16"]).ok();
    encode(&["folder", "--add"]).fails(1, &["folder: expected precision bf16, found f32"]);

    let other = ["x.ir", "--precision", "int8", "--backend", "tch"];
    let error = "--precision: precision int8: expected the backend cpu, found tch";
    encode(&other).fails(2, &[error]);
    encode(&["x.ir", "--precision", "fp16"]).fails(2, &["fp16", "bf16, int8"]);
    search(&["--query-vectors", "q8.ir", "--precision", "int8"])
        .fails(2, &["--precision: expected --encoder"]);
}

/// A document whose text is not the encoded one is an error, in a collection, a cached and a saved
/// index, also if documents were added or removed.
#[test]
fn texts_that_changed() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "tiny", "-o", "docs.ir"]).ok();
    let corpus = here.read("tiny/corpus.jsonl");
    let rewritten = corpus.replace("winter", "summer");
    let without_first = |corpus: &str| {
        let lines: Vec<&str> = corpus.lines().skip(1).collect();
        lines.join("\n")
    };
    let with_fourth = |corpus: &str| format!("{corpus}{{\"_id\": \"d4\", \"text\": \"green\"}}\n");
    let reversed: Vec<&str> = corpus.lines().rev().collect();
    let missing = "warning: docs.ir: 1 of 4 documents have no vector";
    let left_out = "warning: docs.ir: 1 of 3 vectors are left out, of documents that the collection lacks, such as \"d1\"";
    let both = rewritten.replace("Black", "Cold");
    let changed = |count: usize, first: &str| {
        format!("found other texts for {count} of its documents, such as \"{first}\"")
    };
    let cases = [
        (corpus.clone(), "", Ok(())),
        (reversed.join("\n"), "", Ok(())),
        (without_first(&corpus), left_out, Ok(())),
        (with_fourth(&corpus), missing, Ok(())),
        (rewritten.clone(), "", Err(changed(1, "d3"))),
        (without_first(&rewritten), left_out, Err(changed(1, "d3"))),
        (with_fourth(&rewritten), missing, Err(changed(1, "d3"))),
        (both, "", Err(changed(2, "d2"))),
    ];
    for (corpus, warning, expected) in &cases {
        // One line, beside the warning of the documents that were added or removed.
        let assert_line = |err: &str, line: &str| {
            assert!(err.lines().any(|found| found == line), "{err}");
            assert!(err.contains(warning), "{err}");
            let count = 1 + usize::from(!warning.is_empty());
            assert_eq!(err.lines().count(), count, "{err}");
        };
        here.write("tiny/corpus.jsonl", corpus);
        here.ir(&["index", "tiny", "-o", "x.ir"]).ok();
        let queries = ["--queries", "tiny/queries.jsonl"];
        let vectors = ["--vectors", "docs.ir", "--encoder", bert];
        let usual = [&queries[..], &vectors].concat();
        for (name, more) in [
            ("tiny", &[][..]),
            ("tiny", &["--cache", "c"]),
            ("x.ir", &[]),
        ] {
            let search = [&["search", name], &usual[..], more].concat();
            let ran = here.ir(&search);
            match expected {
                Ok(()) => {
                    let err = ran.ok().err;
                    assert_eq!(err.is_empty(), warning.is_empty(), "{err}");
                    assert!(err.starts_with(warning) && err.lines().count() < 2, "{err}");
                }
                Err(changed) => {
                    let name = format!("docs.ir: expected vectors of the texts of {name}, ");
                    ran.fails(1, &[&name, changed, "run `ir encode` again; --any-encoder"]);
                    let ran = here.ir(&[&search[..], &["--any-encoder"]].concat()).ok();
                    assert_line(&ran.err, &format!("warning: {name}{changed}"));
                }
            }
        }
        here.ir(&["index", "tiny", "-o", "ids.ir", "--store", "nothing"])
            .ok();
        let ran = here.ir(&[&["search", "ids.ir"], &usual[..]].concat()).ok();
        let note = "note: docs.ir: not compared with the texts of ids.ir, which stores none";
        assert_line(&ran.err, note);
    }
    // The template is that of the vectors.
    here.write("tiny/corpus.jsonl", &corpus);
    let template = ["--template", "{kind}: {text}"];
    here.ir(&[&["encode", bert, "tiny", "-o", "docs.ir"], &template[..]].concat())
        .ok();
    here.ir(&["index", "tiny", "-o", "x.ir"]).ok();
    let search = [
        "search",
        "x.ir",
        "tea",
        "--vectors",
        "docs.ir",
        "--encoder",
        bert,
    ];
    assert_eq!(here.ir(&search).ok().err, "");
    here.write("tiny/corpus.jsonl", corpus.replace("drink", "plant"));
    here.ir(&["index", "tiny", "-o", "x.ir"]).ok();
    here.ir(&search).fails(1, &[&changed(1, "d1")]);
}

/// Vectors depend on the order of words.
#[test]
fn query_syntax_with_vectors() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "tiny", "-o", "docs.ir"]).ok();
    let args = [
        "search",
        "tiny",
        "tea AND milk",
        "--vectors",
        "docs.ir",
        "--encoder",
        bert,
    ];
    assert_eq!(
        here.ir(&args).ok().err,
        "warning: query syntax is not supported: AND is searched as text\n"
    );
}

/// Runs of vectors, and of BM25 that Lucene does not have, are exact by default; other runs of BM25
/// have the scores of Anserini.
#[test]
fn default_score_formats() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "tiny", "-o", "docs.ir"]).ok();
    let vectors = ["--vectors", "docs.ir", "--encoder", bert];
    let hybrid = [&vectors[..], &["--alpha", "0.1"]].concat();
    let cases: [(&[&str], &str); 4] = [
        (&[], "anserini"),
        (&["--lengths", "exact"], "exact"),
        (&vectors, "exact"),
        (&hybrid, "exact"),
    ];
    for (options, default) in cases {
        let run = |more: &[&str]| {
            let args = ["search", "tiny"];
            here.ir(&[&args[..], options, more].concat()).ok().out
        };
        let found = run(&[]);
        for format in ["anserini", "exact"] {
            let same = run(&["--scores", format]) == found;
            assert_eq!(same, format == default, "{options:?} {format}");
        }
    }
}
