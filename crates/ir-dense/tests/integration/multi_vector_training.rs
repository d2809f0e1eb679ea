//! Training of multi-vector encoders: new models, interruptions, threads, losses, bad input.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Flow, NoProgress, Side, SplitMix64, TokenEncoder, VectorSimilarity};
use ir_dense::train::{
    Loss, MultiVectorTrainer, MultiVectorTrainingResult, TrainError, TrainingConfig, TrainingStep,
};
use ir_dense::{MultiVectorConfig, MultiVectorEncoder, Pooling, Precision, TokenSimilarity};

use crate::common::{config, examples, on_backend, on_default_backend, testdata, tiny};

fn pylate() -> PathBuf {
    testdata("late-interaction/pylate")
}

/// A late-interaction model, and an encoder that becomes one.
fn folders() -> [PathBuf; 2] {
    [pylate(), tiny("bert-pytorch")]
}

/// 9 steps with dropout, in mini-batches of two texts.
fn small() -> TrainingConfig {
    let mut config = config();
    config.loss = Loss::Softmax { temperature: 1.0 };
    config.mini_batch_size = Some(2);
    config
}

fn open(folder: &Path, config: &TrainingConfig) -> MultiVectorTrainer {
    MultiVectorTrainer::open_with_dim(folder, 8, config).unwrap()
}

fn train(folder: &Path, config: &TrainingConfig) -> MultiVectorTrainingResult {
    let trainer = open(folder, config);
    trainer.train(&examples(), &mut NoProgress).unwrap()
}

/// Bits of the vectors of all queries and positives.
fn bits(encoder: &MultiVectorEncoder) -> Vec<u32> {
    let examples = examples();
    let queries: Vec<&str> = examples.iter().map(|it| &*it.query).collect();
    let positives = examples.iter().map(|it| &*it.positives[0].text);
    let positives: Vec<&str> = positives.collect();
    let mut vectors = encoder.encode_queries(&queries).unwrap();
    vectors.extend(encoder.encode_documents(&positives).unwrap());
    let values = vectors.iter().flat_map(|it| &it.values);
    values.map(|value| value.to_bits()).collect()
}

/// The same bytes on any number of threads; other bytes with another seed or precision.
#[test]
fn training_does_not_depend_on_threads() {
    if !on_default_backend() {
        return;
    }
    for folder in folders() {
        let on = |threads: usize, seed: u64, precision: Precision| {
            let mut config = small();
            (config.seed, config.precision) = (seed, precision);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let trained = pool.build().unwrap().install(|| train(&folder, &config));
            (bits(&trained.encoder), trained.history)
        };
        let first = on(1, 1, Precision::F32);
        assert!(on(4, 1, Precision::F32) == first, "threads");
        assert!(on(1, 2, Precision::F32) != first, "seed");
        assert!(on(1, 1, Precision::Bf16) != first, "bf16");
    }
}

/// Results differ in the last bits.
#[test]
fn mini_batches_do_not_change_training() {
    for folder in folders() {
        let on = |size: Option<usize>| {
            let mut config = small();
            config.mini_batch_size = size;
            train(&folder, &config).history.steps
        };
        let whole = on(None);
        assert!(!whole.is_empty());
        for size in [1, 4] {
            let steps = on(Some(size));
            assert_eq!(steps.len(), whole.len(), "mini-batches of {size}");
            for (found, expected) in steps.iter().zip(&whole) {
                let apart = (found.loss - expected.loss).abs();
                assert!(apart < 1e-3 * expected.loss, "{found:?}, {expected:?}");
            }
        }
    }
}

