//! `ir train --sparse`: a tiny learned sparse encoder on the bundled collection.

use std::fs;

use crate::common::Folder;
use crate::sparse_vectors::SPARSE as MODEL;
use crate::train_reranker::{assert_same_model, assert_trained, here};

#[test]
fn train_save_and_resume() {
    let here = here();
    let train = format!(
        "train {MODEL} train.jsonl -o tuned --sparse --epochs 2 --batch 8 --negatives 2 --block 7 \
         --learning-rate 0.002 --temperature 20 --document-tokens 16 --document-penalty 0.001 \
         --dev bundled --dev-split test --measure RR@10 --history history.csv --curves curves.svg"
    );
    let ran = here.ir(&train).ok();
    assert_trained(&here, &ran.err);
    let modules = fs::read_to_string(here.path().join("tuned/modules.json")).unwrap();
    assert!(modules.contains("SpladePooling"), "{modules}");
    let encoded = here.ir("encode tuned bundled -o documents.jsonl").ok();
    assert!(encoded.err.contains("sparse vectors"), "{}", encoded.err);

    // One thread gives the same bytes. A checkpoint with another penalty is an error. A sparse
    // encoder is trained further.
    let weights = |folder: &str| {
        let folder = here.path().join(folder);
        fs::read(folder.join("model.safetensors")).unwrap()
    };
    let again = train.replace("-o tuned", "-o again --threads 1 --keep-checkpoints");
    here.ir(&again).ok();
    assert!(weights("tuned") == weights("again"));
    fs::remove_dir_all(here.path().join("again")).unwrap();
    let other = again.replace("0.001", "0.01");
    here.ir(&other)
        .fails(1, &["again.checkpoints", "sparsity.document.weight was"]);
    here.ir("train tuned train.jsonl -o more --sparse --epochs 1 --negatives 1")
        .ok();
}

/// An experiment trains the model of `ir mine` and `ir train --sparse`, and searches its weights as
/// files of `ir encode`.
#[test]
fn an_experiment_trains_and_searches_the_same_model() {
    let here = here();
    here.ir(&format!(
        "train {MODEL} train.jsonl -o tuned --sparse --epochs 1 --batch 8 --negatives 2 \
         --learning-rate 0.002 --temperature 20 --query-penalty 0.01 --document-tokens 16"
    ))
    .ok();
    here.write(
        "sparse.toml",
        format!(
            r#"
            measures = ["RR"]
            [[tasks]]
            collection = "bundled"
            [[systems]]
            name = "sparse"
            type = "sparse"
            encoder = "tuned"
            [encoders.tuned]
            model = "{MODEL}"
            [encoders.tuned.training]
            sparse = true
            epochs = 1
            batch_size = 8
            hard_negatives = 2
            learning_rate = 0.002
            temperature = 20
            query_penalty = 0.01
            document_tokens = 16
            "#
        ),
    );
    let planned = here.ir("run sparse.toml --dry-run").ok();
    let stage = "bert, fine-tuned as a sparse encoder on split train, epochs 1";
    assert!(planned.out.contains(stage), "{}", planned.out);
    here.ir("run sparse.toml -o results").ok();
    assert_same_model(&here, &["model.safetensors", "modules.json"]);
    let planned = here.ir("run sparse.toml --dry-run").ok();
    let end = "0 stages to do, 1 cached\n";
    assert!(planned.out.ends_with(end), "{}", planned.out);

    here.ir("encode tuned bundled -o documents.jsonl").ok();
    here.ir("encode tuned bundled --queries -o queries.jsonl")
        .ok();
    let search = "search bundled -o -";
    let files = "--type sparse --set vectors=documents.jsonl --set queries=queries.jsonl";
    let by_files = here.ir(&format!("{search} {files}")).ok().out;
    let by_encoder = format!("{search} --type sparse --set encoder.model=tuned");
    let by_encoder = here.ir(&by_encoder).ok().out;
    assert!(by_files.lines().count() > 100);
    let documents = |run: &str| -> Vec<String> {
        let fields = run.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        fields.map(|it| format!("{} {}", it[0], it[2])).collect()
    };
    assert_eq!(documents(&by_encoder), documents(&by_files));
}

#[test]
fn bad_input() {
    let here = here();
    here.write("pooling.json", r#"{"encoder": {"pooling": "cls"}}"#);
    here.write("cosine.json", r#"{"similarity": "cosine"}"#);
    let errors = r#"
        train MODEL train.jsonl -o r --sparse --late-interaction
          2: --late-interaction
        train MODEL train.jsonl -o r --sparse --preset datafinder
          2: --preset
        train MODEL train.jsonl -o r --document-penalty 1
          2: --sparse
        train MODEL train.jsonl -o r --sparse --document-penalty=-1
          2: --document-penalty
        train MODEL train.jsonl -o r --sparse --config pooling.json
          1: encoder.pooling is cls, expected none
        train MODEL train.jsonl -o r --sparse --config cosine.json
          1: similarity is cosine, expected dot, for a sparse encoder
        train MODEL train.jsonl -o r
          1: SparseEncoder
    "#;
    here.errors(&errors.replace("MODEL", MODEL));
    assert_other_systems(&here);
}

fn assert_other_systems(here: &Folder) {
    for (keys, expected) in [
        (
            "",
            "expected the key encoder, or the keys vectors and queries",
        ),
        (
            "vectors = \"x.jsonl\"",
            "systems[0].queries: expected the vectors of the queries, found none",
        ),
        (
            "encoder = { model = \"MODEL\" }\nvectors = \"x.jsonl\"",
            "expected either encoder or vectors, found both",
        ),
        (
            "encoder = { model = \"MODEL\", training = { penalty = \"l1\" } }",
            "training.penalty: expected sparse = true, which has it",
        ),
        (
            "encoder = { model = \"MODEL\", training = { sparse = true, preset = \"datafinder\" } }",
            "expected either encoder.training.sparse or encoder.training.preset, found both",
        ),
        (
            "encoder = { model = \"MODEL\", training = { sparse = true, query_penalty = -1 } }",
            "query_penalty: expected",
        ),
    ] {
        let keys = keys.replace("MODEL", MODEL);
        let text = format!("[[systems]]\nname = \"sparse\"\ntype = \"sparse\"\n{keys}\n");
        here.write("bad.toml", text);
        here.ir("search bundled --system bad.toml -o -")
            .fails(1, &[expected]);
    }
}
