//! Adapters of the library `adapters`: folders, training and errors. `families` compares vectors,
//! `src/transformer/adapter_tests.rs` the layer with a textbook version.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ir_core::{Encoder, NoProgress, Side};
use ir_dense::train::Trainer;
use ir_dense::{
    BiEncoder, CrossEncoder, CrossEncoderConfig, ExtractiveReader, describe, model_files,
};
use serde_json::{Value, json};

use crate::common::{self, copy_tree, on_backend, testdata};

const CONFIG: &str = "adapter_config.json";

fn changed(fields: &Value) -> tempfile::TempDir {
    common::changed("bert-adapter", CONFIG, fields)
}

/// Copy of the folder with another setting of the adapter; `None` removes it.
fn with_setting(key: &str, value: Option<Value>) -> tempfile::TempDir {
    let text = fs::read_to_string(testdata("families/bert-adapter").join(CONFIG)).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let settings = config["config"].as_object_mut().unwrap();
    match value {
        Some(value) => settings.insert(key.to_owned(), value),
        None => settings.remove(key),
    };
    changed(&config)
}

fn open(folder: &Path) -> BiEncoder {
    BiEncoder::open_with(folder, &on_backend()).unwrap()
}

fn error(folder: &Path) -> String {
    let error = BiEncoder::open(folder).unwrap_err().to_string();
    assert!(error.starts_with(&folder.display().to_string()), "{error}");
    error
}

fn vectors(encoder: &BiEncoder) -> Vec<f32> {
    let vectors = encoder.encode(Side::Document, &["a ship", "tea"]).unwrap();
    vectors.into_iter().collect()
}

fn model(encoder: &BiEncoder) -> String {
    encoder.fingerprint(Side::Document).model
}

#[test]
fn adapters_change_fingerprint_and_vectors_and_are_saved() {
    let folder = testdata("families/bert-adapter");
    let adapted = open(&folder);
    let base = copy_tree(&folder);
    fs::remove_file(base.path().join(CONFIG)).unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::rename(base.path().join("base").join(name), base.path().join(name)).unwrap();
    }
    let base = open(base.path());
    assert_ne!(vectors(&adapted), vectors(&base));
    assert_ne!(model(&adapted), model(&base));
    let other = with_setting("non_linearity", Some("gelu".into()));
    let other = open(other.path());
    assert_ne!(vectors(&adapted), vectors(&other));
    assert_ne!(model(&adapted), model(&other));

    let here = tempfile::tempdir().unwrap();
    let saved = here.path().join("saved");
    adapted.save(&saved).unwrap();
    for name in [CONFIG, "adapter.safetensors", "model.safetensors"] {
        assert!(saved.join(name).exists(), "{name}");
    }
    let again = open(&saved);
    assert_eq!(vectors(&adapted), vectors(&again));
    assert_eq!(model(&adapted), model(&again));

    // Models with a head apply no adapter.
    let error = CrossEncoder::with_random_head(&saved, &CrossEncoderConfig::default(), 1);
    let error = error.unwrap_err().to_string();
    let expected = "peft_type is missing (not an adapter of PEFT), expected no adapter";
    assert!(error.contains(expected), "{error}");
    let error = ExtractiveReader::open(&saved).unwrap_err().to_string();
    let expected = "name is [PRX], expected no adapter of a reader";
    assert!(error.contains(expected), "{error}");
}

/// An adapter per side, as for SPECTER2: the folders have the files of the adapter alone.
#[test]
fn sides_have_adapters_of_the_same_base_model() {
    let family = testdata("families/bert-adapter");
    let here = tempfile::tempdir().unwrap();
    let folder = |name: &str| here.path().join(name);
    for name in ["base", "query", "document"] {
        fs::create_dir(folder(name)).unwrap();
    }
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        fs::copy(family.join(name), folder("base").join(name)).unwrap();
    }
    for name in ["config.json", "model.safetensors"] {
        fs::copy(family.join("base").join(name), folder("base").join(name)).unwrap();
    }
    for (side, function) in [("query", "relu"), ("document", "gelu")] {
        let adapter = with_setting("non_linearity", Some(function.into()));
        common::replace(adapter.path(), CONFIG, "\"base\"", "\"../base\"");
        for name in [CONFIG, "pytorch_adapter.bin"] {
            fs::copy(adapter.path().join(name), folder(side).join(name)).unwrap();
        }
    }
    let both = open(here.path());
    let found = [Side::Query, Side::Document].map(|side| both.encode(side, &["tea"]).unwrap());
    let alone = ["query", "document"].map(|side| {
        let encoder = open(&folder(side));
        encoder.encode(Side::Document, &["tea"]).unwrap()
    });
    assert_eq!(found, alone);
    assert_ne!(found[0], found[1]);
}

#[test]
fn adapters_are_described() {
    let folder = testdata("families/bert-adapter");
    let described = describe(&folder, &Default::default()).unwrap();
    let tower = &described.towers[0];
    let adapter = tower.transformer.layer.adapter.as_ref().unwrap();
    // reduction_factor 5 of hidden_size 24.
    assert_eq!((&adapter.name[..], adapter.size), ("[PRX]", 4));
    let expected = ["model.safetensors", "pytorch_adapter.bin"];
    assert_eq!(tower.weights.files, expected);
    assert_eq!(tower.problems, Vec::<String>::new());
    let note = "the adapter [PRX] of ";
    let notes = &tower.notes;
    assert!(notes.iter().any(|it| it.starts_with(note)), "{notes:?}");
    let files = model_files(&folder);
    for name in [CONFIG, "pytorch_adapter.bin", "base/model.safetensors"] {
        assert!(files.contains(&folder.join(name)), "{name}");
    }
}

