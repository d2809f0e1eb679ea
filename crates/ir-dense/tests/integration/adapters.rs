//! Adapters: what is merged is compared in `families`; here are fingerprints and errors.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, describe, model_files};
use serde_json::{Value, json};

use crate::common::{self, copy_tree, testdata};

fn changed(family: &str, fields: &Value) -> tempfile::TempDir {
    common::changed(family, "adapter_config.json", fields)
}

fn error(folder: &Path) -> String {
    BiEncoder::open(folder).unwrap_err().to_string()
}

#[test]
fn adapters_change_fingerprint_and_vectors_and_are_saved_merged() {
    let folder = testdata("families").join("bert-lora");
    let adapted = BiEncoder::open(&folder).unwrap();
    let copy = copy_tree(&folder);
    fs::remove_file(copy.path().join("adapter_config.json")).unwrap();
    let base = BiEncoder::open(copy.path()).unwrap();
    let vectors = |encoder: &BiEncoder| encoder.encode(Side::Document, &["a ship"]).unwrap();
    assert_ne!(vectors(&adapted), vectors(&base));
    let model = |encoder: &BiEncoder| encoder.fingerprint(Side::Document).model;
    assert_ne!(model(&adapted), model(&base));

    let scaled = changed("bert-lora", &json!({"lora_alpha": 7}));
    let scaled = BiEncoder::open(scaled.path()).unwrap();
    assert_ne!(model(&adapted), model(&scaled));

    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("saved");
    adapted.save(&saved).unwrap();
    assert!(!saved.join("adapter_config.json").exists());
    let saved = BiEncoder::open(&saved).unwrap();
    assert_eq!(vectors(&adapted), vectors(&saved));
    assert_eq!(model(&adapted), model(&saved));
}

/// The base model has the configuration, and the tokenizer if the adapter has none.
#[test]
fn base_models_are_folders_that_the_adapter_names() {
    let family = testdata("families").join("qwen3-lora");
    let copy = copy_tree(&family);
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        let base = copy.path().join("base").join(name);
        fs::rename(copy.path().join(name), base).unwrap();
    }
    let [found, expected] = [copy.path(), &family].map(|folder| {
        let encoder = BiEncoder::open(folder).unwrap();
        encoder.encode(Side::Document, &["a ship"]).unwrap()
    });
    assert_eq!(found, expected);
    let described = describe(copy.path(), &Default::default()).unwrap();
    let tower = &described.towers[0];
    assert_eq!(
        tower.weights.files,
        ["model.safetensors", "adapter_model.safetensors"]
    );
    assert!(
        tower.notes.iter().any(|note| note.contains("LoRA")),
        "{:?}",
        tower.notes
    );
    let files = model_files(copy.path());
    for name in [
        "adapter_config.json",
        "adapter_model.safetensors",
        "base/model.safetensors",
    ] {
        assert!(files.contains(&copy.path().join(name)), "{name}");
    }
}

#[test]
fn adapters_that_are_not_merged_are_errors() {
    for (fields, expected) in [
        (
            json!({"peft_type": "IA3"}),
            "peft_type is \"IA3\", expected \"LORA\"",
        ),
        (
            json!({"peft_type": null}),
            "peft_type is null, expected \"LORA\"",
        ),
        (json!({"use_dora": true}), "use_dora is true, expected none"),
        (json!({"bias": "all"}), "bias is \"all\", expected \"none\""),
        (
            json!({"modules_to_save": ["pooler"]}),
            "modules_to_save is [\"pooler\"]",
        ),
        (
            json!({"init_lora_weights": "pissa"}),
            "init_lora_weights is \"pissa\"",
        ),
        (json!({"r": 0}), "r is 0, expected 1 or more"),
        (json!({"r": 5}), "expected [5, 24] as in the configuration"),
        // Overflows when it is merged.
        (json!({"lora_alpha": 1e300}), ", expected a finite number"),
        (
            json!({"lora_alpha": "6"}),
            "lora_alpha is \"6\", expected a number",
        ),
        (
            json!({"rank_pattern": {"(": 2}}),
            "rank_pattern.( is (, expected a regular expression",
        ),
        (
            json!({"alpha_pattern": {"query": 2, "self.query": 3}}),
            "expected the value of the other patterns that match encoder.layer.0.attention.self.query",
        ),
    ] {
        let folder = changed("bert-lora", &fields);
        let error = error(folder.path());
        let start = folder.path().display().to_string();
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains(expected), "{fields}: {error}");
    }
    // Without reading weights, `describe` finds the error of opening the model.
    let folder = changed("bert-lora", &json!({"r": 5}));
    let described = describe(folder.path(), &Default::default()).unwrap();
    let problems = &described.towers[0].problems;
    assert!(problems.contains(&error(folder.path())), "{problems:?}");
}

#[test]
fn missing_files_of_adapters_are_errors() {
    let folder = changed(
        "qwen3-lora",
        &json!({"base_model_name_or_path": "none/such"}),
    );
    let found = error(folder.path());
    let expected =
        "base_model_name_or_path is \"none/such\", expected a model folder or a model in ";
    assert!(found.contains(expected), "{found}");
    assert!(
        found.ends_with("`ir models fetch none/such` downloads it"),
        "{found}"
    );

    let folder = changed("qwen3-lora", &json!({"base_model_name_or_path": null}));
    assert!(error(folder.path()).contains("base_model_name_or_path is null"));

    let folder = changed("qwen3-lora", &json!({}));
    fs::write(folder.path().join("base/adapter_config.json"), "{}").unwrap();
    assert!(error(folder.path()).contains("without an adapter of its own"));

    let folder = changed("qwen3-lora", &json!({}));
    fs::remove_file(folder.path().join("adapter_model.safetensors")).unwrap();
    let found = error(folder.path());
    assert!(
        found.ends_with("has no adapter_model.safetensors or adapter_model.bin"),
        "{found}"
    );

    // The adapter of another model.
    let folder = changed("qwen3-lora", &json!({}));
    let other = testdata("families/bert-lora/adapter_model.safetensors");
    fs::copy(other, folder.path().join("adapter_model.safetensors")).unwrap();
    let found = error(folder.path());
    assert!(found.contains("has no tensor encoder.layer.0."), "{found}");
}
