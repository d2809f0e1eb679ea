//! Gradients against automatic differentiation and larger batches.

mod cross_encoder;
mod families;
mod late_interaction;
mod multi_vector;
mod sparse_encoder;

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::Tensor;
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{SplitMix64, VectorSimilarity};

use super::backward::{pooling_backward, propagate_gradients};
use super::gradcache::{TrainedTower, TrainedTowers};
use super::gradients::{Gradient, ModelGradients};
use super::optimizer::{AdamWState, AdamWStep};
use super::sampler::{BatchSampler, TrainingBatch};
use super::{Loss, TrainingConfig};
use crate::backend::Backend;
use crate::encode::{EncoderConfig, Pooling};
use crate::kernels::tests::{assert_near, largest};
use crate::precision::Precision;
use crate::transformer::TokenBatch;
use crate::transformer::pass::ForwardPass;

const WORDS: [&str; 10] = [
    "ship", "sea", "tea", "radar", "green", "black", "seen", "the", "at", "and",
];

fn tiny(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/tiny")
        .join(name)
}

/// Backend of the tests: the variable IR_BACKEND, `tch` for example, or the default.
fn backend() -> Backend {
    let name = std::env::var("IR_BACKEND");
    name.map_or(Backend::default(), |name| name.parse().unwrap())
}

fn words(random: &mut SplitMix64, most: usize) -> String {
    let count = 1 + random.below(most);
    let words: Vec<&str> = (0..count)
        .map(|_| WORDS[random.below(WORDS.len())])
        .collect();
    words.join(" ")
}

/// Examples with a positive and a number of negatives.
fn examples(count: usize, negatives: usize) -> Vec<TrainingExample> {
    let mut random = SplitMix64::new(5, 0);
    (0..count)
        .map(|n| {
            let example = TrainingExample::new(words(&mut random, 4));
            let right = TrainingText::new(format!("{} {n}", words(&mut random, 9)));
            (0..negatives).fold(example.positive(right.with_score(2.0)), |example, m| {
                let wrong = format!("{} x{n}y{m}", words(&mut random, 9));
                let score = random.below(100) as f32 / 50.0;
                example.negative(TrainingText::new(wrong).with_score(score))
            })
        })
        .collect()
}

/// Configuration of gradient tests, without dropout.
fn plain(pooling: Pooling) -> TrainingConfig {
    let mut config = TrainingConfig::datafinder();
    config.encoder = EncoderConfig::default()
        .with_backend(backend())
        .with_pooling(pooling)
        .with_max_tokens(16);
    config.dropout = 0.0;
    config.batch_size = 3;
    config.hard_negatives = 2;
    config
}

fn sample(config: &TrainingConfig) -> TrainingBatch {
    let data = examples(3, 2);
    BatchSampler::new(&data, config).batch(0).unwrap()
}

fn towers(model: &str, config: &TrainingConfig) -> TrainedTowers {
    TrainedTowers(vec![
        TrainedTower::open(&tiny(model), &config.encoder).unwrap(),
    ])
}

/// Gradients in the order of the parameters.
fn values(mut gradients: ModelGradients, tower: &TrainedTower) -> Vec<Vec<f32>> {
    let parts = tower.model.parameters().into_iter();
    let values = parts
        .map(|parameter| gradients.take(&parameter.name))
        .map(|part| part.map_or(Vec::new(), Gradient::into_vec))
        .collect();
    assert!(gradients.is_empty(), "{gradients:?}");
    values
}