/// Training that is interrupted after 1, 2 and 4 steps, or killed after a checkpoint, resumes and
/// ends with the bytes of an uninterrupted run.
#[test]
fn interrupted_training_resumes() {
    if !on_default_backend() {
        return;
    }
    for model in folders() {
        let data = examples();
        let mut config = small();
        config.evaluate_every = Some(1);
        // The best evaluation is after three steps.
        let mut evaluate = |_: &MultiVectorEncoder, step: u64| Ok(-(step as f64 - 3.0).abs());
        let whole = open(&model, &config);
        let fingerprint = whole.fingerprint(&data);
        let whole = whole.train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
        let whole = whole.unwrap();
        assert_eq!((whole.step, whole.fingerprint), (3, fingerprint));
        let last = train(&model, &config);
        assert_ne!(bits(&last.encoder), bits(&whole.encoder));
        let folder = tempfile::tempdir().unwrap();
        let resumable = || open(&model, &config).with_checkpoints(folder.path());
        let file = folder.path().join("checkpoint.safetensors");
        for end in [1, 2, 4] {
            let mut stop = |_: &str, done: u64, _: Option<u64>| {
                if done < end {
                    Flow::Continue
                } else {
                    Flow::Stop
                }
            };
            let error = resumable().train_and_evaluate(&data, &mut evaluate, &mut stop);
            assert!(matches!(error, Err(TrainError::Stopped { step, .. }) if step == end));
        }
        let before = fs::read(&file).unwrap();
        let same = |found: &MultiVectorTrainingResult| {
            assert_eq!(found.history, whole.history);
            assert_eq!((found.step, found.fingerprint), (3, fingerprint));
            assert_eq!(bits(&found.encoder), bits(&whole.encoder));
        };
        let resumed = resumable().train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
        same(&resumed.unwrap());
        let complete = fs::read(&file).unwrap();
        // The last steps again, from an older checkpoint.
        fs::write(&file, before).unwrap();
        let again = resumable().train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
        same(&again.unwrap());
        assert!(fs::read(&file).unwrap() == complete, "checkpoints differ");
    }
}

#[test]
fn checkpoints_of_other_trainings_are_rejected() {
    let (model, config) = (tiny("bert-pytorch"), small());
    let folder = tempfile::tempdir().unwrap();
    let train = |dim: usize, config: &TrainingConfig| {
        let trainer = MultiVectorTrainer::open_with_dim(&model, dim, config).unwrap();
        let trainer = trainer.with_checkpoints(folder.path());
        trainer.train(&examples(), &mut NoProgress)
    };
    train(8, &config).unwrap();
    let field = |result: Result<_, TrainError>| match result {
        Err(TrainError::OtherConfiguration { field, .. }) => field,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected an error"),
    };
    assert_eq!(field(train(4, &config)), "weights");
    type Change = fn(&mut TrainingConfig);
    let changes: [(&str, Change); 3] = [
        ("loss.temperature", |it| {
            it.loss = Loss::Softmax { temperature: 2.0 };
        }),
        ("encoder.document.max_tokens", |it| {
            it.encoder.document.max_tokens = Some(12);
        }),
        ("hard_negatives", |it| it.hard_negatives = 1),
    ];
    for (expected, change) in changes {
        let mut other = config.clone();
        change(&mut other);
        assert_eq!(field(train(8, &other)), expected);
    }
}

/// An encoder becomes a model with PyLate's defaults, which its folder records.
#[test]
fn new_models_are_saved() {
    let mut config = TrainingConfig::late_interaction();
    (config.encoder, config.epochs) = (on_backend(), 1);
    let model = tiny("bert-pytorch");
    let trainer = MultiVectorTrainer::open(&model, &config).unwrap();
    let trained = trainer.train(&examples(), &mut NoProgress).unwrap();
    let encoder = trained.encoder;
    assert_eq!(encoder.dim(), 128);
    assert_eq!(encoder.similarity(), TokenSimilarity::MaxSim);
    // The model has 32 positions.
    assert_eq!(encoder.expanded_length(), Some(32));
    assert_eq!(encoder.max_tokens(Side::Document), 32);
    let query = encoder.encode_queries(&["green tea"]).unwrap().remove(0);
    assert_eq!(query.len(), 32);
    // [CLS], two words and [SEP]; no comma and no period.
    let document = encoder.encode_documents(&["green, tea."]).unwrap();
    assert_eq!(document[0].len(), 4);
    for row in query.rows().chain(document[0].rows()) {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((norm - 1.0).abs() < 1e-5, "{norm}");
    }
    let here = tempfile::tempdir().unwrap();
    let saved = here.path().join("saved");
    encoder.save(&saved).unwrap();
    let config = MultiVectorConfig::default().with_backend(on_backend().backend);
    let reopened = MultiVectorEncoder::open_with(&saved, &config).unwrap();
    assert_eq!(bits(&reopened), bits(&encoder));
    assert_eq!(reopened.expanded_length(), Some(32));
    assert_eq!(reopened.fingerprint(), encoder.fingerprint());
    // The trainer opens the saved folder as a late-interaction model of its own dimension.
    let config = TrainingConfig::late_interaction();
    assert!(MultiVectorTrainer::open(&saved, &config).is_ok());
    assert!(MultiVectorTrainer::open_with_dim(&saved, 128, &config).is_ok());
    let other = MultiVectorTrainer::open_with_dim(&saved, 64, &config);
    let error = other.err().unwrap().to_string();
    let expected = "expected 128, as in the late-interaction model";
    assert!(error.contains(expected), "{error}");
    // Another number of epochs gives other vectors.
    let mut config = TrainingConfig::late_interaction();
    (config.encoder, config.epochs) = (on_backend(), 2);
    let longer = MultiVectorTrainer::open(&model, &config).unwrap();
    let longer = longer.train(&examples(), &mut NoProgress).unwrap();
    assert_ne!(bits(&longer.encoder), bits(&encoder));
}