/// Training changes the weights of the adapter, too.
#[test]
fn adapters_are_trained() {
    let folder = testdata("families/bert-adapter");
    let config = common::config();
    let trainer = Trainer::open(&folder, &config).unwrap();
    let trained = trainer.train(&common::examples(), &mut NoProgress).unwrap();
    let here = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| here.path().join(name));
    open(&folder).save(&before).unwrap();
    trained.encoder.save(&after).unwrap();
    let adapter = |folder: &Path| fs::read(folder.join("adapter.safetensors")).unwrap();
    assert_eq!(adapter(&before).len(), adapter(&after).len());
    assert_ne!(adapter(&before), adapter(&after));
    assert_eq!(model(&trained.encoder), model(&open(&after)));
}

#[test]
fn settings_that_compute_something_else_are_errors() {
    let all = [
        ("mh_adapter", json!(true), "true, expected false"),
        ("output_adapter", json!(false), "false, expected true"),
        ("original_ln_before", json!(false), "false, expected true"),
        ("original_ln_after", json!(false), "false, expected true"),
        ("ln_before", json!(true), "true, expected false"),
        ("ln_after", json!(true), "true, expected false"),
        (
            "residual_before_ln",
            json!("post_add"),
            "\"post_add\", expected true",
        ),
        ("is_parallel", json!(true), "true, expected false"),
        ("use_gating", json!(true), "true, expected false"),
        ("cross_adapter", json!(true), "true, expected false"),
        ("phm_layer", json!(true), "true, expected false"),
        ("scaling", json!(4.0), "4.0, expected 1"),
        ("scaling", json!("learned"), "\"learned\", expected 1"),
        ("inv_adapter", json!("nice"), "\"nice\", expected none"),
        ("leave_out", json!([0]), "[0], expected none"),
        ("architecture", json!("lora"), "\"lora\", expected none"),
        (
            "non_linearity",
            json!("leakyrelu"),
            "\"leakyrelu\", expected linear, ",
        ),
        (
            "reduction_factor",
            json!({"default": 16}),
            "{\"default\":16}, expected a number above 0",
        ),
        ("reduction_factor", json!(0), "0, expected a number above 0"),
    ];
    for (key, value, expected) in all {
        let folder = with_setting(key, Some(value));
        let error = error(folder.path());
        let expected = format!("{CONFIG}: config.{key} is {expected}");
        assert!(error.contains(&expected), "{error}");
    }
    for (key, expected) in [
        ("mh_adapter", "null, expected false"),
        // The library's default.
        ("original_ln_before", "false, expected true"),
        ("reduction_factor", "null, expected a number above 0"),
        ("non_linearity", "null, expected linear, "),
    ] {
        let folder = with_setting(key, None);
        let error = error(folder.path());
        let expected = format!("config.{key} is {expected}");
        assert!(error.contains(&expected), "{error}");
    }
    // Defaults, and settings of training.
    let expected = vectors(&open(&testdata("families/bert-adapter")));
    for (key, value) in [
        ("ln_after", None),
        ("scaling", None),
        ("inv_adapter", None),
        ("dropout", Some(json!(0.1))),
        ("adapter_residual_before_ln", Some(json!(true))),
        ("reduction_factor", Some(json!(5.5))),
    ] {
        let folder = with_setting(key, value);
        assert_eq!(vectors(&open(folder.path())), expected, "{key}");
    }
}

#[test]
fn adapters_of_other_models_are_errors() {
    for (fields, expected) in [
        (
            json!({"config": "pfeiffer"}),
            "config is \"pfeiffer\", expected an object",
        ),
        (
            json!({"name": null}),
            "name is null, expected the name of the adapter",
        ),
        (
            json!({"name": "other"}),
            "[PRX].adapter_down.0.bias, expected the weights and biases of \
             output.adapters.other.adapter_down.0 and output.adapters.other.adapter_up of every layer",
        ),
        (
            json!({"hidden_size": 32}),
            "hidden_size is 32, expected 24, as of the base model",
        ),
        (
            json!({"model_type": "roberta"}),
            "model_type is \"roberta\", expected bert, as of the base model",
        ),
        (
            json!({"model_name": null}),
            "model_name is null, expected the folder or name of the base model",
        ),
        (
            json!({"model_name": "none/such"}),
            "`ir models fetch none/such` downloads it",
        ),
    ] {
        let folder = changed(&fields);
        let error = error(folder.path());
        assert!(error.contains(expected), "{fields}: {error}");
    }
    // Without reading weights, `describe` finds the error of opening the model.
    let folder = with_setting("reduction_factor", Some(json!(4)));
    let found = error(folder.path());
    let expected = "adapter_down.0.weight is [4, 24], expected [6, 24]";
    assert!(found.contains(expected), "{found}");
    let described = describe(folder.path(), &Default::default()).unwrap();
    let problems = &described.towers[0].problems;
    assert!(problems.contains(&found), "{problems:?}");

    let folder = changed(&json!({}));
    fs::remove_file(folder.path().join("pytorch_adapter.bin")).unwrap();
    let found = error(folder.path());
    let expected = "has no adapter.safetensors or pytorch_adapter.bin";
    assert!(found.ends_with(expected), "{found}");

    // Layers with other names.
    let other = copy_tree(&testdata("families/distilbert"));
    let folder = changed(&json!({"model_type": "distilbert"}));
    for name in [CONFIG, "pytorch_adapter.bin"] {
        fs::copy(folder.path().join(name), other.path().join(name)).unwrap();
    }
    let found = error(other.path());
    let expected =
        "model_type is distil-bert, expected bert, roberta, xlm-roberta, camembert, electra";
    assert!(found.contains(expected), "{found}");
}