/// All architectures, activation functions and poolings, with and without padding.
#[test]
fn gradients_equal_automatic_differentiation() {
    let models = [
        "bert",
        "bert-bf16",
        "bert-pytorch",
        "distilbert",
        "roberta",
        "mpnet",
    ];
    let poolings = [
        Pooling::Cls,
        Pooling::Mean,
        Pooling::Max,
        Pooling::MeanSqrt,
        Pooling::LastToken,
    ];
    let cases = (0..30).map(|case| (models[case % 6], poolings[case / 6], case % 4 < 2));
    for (model, pooling, normalize) in cases {
        let config = EncoderConfig::default()
            .with_backend(backend())
            .with_max_tokens(16)
            .with_pooling(pooling)
            .with_normalize(normalize);
        let mut tower = TrainedTower::open(&tiny(model), &config).unwrap();
        // Parameters as the optimizer leaves them.
        tower.model = tower.model.map_parameters(|parameter| parameter.values);
        let texts = [
            "a ship at sea",
            "green tea",
            "black tea",
            "the sea and the radar",
        ];
        let ids: Vec<Vec<u32>> = texts
            .iter()
            .map(|t| tower.tower.tokenizer.encode(t, 16).unwrap())
            .collect();
        for batch in [
            TokenBatch::new(&ids),
            TokenBatch::padded(&ids, tower.tower.tokenizer.padding()),
        ] {
            let forward =
                |tower: &TrainedTower| tower.tower.pool(tower.model.forward(&batch), &batch);
            let [rows, dim] = forward(&tower).dims();
            let change: Vec<f32> = (0..rows * dim).map(|i| (i as f32 * 0.7).sin()).collect();
            let change = burn::tensor::TensorData::new(change, [rows, dim]);
            let change: Tensor<2> = Tensor::from_data(change, &tower.model.device());

            let pass = ForwardPass {
                save: true,
                ..ForwardPass::inference(&tower.model, &batch)
            };
            let (tokens, saved) = pass.run();
            assert_near(
                &tokens.clone().try_into_vec_as::<f32>().unwrap(),
                &tower
                    .model
                    .forward(&batch)
                    .try_into_vec_as::<f32>()
                    .unwrap(),
                1e-5,
                "tokens",
            );
            let d_tokens = pooling_backward(&tower.tower, tokens, &batch, change.clone());
            let mut found = ModelGradients::default();
            propagate_gradients(&pass, saved.unwrap(), d_tokens, &mut found);

            let mut other = tower.clone();
            other.model = tower.model.clone().train();
            let unpadded = TokenBatch::new(&ids);
            let vectors = tower.tower.pool(other.model.forward(&unpadded), &unpadded);
            let mut gradients = (vectors * change.autodiff()).sum().backward();
            let mut expected = ModelGradients::default();
            let model = &other.model;
            model.visit_gradients(&mut gradients, |name, it| expected.add(name, it));
            let (parameters, expected) = (tower.model.parameters(), values(expected, &tower));
            for ((parameter, expected), found) in
                parameters.iter().zip(expected).zip(values(found, &tower))
            {
                assert_near(
                    &found,
                    &expected,
                    2e-4,
                    &format!("{model} {pooling:?} {normalize} {}", parameter.name),
                );
            }
        }
    }
}

/// For every loss and mini-batch size, with and without dropout.
#[test]
fn gradcache_does_not_change_gradients() {
    let losses = [
        Loss::Softmax { temperature: 0.5 },
        Loss::Symmetric { temperature: 0.5 },
        Loss::Pointwise { scale: None },
        Loss::Margin { margin: 0.3 },
        Loss::KlDivergence { temperature: 1.0 },
        Loss::MarginMse,
    ];
    for (number, loss) in losses.into_iter().enumerate() {
        let mut config = plain(Pooling::Mean);
        config.loss = loss;
        config.similarity = VectorSimilarity::Cosine;
        config.dropout = [0.0, 0.2][number % 2];
        let towers = towers("bert-pytorch", &config);
        let sample = sample(&config);
        let (whole, expected) = towers.gradients(&sample, &config, 3).unwrap();
        let expected = values(expected.into_iter().next().unwrap(), &towers.0[0]);
        assert!(expected.iter().any(|part| largest(part) > 1e-3), "{loss:?}");
        for block in [1, 2, 4, 100] {
            config.mini_batch_size = Some(block);
            let (value, found) = towers.gradients(&sample, &config, 3).unwrap();
            let apart = (value - whole).abs();
            assert!(
                apart < 1e-6 * whole.max(1.0),
                "{loss:?}: {apart} of {whole}"
            );
            let found = values(found.into_iter().next().unwrap(), &towers.0[0]);
            for (found, expected) in found.iter().zip(&expected) {
                let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
                let apart = apart.fold(0.0, f32::max);
                // Other backends sum products of other shapes in another order.
                let size = match backend() {
                    Backend::Cpu => 1.0,
                    _ => largest(expected).max(1.0),
                };
                assert!(
                    apart < 1e-5 * size,
                    "{loss:?} in blocks of {block}: {apart} of {size}"
                );
            }
        }
    }
}

