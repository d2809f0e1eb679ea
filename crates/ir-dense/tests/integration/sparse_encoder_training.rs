//! Training of learned sparse encoders: threads, interruptions, penalties, saved folders, errors.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use ir_core::{Flow, NoProgress, Side, VectorSimilarity};
use ir_dense::train::{
    Loss, Regularizer, RegularizerKind, SparseEncoderTrainer, SparseEncoderTrainingResult,
    SparsityConfig, TrainError, Trainer, TrainingConfig,
};
use ir_dense::{EncoderConfig, Pooling, SparseEncoder};

use crate::common::{
    config, examples, on_backend, on_default_backend, python, run_python, testdata, tiny,
};

/// Tied and untied positions, maximum and sum: folders of `testdata/sparse-encoders`.
const FOLDERS: [&str; 3] = ["bert", "distilbert", "modernbert"];

fn folder(name: &str) -> PathBuf {
    testdata("sparse-encoders").join(name)
}

/// 9 steps with dropout, in mini-batches of two texts.
fn small() -> TrainingConfig {
    let mut config = config();
    config.loss = Loss::Softmax { temperature: 20.0 };
    config.similarity = VectorSimilarity::InnerProduct;
    config.sparsity = Some(penalties(RegularizerKind::Flops, 1e-3));
    config.mini_batch_size = Some(2);
    config
}

/// [`small`] with changed values.
fn changed(change: impl FnOnce(&mut TrainingConfig)) -> TrainingConfig {
    let mut config = small();
    change(&mut config);
    config
}

fn penalties(kind: RegularizerKind, weight: f64) -> SparsityConfig {
    SparsityConfig {
        query: Regularizer { kind, weight },
        document: Regularizer { kind, weight },
        warmup_ratio: 0.5,
    }
}

fn open(folder: &Path, config: &TrainingConfig) -> SparseEncoderTrainer {
    SparseEncoderTrainer::open(folder, config).unwrap()
}

fn train(folder: &Path, config: &TrainingConfig) -> SparseEncoderTrainingResult {
    let trainer = open(folder, config);
    trainer.train(&examples(), &mut NoProgress).unwrap()
}

/// Components and bits of the weights of all queries and positives.
fn bits(encoder: &SparseEncoder) -> Vec<(u32, u32)> {
    let examples = examples();
    let queries: Vec<&str> = examples.iter().map(|it| &*it.query).collect();
    let positives = examples.iter().map(|it| &*it.positives[0].text);
    let positives: Vec<&str> = positives.collect();
    let mut weights = encoder.encode_queries(&queries).unwrap();
    weights.extend(encoder.encode_documents(&positives).unwrap());
    let weights = weights.into_iter().flatten();
    weights.map(|(at, weight)| (at, weight.to_bits())).collect()
}

/// The same bytes on any number of threads; other bytes with another seed.
#[test]
fn training_does_not_depend_on_threads() {
    if !on_default_backend() {
        return;
    }
    for name in FOLDERS {
        let on = |threads: usize, seed: u64| {
            let config = changed(|it| {
                it.seed = seed;
            });
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let trained = pool.build().unwrap();
            let trained = trained.install(|| train(&folder(name), &config));
            (bits(&trained.encoder), trained.history)
        };
        let first = on(1, 1);
        assert!(on(4, 1) == first, "{name}: threads");
        assert!(on(1, 2) != first, "{name}: seed");
    }
}

/// Results differ in the last bits.
#[test]
fn mini_batches_do_not_change_training() {
    for name in FOLDERS {
        let on = |mini_batch_size: Option<usize>| {
            let config = changed(|it| {
                it.mini_batch_size = mini_batch_size;
            });
            train(&folder(name), &config).history.steps
        };
        let whole = on(None);
        assert_eq!(whole.len(), 9);
        for (found, expected) in on(Some(3)).iter().zip(&whole) {
            let apart = (found.loss - expected.loss).abs();
            assert!(apart < 1e-3 * expected.loss, "{found:?}, {expected:?}");
        }
    }
}

