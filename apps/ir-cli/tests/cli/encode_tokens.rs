//! `ir encode` with a tiny late-interaction model: token stores.

use std::fs;

use ir_core::{DocNum, TokenEncoder};
use ir_dense::MultiVectorEncoder;
use ir_knn::{TokenEncoding, TokenStore};
use serde_json::Value;

use crate::common::{BERT, Folder, tiny};
use crate::encode::encode_and_kill;
use crate::many_texts::many_texts;

/// Folder of a model with random weights.
const COLBERT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/late-interaction/stanford"
);

/// Texts of the documents of `tiny` by the template `{title} {text}`.
const TEXTS: [&str; 3] = [
    "Tea Green tea leaves",
    "Coffee Black coffee and tea",
    "A river in winter",
];

#[test]
fn token_stores_have_the_vectors_of_the_model() {
    let here = Folder::new();
    tiny(&here);
    let encode = |output: &str, more: &[&str]| {
        let args = ["encode", COLBERT, "tiny", "-o", output];
        here.ir(&[&args[..], more].concat()).ok()
    };
    encode("f32.tokens", &["--token-encoding", "f32"]);
    let store = TokenStore::open(here.at("f32.tokens")).unwrap();
    assert_eq!(store.ids().iter().collect::<Vec<_>>(), ["d1", "d2", "d3"]);
    let model = MultiVectorEncoder::open(COLBERT).unwrap();
    assert_eq!(store.config().encoder, model.fingerprint());
    let expected = model.encode_documents(&TEXTS).unwrap();
    for (doc, expected) in (0..).zip(&expected) {
        assert_eq!(store.vectors(DocNum::new(doc)).unwrap(), *expected);
    }
    // The bytes do not depend on threads and batches.
    encode("docs.tokens", &["--threads", "2"]);
    let other = ["--threads", "1", "--batch-tokens", "1"];
    let half = ["--token-encoding", "f16"];
    encode("same.tokens", &[other.as_slice(), &half].concat());
    let bytes = |name| fs::read(here.at(name)).unwrap();
    assert!(bytes("same.tokens") == bytes("docs.tokens"));
    let log = encode("cut.tokens", &["--max-tokens", "6", "--template", "{text}"]).err;
    assert!(log.contains("texts truncated to 6 tokens"), "{log}");
    for encoding in TokenEncoding::ALL {
        let name = encoding.to_string();
        encode(&name, &["--token-encoding", &name]);
        let store = TokenStore::open(here.at(&name)).unwrap();
        assert_eq!(store.config().encoding, encoding);
        assert_eq!(store.config().codebook.is_some(), encoding.needs_codebook());
        let search = [
            "search",
            "tiny",
            "--rerank",
            COLBERT,
            "--rerank-tokens",
            &name,
        ];
        assert_eq!(here.ir(&search).ok().out.lines().count(), 3, "{name}");
    }
    let files = here.files();
    let mut names = files.iter().map(|file| file.display().to_string());
    assert!(names.all(|name| !name.contains("partial")));
}

#[test]
fn token_stores_are_described() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["encode", COLBERT, "tiny", "-o", "docs.tokens"])
        .ok();
    let store = TokenStore::open(here.at("docs.tokens")).unwrap();
    let json = |command: &str| -> Value {
        let ran = here.ir(&[command, "docs.tokens", "--json"]).ok();
        serde_json::from_str(&ran.out).unwrap()
    };
    let inspected = json("inspect");
    assert_eq!(inspected["kind"], "token store");
    assert_eq!(inspected["counts"]["documents"], 3);
    assert_eq!(inspected["counts"]["vectors"], store.tokens());
    let stats = json("stats");
    assert_eq!(stats["type"], "tokens");
    assert_eq!(stats["encoding"], "f16");
    assert_eq!(stats["vectors"], store.tokens());
    assert!(
        here.ir("stats docs.tokens")
            .ok()
            .out
            .contains("token store")
    );
    // A collection is not searched in its place.
    here.ir("index tiny -o docs.ir").ok();
    let ran = here.ir("inspect docs.ir").ok();
    assert!(ran.out.contains("index: index of"), "{}", ran.out);
}

#[test]
fn killed_token_stores_resume_to_same_bytes() {
    let here = Folder::new();
    here.write("many.tsv", many_texts(12_000));
    here.ir(&["encode", COLBERT, "many.tsv", "-o", "whole.tokens"])
        .ok();
    encode_and_kill(&here, COLBERT, "killed.tokens", &[]);
    assert!(!here.at("killed.tokens").exists());
    let resume = ["encode", COLBERT, "many.tsv", "-o", "killed.tokens"];
    // Another job does not resume it.
    let other = [&resume[..], &["--token-encoding", "int8"]].concat();
    here.ir(&other)
        .fails(1, &["killed.tokens.partial: expected", "--restart"]);
    let ran = here.ir(&resume).ok();
    assert!(ran.err.contains("resuming after "), "{}", ran.err);
    let bytes = |name| fs::read(here.at(name)).unwrap();
    assert!(bytes("killed.tokens") == bytes("whole.tokens"));
    let names = ["killed.tokens", "many.tsv", "whole.tokens"];
    assert_eq!(here.files(), names.map(|name| here.at(name)));
    // The codebook of a resumed job is the same.
    let residual = ["--token-encoding", "residual4"];
    let encode = |output| ["encode", COLBERT, "many.tsv", "-o", output];
    here.ir(&[&encode("whole4.tokens")[..], &residual].concat())
        .ok();
    encode_and_kill(&here, COLBERT, "killed4.tokens", &residual);
    let ran = here
        .ir(&[&encode("killed4.tokens")[..], &residual].concat())
        .ok();
    assert!(ran.err.contains("resuming after "), "{}", ran.err);
    assert!(bytes("killed4.tokens") == bytes("whole4.tokens"));
}

#[test]
fn options_of_other_models_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    for option in [
        &["--queries"][..],
        &["--ids", "docs.ids"],
        &["--shard", "1/2"],
        &["--pooling", "cls"],
        &["--normalize", "true"],
    ] {
        let args = ["encode", COLBERT, "tiny", "-o", "docs.tokens"];
        let expected = format!("{}: expected a model with one vector per text", option[0]);
        here.ir(&[&args[..], option].concat())
            .fails(2, &[&expected]);
    }
    here.ir(&["encode", COLBERT, "tiny", "-o", "docs.npy"])
        .fails(2, &["--output: expected the file of a token store"]);
    here.ir(&["encode", COLBERT, "tiny", "-o", "folder", "--add"])
        .fails(1, &["MultiVectorEncoder"]);
    let args = ["encode", BERT, "tiny", "-o", "docs.ir"];
    here.ir(&[&args[..], &["--token-encoding", "f16"]].concat())
        .fails(2, &["--token-encoding: expected a late-interaction model"]);
    here.write("docs.tokens.partial", "x".repeat(10_000));
    let args = ["encode", COLBERT, "tiny", "-o", "docs.tokens"];
    here.ir(&args)
        .fails(1, &["docs.tokens.partial", "--restart"]);
    here.ir(&[&args[..], &["--restart"]].concat()).ok();
    assert!(!here.at("docs.tokens.partial").exists());
    // Ids must be unique.
    let line = "{\"_id\": \"a\", \"text\": \"tea\"}\n";
    here.write("twice.jsonl", line.repeat(2));
    here.ir(&["encode", COLBERT, "twice.jsonl", "-o", "twice.tokens"])
        .fails(1, &["expected a unique id, found \"a\""]);
}
