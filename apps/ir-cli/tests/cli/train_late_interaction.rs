//! `ir train --late-interaction`: a tiny model on the bundled collection.

use std::fs;

use crate::common::BERT_PYTORCH as MODEL;
use crate::train_reranker::{assert_same_model, assert_trained, here, write_experiment};

#[test]
fn train_save_and_resume() {
    let here = here();
    let train = format!(
        "train {MODEL} train.jsonl -o tuned --late-interaction --dim 8 --epochs 2 --batch 8 \
         --negatives 2 --block 7 --learning-rate 0.002 --document-tokens 16 --dev bundled \
         --dev-split test --measure RR@10 --candidates 20 --history history.csv --curves curves.svg"
    );
    let ran = here.ir(&train).ok();
    assert_trained(&here, &ran.err);
    let modules = fs::read_to_string(here.path().join("tuned/modules.json")).unwrap();
    assert!(modules.contains("MultiVectorMask"), "{modules}");
    let inspected = here.ir("models inspect tuned").ok();
    assert!(inspected.out.contains("late interaction"));

    // One thread gives the same bytes. A checkpoint with other candidates is an error. A
    // late-interaction model is trained further.
    let weights = |folder: &str| {
        ["model.safetensors", "1_Dense/model.safetensors"]
            .map(|file| fs::read(here.path().join(folder).join(file)).unwrap())
    };
    let again = train.replace("-o tuned", "-o again --threads 1 --keep-checkpoints");
    here.ir(&again).ok();
    assert!(weights("tuned") == weights("again"));
    fs::remove_dir_all(here.path().join("again")).unwrap();
    let other = again.replace("--candidates 20", "--candidates 10");
    here.ir(&other).fails(
        1,
        &["again.checkpoints", "expected candidates 10, found 20"],
    );
    let other = again.replace("--dim 8", "--dim 6");
    here.ir(&other)
        .fails(1, &["again.checkpoints", "weights was"]);
    here.ir(&again).ok();
    assert!(weights("tuned") == weights("again"));
    here.ir("train tuned train.jsonl -o more --late-interaction --epochs 1 --negatives 1")
        .ok();

    // A configuration file changes the fields that it has.
    here.write("settings.json", r#"{"epochs": 1, "batch_size": 8}"#);
    let short =
        format!("train {MODEL} train.jsonl --late-interaction --dim 8 --document-tokens 16");
    here.ir(&format!("{short} -o options --epochs 1 --batch 8"))
        .ok();
    here.ir(&format!("{short} -o file --config settings.json"))
        .ok();
    assert!(weights("options") == weights("file"));
}

/// An experiment trains the model of `ir mine` and `ir train --late-interaction`.
#[test]
fn an_experiment_trains_the_same_model() {
    let here = here();
    here.ir(&format!(
        "train {MODEL} train.jsonl -o tuned --late-interaction --dim 8 --epochs 1 --batch 8 \
         --negatives 2 --learning-rate 0.002 --temperature 0.5 --constant --query-tokens 24 \
         --document-tokens 16"
    ))
    .ok();
    write_experiment(
        &here,
        r#"
            late_interaction = true
            dim = 8
            epochs = 1
            batch_size = 8
            hard_negatives = 2
            learning_rate = 0.002
            temperature = 0.5
            decay = "constant"
            query_tokens = 24
            document_tokens = 16
        "#,
    );
    here.ir("run rerank.toml").ok();
    assert_same_model(
        &here,
        &[
            "model.safetensors",
            "1_Dense/model.safetensors",
            "sentence_bert_config.json",
        ],
    );
}

#[test]
fn bad_input() {
    let here = here();
    here.write("pooling.json", r#"{"encoder": {"pooling": "cls"}}"#);
    here.write("distill.json", r#"{"loss": {"kind": "margin_mse"}}"#);
    let errors = r#"
        train MODEL train.jsonl -o r --late-interaction --pooling cls
          2: --pooling
        train MODEL train.jsonl -o r --late-interaction --preset datafinder
          2: --preset
        train MODEL train.jsonl -o r --late-interaction --document-model MODEL
          2: --document-model
        train MODEL train.jsonl -o r --late-interaction --dim 0
          2: --dim
        train MODEL train.jsonl -o r --dim 8
          2: --late-interaction
        train MODEL train.jsonl -o r --late-interaction --candidates 5
          2: --dev
        train MODEL train.jsonl -o r --late-interaction --config pooling.json
          1: encoder.pooling is cls, expected none
        train MODEL train.jsonl -o r --late-interaction --config distill.json
          1: has no score, which distillation needs
        train MODEL train.jsonl -o r --late-interaction --query-tokens 4000
          1: at most 32
        train LATE train.jsonl -o r --late-interaction --dim 4
          1: the dimension of the vectors is 4, expected 8
        train LATE train.jsonl -o r
          1: MultiVectorEncoder reads late-interaction models
    "#;
    let late = MODEL.replace("tiny/bert-pytorch", "late-interaction/pylate");
    here.errors(&errors.replace("MODEL", MODEL).replace("LATE", &late));
    assert!(!here.path().join("r").exists());
}
