//! Gradients of cross-encoders against PyTorch: of every loss, `testdata/reranking.py`, and of
//! every head, `.ci/encoder-folders --cross-encoders`.

use std::collections::BTreeMap;

use burn::tensor::TensorData;
use serde::Deserialize;

use super::families::{by_tensor, cosine, mismatches, read};
use super::*;
use crate::cross_encoder::head::ClassificationHead;
use crate::cross_encoder::{CrossEncoder, CrossEncoderConfig};
use crate::model_folder::{TensorSource, WeightFile};
use crate::reader::MissingHead;
use crate::train::classification_head::HeadPass;
use crate::train::cross_encoder::StepPairs;
use crate::train::headed::{
    HeadLoss, HeadedGradients, HeadedTransformer, PassSettings, TrainedHead,
};
use crate::train::{CrossEncoderLoss, CrossEncoderTrainingConfig};
use crate::transformer::encoder_prefix;

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
    gradients: Norms,
}

/// `gradients.json`.
#[derive(Deserialize)]
struct GoldenGradients {
    pairs: Vec<(String, String)>,
    tensors: Norms,
}

/// Norm and projection of the gradient of every tensor.
type Norms = BTreeMap<String, [f64; 2]>;

type Model = HeadedTransformer<ClassificationHead>;

fn testdata(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    folder.join(name)
}

fn open(folder: &Path, config: &CrossEncoderConfig) -> (CrossEncoder, Model) {
    let cross_encoder = CrossEncoder::load(folder, config, MissingHead::Error).unwrap();
    let model = cross_encoder.weights.transformer().unwrap();
    // Parameters as the optimizer leaves them.
    let model = model.map_parameters(|parameter| parameter.values);
    let head = cross_encoder.head.classification().unwrap().clone();
    (cross_encoder, HeadedTransformer::new(model, head))
}

/// Returns what is wrong with gradients.
fn failures(
    cross_encoder: &CrossEncoder,
    model: &Model,
    gradients: HeadedGradients,
    expected: &Norms,
) -> Vec<String> {
    let HeadedGradients {
        model: mut of_model,
        head,
    } = gradients;
    let parameters = model.model.parameters().into_iter();
    let values = parameters.map(|it| of_model.take(&it.name).map(Gradient::into_vec));
    let values: Vec<Vec<f32>> = values.map(Option::unwrap_or_default).collect();
    let file = WeightFile::open(&cross_encoder.folder).unwrap();
    let config = model.model.config();
    let mut found = by_tensor(config, &file.names(), &values);
    let prefix = encoder_prefix(config, &file);
    for (tensor, gradient) in model.head.named_tensors(&prefix).into_iter().zip(head) {
        let elements = gradient.iter().map(|&x| f64::from(x));
        let norm = elements.clone().map(|x| x * x).sum::<f64>().sqrt();
        let projection = elements.enumerate().map(|(at, x)| x * cosine(0.11, at));
        found.insert(tensor.name, [norm, projection.sum()]);
    }
    mismatches(&found, expected)
}

fn examples_of(golden: &Golden) -> Vec<TrainingExample> {
    let text = |(text, score): &(String, f32)| TrainingText::new(text).with_score(*score);
    let examples = golden.examples.iter().map(|(query, positive, negatives)| {
        let example = TrainingExample::new(query).positive(text(positive));
        let negatives = negatives.iter();
        negatives.fold(example, |all, it| all.negative(text(it)))
    });
    examples.collect()
}

fn config_of(golden: &Golden, training: &GoldenTraining) -> CrossEncoderTrainingConfig {
    CrossEncoderTrainingConfig {
        cross_encoder: CrossEncoderConfig::default()
            .with_backend(backend())
            .with_max_tokens(golden.max_tokens),
        loss: training.loss,
        batch_size: golden.examples.len(),
        hard_negatives: 2,
        in_batch_negatives: if training.in_batch { 1000 } else { 0 },
        dropout: 0.0,
        ..CrossEncoderTrainingConfig::default()
    }
}

#[test]
fn gradients_of_losses_equal_pytorch() {
    let golden: Golden = read(&testdata("reranking.json"));
    let data = examples_of(&golden);
    for (name, training) in &golden.training {
        let config = config_of(&golden, training);
        let (cross_encoder, model) = open(&testdata("reranking/bert"), &config.cross_encoder);
        let batch = BatchSampler::new(&data, &config).batch(0).unwrap();
        let pairs = StepPairs::new(&batch, &config, 0);
        let gradients = pairs.gradients(&cross_encoder, &model, &config, 0);
        let (_, gradients) = gradients.unwrap();
        let failures = failures(&cross_encoder, &model, gradients, &training.gradients);
        assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
    }
}