/// 512 texts in mini-batches of 16.
#[test]
fn gradcache_equals_large_batch() {
    let mut config = plain(Pooling::Mean);
    config.similarity = VectorSimilarity::Cosine;
    config.loss = Loss::Softmax { temperature: 0.05 };
    config.batch_size = 128;
    let towers = towers("distilbert", &config);
    let data = examples(128, 2);
    let sample = BatchSampler::new(&data, &config).batch(0).unwrap();
    assert_eq!(sample.queries.len() + sample.documents.len(), 512);
    let mut on = |block| {
        config.mini_batch_size = block;
        let (value, gradients) = towers.gradients(&sample, &config, 0).unwrap();
        (
            value,
            values(gradients.into_iter().next().unwrap(), &towers.0[0]),
        )
    };
    let ((whole, expected), (value, found)) = (on(None), on(Some(16)));
    assert!((whole - value).abs() < 1e-6, "{value}, expected {whole}");
    assert!(expected.iter().any(|part| largest(part) > 0.01));
    // Thousands of tokens in one mini-batch.
    for threads in [1, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let again = pool.build().unwrap().install(|| on(None));
        assert!(again == (whole, expected.clone()), "{threads} threads");
    }
    for (found, expected) in found.iter().zip(&expected) {
        let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, f32::max);
        assert!(apart < 1e-5, "{apart}");
    }
}

/// The pool of buffers, including the gradient buffers that the optimizer returns, does not grow
/// from step to step.
#[test]
fn steps_keep_the_same_buffers() {
    if backend() != Backend::default() {
        return eprintln!("SKIPPED: holds for the default backend alone");
    }
    let mut config = plain(Pooling::Mean);
    config.batch_size = 128;
    config.dropout = 0.1;
    let data = examples(128, 2);
    let sample = BatchSampler::new(&data, &config).batch(0).unwrap();
    for mini_batch in [None, Some(100)] {
        config.mini_batch_size = mini_batch;
        let mut towers = towers("distilbert", &config);
        let mut optimizer = AdamWState::default();
        let kept = [0, 1, 2, 3].map(|step| {
            let (_, mut gradients) = towers.gradients(&sample, &config, step).unwrap();
            let mut tower = towers.0.remove(0);
            let update = AdamWStep {
                config: &config.optimizer,
                learning_rate: 1e-3,
                clip_factor: 1.0,
                time: step + 1,
            };
            let buffers;
            (tower.model, buffers) = optimizer.update(tower.model, gradients.remove(0), update);
            tower.cpu.give(buffers);
            let elements = tower.cpu.buffer_elements();
            towers.0.push(tower);
            elements
        });
        assert!(kept[0] > 0);
        assert_eq!(kept[1..], [kept[0]; 3], "{mini_batch:?}");
    }
}

#[test]
fn empty_texts_have_zero_vectors() {
    for model in ["bert", "mpnet"] {
        let tower = TrainedTower::open(&tiny(model), &EncoderConfig::default()).unwrap();
        let batch = TokenBatch::new(&[vec![], vec![2, 3]]);
        let hidden = tower.model.forward(&batch);
        for pooling in [
            Pooling::Cls,
            Pooling::Mean,
            Pooling::Max,
            Pooling::MeanSqrt,
            Pooling::LastToken,
        ] {
            let vectors = pooling.pool(hidden.clone(), &batch);
            pooling.backward_on_cpu(hidden.clone(), &batch, vectors.clone());
            let vectors = vectors.try_into_vec_as::<f32>().unwrap();
            let (empty, other) = vectors.split_at(vectors.len() / 2);
            assert!(empty.iter().all(|&x| x == 0.0), "{model} {pooling:?}");
            assert!(other.iter().all(|x| x.is_finite()) && other.iter().any(|&x| x != 0.0));
        }
    }
}

#[test]
fn backward_pass_uses_the_same_dropout_masks() {
    for model in ["distilbert", "mpnet"] {
        check_dropout_masks(model);
    }
}

