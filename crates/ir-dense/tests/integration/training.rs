//! Training: PyTorch's weights, interruptions, losses, saved folders, errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::error::Error as _;
use std::fs;
use std::path::Path;

use crate::common::{
    apart, backend, config, examples, on_backend, python, run_python, testdata, tiny,
};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Encoder, Flow, NoProgress, Side, VectorSimilarity};
use ir_dense::train::{Loss, TrainError, Trainer, TrainingConfig, TrainingResult};
use ir_dense::{Backend, BiEncoder, EncoderConfig, ModelError, Precision};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    config: TrainingConfig,
    examples: Vec<TrainingExample>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    rate: f64,
    loss: f64,
    gradient: f64,
}

fn golden() -> Golden {
    let text = fs::read_to_string(testdata("training/training.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Weights of a file, sorted by name.
fn weights(file: &Path) -> Vec<(String, Vec<f32>)> {
    let bytes = fs::read(file).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut weights: Vec<(String, Vec<f32>)> = tensors
        .tensors()
        .into_iter()
        .map(|(name, view)| {
            let (values, _) = view.data().as_chunks::<4>();
            (
                name,
                values.iter().map(|&b| f32::from_le_bytes(b)).collect(),
            )
        })
        .collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    weights
}

fn saved(trained: &TrainingResult) -> Vec<(String, Vec<f32>)> {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    trained.encoder.save(&model).unwrap();
    weights(&model.join("model.safetensors"))
}

#[test]
fn twelve_steps_give_the_weights_of_pytorch() {
    let golden = golden();
    // Without GradCache, and with mini-batches of three texts.
    for block in [None, Some(3)] {
        let mut config = golden.config.clone();
        config.mini_batch_size = block;
        config.encoder.backend = backend();
        let trainer = Trainer::open(testdata("training"), &config).unwrap();
        let trained = trainer.train(&golden.examples, &mut NoProgress).unwrap();
        let rows = &trained.history.steps;
        assert_eq!(rows.len(), golden.steps.len());
        for (row, step) in rows.iter().zip(&golden.steps) {
            assert!((row.learning_rate - step.rate).abs() < 1e-12, "{row:?}");
            assert!(
                (row.loss - step.loss).abs() < 1e-4 * step.loss,
                "{row:?}, expected {}",
                step.loss
            );
            let apart = (row.gradient_norm - step.gradient).abs();
            assert!(
                apart < 1e-3 * step.gradient,
                "{row:?}, expected {}",
                step.gradient
            );
        }
        let found = saved(&trained);
        let expected = weights(&testdata("training/after.safetensors"));
        let before = weights(&testdata("training/model.safetensors"));
        assert_eq!(found.len(), expected.len());
        let mut moved = 0.0_f32;
        for (((name, found), (expected_name, expected)), (_, before)) in
            found.iter().zip(&expected).zip(&before)
        {
            assert_eq!(name, expected_name);
            let difference = apart(found, expected);
            assert!(difference < 1e-4, "{name} is {difference} away");
            moved = moved.max(apart(found, before));
        }
        assert!(moved > 5e-3, "{moved}");
    }
}

/// Metric whose maximum is neither the first nor the last value.
fn measure(_: &BiEncoder, step: u64) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    Ok(match step {
        4 => 0.9,
        step => step as f64 / 100.0,
    })
}

fn whole(config: &TrainingConfig) -> TrainingResult {
    let trainer = Trainer::open(tiny("bert-pytorch"), config).unwrap();
    trainer
        .train_and_evaluate(&examples(), &mut measure, &mut NoProgress)
        .unwrap()
}

#[test]
fn resuming_after_every_step_gives_the_same_bytes() {
    let mut config = config();
    check_resuming(&config);
    if backend() == Backend::default() {
        config.precision = Precision::Bf16;
        check_resuming(&config);
    }
}

fn check_resuming(config: &TrainingConfig) {
    let expected = whole(config);
    assert_eq!(expected.step, 4);
    assert_eq!(expected.history.steps.len(), 9);
    assert_eq!(expected.history.evaluations.len(), 6);
    let folder = tempfile::tempdir().unwrap();
    let mut stops = 0;
    let found = loop {
        let trainer = Trainer::open(tiny("bert-pytorch"), config).unwrap();
        let trainer = trainer.with_checkpoints(folder.path());
        let mut first = true;
        let mut one_step = |_: &str, _: u64, _: Option<u64>| {
            if std::mem::take(&mut first) {
                Flow::Continue
            } else {
                Flow::Stop
            }
        };
        match trainer.train_and_evaluate(&examples(), &mut measure, &mut one_step) {
            Ok(trained) => break trained,
            Err(TrainError::Stopped { step, steps: 9 }) => {
                stops += 1;
                assert_eq!(step, stops);
            }
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(stops, 8);
    assert_eq!(found.history, expected.history);
    assert_eq!(found.step, 4);
    assert!(saved(&found) == saved(&expected));
    // One file for the last checkpoint and one for the best weights.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn keeps_best_weights_and_stops_early() {
    let mut config = config();
    config.patience = Some(2);
    let trained = whole(&config);
    assert!(trained.stopped_early);
    assert_eq!((trained.step, trained.history.steps.len()), (4, 8));
    let table = trained.history.to_csv();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 1 + 1 + 8);
    assert_eq!(rows[1], "0,,,,,0");
    assert!(
        rows[5].starts_with("4,2,") && rows[5].ends_with(",0.9"),
        "{table}"
    );
    // Without evaluation, the last weights and no early stopping.
    let trainer = Trainer::open(tiny("bert-pytorch"), &config).unwrap();
    let trained = trainer.train(&examples(), &mut NoProgress).unwrap();
    assert_eq!((trained.step, trained.stopped_early), (9, false));
}

#[test]
fn every_loss_decreases() {
    let losses = [
        Loss::Softmax { temperature: 0.05 },
        Loss::Symmetric { temperature: 0.05 },
        Loss::Pointwise { scale: Some(5.0) },
        Loss::Pointwise { scale: None },
        Loss::Margin { margin: 0.5 },
        Loss::KlDivergence { temperature: 1.0 },
        Loss::MarginMse,
    ];
    let scored: Vec<TrainingExample> = examples()
        .into_iter()
        .map(|mut example| {
            example
                .positives
                .iter_mut()
                .for_each(|text| text.score = Some(2.0));
            example
                .negatives
                .iter_mut()
                .for_each(|text| text.score = Some(0.5));
            example
        })
        .collect();
    for loss in losses {
        let mut config = config();
        (
            config.loss,
            config.dropout,
            config.epochs,
            config.batch_size,
        ) = (loss, 0.0, 12, 7);
        let tied = Trainer::open(tiny("distilbert"), &config).unwrap();
        let folder = tiny("distilbert");
        let untied = Trainer::open_untied(&folder, &folder, &config).unwrap();
        for (trainer, untied) in [(tied, false), (untied, true)] {
            let trained = trainer.train(&scored, &mut NoProgress).unwrap();
            let rows = &trained.history.steps;
            let (first, last) = (rows[0].loss, rows[rows.len() - 1].loss);
            assert!(last < 0.9 * first, "{loss:?}: {first} to {last}");
            let texts = ["the green sea"];
            let [query, document] = [Side::Query, Side::Document]
                .map(|side| trained.encoder.encode(side, &texts).unwrap());
            assert_eq!(query != document, untied);
        }
    }
}

#[test]
fn saved_folders_are_read_back() {
    for (model, normalize) in [
        ("bert", true),
        ("bert-f16", false),
        ("distilbert", false),
        ("roberta", true),
        ("mpnet", true),
    ] {
        let config = on_backend().with_normalize(normalize).with_max_tokens(16);
        let encoder = BiEncoder::open_with(tiny(model), &config).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        encoder.save(&copy).unwrap();
        let again = BiEncoder::open_with(&copy, &on_backend()).unwrap();
        let texts = [
            "a ship at sea",
            "",
            "green tea and the radar, seen at sea by a black ship",
        ];
        let [before, after] =
            [&encoder, &again].map(|encoder| encoder.encode(Side::Document, &texts).unwrap());
        assert_eq!(before, after, "{model}");
        // A folder that is not empty is not replaced.
        let error = encoder.save(&copy).unwrap_err();
        assert!(matches!(error, ModelError::Write { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

/// Needs a Python with sentence-transformers in the variable IR_DENSE_PYTHON.
#[test]
fn sentence_transformers_embeds_a_saved_folder_identically() {
    let Some(python) = python() else { return };
    let trained = whole(&config());
    let side = ir_dense::SideConfig::default()
        .with_prefix("sea: ")
        .with_max_tokens(12);
    let config = on_backend()
        .with_query(side)
        .with_normalize(true)
        .with_max_tokens(12);
    let folder = tempfile::tempdir().unwrap();
    let (first, model) = (folder.path().join("first"), folder.path().join("model"));
    trained.encoder.save(&first).unwrap();
    let encoder = BiEncoder::open_with(&first, &config).unwrap();
    encoder.save(&model).unwrap();
    let texts = [
        "a ship at sea",
        "",
        "green tea and the radar, seen at sea by a black ship",
    ];
    let program = "import json, sys\n\
        from sentence_transformers import SentenceTransformer\n\
        model = SentenceTransformer(sys.argv[1], device='cpu')\n\
        texts = json.loads(sys.argv[2])\n\
        both = [model.encode_query(texts), model.encode_document(texts)]\n\
        print(json.dumps([[float(x) for row in side for x in row] for side in both]))";
    let output = run_python(&python, program, &model, &texts);
    let sides: Vec<Vec<f32>> = serde_json::from_slice(&output).unwrap();
    for (side, expected) in [Side::Query, Side::Document].into_iter().zip(&sides) {
        let found = encoder.encode(side, &texts).unwrap();
        assert!(
            apart(&found, expected) < 1e-5,
            "{side:?}: {}",
            apart(&found, expected)
        );
    }
}

#[test]
fn rejects_invalid_settings_and_examples() {
    let open = |change: fn(&mut TrainingConfig)| {
        let mut config = config();
        change(&mut config);
        Trainer::open(tiny("bert-pytorch"), &config)
    };
    let said = |change| open(change).unwrap_err().to_string();
    assert_eq!(
        said(|c| c.batch_size = 0),
        "batch_size is 0, expected 1 or more"
    );
    assert_eq!(
        said(|c| c.dropout = 1.0),
        "dropout is 1, expected at least 0 and below 1"
    );
    assert_eq!(
        said(|c| c.learning_rate = f64::NAN),
        "learning_rate is NaN, expected above 0"
    );
    assert_eq!(
        said(|c| c.loss = Loss::Softmax { temperature: 0.0 }),
        "loss.temperature is 0, expected above 0"
    );
    assert!(
        said(|c| c.encoder = EncoderConfig::default().with_max_tokens(2))
            .contains("limit of 2 tokens")
    );

    let train = |change: fn(&mut TrainingConfig), data: Vec<TrainingExample>| {
        let error = open(change)
            .unwrap()
            .train(&data, &mut NoProgress)
            .unwrap_err();
        format!(
            "{error}: {}",
            error.source().map(ToString::to_string).unwrap_or_default()
        )
    };
    assert!(train(|_| {}, Vec::new()).starts_with("expected training examples, found none"));
    let none = vec![TrainingExample::new("tea")];
    assert_eq!(
        train(|_| {}, none),
        "training example 0 is invalid: expected at least one positive, found none"
    );
    let distil: fn(&mut TrainingConfig) = |c| c.loss = Loss::MarginMse;
    let right = TrainingExample::new("tea").positive(TrainingText::new("green").with_score(1.0));
    assert!(train(distil, vec![right.clone()]).starts_with("training example 0 has no negatives"));
    // Found before the first step, in the order of the examples.
    let scored = right
        .clone()
        .negative(TrainingText::new("black").with_score(0.5));
    let without = scored.clone().negative(TrainingText::new("cups"));
    assert!(
        train(distil, vec![scored, without.clone(), without])
            .starts_with("training example 1: negatives[1] has no score")
    );
    // Rejected before an example is read or memory is allocated.
    let none: fn(&mut TrainingConfig) = |c| (c.loss, c.hard_negatives) = (Loss::MarginMse, 0);
    assert_eq!(
        said(none),
        "hard_negatives is 0, expected 1 or more, which distillation needs"
    );
    assert_eq!(
        said(|c| c.hard_negatives = 100_000_000_000),
        "hard_negatives is 100000000000, expected 65536 or fewer"
    );
    let lengths: fn(&mut TrainingConfig) = |c| {
        (c.loss, c.similarity) = (
            Loss::Pointwise { scale: None },
            VectorSimilarity::InnerProduct,
        );
        c.encoder.normalize = Some(false);
    };
    assert_eq!(
        said(lengths),
        "similarity is dot, expected cosine, or vectors of length 1, for this loss without a scale"
    );
    let mut endless = config();
    endless.epochs = u64::MAX;
    assert_eq!(endless.steps(7), u64::MAX);
    // With the positive as the only candidate, the loss is constant.
    let alone =
        "every step has one query with one text, expected negatives, or 2 queries or more: ";
    assert_eq!(train(|_| {}, vec![right.clone()]), alone);
    assert_eq!(
        train(|c| (c.batch_size, c.hard_negatives) = (1, 0), examples()),
        alone
    );
    let pointwise: fn(&mut TrainingConfig) = |c| c.loss = Loss::Pointwise { scale: None };
    assert_eq!(train(pointwise, vec![right.clone()]), alone);
    let blank = TrainingExample::new("tea").positive(TrainingText::new(" "));
    assert_eq!(
        train(|_| {}, vec![blank]),
        "training example 0 is invalid: expected a text in positives[0], found an empty one"
    );
    let unscored = right.negative(TrainingText::new("black"));
    assert!(
        train(distil, vec![unscored]).starts_with("training example 0: negatives[0] has no score")
    );
    let high: fn(&mut TrainingConfig) =
        |c| (c.learning_rate, c.schedule.warmup_ratio) = (1e30, 0.0);
    assert!(train(high, examples()).contains("expected finite numbers"));
    // A text of a megabyte is truncated.
    let long = TrainingExample::new("tea")
        .positive(TrainingText::new("sea ".repeat(1 << 18)))
        .negative(TrainingText::new("black"));
    let trained = open(|_| {})
        .unwrap()
        .train(&vec![long], &mut NoProgress)
        .unwrap();
    assert_eq!(trained.history.steps.len(), 3);
}

#[test]
fn known_positives_are_masked() {
    let answer = || TrainingText::new("green tea").with_id("d1");
    let data = vec![
        TrainingExample::new("tea").positive(answer()),
        TrainingExample::new("green").positive(answer()),
    ];
    let first_loss = |skip: bool| {
        let mut config = config();
        (config.skip_known_positives, config.dropout) = (skip, 0.0);
        let trainer = Trainer::open(tiny("bert-pytorch"), &config).unwrap();
        trainer.train(&data, &mut NoProgress).unwrap().history.steps[0].loss
    };
    // The same text twice gives ln 2, unless it is masked.
    assert!(
        (first_loss(false) - 2_f64.ln()).abs() < 1e-5,
        "{}",
        first_loss(false)
    );
    assert!(first_loss(true).abs() < 1e-5, "{}", first_loss(true));
}