/// The derivative of the loss along the gradient of each parameter of the head is its norm.
#[test]
fn gradients_of_heads_equal_finite_differences() {
    const DISTANCE: f64 = 1e-2;
    let golden: Golden = read(&testdata("reranking.json"));
    let data = examples_of(&golden);
    for (name, training) in &golden.training {
        let config = config_of(&golden, training);
        let (cross_encoder, model) = open(&testdata("reranking/bert"), &config.cross_encoder);
        let batch = BatchSampler::new(&data, &config).batch(0).unwrap();
        let pairs = StepPairs::new(&batch, &config, 0);
        let of = |model: &Model| pairs.gradients(&cross_encoder, model, &config, 0).unwrap();
        let (_, gradients) = of(&model);
        let tensors = model.head.named_tensors("").into_iter();
        let mut checked = 0;
        for (tensor, gradient) in tensors.zip(gradients.head) {
            let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>();
            let norm = norm.sqrt();
            // The softmax does not depend on the bias of the classifier.
            if norm < 1e-4 {
                continue;
            }
            let loss = |distance: f64| {
                let mut moved = model.clone();
                let elements = moved.head.elements_mut(&tensor.name).unwrap().iter_mut();
                let pairs = elements.zip(&gradient);
                pairs.for_each(|(x, g)| *x += (f64::from(*g) / norm * distance) as f32);
                of(&moved).0
            };
            let slope = (loss(DISTANCE) - loss(-DISTANCE)) / (2.0 * DISTANCE);
            let tensor = &tensor.name;
            assert!(
                (slope / norm - 1.0).abs() < 0.01,
                "{name}, {tensor}: {slope}, {norm}"
            );
            checked += 1;
        }
        assert!(checked >= 3, "{name}: {checked} of 4 parameters");
    }
}

/// Heads of all architectures. The loss is the sum of all logits, each times a cosine.
#[test]
fn gradients_of_heads_equal_pytorch() {
    let own = testdata("cross-encoders");
    let other = std::env::var_os("IR_CROSS_ENCODER_FOLDERS").map(PathBuf::from);
    let roots = [own].into_iter().chain(other);
    let folders = roots.flat_map(|root| std::fs::read_dir(root).unwrap());
    let folders = folders.map(|it| it.unwrap().path());
    let folders: Vec<PathBuf> = folders
        .filter(|folder| folder.join("gradients.json").exists())
        .collect();
    assert!(!folders.is_empty());
    let config = CrossEncoderConfig::default().with_backend(backend());
    let mut all = Vec::new();
    for folder in folders {
        let GoldenGradients { pairs, tensors } = read(&folder.join("gradients.json"));
        let (cross_encoder, model) = open(&folder, &config);
        let texts = pairs
            .iter()
            .map(|(query, document)| (&**query, &**document));
        let documents = cross_encoder.tokenize(&texts.collect::<Vec<_>>()).unwrap();
        let sequences: Vec<_> = documents.iter().map(|it| it.windows[0].tokens()).collect();
        let settings = PassSettings {
            precision: Precision::F32,
            dropout: None,
            padding: cross_encoder.tokenizer.padding(),
        };
        let (labels, count) = (model.head.labels(), sequences.len());
        let mini_batches = [(0..2).collect(), (2..count).collect::<Vec<usize>>()];
        let (_, gradients) = model.gradients(
            &sequences,
            &mini_batches,
            settings,
            |pairs, states, rows| {
                let ids: Vec<&[u32]> = pairs.iter().map(|&pair| sequences[pair].0).collect();
                let pass = HeadPass::new(&model.head, states, rows, &ids);
                let logits = pass.logits();
                let factors = pairs
                    .iter()
                    .flat_map(|pair| (0..labels).map(move |label| pair * labels + label));
                let factors = factors.map(|at| cosine(0.37, at) as f32).collect();
                let factors = TensorData::new(factors, logits.dims());
                let loss = logits.clone() * Tensor::from_data(factors, &logits.device());
                let (head, states) = pass.backward(vec![loss.sum()]);
                HeadLoss {
                    losses: Vec::new(),
                    head,
                    states,
                }
            },
        );
        let failures = failures(&cross_encoder, &model, gradients, &tensors).into_iter();
        all.extend(failures.map(|it| format!("{}: {it}", folder.display())));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}
