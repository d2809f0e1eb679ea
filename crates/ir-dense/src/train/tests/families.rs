//! Gradients of all architectures against PyTorch: `gradients.json` of `.ci/encoder-folders`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};

use burn::tensor::{Device, TensorData};
use ir_core::Side;
use serde::Deserialize;

use super::*;
use crate::encode::SideConfig;
use crate::error::ModelError;
use crate::model_folder::{TensorSource, TensorValues, TransformerConfig, WeightFile};
use crate::train::Trainer;
use crate::transformer::Transformer;
use crate::transformer::family_tests::folders;

/// Maximum difference, as a fraction of the norm of the gradient of the tensor.
const TOLERANCE: f64 = 1e-4;

/// Maximum difference, as a fraction of the largest norm of a gradient.
const FLOOR: f64 = 1e-6;

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
}

/// `gradients.json`.
#[derive(Deserialize)]
struct ExpectedGradients {
    /// Indices in `texts` of `expected.json`.
    texts: Vec<usize>,
    /// L2 norm and projection of the gradient of every tensor of the weight file.
    tensors: BTreeMap<String, [f64; 2]>,
}

/// Weights that say which element of the weight file they are.
struct Origins {
    /// Tensors of the file, and of its adapter once they were read.
    names: RefCell<Vec<String>>,
    /// If `true`, the value of an element is its index in its tensor; or else the index of its
    /// tensor in `names`.
    elements: bool,
}

impl TensorSource for Origins {
    fn names(&self) -> Vec<String> {
        self.names.borrow().clone()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        let mut names = self.names.borrow_mut();
        let tensor = names.iter().position(|it| it == name);
        let tensor = tensor.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        let count: usize = shape.iter().product();
        let value = |at| {
            if self.elements {
                at as f32
            } else {
                tensor as f32
            }
        };
        Ok(TensorValues::InMemory((0..count).map(value).collect()))
    }
}

pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_str(&read_to_string(path).unwrap()).unwrap()
}

/// Returns the numbers with which a row-major tensor is multiplied in `.ci/encoder-folders`.
pub(super) fn cosine(frequency: f64, at: usize) -> f64 {
    (frequency * (at + 1) as f64).cos()
}

/// Gradients by parameter of the sum of all components of the vectors, each times a cosine.
fn gradients_of_cosines(tower: &TrainedTower, batch: &TokenBatch) -> Vec<Vec<f32>> {
    let cpu = tower.cpu.load(&tower.model, Precision::F32);
    let pass = ForwardPass {
        cpu: cpu.as_ref(),
        save: true,
        ..ForwardPass::inference(&tower.model, batch)
    };
    let (states, saved) = pass.run();
    let shape = [batch.texts(), tower.tower.dim()];
    let d_vectors = (0..shape[0] * shape[1]).map(|at| cosine(0.37, at) as f32);
    let d_vectors = TensorData::new(d_vectors.collect(), shape);
    let d_vectors = Tensor::from_data(d_vectors, &tower.model.device());
    let d_states = pooling_backward(&tower.tower, states, batch, d_vectors);
    let mut gradients = ModelGradients::default();
    propagate_gradients(&pass, saved.unwrap(), d_states, &mut gradients);
    values(gradients, tower)
}

/// Norm and projection of the gradients of all tensors that the model reads of its weight file.
pub(super) fn by_tensor(
    config: &TransformerConfig,
    names: &[String],
    gradients: &[Vec<f32>],
) -> BTreeMap<String, [f64; 2]> {
    let mut names = names.to_vec();
    let [tensors, elements] = [false, true].map(|elements| {
        let source = Origins {
            names: RefCell::new(names.clone()),
            elements,
        };
        let model = Transformer::load(config.clone(), &source, &Device::flex()).unwrap();
        names = source.names.into_inner();
        model.parameters()
    });
    let mut sums: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for ((tensors, elements), gradient) in tensors.into_iter().zip(elements).zip(gradients) {
        let [tensors, elements] =
            [tensors, elements].map(|it| it.values.try_into_vec_as::<f32>().unwrap());
        for (at, (tensor, element)) in tensors.into_iter().zip(elements).enumerate() {
            let [squares, projection] = sums.entry(names[tensor as usize].clone()).or_default();
            // Parameters that the loss does not depend on have no gradient.
            let value = gradient.get(at).copied().map_or(0.0, f64::from);
            *squares += value * value;
            *projection += value * cosine(0.11, element as usize);
        }
    }
    let roots = sums.into_iter();
    roots
        .map(|(name, [squares, projection])| (name, [squares.sqrt(), projection]))
        .collect()
}