/// Examples with teacher scores.
fn scored() -> Vec<TrainingExample> {
    let mut examples = examples();
    for example in &mut examples {
        for text in &mut example.positives {
            text.score = Some(3.0);
        }
        for (at, text) in example.negatives.iter_mut().enumerate() {
            text.score = Some(at as f32);
        }
    }
    examples
}

/// Mean of the loss.
fn mean(steps: &[TrainingStep]) -> f64 {
    steps.iter().map(|step| step.loss).sum::<f64>() / steps.len() as f64
}

#[test]
fn every_loss_decreases() {
    for loss in [
        Loss::Softmax { temperature: 1.0 },
        Loss::Symmetric { temperature: 1.0 },
        Loss::Pointwise { scale: Some(0.2) },
        Loss::Margin { margin: 2.0 },
        Loss::KlDivergence { temperature: 1.0 },
        Loss::MarginMse,
    ] {
        let mut config = small();
        (config.loss, config.epochs, config.batch_size) = (loss, 30, 7);
        (config.dropout, config.mini_batch_size) = (0.0, None);
        let trained = open(&pylate(), &config).train(&scored(), &mut NoProgress);
        let steps = trained.unwrap().history.steps;
        let (first, last) = (mean(&steps[..3]), mean(&steps[steps.len() - 3..]));
        assert!(last < 0.9 * first, "{loss:?}: {first}, then {last}");
    }
}

/// A document is relevant if it has the word of the query: positives of held-out queries have
/// higher scores than negatives.
#[test]
fn encoder_learns_a_toy_task() {
    let words = [
        "ship", "sea", "tea", "radar", "green", "black", "seen", "the", "at", "and",
    ];
    let mut random = SplitMix64::new(3, 0);
    let mut example = |_: usize| {
        let mut order: Vec<&str> = words.to_vec();
        let count = order.len();
        random.partial_shuffle(&mut order, count);
        let text = |word: &str, at: usize| TrainingText::new(format!("{} {word}", order[at]));
        TrainingExample::new(order[0])
            .positive(text(order[0], 2))
            .negative(text(order[1], 3))
            .negative(text(order[4], 5))
    };
    let all: Vec<TrainingExample> = (0..240).map(&mut example).collect();
    let (held_out, data) = all.split_at(40);
    let mut config = TrainingConfig::late_interaction();
    config.encoder = on_backend();
    // Without in-batch negatives, some of which would be relevant.
    (config.epochs, config.batch_size, config.hard_negatives) = (6, 1, 2);
    (config.learning_rate, config.dropout) = (5e-3, 0.0);
    config.patience = None;
    let trainer = MultiVectorTrainer::open_with_dim(tiny("bert-pytorch"), 16, &config);
    let trained = trainer.unwrap().train(&data.to_vec(), &mut NoProgress);
    let trained = trained.unwrap();
    let steps = &trained.history.steps;
    let (first, last) = (mean(&steps[..40]), mean(&steps[steps.len() - 40..]));
    assert!(last < 0.5 * first, "{first}, then {last}");
    let encoder = trained.encoder;
    let mut correct = 0;
    for example in held_out {
        let query = encoder.encode_queries(&[&*example.query]).unwrap();
        let texts = example.positives.iter().chain(&example.negatives);
        let texts: Vec<&str> = texts.map(|it| &*it.text).collect();
        let documents = encoder.encode_documents(&texts).unwrap();
        let scores = documents.iter();
        let scores = scores.map(|it| encoder.similarity().score(&query[0], it));
        let scores: Vec<f32> = scores.collect();
        correct += usize::from(scores[1..].iter().all(|score| *score < scores[0]));
    }
    assert!(correct >= 34, "{correct} of 40");
}

