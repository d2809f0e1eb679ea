//! `ir train-reranker`: a tiny model on the bundled collection.

use std::fs;

use crate::common::{BERT_PYTORCH as MODEL, Folder};

/// Folder with training examples of the bundled collection.
pub(crate) fn here() -> Folder {
    let here = Folder::new();
    here.ir("mine bundled -o train.jsonl").ok();
    here
}

/// Checks the messages and files of a training with the model `tuned`, a history and curves.
pub(crate) fn assert_trained(here: &Folder, messages: &str) {
    assert!(messages.contains("step 0: RR@10 0."), "{messages}");
    assert!(messages.contains("tuned: "), "{messages}");
    let history = here.read("history.csv");
    let first = history.lines().nth(1).unwrap();
    assert!(first.starts_with("0,,,,,0."), "{first}");
    assert!(here.at("curves.svg").exists());
    assert!(!here.at("tuned.checkpoints").exists());
}

#[test]
fn train_save_and_resume() {
    let here = here();
    let train = format!(
        "train-reranker {MODEL} train.jsonl -o tuned --epochs 2 --batch 8 --negatives 2 \
         --in-batch-negatives 1 --block 7 --learning-rate 0.002 --max-tokens 32 --dev bundled \
         --dev-split test --measure RR@10 --candidates 20 --history history.csv --curves curves.svg"
    );
    let ran = here.ir(&train).ok();
    assert_trained(&here, &ran.err);
    let config = fs::read_to_string(here.path().join("tuned/config.json")).unwrap();
    assert!(config.contains("BertForSequenceClassification"), "{config}");

    // One thread gives the same bytes. A checkpoint with other candidates is an error. A trained
    // head is trained further.
    let weights = |folder: &str| fs::read(here.path().join(folder).join("model.safetensors"));
    let again = train.replace("-o tuned", "-o again --threads 1 --keep-checkpoints");
    here.ir(&again).ok();
    assert!(weights("tuned").unwrap() == weights("again").unwrap());
    fs::remove_dir_all(here.path().join("again")).unwrap();
    let other = again.replace("--candidates 20", "--candidates 10");
    here.ir(&other).fails(
        1,
        &["again.checkpoints", "expected candidates 10, found 20"],
    );
    let other = format!("{again} --loss rank-net");
    here.ir(&other)
        .fails(1, &["again.checkpoints", "loss.kind"]);
    here.ir(&again).ok();
    assert!(weights("tuned").unwrap() == weights("again").unwrap());
    here.ir("train-reranker tuned train.jsonl -o more --epochs 1 --negatives 1")
        .ok();
}

/// Writes `rerank.toml`, an experiment that trains a reranker on the bundled collection, with keys
/// of the training.
pub(crate) fn write_experiment(here: &Folder, keys: &str) {
    here.write(
        "rerank.toml",
        format!(
            r#"
            measures = ["RR"]
            [[tasks]]
            collection = "bundled"
            [[systems]]
            name = "BM25"
            type = "bm25"
            [[systems]]
            name = "reranked"
            type = "rerank"
            first = "BM25"
            model = "{MODEL}"
            depth = 10
            [systems.training]
            {keys}
            "#
        ),
    );
}

/// Checks that the cache of experiments has one model, with the files of the model `tuned`.
pub(crate) fn assert_same_model(here: &Folder, files: &[&str]) {
    let models = fs::read_dir(here.at(".ir-cache/model")).unwrap();
    let models = models.map(|entry| entry.unwrap().path());
    let models: Vec<_> = models.filter(|path| path.is_dir()).collect();
    assert_eq!(models.len(), 1);
    for file in files {
        let tuned = fs::read(here.at("tuned").join(file)).unwrap();
        assert!(fs::read(models[0].join(file)).unwrap() == tuned, "{file}");
    }
}

/// An experiment trains the model of `ir mine` and `ir train-reranker`, once.
#[test]
fn an_experiment_trains_the_same_model() {
    let here = here();
    here.ir(&format!(
        "train-reranker {MODEL} train.jsonl -o tuned --epochs 1 --negatives 2 \
         --learning-rate 0.002 --max-tokens 32"
    ))
    .ok();
    let keys = "epochs = 1\nhard_negatives = 2\nlearning_rate = 0.002\nmax_tokens = 32";
    write_experiment(&here, keys);
    let planned = here.ir("run rerank.toml --dry-run").ok();
    let stage = "bert-pytorch, trained as a cross-encoder on split train, epochs 1";
    assert!(planned.out.contains(stage), "{}", planned.out);
    let first = here.ir("run rerank.toml").ok();
    assert_same_model(&here, &["model.safetensors"]);
    let planned = here.ir("run rerank.toml --dry-run").ok();
    let end = "0 stages to do, 2 cached\n";
    assert!(planned.out.ends_with(end), "{}", planned.out);
    assert_eq!(here.ir("run rerank.toml").ok().out, first.out);
}

#[test]
fn bad_input() {
    let here = here();
    let pair = r#"{"query": "tea", "positives": [{"text": "green tea"}], "negatives": []}"#;
    here.write("pairs.jsonl", format!("{pair}\n{pair}\n"));
    let errors = r#"
        train-reranker MODEL pairs.jsonl -o r
          1: training example 0 has no negatives, which the loss needs
        train-reranker MODEL train.jsonl -o r --loss margin-mse
          1: positives[0] has no score, which distillation needs
        train-reranker MODEL train.jsonl -o r --loss triplet
          2: triplet
        train-reranker MODEL train.jsonl -o r --loss kl-divergence --in-batch-negatives 2
          2: --in-batch-negatives: in_batch_negatives is 2, expected 0
        train-reranker MODEL nowhere.jsonl -o r
          1: nowhere.jsonl
        train-reranker MODEL bundled -o r
          1: ir mine bundled
        train-reranker MODEL train.jsonl -o r --epochs 0
          2: --epochs: epochs is 0, expected 1 or more
        train-reranker MODEL train.jsonl -o r --negatives 0
          2: --negatives: hard_negatives is 0, expected 1 or more
        train-reranker MODEL train.jsonl -o r --candidates 5
          2: --dev
        train-reranker MODEL train.jsonl -o r --max-tokens 4
          1: max_tokens is 4, expected
        train-reranker train.jsonl MODEL -o r
          2: expected the model first: ir train-reranker MODEL train.jsonl
    "#;
    here.errors(&errors.replace("MODEL", MODEL));
    assert!(!here.path().join("r").exists());
}
