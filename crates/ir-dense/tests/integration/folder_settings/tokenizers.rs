//! Settings of tokenizers: truncation side, byte-level BPE, white space, lowercasing.

use std::fs;

use ir_core::Side;
use ir_dense::{BiEncoder, ModelTokenizer};
use serde_json::{Value, json};

use super::{message, open, saved, with_pooling, write};
use crate::common::{copy_of, on_backend};

#[test]
fn truncates_the_side_that_the_folder_names() {
    let folder = copy_of("bert");
    let text = "a ship at sea, green tea, seen by the radar";
    let right = open(folder.path());
    let fingerprint = right.fingerprint(Side::Query);
    let whole = right.token_ids(Side::Query, text).unwrap();
    let side = |side: &str| {
        write(
            folder.path(),
            "tokenizer_config.json",
            &json!({"truncation_side": side}),
        );
    };
    side("left");
    let config = on_backend().with_max_tokens(6);
    let left = BiEncoder::open_with(folder.path(), &config).unwrap();
    let found = left.token_ids(Side::Query, text).unwrap();
    let end = &whole[whole.len() - 5..];
    assert_eq!(found, [&whole[..1], end].concat());
    assert!(left.is_truncated(Side::Query, text).unwrap());
    assert!(!left.is_truncated(Side::Query, "tea").unwrap());
    assert_ne!(
        open(folder.path()).fingerprint(Side::Query).model,
        fingerprint.model
    );
    side("right");
    assert_eq!(open(folder.path()).fingerprint(Side::Query), fingerprint);
    side("middle");
    let end = "truncation_side is \"middle\", expected left or right";
    assert!(message(folder.path()).ends_with(end));
}

#[test]
fn reads_byte_level_bpe_without_tokenizer_json() {
    let texts = [
        "a ship at sea",
        "  é東京\n",
        "<mask> a</s>b",
        "",
        "tea<pad>",
    ];
    let folder = copy_of("roberta");
    let path = folder.path().join("tokenizer.json");
    let tokenizer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let ids = || {
        let tokenizer = ModelTokenizer::open(folder.path()).unwrap();
        let ids = texts.map(|text| tokenizer.encode(text, 64).unwrap());
        (ids, tokenizer.padding())
    };
    let expected = (ids(), open(folder.path()).fingerprint(Side::Query));
    let merges = tokenizer["model"]["merges"].as_array().unwrap().iter();
    let merges = merges.map(|pair| match pair {
        Value::String(pair) => pair.clone(),
        pair => format!(
            "{} {}",
            pair[0].as_str().unwrap(),
            pair[1].as_str().unwrap()
        ),
    });
    let merges = merges.collect::<Vec<_>>().join("\n");
    fs::write(
        folder.path().join("merges.txt"),
        format!("#version: 0.2\n{merges}\n"),
    )
    .unwrap();
    write(folder.path(), "vocab.json", &tokenizer["model"]["vocab"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(
        (ids(), open(folder.path()).fingerprint(Side::Query)),
        expected
    );
    let (_here, again) = saved(&open(folder.path()));
    assert_eq!(again.fingerprint(Side::Query), expected.1);
    // Defaults of the class: <mask> does not remove the space before it.
    for file in ["tokenizer_config.json", "special_tokens_map.json"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    assert_eq!(ids(), expected.0);
    let class = json!({"tokenizer_class": "Qwen2Tokenizer"});
    write(folder.path(), "tokenizer_config.json", &class);
    let error = message(folder.path());
    assert!(
        error.contains("expected tokenizer.json for Qwen2Tokenizer"),
        "{error}"
    );
    write(
        folder.path(),
        "tokenizer_config.json",
        &json!({"pad_token": "<none>"}),
    );
    assert!(message(folder.path()).ends_with("vocab.json has no <none>"));
    fs::remove_file(folder.path().join("merges.txt")).unwrap();
    for name in ["sentencepiece.bpe.model", "spiece.model", "tokenizer.model"] {
        let path = folder.path().join(name);
        fs::write(&path, [10, 3]).unwrap();
        let error = message(folder.path());
        let here = folder.path().display();
        let end = format!(
            "{name} is a SentencePiece model, expected tokenizer.json; transformers converts it: \
             python -c \"from transformers import AutoTokenizer; \
             AutoTokenizer.from_pretrained('{here}').save_pretrained('{here}')\""
        );
        assert!(error.ends_with(&end), "{error}");
        fs::remove_file(&path).unwrap();
    }
}

/// sentence-transformers removes white space before version 5.4, and lowercases special tokens.
#[test]
fn white_space_and_lowercasing_depend_on_the_version() {
    let folder = with_pooling("roberta", &json!({}));
    let version = |version: &str| {
        let versions = json!({"__version__": {"sentence_transformers": version}});
        write(
            folder.path(),
            "config_sentence_transformers.json",
            &versions,
        );
        open(folder.path())
    };
    let ids = |encoder: &BiEncoder, text: &str| encoder.token_ids(Side::Document, text).unwrap();
    let (old, new) = (version("5.3.1"), version("6.2.0"));
    assert_eq!(ids(&old, " a ship\n"), ids(&new, "a ship"));
    assert!(ids(&new, " a ship\n").len() > ids(&new, "a ship").len());
    assert_ne!(
        old.fingerprint(Side::Document).model,
        new.fingerprint(Side::Document).model
    );
    let (_here, again) = saved(&new);
    assert_eq!(ids(&again, " a ship\n"), ids(&new, " a ship\n"));

    let limits = json!({"do_lower_case": true});
    write(folder.path(), "sentence_bert_config.json", &limits);
    let (old, new) = (version("5.3.1"), version("5.10.0"));
    assert_eq!(ids(&old, "A SHIP"), ids(&old, "a ship"));
    assert_eq!(ids(&new, "A SHIP"), ids(&old, "a ship"));
    let (_here, again) = saved(&new);
    assert_eq!(ids(&again, "A SHIP"), ids(&old, "a ship"));
}