/// Training that is interrupted after 1, 2 and 4 steps resumes and ends with the bytes of an
/// uninterrupted run.
#[test]
fn interrupted_training_resumes() {
    if !on_default_backend() {
        return;
    }
    for name in FOLDERS {
        let (data, model) = (examples(), folder(name));
        let config = changed(|it| {
            it.evaluate_every = Some(1);
        });
        // The best evaluation is after three steps.
        let mut evaluate = |_: &SparseEncoder, step: u64| Ok(-(step as f64 - 3.0).abs());
        let whole = open(&model, &config);
        let fingerprint = whole.fingerprint(&data);
        let whole = whole.train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
        let whole = whole.unwrap();
        assert_eq!((whole.step, whole.fingerprint), (3, fingerprint));
        let checkpoints = tempfile::tempdir().unwrap();
        let resumable = || open(&model, &config).with_checkpoints(checkpoints.path());
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
        let resumed = resumable().train_and_evaluate(&data, &mut evaluate, &mut NoProgress);
        let resumed = resumed.unwrap();
        assert_eq!(resumed.history, whole.history);
        assert_eq!((resumed.step, resumed.fingerprint), (3, fingerprint));
        assert_eq!(bits(&resumed.encoder), bits(&whole.encoder));
        // Other penalties are another run.
        let other = changed(|it| {
            it.evaluate_every = Some(1);
            it.sparsity = Some(penalties(RegularizerKind::Flops, 2e-3));
        });
        let other = open(&model, &other).with_checkpoints(checkpoints.path());
        match other.train(&data, &mut NoProgress) {
            Err(TrainError::OtherConfiguration { field, .. }) => {
                assert!(field.starts_with("sparsity."), "{field}");
            }
            _ => panic!("expected an error"),
        }
    }
}

/// Mean number of weights of a text.
fn active(encoder: &SparseEncoder) -> usize {
    bits(encoder).len() / (2 * examples().len())
}

#[test]
fn penalties_make_weights_sparse() {
    for kind in [RegularizerKind::Flops, RegularizerKind::L1] {
        let [without, with] = [0.0, 0.05].map(|weight| {
            let config = changed(|it| {
                it.sparsity = Some(penalties(kind, weight));
                it.epochs = 20;
                it.dropout = 0.0;
            });
            train(&folder("bert"), &config)
        });
        let [many, few] = [&without, &with].map(|it| active(&it.encoder));
        assert!(2 * few < many, "{kind:?}: {few} of {many}");
        // A penalty of weight 0 is none.
        let config = changed(|it| {
            it.sparsity = None;
            it.epochs = 20;
            it.dropout = 0.0;
        });
        let none = train(&folder("bert"), &config);
        assert_eq!(bits(&none.encoder), bits(&without.encoder));
    }
}

#[test]
fn every_loss_decreases() {
    let mut data = examples();
    for example in &mut data {
        example
            .positives
            .iter_mut()
            .for_each(|it| it.score = Some(60.0));
        example
            .negatives
            .iter_mut()
            .for_each(|it| it.score = Some(20.0));
    }
    for loss in [
        Loss::Softmax { temperature: 20.0 },
        Loss::Symmetric { temperature: 20.0 },
        Loss::Pointwise { scale: Some(0.02) },
        Loss::Margin { margin: 20.0 },
        Loss::KlDivergence { temperature: 20.0 },
        Loss::MarginMse,
    ] {
        let config = changed(|it| {
            it.loss = loss;
            it.sparsity = None;
            it.epochs = 30;
            it.batch_size = 7;
            it.dropout = 0.0;
        });
        let trained = open(&folder("bert"), &config).train(&data, &mut NoProgress);
        let steps = trained.unwrap().history.steps;
        let mean = |steps: &[ir_dense::train::TrainingStep]| {
            steps.iter().map(|step| step.loss).sum::<f64>() / steps.len() as f64
        };
        let (first, last) = (mean(&steps[..3]), mean(&steps[steps.len() - 3..]));
        assert!(last < 0.9 * first, "{loss:?}: {first}, then {last}");
    }
}

/// A folder without modules becomes one of sentence-transformers.
#[test]
fn saved_folders_open_again() {
    for name in ["bert", "bert-older", "distilbert", "modernbert"] {
        let mut config = small();
        config.encoder.query.max_tokens = Some(8);
        let trained = train(&folder(name), &config).encoder;
        let here = tempfile::tempdir().unwrap();
        let saved = here.path().join("saved");
        trained.save(&saved).unwrap();
        assert!(SparseEncoder::is_model_folder(&saved).unwrap());
        let backend = EncoderConfig::default().with_backend(on_backend().backend);
        let reopened = SparseEncoder::open_with(&saved, &backend).unwrap();
        assert_eq!(reopened.max_tokens(Side::Query), 8);
        assert_eq!(reopened.max_tokens(Side::Document), 16);
        assert_eq!(bits(&reopened), bits(&trained), "{name}");
        assert!(SparseEncoderTrainer::open(&saved, &small()).is_ok());
        // The folder of a folder is the same.
        let again = here.path().join("again");
        reopened.save(&again).unwrap();
        for file in ["model.safetensors", "config.json", "modules.json"] {
            let read = |folder: &Path| fs::read(folder.join(file)).unwrap();
            assert!(read(&again) == read(&saved), "{name}: {file}");
        }
    }
}

