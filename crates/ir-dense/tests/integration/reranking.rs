//! Training of cross-encoders: PyTorch's losses and scores, interruptions, threads, bad input.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Flow, NoProgress, SplitMix64};
use ir_dense::train::{
    AdamWConfig, CrossEncoderLoss, CrossEncoderTrainer, CrossEncoderTrainingConfig,
    CrossEncoderTrainingResult, LearningRateDecay, LearningRateSchedule, TrainError,
};
use ir_dense::{Activation, CrossEncoder, CrossEncoderConfig, Precision};
use serde::Deserialize;

use crate::common::{backend, copy_folder, on_default_backend, replace, testdata, tiny};

/// Text with its teacher score.
type ScoredText = (String, f32);

#[derive(Deserialize)]
struct Golden {
    max_tokens: usize,
    examples: Vec<(String, ScoredText, Vec<ScoredText>)>,
    training: BTreeMap<String, GoldenTraining>,
}

#[derive(Deserialize)]
struct GoldenTraining {
    loss: CrossEncoderLoss,
    in_batch: bool,
    /// Loss and gradient norm.
    steps: Vec<[f64; 2]>,
    scores_after: Vec<f32>,
}

fn golden() -> Golden {
    let text = fs::read_to_string(testdata("reranking.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn model() -> std::path::PathBuf {
    testdata("reranking/bert")
}

fn examples(golden: &Golden) -> Vec<TrainingExample> {
    let text = |(text, score): &(String, f32)| TrainingText::new(text).with_score(*score);
    let example = |(query, positive, negatives): &(String, (String, f32), Vec<(String, f32)>)| {
        let example = TrainingExample::new(query).positive(text(positive));
        negatives
            .iter()
            .fold(example, |all, it| all.negative(text(it)))
    };
    golden.examples.iter().map(example).collect()
}

/// Configuration of `reranking.py`: one batch of all examples per step.
fn config(golden: &Golden, loss: CrossEncoderLoss) -> CrossEncoderTrainingConfig {
    let mut config = CrossEncoderTrainingConfig::default();
    config.cross_encoder = CrossEncoderConfig::default()
        .with_backend(backend())
        .with_max_tokens(golden.max_tokens)
        .with_activation(Activation::Identity);
    config.loss = loss;
    config.batch_size = golden.examples.len();
    config.hard_negatives = 2;
    config.mini_batch_size = None;
    config.dropout = 0.0;
    config.epochs = 6;
    config.learning_rate = 2e-3;
    config.schedule = LearningRateSchedule {
        warmup_ratio: 1.0 / 6.0,
        decay: LearningRateDecay::Linear,
    };
    config.optimizer = AdamWConfig {
        epsilon: 1e-6,
        weight_decay: 0.05,
        ..AdamWConfig::default()
    };
    config
}

/// Default loss, with dropout, in batches of two queries.
fn small(golden: &Golden) -> CrossEncoderTrainingConfig {
    let mut config = config(golden, CrossEncoderTrainingConfig::default().loss);
    (config.batch_size, config.dropout, config.epochs) = (2, 0.1, 3);
    config
}

fn open(config: &CrossEncoderTrainingConfig) -> CrossEncoderTrainer {
    CrossEncoderTrainer::open(model(), config).unwrap()
}

/// Bits of the scores of all pairs of queries and positives.
fn bits(cross_encoder: &CrossEncoder, golden: &Golden) -> Vec<u32> {
    let queries = golden.examples.iter();
    let pairs = queries.flat_map(|(query, ..)| {
        let documents = golden.examples.iter();
        documents.map(move |(_, (text, _), _)| (&**query, &**text))
    });
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let scores = cross_encoder.predict(&pairs).unwrap();
    scores.concat().into_iter().map(f32::to_bits).collect()
}

/// Losses, gradient norms and scores of every loss, with PyTorch as oracle.
#[test]
fn training_equals_pytorch() {
    let golden = golden();
    assert_eq!(golden.training.len(), 7);
    for (name, expected) in &golden.training {
        for mini_batch_size in [None, Some(4)] {
            let mut config = config(&golden, expected.loss);
            config.mini_batch_size = mini_batch_size;
            if expected.in_batch {
                config.in_batch_negatives = 1000;
            }
            let trained = open(&config).train(&examples(&golden), &mut NoProgress);
            let trained = trained.unwrap();
            let steps = trained.history.steps.iter();
            assert_eq!(steps.len(), expected.steps.len());
            for (step, [loss, norm]) in steps.zip(&expected.steps) {
                let near = |a: f64, b: f64| (a - b).abs() <= 2e-4 * b.abs();
                assert!(
                    near(step.loss, *loss) && near(step.gradient_norm, *norm),
                    "{name}: {step:?}, expected {loss}, {norm}"
                );
            }
            let pairs = golden
                .examples
                .iter()
                .flat_map(|(query, positive, negatives)| {
                    let texts = [positive].into_iter().chain(negatives);
                    texts.map(move |(text, _)| (&**query, &**text))
                });
            let pairs: Vec<(&str, &str)> = pairs.collect();
            let scores = trained.cross_encoder.predict(&pairs).unwrap().concat();
            assert_eq!(scores.len(), expected.scores_after.len());
            for (found, expected) in scores.iter().zip(&expected.scores_after) {
                let apart = (found - expected).abs();
                assert!(apart < 2e-4, "{name}: {found}, expected {expected}");
            }
        }
    }
}

/// The same bytes on any number of threads; other bytes with another seed.
#[test]
fn training_does_not_depend_on_threads() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    for loss in [
        CrossEncoderLoss::Softmax { temperature: 1.0 },
        CrossEncoderLoss::BinaryCrossEntropy {
            positive_weight: 2.0,
            soft_labels: false,
        },
    ] {
        let train = |threads: usize, seed: u64, precision: Precision| {
            let mut config = small(&golden);
            (config.loss, config.seed, config.precision) = (loss, seed, precision);
            (config.in_batch_negatives, config.mini_batch_size) = (2, Some(3));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let trained = pool.build().unwrap().install(|| {
                let trained = open(&config).train(&examples(&golden), &mut NoProgress);
                trained.unwrap()
            });
            (bits(&trained.cross_encoder, &golden), trained.history)
        };
        let first = train(1, 1, Precision::F32);
        assert!(train(4, 1, Precision::F32) == first, "threads");
        assert!(train(1, 2, Precision::F32) != first, "seed");
        assert!(train(1, 1, Precision::Bf16) != first, "bf16");
    }
}

/// Training that is interrupted after 1, 2 and 4 steps, or killed after a checkpoint, resumes and
/// ends with the bytes of an uninterrupted run.
#[test]
fn interrupted_training_resumes() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    let mut config = small(&golden);
    config.evaluate_every = Some(1);
    let data = examples(&golden);
    // The best evaluation is after three steps.
    let mut evaluate = |_: &CrossEncoder, step: u64| Ok(-(step as f64 - 3.0).abs());
    let whole = open(&config);
    let fingerprint = whole.fingerprint(&data);
    let whole = whole.train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
    let whole = whole.unwrap();
    assert_eq!((whole.step, whole.fingerprint), (3, fingerprint));
    let last = open(&config).train(&data, &mut NoProgress).unwrap();
    assert_ne!(
        bits(&last.cross_encoder, &golden),
        bits(&whole.cross_encoder, &golden)
    );
    let folder = tempfile::tempdir().unwrap();
    let resumable = || open(&config).with_checkpoints(folder.path());
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
    let resumed = resumable().train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
    let resumed = resumed.unwrap();
    let same = |found: &CrossEncoderTrainingResult| {
        assert_eq!(found.history, whole.history);
        assert_eq!((found.step, found.fingerprint), (3, fingerprint));
        assert_eq!(
            bits(&found.cross_encoder, &golden),
            bits(&whole.cross_encoder, &golden)
        );
    };
    same(&resumed);
    let complete = fs::read(&file).unwrap();
    // The last steps again, from an older checkpoint.
    fs::write(&file, before).unwrap();
    let again = resumable().train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
    same(&again.unwrap());
    assert!(fs::read(&file).unwrap() == complete, "checkpoints differ");
}

