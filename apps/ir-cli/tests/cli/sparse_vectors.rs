//! Learned sparse vectors: `ir encode --kind sparse`, and systems of type `sparse`.

use crate::common::{BERT, Folder, tiny};

/// Learned sparse encoder with random weights.
pub(crate) const SPARSE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/sparse-encoders/bert"
);

/// Scores are inner products of the encoded lines, and are explained by tokens.
#[test]
fn encoded_collections_are_searched_and_explained() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["encode", SPARSE, "tiny", "-o", "docs.jsonl"])
        .ok();
    let queries = ["encode", SPARSE, "tiny", "--queries", "-o", "q.jsonl"];
    here.ir(&queries).ok();
    let vectors = |name: &str| -> Vec<serde_json::Value> {
        let lines = here.read(name);
        let lines = lines.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let (documents, queries) = (vectors("docs.jsonl"), vectors("q.jsonl"));
    assert_eq!(documents.len(), 3);
    let search = "search tiny --queries tiny/queries.jsonl --type sparse --set vectors=docs.jsonl --set queries=q.jsonl";
    here.ir(&format!("{search} -o run")).ok();
    let run = here.read("run");
    assert!(run.lines().count() > 0);
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let of = |all: &[serde_json::Value], id: &str| {
            let found = all.iter().find(|it| it["id"] == id).unwrap();
            found["vector"].as_object().unwrap().clone()
        };
        let (query, document) = (of(&queries, fields[0]), of(&documents, fields[2]));
        let products = query
            .iter()
            .filter_map(|(token, weight)| Some(weight.as_f64()? * document.get(token)?.as_f64()?));
        let (expected, found): (f64, f64) = (products.sum(), fields[4].parse().unwrap());
        assert!(
            (found - expected).abs() <= 1e-5 * expected,
            "{line}: {expected}"
        );
    }
    let explained = here.ir(&format!("{search} --json --explain")).ok().out;
    assert!(explained.contains("\"what\":\"token \\\""), "{explained}");
    assert!(!explained.contains("\"what\":\"component"), "{explained}");
}

#[test]
fn unusable_options_and_folders_are_errors() {
    let here = Folder::new();
    tiny(&here);
    for option in ["--quantize int8", "--truncate-dim 5", "--ids x.ids"] {
        let encode = format!("encode {SPARSE} tiny -o x.npy {option}");
        here.ir(&encode)
            .fails(2, &["expected a model of dense vectors"]);
    }
    here.ir(&["encode", SPARSE, "tiny", "-o", "x.npy"])
        .fails(2, &["--output: expected a file of JSON lines"]);
    here.ir(&["encode", BERT, "tiny", "-o", "x.jsonl", "--kind", "sparse"])
        .fails(1, &["SparseEncoder"]);
    here.ir(&["encode", SPARSE, "tiny", "-o", "x.ir", "--kind", "dense"])
        .fails(1, &["a sparse encoder is read by SparseEncoder"]);
    assert!(!here.at("x.npy").exists() && !here.at("x.jsonl").exists());
}

/// Codes of 8 bits are no vectors of a float metric.
#[test]
fn codes_are_no_vectors() {
    let here = Folder::new();
    tiny(&here);
    for format in ["int8", "ubinary"] {
        let encode = ["encode", BERT, "tiny", "-o", "x.npy", "--ids", "x.ids"];
        here.ir(&[&encode[..], &["--quantize", format]].concat())
            .ok();
        here.ir(&[
            "search",
            "tiny",
            "tea",
            "--vectors",
            "x.npy",
            "--encoder",
            BERT,
        ])
        .fails(
            1,
            &["x.npy: expected vectors of floating-point numbers, found 8-bit integers"],
        );
    }
}