/// sentence-transformers computes the same weights from a saved folder. Needs the variable
/// IR_DENSE_PYTHON.
#[test]
fn sentence_transformers_reads_saved_folders() {
    const PROGRAM: &str = "
import json, sys
from sentence_transformers import SparseEncoder
model = SparseEncoder(sys.argv[1], device='cpu')
rows = [encode(json.loads(sys.argv[2]), convert_to_sparse_tensor=False).tolist()
        for encode in (model.encode_query, model.encode_document)]
print(json.dumps(rows))
";
    let Some(python) = python() else { return };
    let texts = [
        "the tea",
        "green and black, seen at sea: a ship by radar",
        "",
    ];
    for name in ["bert", "bert-older", "distilbert", "modernbert"] {
        let trained = train(&folder(name), &small()).encoder;
        let here = tempfile::tempdir().unwrap();
        let saved = here.path().join("saved");
        trained.save(&saved).unwrap();
        let output = run_python(&python, PROGRAM, &saved, &texts);
        let expected: [Vec<Vec<f32>>; 2] = serde_json::from_slice(&output).unwrap();
        for (side, expected) in [Side::Query, Side::Document].into_iter().zip(expected) {
            let found = trained.encode_weights(side, &texts).unwrap();
            for ((text, found), expected) in texts.iter().zip(found).zip(expected) {
                let mut dense = vec![0.0; expected.len()];
                found.iter().for_each(|&(at, x)| dense[at as usize] = x);
                let largest = expected.iter().fold(1.0_f32, |a, b| a.max(*b));
                let pairs = dense.iter().zip(&expected);
                let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart <= 1e-5 * largest, "{name} {side:?} {text:?}: {apart}");
            }
        }
    }
}

#[test]
fn invalid_input_is_an_error() {
    type Change = fn(&mut TrainingConfig);
    let changes: [(Change, &str); 6] = [
        (
            |it| it.similarity = VectorSimilarity::Cosine,
            "similarity is cosine, expected dot, for a sparse encoder",
        ),
        (
            |it| it.encoder.pooling = Some(Pooling::Cls),
            "encoder.pooling is cls, expected none, as the sparse encoder determines it",
        ),
        (
            |it| it.loss = Loss::Pointwise { scale: None },
            "loss.scale is null, expected above 0, as inner products are not cosines",
        ),
        (
            |it| it.sparsity = Some(penalties(RegularizerKind::L1, -1.0)),
            "sparsity.query.weight is -1, expected at least 0",
        ),
        (
            |it| it.sparsity.as_mut().unwrap().document.weight = f64::NAN,
            "sparsity.document.weight is NaN, expected at least 0",
        ),
        (
            |it| it.sparsity.as_mut().unwrap().warmup_ratio = 1.5,
            "sparsity.warmup_ratio is 1.5, expected between 0 and 1",
        ),
    ];
    for (change, expected) in changes {
        let mut config = small();
        change(&mut config);
        let error = SparseEncoderTrainer::open(folder("bert"), &config).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = |folder: PathBuf| {
        let error = SparseEncoderTrainer::open(folder, &small()).unwrap_err();
        error.to_string()
    };
    let found = error(folder("router"));
    let expected = "a model for each, expected one masked language model for queries and documents";
    assert!(found.ends_with(expected), "{found}");
    // Encoders without a head.
    assert!(error(tiny("bert")).contains("expected"), "{found}");
    let found = Trainer::open(tiny("bert"), &small())
        .unwrap_err()
        .to_string();
    let expected = "expected none: sparsity regularization is for a sparse encoder";
    assert!(found.ends_with(expected), "{found}");
    let here = tempfile::tempdir().unwrap();
    let router = SparseEncoder::open(folder("router")).unwrap();
    let found = router.save(here.path().join("saved")).unwrap_err();
    assert!(found.to_string().contains("expected one masked"), "{found}");
    // Weights that are not finite.
    let config = changed(|it| {
        it.learning_rate = 1e30;
        it.max_gradient_norm = None;
    });
    let found = open(&folder("bert"), &config).train(&examples(), &mut NoProgress);
    assert!(matches!(found, Err(TrainError::NotFinite { .. })));
}
