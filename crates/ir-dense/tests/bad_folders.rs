//! More folders that are not as they should be: each is told by file, expected and found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;

use common::{copy_of, on_backend, tiny};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, ModelError};

fn said(folder: &Path) -> String {
    BiEncoder::open(folder).unwrap_err().to_string()
}

fn replace(folder: &Path, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(folder.join(file), text.replacen(from, to, 1)).unwrap();
}

#[test]
fn tokenisers_that_are_no_objects() {
    let copy = copy_of("roberta");
    for (text, found) in [
        ("[]", "a list"),
        ("\"x\"", "a single value"),
        ("null", "null"),
    ] {
        fs::write(copy.path().join("tokenizer.json"), text).unwrap();
        let error = said(copy.path());
        let end = format!("tokenizer.json: the top level is {found}, expected an object");
        assert!(error.ends_with(&end), "{error}");
    }
    for text in [r#"{"normalizer": "x"}"#, r#"{"normalizer": []}"#] {
        fs::write(copy.path().join("tokenizer.json"), text).unwrap();
        assert!(said(copy.path()).ends_with("tokenizer.json is not a tokenizer"));
    }
}

#[test]
fn shapes_that_cannot_be() {
    for (model, from, to, end) in [
        (
            "roberta",
            "\"pad_token_id\": 1",
            "\"pad_token_id\": 18446744073709551615",
            "expected more than 18446744073709551615",
        ),
        (
            "mpnet",
            "\"relative_attention_num_buckets\": 32",
            "\"relative_attention_num_buckets\": 0",
            "relative_attention_num_buckets is 0, expected 4 or more",
        ),
        (
            "bert",
            "\"vocab_size\"",
            "\"is_decoder\": true, \"vocab_size\"",
            "is_decoder is true, expected false: attention must be bidirectional",
        ),
        (
            "bert",
            "\"num_hidden_layers\": 12",
            "\"num_hidden_layers\": 0",
            "num_hidden_layers is 0, expected 1 or more",
        ),
        (
            "bert",
            "\"num_hidden_layers\": 12",
            "\"num_hidden_layers\": 2",
            "model.safetensors",
        ),
    ] {
        let copy = copy_of(model);
        replace(copy.path(), "config.json", from, to);
        let error = said(copy.path());
        assert!(
            error.contains("config.json: ") && error.ends_with(end),
            "{error}"
        );
    }
    let copy = copy_of("bert");
    let few = ("\"num_hidden_layers\": 12", "\"num_hidden_layers\": 2");
    replace(copy.path(), "config.json", few.0, few.1);
    let error = said(copy.path());
    let part = "num_hidden_layers is 2, expected 12, the layers in ";
    assert!(error.contains(part), "{error}");
}

/// A list of tokens that has lost its end. 200 rows, of which the first 10 have tokens.
#[test]
fn vocabularies_that_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<String> = (0..600)
        .map(|n| format!("w{}", "xyz".repeat(n % 30)))
        .collect();
    let text: String = (0..300)
        .map(|n| {
            format!(
                "{}{} ",
                ['b', 'c', 'd'][n % 3],
                char::from(b'a' + (n % 26) as u8)
            )
        })
        .chain(words)
        .collect();
    let model = folder.path().join("model");
    let new = ir_dense::RandomModel::default().with_shape(8, 1, 2);
    new.create(&model, &[&*text]).unwrap();
    fs::remove_file(model.join("tokenizer.json")).unwrap();
    BiEncoder::open(&model).unwrap();
    // Rows up to the next multiple of 128 may be there for the processor's sake.
    let path = model.join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).unwrap();
    let rows = vocabulary.lines().count();
    eprintln!("{rows} rows");
    assert!(rows > 130, "{rows}");
    let first = |lines: usize| {
        let lines: Vec<&str> = vocabulary.lines().take(lines).collect();
        fs::write(&path, lines.join("\n")).unwrap();
    };
    first(rows - 1);
    BiEncoder::open(&model).unwrap();
    first(20);
    let error = said(&model);
    let end = format!("is 20, expected about {rows}, the rows of the embedding table");
    assert!(
        error.contains("vocab.txt: ") && error.ends_with(&end),
        "{error}"
    );
    fs::write(&path, vocabulary.replace("[PAD]", "[pad]")).unwrap();
    assert!(said(&model).ends_with("vocab.txt has no [PAD]"));
    // The word pieces of another model, in the other file.
    let other = folder.path().join("other");
    new.create(&other, &["green tea"]).unwrap();
    fs::copy(other.join("tokenizer.json"), model.join("tokenizer.json")).unwrap();
    let error = said(&model);
    let end = format!("expected about {rows}, the rows of the embedding table");
    assert!(
        error.contains("tokenizer.json: ") && error.ends_with(&end),
        "{error}"
    );
}

