//! Gradients of learned sparse encoders against PyTorch (`gradients.json` of
//! `.ci/encoder-folders --sparse`) and finite differences.

use std::fs::read_dir;

use super::families::{by_tensor, cosine, mismatches, read};
use super::*;
use crate::learned_sparse::{MaskedLmLayers, SpladeFolder};
use crate::model_folder::{TensorSource, WeightFile};
use crate::train::headed::HeadedTransformer;
use crate::train::sparse_encoder::gradients;
use crate::train::sparsity::SparsityPenalty;
use crate::train::{Regularizer, RegularizerKind, SparsityConfig};

/// `gradients.json`.
#[derive(serde::Deserialize)]
struct Expected {
    queries: Vec<String>,
    documents: Vec<String>,
    /// Column of the positive of every query.
    positives: Vec<usize>,
    temperature: f64,
    regularizer: RegularizerKind,
    /// Weights of the penalties of queries and documents.
    penalties: [f64; 2],
    loss: f32,
    /// L2 norm and projection of the gradient of every tensor of the weight file.
    tensors: std::collections::BTreeMap<String, [f64; 2]>,
}

type Trained = HeadedTransformer<MaskedLmLayers>;

fn open(folder: &Path, config: &TrainingConfig) -> (SpladeFolder, Trained) {
    let (folder, layers) = SpladeFolder::open(folder, &config.encoder).unwrap();
    // Parameters as the optimizer leaves them.
    let model = folder.tower.transformer().unwrap();
    let model = model.map_parameters(|parameter| parameter.values);
    (folder, HeadedTransformer::new(model, layers))
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sparse-encoders")
}

fn penalty(kind: RegularizerKind, weights: [f64; 2]) -> SparsityPenalty {
    let [query, document] = weights.map(|weight| Regularizer { kind, weight });
    SparsityPenalty {
        config: SparsityConfig {
            query,
            document,
            ..SparsityConfig::default()
        },
        factor: 1.0,
    }
}

/// Maximum and sum, with tied and untied weights; one mini-batch per side, and mini-batches of two
/// texts.
#[test]
fn gradients_equal_pytorch() {
    let other = std::env::var_os("IR_SPARSE_ENCODER_FOLDERS").map(PathBuf::from);
    let roots = [testdata()].into_iter().chain(other);
    let entries = roots.flat_map(|root| read_dir(root).unwrap());
    let folders = entries.map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.join("gradients.json").exists());
    let folders: Vec<PathBuf> = folders.collect();
    assert!(folders.len() >= 3, "{folders:?}");
    for folder in folders {
        let name = folder.display();
        let expected: Expected = read(&folder.join("gradients.json"));
        let (queries, documents) = (expected.queries.clone(), expected.documents.clone());
        let batch = TrainingBatch {
            masked: vec![false; queries.len() * documents.len()],
            candidates: expected.positives.iter().map(|&at| at..at + 2).collect(),
            teacher_scores: Vec::new(),
            queries,
            documents,
        };
        for mini_batch_size in [None, Some(2)] {
            let config = TrainingConfig {
                encoder: EncoderConfig::default().with_backend(backend()),
                mini_batch_size,
                loss: Loss::Softmax {
                    temperature: expected.temperature,
                },
                dropout: 0.0,
                ..TrainingConfig::sparse_encoder()
            };
            let (splade, trained) = open(&folder, &config);
            let penalty = Some(penalty(expected.regularizer, expected.penalties));
            let step = gradients(&splade, &trained, &batch, &config, (0, penalty));
            let (value, gradients) = step.unwrap();
            let apart = (value - f64::from(expected.loss)).abs();
            assert!(apart < 1e-5, "{name}: {value}, expected {}", expected.loss);
            let mut of_model = gradients.model;
            let parameters = trained.model.parameters().into_iter();
            let values = parameters.map(|it| of_model.take(&it.name).map(Gradient::into_vec));
            let values: Vec<Vec<f32>> = values.map(Option::unwrap_or_default).collect();
            assert!(of_model.is_empty());
            let names = WeightFile::open(&folder).unwrap().names();
            let mut found = by_tensor(trained.model.config(), &names, &values);
            for (tensor, gradient) in trained.head.named_tensors().iter().zip(gradients.head) {
                let elements = || gradient.iter().map(|&x| f64::from(x)).enumerate();
                let norm = elements().map(|(_, x)| x * x).sum::<f64>().sqrt();
                let projection = elements().map(|(at, x)| x * cosine(0.11, at)).sum();
                let name = tensor.name.clone();
                found.insert(name, [norm, projection]);
            }
            let mismatches = mismatches(&found, &expected.tensors);
            let lines = mismatches.join("\n");
            assert!(lines.is_empty(), "{name} {mini_batch_size:?}:\n{lines}");
        }
    }
}

/// The derivative of the loss along the gradient of each parameter of the head is its norm, for
/// losses of a teacher and both penalties.
#[test]
fn gradients_of_heads_equal_finite_differences() {
    const DISTANCE: f64 = 2e-3;
    let losses = [
        (
            Loss::KlDivergence { temperature: 20.0 },
            RegularizerKind::L1,
        ),
        (Loss::MarginMse, RegularizerKind::Flops),
        (Loss::Margin { margin: 5.0 }, RegularizerKind::L1),
    ];
    let mut checked = 0;
    for (loss, kind) in losses {
        let config = TrainingConfig {
            encoder: EncoderConfig::default().with_backend(backend()),
            batch_size: 3,
            hard_negatives: 2,
            mini_batch_size: Some(4),
            loss,
            dropout: 0.0,
            ..TrainingConfig::sparse_encoder()
        };
        let (splade, trained) = open(&testdata().join("bert"), &config);
        let batch = sample(&config);
        let penalty = Some(penalty(kind, [0.01, 0.02]));
        let of =
            |trained: &Trained| gradients(&splade, trained, &batch, &config, (0, penalty)).unwrap();
        let (_, expected) = of(&trained);
        let tensors = trained.head.named_tensors();
        assert_eq!(tensors.len(), expected.head.len());
        for (tensor, gradient) in tensors.into_iter().zip(&expected.head) {
            let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>();
            let norm = norm.sqrt();
            let at = |distance: f64| {
                let mut moved = trained.clone();
                let elements = moved.head.elements_mut(&tensor.name).unwrap().iter_mut();
                let pairs = elements.zip(gradient);
                pairs.for_each(|(x, g)| *x += (f64::from(*g) / norm * distance) as f32);
                of(&moved).0
            };
            let slope = (at(DISTANCE) - at(-DISTANCE)) / (2.0 * DISTANCE);
            let tensor = &tensor.name;
            assert!(
                (slope / norm - 1.0).abs() < 0.02,
                "{loss:?}, {tensor}: {slope}, {norm}"
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 15);
}