fn check_dropout_masks(model: &str) {
    let mut config = plain(Pooling::Mean);
    config.similarity = VectorSimilarity::Cosine;
    config.dropout = 0.3;
    let mut towers = towers(model, &config);
    let sample = sample(&config);
    let (value, gradients) = towers.gradients(&sample, &config, 7).unwrap();
    assert_eq!(value, towers.gradients(&sample, &config, 7).unwrap().0);
    assert_ne!(value, towers.gradients(&sample, &config, 8).unwrap().0);
    // The directional derivative along the gradient is its squared norm.
    let gradients = values(gradients.into_iter().next().unwrap(), &towers.0[0]);
    let squares: f64 = gradients
        .iter()
        .flatten()
        .map(|&g| f64::from(g).powi(2))
        .sum();
    let mut at = |by: f64| {
        let mut gradients = gradients.iter();
        let model = towers.0[0].model.clone();
        towers.0[0].model = model.map_parameters(|parameter| {
            let (x, gradient) = (parameter.values, gradients.next().unwrap());
            let gradient: Tensor<1> = Tensor::from_floats(&gradient[..], &x.device());
            x + gradient.mul_scalar(by)
        });
        towers.gradients(&sample, &config, 7).unwrap().0
    };
    let step = 5e-4 / squares.sqrt();
    let (up, down) = (at(step), at(-2.0 * step));
    let found = (up - down) / (2.0 * step);
    assert!(
        (found - squares).abs() < 0.02 * squares,
        "{found}, expected {squares}"
    );
}

#[test]
fn gradients_do_not_depend_on_threads() {
    if backend() != Backend::default() {
        return eprintln!("SKIPPED: holds for the default backend alone");
    }
    let mut config = plain(Pooling::Mean);
    config.dropout = 0.1;
    let mut models: Vec<PathBuf> = ["bert", "mpnet"].map(tiny).into();
    models.extend(std::env::var_os("IR_MODEL").map(PathBuf::from));
    let precisions = [Precision::F32, Precision::Bf16];
    let cases = models
        .iter()
        .flat_map(|model| precisions.map(|it| (model, it)));
    for (model, precision) in cases {
        config.precision = precision;
        let towers = TrainedTowers(vec![TrainedTower::open(model, &config.encoder).unwrap()]);
        let sample = sample(&config);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let (value, found) = towers.gradients(&sample, &config, 0).unwrap();
                let tower = &towers.0[0];
                let squares = found.iter().map(|g| g.squared_norm(&tower.model).to_bits());
                let squares: Vec<u64> = squares.collect();
                let found = found.into_iter().map(|found| values(found, tower));
                (value.to_bits(), squares, found.collect::<Vec<_>>())
            })
        };
        let one = on(1);
        for threads in [2, 5] {
            assert!(
                on(threads) == one,
                "{} on {threads} threads, {precision}",
                model.display()
            );
        }
    }
}

/// Every example once per epoch.
#[test]
fn batches_depend_on_seed_and_step() {
    let mut config = plain(Pooling::Cls);
    (config.batch_size, config.hard_negatives, config.epochs) = (4, 3, 2);
    let data = examples(10, 5);
    let draw = |config: &TrainingConfig, steps: &[u64]| -> Vec<TrainingBatch> {
        let mut sampler = BatchSampler::new(&data, config);
        steps
            .iter()
            .map(|&step| sampler.batch(step).unwrap())
            .collect()
    };
    // The last two of ten examples are dropped.
    assert_eq!(config.steps(10), 4);
    config.drop_last = false;
    assert_eq!(config.steps(10), 6);
    let steps: Vec<u64> = (0..6).collect();
    let samples = draw(&config, &steps);
    let backwards: Vec<u64> = steps.iter().rev().copied().collect();
    let mut again = draw(&config, &backwards);
    again.reverse();
    assert_eq!(samples, again);
    for epoch in samples.chunks(3) {
        let mut queries: Vec<&String> = epoch.iter().flat_map(|sample| &sample.queries).collect();
        let mut all: Vec<&String> = data.iter().map(|example| &example.query).collect();
        queries.sort();
        all.sort();
        assert_eq!(queries, all);
    }
    assert_ne!(samples[0].queries, samples[3].queries);
    // Two epochs of three negatives cover all five.
    for example in &data {
        let negatives: std::collections::BTreeSet<&String> = samples
            .iter()
            .flat_map(|sample| {
                sample
                    .queries
                    .iter()
                    .zip(&sample.candidates)
                    .map(move |(q, own)| {
                        (
                            q,
                            &sample.documents[own.start + 1..own.end],
                            &sample.documents[own.start],
                        )
                    })
            })
            .filter(|(query, _, right)| {
                **query == example.query && **right == example.positives[0].text
            })
            .flat_map(|(_, texts, _)| texts)
            .collect();
        assert_eq!(negatives.len(), 5);
    }
    let mut other = config.clone();
    other.seed += 1;
    assert_ne!(draw(&other, &[0])[0].queries, samples[0].queries);
    // Too few negatives are drawn with replacement.
    config.hard_negatives = 7;
    assert_eq!(draw(&config, &[0])[0].documents.len(), 4 * 8);
}
