//! Gradients of the contrastive loss of MaxSim against PyTorch: `gradients.json` of
//! `.ci/encoder-folders --late-interaction`. By burn's operations, and in steps of training.

use burn::tensor::Tensor;
use ir_core::Side;

use super::families::{by_tensor, mismatches, read};
use super::multi_vector::open;
use super::*;
use crate::late_interaction::{MultiVectorConfig, MultiVectorEncoder, TokenVectorBatch};
use crate::model_folder::{TensorSource, WeightFile};
use crate::train::loss;

/// `gradients.json`.
#[derive(serde::Deserialize)]
struct Expected {
    queries: Vec<String>,
    documents: Vec<String>,
    /// Column of the positive of every query.
    positives: Vec<usize>,
    temperature: f64,
    scores: Vec<Vec<f32>>,
    loss: f32,
    /// L2 norm and projection of the gradient of every tensor of the weight file.
    tensors: std::collections::BTreeMap<String, [f64; 2]>,
}

fn check(folder: &Path, expected: &Expected, padded: bool) {
    let name = format!("{}, padded: {padded}", folder.display());
    let config = MultiVectorConfig::default().with_backend(backend());
    let encoder = MultiVectorEncoder::open_with(folder, &config).unwrap();
    let model = encoder.transformer().unwrap();
    let sides = [
        (Side::Query, &expected.queries),
        (Side::Document, &expected.documents),
    ];
    let batches = sides.map(|(side, texts)| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if padded {
            return encoder.batch(side, &texts).unwrap();
        }
        let texts = texts.iter().map(|text| encoder.tokenize(side, text));
        let texts: Vec<_> = texts.map(Result::unwrap).collect();
        TokenVectorBatch::new(&texts, None)
    });
    let passes = batches.each_ref().map(|batch| ForwardPass {
        save: true,
        ..ForwardPass::inference(&model, &batch.tokens)
    });
    let [(queries, saved_queries), (documents, saved_documents)] =
        passes.each_ref().map(ForwardPass::run);
    let leaves = [queries, documents].map(|states| states.autodiff().require_grad());
    let [q, d] = [0, 1].map(|side| encoder.project(leaves[side].clone(), &batches[side]));
    let scores = loss::max_sim(q, &batches[0].lengths, d, &batches[1].lengths);
    let found = scores.clone().into_data().try_into_vec::<f32>().unwrap();
    let expected_scores = expected.scores.concat();
    assert_eq!(found.len(), expected_scores.len(), "{name}");
    for (found, expected) in found.iter().zip(expected_scores) {
        assert!(
            (found - expected).abs() < 1e-4,
            "{name}: {found}, expected {expected}"
        );
    }
    let value = loss::softmax(scores.div_scalar(expected.temperature), &expected.positives);
    let mut gradients = value.backward();
    let value: f32 = value.into_scalar();
    assert!((value - expected.loss).abs() < 1e-5, "{name}: {value}");
    let mut sums: Vec<Vec<f32>> = vec![Vec::new(); model.parameters().len()];
    let saved = [saved_queries, saved_documents];
    for ((pass, saved), leaf) in passes.iter().zip(saved).zip(leaves) {
        let d_states: Tensor<2> = leaf.grad_remove(&mut gradients).unwrap();
        let mut of_pass = ModelGradients::default();
        propagate_gradients(pass, saved.unwrap(), d_states, &mut of_pass);
        for (sum, parameter) in sums.iter_mut().zip(model.parameters()) {
            let gradient = of_pass
                .take(&parameter.name)
                .map_or(Vec::new(), Gradient::into_vec);
            sum.resize(sum.len().max(gradient.len()), 0.0);
            sum.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
        }
    }
    let names = WeightFile::open(folder).unwrap().names();
    let found = by_tensor(model.config(), &names, &sums);
    assert!(expected.tensors.values().any(|norms| norms[0] > 0.0));
    let mismatches = mismatches(&found, &expected.tensors);
    assert!(mismatches.is_empty(), "{name}:\n{}", mismatches.join("\n"));
}

#[test]
fn gradients_of_max_sim_equal_pytorch() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/late-interaction");
    for name in ["bert-attended", "pylate", "stanford"] {
        let folder = root.join(name);
        let expected: Expected = read(&folder.join("gradients.json"));
        check(&folder, &expected, true);
        // Queries have tokens that are not attended to; the kernels take them without padding.
        if backend() == Backend::default() {
            check(&folder, &expected, false);
        }
    }
}

/// One mini-batch per side, and mini-batches of two texts.
#[test]
fn gradients_of_steps_equal_pytorch() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/late-interaction");
    for name in ["bert-attended", "pylate", "stanford"] {
        let folder = root.join(name);
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
                ..TrainingConfig::late_interaction()
            };
            let (model, trained) = open(&folder, &config);
            let step = model.gradients(&trained, &batch, &config, 0);
            let (value, gradients) = step.unwrap();
            let apart = (value - f64::from(expected.loss)).abs();
            assert!(apart < 1e-5, "{name}: {value}");
            let mut of_model = gradients.model;
            let parameters = trained.model.parameters().into_iter();
            let values = parameters.map(|it| of_model.take(&it.name).map(Gradient::into_vec));
            let values: Vec<Vec<f32>> = values.map(Option::unwrap_or_default).collect();
            assert!(of_model.is_empty());
            let names = WeightFile::open(&folder).unwrap().names();
            let found = by_tensor(trained.model.config(), &names, &values);
            let mismatches = mismatches(&found, &expected.tensors);
            let lines = mismatches.join("\n");
            assert!(
                mismatches.is_empty(),
                "{name} {mini_batch_size:?}:\n{lines}"
            );
        }
    }
}
