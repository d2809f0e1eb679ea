//! Gradients of all architectures against PyTorch: `gradients.json` of `.ci/encoder-folders`.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};

use burn::tensor::{Device, TensorData};
use ir_core::Side;
use serde::Deserialize;

use super::*;
use crate::encode::SideConfig;
use crate::error::ModelError;
use crate::model_folder::{TensorSource, TensorValues, TransformerConfig, WeightFile};
use crate::transformer::Transformer;

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
    /// Tensors of the file.
    names: Vec<String>,
    /// If `true`, the value of an element is its index in its tensor; or else the index of its
    /// tensor in `names`.
    elements: bool,
}

impl TensorSource for Origins {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        let tensor = self.names.iter().position(|it| it == name).unwrap();
        let count: usize = shape.iter().product();
        let value = |at| if self.elements { at as f32 } else { tensor as f32 };
        Ok(TensorValues::InMemory((0..count).map(value).collect()))
    }
}

/// Committed folders, by name.
fn committed() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/families");
    let mut folders: Vec<PathBuf> = read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("gradients.json").exists())
        .collect();
    folders.sort();
    folders
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_str(&read_to_string(path).unwrap()).unwrap()
}

/// Returns the numbers with which a row-major tensor is multiplied in `.ci/encoder-folders`.
fn cosine(frequency: f64, at: usize) -> f64 {
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
fn by_tensor(
    config: &TransformerConfig,
    names: &[String],
    gradients: &[Vec<f32>],
) -> BTreeMap<String, [f64; 2]> {
    let [tensors, elements] = [false, true].map(|elements| {
        let names = names.to_vec();
        let source = Origins { names, elements };
        let model = Transformer::load(config.clone(), &source, &Device::flex()).unwrap();
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
        let ids = tower.tower.tokenize(Side::Document, &SideConfig::default(), &all[text]);
        ids.unwrap().ids
    });
    let ids: Vec<Vec<u32>> = ids.collect();
    let names = WeightFile::open(&tower.tower.transformer_folder).unwrap().names();
    let largest = tensors.values().fold(0.0, |a: f64, b| a.max(b[0]));
    let batches = [
        ("unpadded", TokenBatch::new(&ids)),
        ("padded", TokenBatch::padded(&ids, tower.tower.tokenizer.padding())),
    ];
    let mut failures = Vec::new();
    let mut worst = (0.0, String::new());
    for (kind, batch) in batches {
        let gradients = gradients_of_cosines(&tower, &batch);
        let found = by_tensor(tower.model.config(), &names, &gradients);
        let unread = tensors.keys().filter(|name| !found.contains_key(*name));
        failures.extend(unread.map(|name| format!("{name} has a gradient, but is not read")));
        for (name, found) in found {
            let expected = tensors.get(&name).copied().unwrap_or_default();
            let most = TOLERANCE * expected[0] + FLOOR * largest;
            let differences = [0, 1].map(|at| (found[at] - expected[at]).abs());
            let ratio = differences[0].max(differences[1]) / most;
            if ratio > worst.0 { worst = (ratio, format!("{kind} {name} {found:?} {expected:?}")); }
            // Not for NaN.
            if !differences.iter().all(|difference| *difference <= most) {
                failures.push(format!("{kind}, {name}: {found:?}, expected {expected:?}"));
            }
        }
    }
    eprintln!("{} {} {:.4} {}", folder.display(), tensors.len(), worst.0, worst.1);
    failures
}

/// Dropout masks of forward and backward pass, GradCache, and threads.
#[test]
fn training_of_families_is_deterministic() {
    let mut config = plain(Pooling::Mean);
    config.encoder = config.encoder.with_max_tokens(32);
    config.similarity = VectorSimilarity::Cosine;
    config.dropout = 0.2;
    let sample = sample(&config);
    let mut all = committed();
    let mut big = TrainingBatch { ..sample.clone() };
    if let Some(root) = std::env::var_os("BIG43") {
        all = read_dir(root).unwrap().map(|it| it.unwrap().path()).collect();
        config.batch_size = 48; config.hard_negatives = 3;
        big = BatchSampler::new(&examples(48, 3), &config).batch(0).unwrap();
    }
    let sample = big;
    for folder in all {
        let name = folder.to_str().unwrap();
        let towers = towers(name, &config);
        let on = |threads: usize, size: Option<usize>| {
            let mut config = config.clone();
            config.mini_batch_size = size;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool.build().unwrap().install(|| towers.gradients(&sample, &config, 3));
            let (value, mut gradients) = found.unwrap();
            (value, values(gradients.remove(0), &towers.0[0]))
        };
        let (whole, expected) = on(1, None);
        let size = expected.iter().map(|it| largest(it)).fold(0.0, f32::max);
        for threads in [2, 5] {
            if on(threads, None) != (whole, expected.clone()) { eprintln!("{name}: {threads} threads"); }
        }
        for block in [1, 2, 4] {
            let (value, found) = on(2, Some(block));
            if (value - whole).abs() >= 1e-6 * whole.max(1.0) { eprintln!("{name}: {block} {value} {whole}"); }
            let mut worst = 0.0f32;
            for (found, expected) in found.iter().zip(&expected) {
                let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
                let apart = apart.fold(0.0, f32::max);
                worst = worst.max(apart / size);
            }
            eprintln!("{name}: {block} {worst:e}");
        }
        let start = std::time::Instant::now();
        if std::panic::catch_unwind(|| check_dropout_masks(name)).is_err() { eprintln!("{name}: dropout"); }
        eprintln!("{:?}", start.elapsed());
    }
}

#[test]
fn gradients_of_families_equal_pytorch() {
    let mut folders = committed();
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