#[test]
fn files_that_were_not_fetched() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:53aa51\nsize 90868376\n";
    for (model, file) in [
        ("bert", "model.safetensors"),
        ("bert-pytorch", "pytorch_model.bin"),
        ("roberta", "tokenizer.json"),
        ("bert", "vocab.txt"),
    ] {
        let copy = copy_of(model);
        let path = copy.path().join(file);
        fs::write(&path, pointer).unwrap();
        let error = said(copy.path());
        assert!(
            error.contains(file) && error.contains("\"git lfs pull\""),
            "{error}"
        );
        // A link into a cache that was emptied.
        #[cfg(unix)]
        {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("../blobs/53aa51", &path).unwrap();
            let error = said(copy.path());
            let end = format!("{file} is a link to ../blobs/53aa51, which does not exist");
            assert!(error.ends_with(&end), "{error}");
        }
    }
    for (model, file) in [
        ("bert", "model.safetensors"),
        ("bert-pytorch", "pytorch_model.bin"),
    ] {
        let copy = copy_of(model);
        fs::remove_file(copy.path().join(file)).unwrap();
        let list = copy.path().join(format!("{file}.index.json"));
        fs::write(&list, "{}").unwrap();
        match BiEncoder::open(copy.path()).unwrap_err() {
            ModelError::Sharded { path } => assert_eq!(path, list),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn prompts_that_are_unknown() {
    let copy = copy_of("bert");
    let path = copy.path().join("config_sentence_transformers.json");
    for (prompts, expected) in [
        (
            r#"{"query": "q: ", "passage": "p: "}"#,
            "one of the prompts: passage, query",
        ),
        ("{}", "none, as there are no prompts"),
    ] {
        let text = format!(r#"{{"prompts": {prompts}, "default_prompt_name": "search"}}"#);
        fs::write(&path, text).unwrap();
        let error = said(copy.path());
        let end = format!("default_prompt_name is search, expected {expected}");
        assert!(error.ends_with(&end), "{error}");
    }
}

/// Every weight is a number, and yet no vector is.
#[test]
fn weights_that_are_too_large() {
    let copy = copy_of("bert");
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for at in (start..bytes.len() - 3).step_by(4) {
        bytes[at..at + 4].copy_from_slice(&3e38_f32.to_le_bytes());
    }
    fs::write(&path, &bytes).unwrap();
    let encoder = BiEncoder::open_with(copy.path(), &on_backend()).unwrap();
    let error = encoder.encode(Side::Query, &["a ship at sea"]).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.ends_with("expected finite numbers: the weights are too large"),
        "{source}"
    );
    // The model as it was gives numbers.
    let encoder = BiEncoder::open_with(tiny("bert"), &on_backend()).unwrap();
    encoder.encode(Side::Query, &["a ship at sea"]).unwrap();
}

/// A limit of length under a name of sentence-transformers' early days.
#[test]
fn limits_under_old_names() {
    let copy = copy_of("distilbert");
    let file = copy.path().join("sentence_distilbert_config.json");
    fs::write(file, r#"{"max_seq_length": 9}"#).unwrap();
    let encoder = BiEncoder::open(copy.path()).unwrap();
    let long = "word ".repeat(30);
    assert_eq!(encoder.token_ids(Side::Document, &long).unwrap().len(), 9);
    // The first name that is there counts.
    let file = copy.path().join("sentence_bert_config.json");
    fs::write(file, r#"{"max_seq_length": 5}"#).unwrap();
    let encoder = BiEncoder::open(copy.path()).unwrap();
    assert_eq!(encoder.token_ids(Side::Document, &long).unwrap().len(), 5);
}

#[test]
fn shapes_under_both_names() {
    let copy = copy_of("distilbert");
    replace(
        copy.path(),
        "config.json",
        "\"dim\": 12",
        "\"dim\": 12, \"hidden_size\": 12",
    );
    assert_eq!(BiEncoder::open(copy.path()).unwrap().dim(), 12);
    replace(
        copy.path(),
        "config.json",
        "\"hidden_size\": 12",
        "\"hidden_size\": 16",
    );
    let error = said(copy.path());
    let end = "config.json: dim is 12, expected 16, as hidden_size says";
    assert!(error.ends_with(end), "{error}");
}