/// Returns the tensors with another norm or projection than expected, or that the model does not
/// read.
pub(super) fn mismatches(
    found: &BTreeMap<String, [f64; 2]>,
    expected: &BTreeMap<String, [f64; 2]>,
) -> Vec<String> {
    let largest = expected.values().fold(0.0, |a: f64, b| a.max(b[0]));
    let unread = expected.keys().filter(|name| !found.contains_key(*name));
    let mut mismatches: Vec<String> = unread
        .map(|name| format!("{name} has a gradient, but is not read"))
        .collect();
    for (name, found) in found {
        let expected = expected.get(name).copied().unwrap_or_default();
        let most = TOLERANCE * expected[0] + FLOOR * largest;
        let differences = [0, 1].map(|at: usize| (found[at] - expected[at]).abs());
        // Not for NaN.
        if !differences.iter().all(|difference| *difference <= most) {
            mismatches.push(format!("{name}: {found:?}, expected {expected:?}"));
        }
    }
    mismatches
}

/// Returns what is wrong with the gradients of a folder.
fn failures(folder: &Path) -> Vec<String> {
    let ExpectedGradients { texts, tensors } = read(&folder.join("gradients.json"));
    let Expected { texts: all } = read(&folder.join("expected.json"));
    let config = EncoderConfig::default().with_backend(backend());
    let mut tower = match TrainedTower::open(folder, &config) {
        Ok(tower) => tower,
        Err(error) => return vec![error.to_string()],
    };
    // Parameters as the optimizer leaves them.
    tower.model = tower.model.map_parameters(|parameter| parameter.values);
    let ids = texts.iter().map(|&text| {
        let ids = tower
            .tower
            .tokenize(Side::Document, &SideConfig::default(), &all[text]);
        ids.unwrap().ids
    });
    let ids: Vec<Vec<u32>> = ids.collect();
    let names = WeightFile::open(&tower.tower.transformer_folder)
        .unwrap()
        .names();
    let batches = [
        ("unpadded", TokenBatch::new(&ids)),
        (
            "padded",
            TokenBatch::padded(&ids, tower.tower.tokenizer.padding()),
        ),
    ];
    let mut failures = Vec::new();
    for (kind, batch) in batches {
        let gradients = gradients_of_cosines(&tower, &batch);
        let found = by_tensor(tower.model.config(), &names, &gradients);
        let mismatches = mismatches(&found, &tensors).into_iter();
        failures.extend(mismatches.map(|it| format!("{kind}, {it}")));
    }
    failures
}

#[test]
fn gradients_of_families_equal_pytorch() {
    let mut folders = folders();
    folders.retain(|folder| folder.join("gradients.json").exists());
    assert!(!folders.is_empty());
    if let Some(root) = std::env::var_os("IR_ENCODER_FOLDERS") {
        let entries = read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        // tests/integration/families.rs has the folders that are not supported.
        folders.extend(entries.filter(|folder| {
            folder.join("gradients.json").exists() && TransformerConfig::read(folder).is_ok()
        }));
    }
    let lines = folders.iter().flat_map(|folder| {
        let failures = failures(folder).into_iter();
        failures.map(|failure| format!("{}: {failure}", folder.display()))
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

/// Gradients do not depend on mini-batches and threads, and the backward pass uses the dropout
/// masks of the forward pass.
#[test]
fn gradients_of_families_are_the_same_in_mini_batches() {
    let mut config = plain(Pooling::Mean);
    config.encoder = config.encoder.with_max_tokens(32);
    config.similarity = VectorSimilarity::Cosine;
    config.dropout = 0.2;
    let sample = sample(&config);
    for folder in folders() {
        let name = folder.to_str().unwrap();
        let towers = towers(name, &config);
        let on = |threads: usize, mini_batch_size: Option<usize>| {
            let mut config = config.clone();
            config.mini_batch_size = mini_batch_size;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = || towers.gradients(&sample, &config, 3).unwrap();
            let (value, mut gradients) = pool.build().unwrap().install(found);
            (value, values(gradients.remove(0), &towers.0[0]))
        };
        let (whole, expected) = on(1, None);
        if backend() == Backend::default() {
            for threads in [2, 5] {
                assert!(
                    on(threads, None) == (whole, expected.clone()),
                    "{name}: {threads}"
                );
            }
        }
        let most = 1e-5 * largest(&expected.concat());
        for size in [1, 4] {
            let (value, found) = on(2, Some(size));
            assert!(
                (value - whole).abs() < 1e-6 * whole,
                "{name}: {value}, expected {whole}"
            );
            let differences = found.concat().into_iter().zip(expected.concat());
            let apart = differences.fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()));
            assert!(apart < most, "{name}, mini-batches of {size}: {apart}");
        }
        check_dropout_masks(name);
    }
}

#[test]
fn bf16_needs_the_layers_of_bert() {
    for folder in folders() {
        let config = TrainingConfig {
            precision: Precision::Bf16,
            ..TrainingConfig::small_data()
        };
        let is_bert = TransformerConfig::read(&folder).unwrap().layer.is_bert();
        let trainer = Trainer::open(&folder, &config);
        assert_eq!(trainer.is_ok(), is_bert, "{}", folder.display());
        if let Err(error) = trainer {
            assert!(
                error.to_string().starts_with("precision is bf16"),
                "{error}"
            );
        }
    }
}
