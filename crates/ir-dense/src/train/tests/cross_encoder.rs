//! Gradients of cross-encoders against PyTorch, of every loss: `testdata/reranking.py`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::families::{by_tensor, cosine, read};
use super::*;
use crate::cross_encoder::head::ClassificationHead;
use crate::cross_encoder::{CrossEncoder, CrossEncoderConfig};
use crate::model_folder::{TensorSource, WeightFile};
use crate::reader::MissingHead;
use crate::train::cross_encoder::StepPairs;
use crate::train::headed::{HeadedGradients, HeadedTransformer, TrainedHead};
use crate::train::{CrossEncoderLoss, CrossEncoderTrainingConfig};

/// Maximum difference, as a fraction of the norm of the gradient of the tensor.
const TOLERANCE: f64 = 1e-4;
/// Maximum difference, as a fraction of the largest norm of a gradient.
const FLOOR: f64 = 1e-6;

#[derive(Deserialize)]
struct Golden {
    max_tokens: usize,
    examples: Vec<(String, (String, f32), Vec<(String, f32)>)>,
    training: BTreeMap<String, GoldenTraining>,
}

#[derive(Deserialize)]
struct GoldenTraining {
    loss: CrossEncoderLoss,
    in_batch: bool,
    /// Norm and projection of the gradient of every tensor.
    gradients: BTreeMap<String, [f64; 2]>,
}

type Model = HeadedTransformer<ClassificationHead>;

fn open(config: &CrossEncoderTrainingConfig) -> (CrossEncoder, Model) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/reranking/bert");
    let missing = MissingHead::Random(1);
    let cross_encoder = CrossEncoder::load(&folder, &config.cross_encoder, missing).unwrap();
    let model = cross_encoder.weights.transformer().unwrap();
    // Parameters as the optimizer leaves them.
    let model = model.map_parameters(|parameter| parameter.values);
    let model = HeadedTransformer::new(model, cross_encoder.head.classification().unwrap().clone());
    (cross_encoder, model)
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

fn golden() -> Golden {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/reranking.json"))
}

#[test]
fn gradients_of_cross_encoders_equal_pytorch() {
    let golden = golden();
    let data = examples_of(&golden);
    for (name, training) in &golden.training {
        let config = config_of(&golden, training);
        let (cross_encoder, model) = open(&config);
        let batch = BatchSampler::new(&data, config.sampling())
            .batch(0)
            .unwrap();
        let pairs = StepPairs::new(&batch, &config, 0);
        let (_, gradients) = pairs.gradients(&cross_encoder, &model, &config, 0).unwrap();
        let HeadedGradients {
            model: mut of_model,
            head,
        } = gradients;
        let parameters = model.model.parameters().into_iter();
        let values = parameters.map(|it| of_model.take(&it.name).map(Gradient::into_vec));
        let values: Vec<Vec<f32>> = values.map(Option::unwrap_or_default).collect();
        let names = WeightFile::open(&cross_encoder.folder).unwrap().names();
        let mut found = by_tensor(model.model.config(), &names, &values);
        for (tensor, gradient) in model.head.named_tensors().into_iter().zip(head) {
            let elements = gradient.iter().map(|&x| f64::from(x));
            let norm = elements.clone().map(|x| x * x).sum::<f64>().sqrt();
            let projection = elements.enumerate().map(|(at, x)| x * cosine(0.11, at));
            found.insert(tensor.name, [norm, projection.sum()]);
        }
        let largest = training
            .gradients
            .values()
            .map(|it| it[0])
            .fold(0.0, f64::max);
        assert_eq!(found.len(), training.gradients.len(), "{name}");
        for (tensor, expected) in &training.gradients {
            let found = found[tensor];
            let most = TOLERANCE * expected[0] + FLOOR * largest;
            let is_near = [0, 1].map(|at| (found[at] - expected[at]).abs() <= most);
            assert_eq!(
                is_near, [true; 2],
                "{name}, {tensor}: {found:?}, {expected:?}"
            );
        }
    }
}

/// The derivative of the loss along the gradient of each parameter of the head is its norm.
#[test]
fn gradients_of_heads_equal_finite_differences() {
    const DISTANCE: f64 = 1e-2;
    let golden = golden();
    let data = examples_of(&golden);
    for (name, training) in &golden.training {
        let config = config_of(&golden, training);
        let (cross_encoder, model) = open(&config);
        let batch = BatchSampler::new(&data, config.sampling())
            .batch(0)
            .unwrap();
        let pairs = StepPairs::new(&batch, &config, 0);
        let of = |model: &Model| pairs.gradients(&cross_encoder, model, &config, 0).unwrap();
        let (_, gradients) = of(&model);
        for (tensor, gradient) in model.head.named_tensors().into_iter().zip(gradients.head) {
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
        }
    }
}