#[test]
fn checkpoints_of_other_trainings_are_rejected() {
    let golden = golden();
    let data = examples(&golden);
    let config = small(&golden);
    let folder = tempfile::tempdir().unwrap();
    let train = |model: &Path, config: &CrossEncoderTrainingConfig, data: &Vec<_>| {
        let trainer = CrossEncoderTrainer::open(model, config).unwrap();
        let trainer = trainer.with_checkpoints(folder.path());
        trainer.train(data, &mut NoProgress)
    };
    train(&model(), &config, &data).unwrap();
    let field = |result: Result<_, TrainError>| match result {
        Err(TrainError::OtherConfiguration { field, .. }) => field,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected an error"),
    };
    type Change = fn(&mut CrossEncoderTrainingConfig);
    let changes: [(&str, Change); 6] = [
        ("loss.kind", |it| it.loss = CrossEncoderLoss::RankNet),
        ("loss.temperature", |it| {
            it.loss = CrossEncoderLoss::Softmax { temperature: 2.0 };
        }),
        ("cross_encoder.max_tokens", |it| {
            it.cross_encoder.max_tokens = Some(20);
        }),
        ("cross_encoder.prompt", |it| {
            it.cross_encoder.prompt = Some("tea ".into());
        }),
        ("hard_negatives", |it| it.hard_negatives = 1),
        ("in_batch_negatives", |it| it.in_batch_negatives = 1),
    ];
    for (expected, change) in changes {
        let mut other = config.clone();
        change(&mut other);
        assert_eq!(field(train(&model(), &other, &data)), expected);
    }
    assert_eq!(
        field(train(&model(), &config, &data[1..].to_vec())),
        "training_data"
    );
    // Another tokenizer, another seed, another model.
    let other = copy_folder(&model());
    replace(other.path(), "vocab.txt", "tea\n", "tee\n");
    let found = field(train(other.path(), &config, &data));
    assert!(found.starts_with("model.tokenizer"), "{found}");
    let mut reseeded = config.clone();
    reseeded.seed += 1;
    assert_eq!(field(train(&model(), &reseeded, &data)), "seed");
    let found = field(train(&tiny("bert"), &config, &data));
    assert!(
        ["weights", "model"].iter().any(|it| found.starts_with(it)),
        "{found}"
    );
    let path = folder.path().join("checkpoint.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = train(&model(), &config, &data).unwrap_err();
    assert!(matches!(error, TrainError::Damaged { .. }), "{error}");
}

#[test]
fn errors_of_training() {
    let golden = golden();
    let data = examples(&golden);
    let train = |change: &dyn Fn(&mut CrossEncoderTrainingConfig), data: &Vec<TrainingExample>| {
        let mut config = small(&golden);
        change(&mut config);
        let trainer = CrossEncoderTrainer::open(model(), &config);
        let trained = trainer.and_then(|it| it.train(data, &mut NoProgress));
        trained.map(|_| ()).unwrap_err().to_string()
    };
    let same = |_: &mut CrossEncoderTrainingConfig| {};
    assert_eq!(
        train(&same, &Vec::new()),
        "expected training examples, found none"
    );
    let mut lonely = data.clone();
    lonely[2].negatives.clear();
    let no_negatives = "training example 2 has no negatives, which the loss needs";
    assert_eq!(train(&same, &lonely), no_negatives);
    let margins = |it: &mut CrossEncoderTrainingConfig| it.loss = CrossEncoderLoss::MarginMse;
    assert_eq!(train(&margins, &lonely), no_negatives);
    let mut without_scores = data.clone();
    without_scores[1].negatives[1].score = None;
    let no_score = "training example 1: negatives[1] has no score, which distillation needs";
    assert_eq!(train(&margins, &without_scores), no_score);
    let soft = |it: &mut CrossEncoderTrainingConfig| {
        it.loss = CrossEncoderLoss::BinaryCrossEntropy {
            positive_weight: 1.0,
            soft_labels: true,
        };
    };
    assert_eq!(train(&soft, &without_scores), no_score);
    let mut out_of_range = data.clone();
    out_of_range[3].positives[0].score = Some(1.5);
    assert_eq!(
        train(&soft, &out_of_range),
        "training example 3: the score of positives[0] is 1.5, expected a label between 0 and 1"
    );
    // One query per step has no in-batch negatives.
    let pairs = |it: &mut CrossEncoderTrainingConfig| {
        (it.batch_size, it.hard_negatives, it.in_batch_negatives) = (1, 0, 4);
    };
    let alone = "every step has one query with one text";
    assert!(train(&pairs, &data).starts_with(alone));
    // Binary cross-entropy of positives alone.
    let positives = |it: &mut CrossEncoderTrainingConfig| {
        it.loss = CrossEncoderLoss::BinaryCrossEntropy {
            positive_weight: 1.0,
            soft_labels: false,
        };
    };
    let mut without_negatives = data.clone();
    without_negatives
        .iter_mut()
        .for_each(|it| it.negatives.clear());
    assert!(train(&positives, &without_negatives).starts_with(alone));
    let rate = |it: &mut CrossEncoderTrainingConfig| {
        (it.learning_rate, it.max_gradient_norm) = (1e30, None);
    };
    assert!(train(&rate, &data).contains("expected finite numbers"));
    for (change, expected) in [
        (
            (|it| it.loss = CrossEncoderLoss::Softmax { temperature: 0.0 })
                as fn(&mut CrossEncoderTrainingConfig),
            "loss.temperature is 0, expected above 0",
        ),
        (
            |it| it.loss = CrossEncoderLoss::MultipleNegatives { scale: f64::NAN },
            "loss.scale is NaN, expected above 0",
        ),
        (
            |it| (it.loss, it.in_batch_negatives) = (CrossEncoderLoss::MarginMse, 1),
            "in_batch_negatives is 1, expected 0, as distillation needs the teacher scores of all \
             candidates",
        ),
        (
            |it| (it.loss, it.hard_negatives) = (CrossEncoderLoss::MarginMse, 0),
            "hard_negatives is 0, expected 1 or more, which distillation needs",
        ),
        (
            |it| it.cross_encoder.precision = Precision::Int8,
            "cross_encoder.precision is int8, expected f32 (the trained model can be opened with \
             another precision)",
        ),
        (
            |it| it.hard_negatives = 0,
            "hard_negatives is 0, expected 1 or more, as the loss needs negatives and \
             in_batch_negatives is 0",
        ),
        (|it| it.epochs = 0, "epochs is 0, expected 1 or more"),
    ] {
        assert_eq!(train(&change, &data), expected);
    }
    // An evaluation that is not a number.
    let mut evaluate = |_: &CrossEncoder, _: u64| Ok(f64::NAN);
    let error = open(&small(&golden)).train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
    assert!(matches!(error, Err(TrainError::Evaluation { step: 0, .. })));
}

/// A bi-encoder gets a head. A document is relevant if it has the word of the query: positives of
/// held-out queries have higher scores than negatives.
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
        let [key, other, rest @ ..] = &order[..] else {
            panic!("expected words");
        };
        let text = |word: &str, at: usize| TrainingText::new(format!("{} {word}", rest[at]));
        TrainingExample::new(*key)
            .positive(text(key, 0))
            .negative(text(other, 1))
            .negative(text(rest[2], 3))
    };
    let all: Vec<TrainingExample> = (0..240).map(&mut example).collect();
    let (held_out, data) = all.split_at(40);
    let mut config = CrossEncoderTrainingConfig::default();
    config.cross_encoder = CrossEncoderConfig::default().with_backend(backend());
    (config.epochs, config.batch_size, config.hard_negatives) = (30, 16, 2);
    (config.learning_rate, config.dropout) = (5e-3, 0.0);
    let trainer = CrossEncoderTrainer::open(tiny("bert-pytorch"), &config).unwrap();
    let trained = trainer.train(&data.to_vec(), &mut NoProgress).unwrap();
    let pairs = held_out.iter().flat_map(|it| {
        let texts = it.positives.iter().chain(&it.negatives);
        texts.map(|text| (&*it.query, &*text.text))
    });
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let scores = trained.cross_encoder.predict(&pairs).unwrap().concat();
    let right = scores.chunks(3).filter(|it| it[0] > it[1] && it[0] > it[2]);
    let right = right.count();
    assert!(right >= 36, "{right} of 40");
}