#[test]
fn errors_of_training() {
    let error = |change: &dyn Fn(&mut TrainingConfig), data: &Vec<TrainingExample>| {
        let mut config = small();
        change(&mut config);
        let trainer = MultiVectorTrainer::open(pylate(), &config);
        let trained = trainer.and_then(|it| it.train(data, &mut NoProgress));
        trained.map(|_| ()).unwrap_err().to_string()
    };
    let same = |_: &mut TrainingConfig| {};
    let data = scored();
    let empty = error(&same, &Vec::new());
    assert_eq!(empty, "expected training examples, found none");
    let margins = |it: &mut TrainingConfig| it.loss = Loss::MarginMse;
    let unscored = error(&margins, &examples());
    assert!(unscored.contains("has no score"), "{unscored}");
    let mut lonely = data.clone();
    lonely.iter_mut().for_each(|it| it.negatives.clear());
    let no_negatives = error(&margins, &lonely);
    assert!(no_negatives.contains("has no negatives"), "{no_negatives}");
    let alone = |it: &mut TrainingConfig| it.batch_size = 1;
    let one = error(&alone, &lonely);
    assert!(one.starts_with("every step has one query with one text"));
    let rate = |it: &mut TrainingConfig| {
        (it.learning_rate, it.max_gradient_norm) = (1e30, None);
    };
    assert!(error(&rate, &data).contains("expected finite numbers"));
    type Change = fn(&mut TrainingConfig);
    let changes: [(Change, &str); 7] = [
        (|it| it.epochs = 0, "epochs is 0, expected 1 or more"),
        (
            |it| it.encoder.pooling = Some(Pooling::Cls),
            "encoder.pooling is cls, expected none, as late interaction has a vector per token",
        ),
        (
            |it| it.encoder.normalize = Some(false),
            "encoder.normalize is false, expected none, as the late-interaction model determines it",
        ),
        (
            |it| it.similarity = VectorSimilarity::InnerProduct,
            "similarity is dot, expected cosine, the default, as the late-interaction model has \
             MaxSim",
        ),
        (
            |it| it.loss = Loss::Pointwise { scale: None },
            "loss.scale is null, expected above 0, as MaxSim is not a cosine",
        ),
        (
            |it| it.loss = Loss::Softmax { temperature: 0.0 },
            "loss.temperature is 0, expected above 0",
        ),
        (
            |it| it.encoder.precision = Precision::Int8,
            "encoder.precision is int8, expected f32 (the trained encoder can be opened with another \
             precision)",
        ),
    ];
    for (change, expected) in changes {
        assert_eq!(error(&change, &data), expected);
    }
    let dim = |folder: PathBuf, dim: usize| {
        let trainer = MultiVectorTrainer::open_with_dim(folder, dim, &small());
        trainer.map(|_| ()).unwrap_err().to_string()
    };
    let other = dim(pylate(), 4);
    let expected =
        "the dimension of the vectors is 4, expected 8, as in the late-interaction model";
    assert!(other.ends_with(expected), "{other}");
    let zero = dim(tiny("bert"), 0);
    assert!(zero.ends_with("is 0, expected 1 or more"), "{zero}");
    // A cross-encoder is not an encoder.
    let folder = testdata("reranking/bert");
    let cross_encoder = dim(folder, 8);
    assert!(
        cross_encoder.contains("expected an encoder"),
        "{cross_encoder}"
    );
    // An evaluation that is not a number.
    let mut evaluate = |_: &MultiVectorEncoder, _: u64| Ok(f64::NAN);
    let trainer = open(&pylate(), &small());
    let error = trainer.train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
    assert!(matches!(error, Err(TrainError::Evaluation { step: 0, .. })));
}
