//! MaxSim and its gradients against loops and burn, and gradients of the projections against finite
//! differences.

use burn::tensor::{Device, TensorData};

use super::*;
use crate::encode::modules::VectorModules;
use crate::late_interaction::{LateInteractionFolder, MultiVectorConfig, TokenSimilarity, rules};
use crate::train::headed::{HeadedTransformer, TrainedHead};
use crate::train::loss;
use crate::train::max_sim::{MaxSimPass, TextVectors};
use crate::train::multi_vector_step::MultiVectorModel;

type Trained = HeadedTransformer<VectorModules>;

/// Late-interaction model in training.
pub(super) fn open(folder: &Path, config: &TrainingConfig) -> (MultiVectorModel, Trained) {
    let encoder = MultiVectorConfig::from_encoder(&config.encoder);
    let folder = LateInteractionFolder::open(folder, &encoder).unwrap();
    let model = folder.tower.transformer().unwrap();
    // Parameters as the optimizer leaves them.
    let model = model.map_parameters(|parameter| parameter.values);
    let trained = HeadedTransformer::new(model, (*folder.tower.modules).clone());
    let rules = rules(&folder, &encoder).unwrap();
    (MultiVectorModel { folder, rules }, trained)
}

/// Scores and gradients of queries and documents by loops over all pairs of tokens, and the number
/// of maxima that several tokens have.
fn by_loops(
    queries: &[Vec<&[f32]>],
    documents: &[Vec<&[f32]>],
    d_scores: &[f32],
) -> (Vec<f32>, [Vec<Vec<f32>>; 2], usize) {
    let zeros = |texts: &[Vec<&[f32]>]| -> Vec<Vec<f32>> {
        texts
            .concat()
            .iter()
            .map(|it| vec![0.0; it.len()])
            .collect()
    };
    let (mut d_queries, mut d_documents) = (zeros(queries), zeros(documents));
    let (mut scores, mut ties) = (Vec::new(), 0);
    let mut first_query = 0;
    for query in queries {
        let mut first_document = 0;
        for document in documents {
            let d = d_scores[scores.len()];
            let mut score = 0.0;
            for (at, token) in query.iter().enumerate() {
                let product =
                    |other: &&[f32]| -> f32 { token.iter().zip(*other).map(|(a, b)| a * b).sum() };
                let products: Vec<f32> = document.iter().map(product).collect();
                let most = products.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let Some(best) = products.iter().position(|&it| it == most) else {
                    score += loss::MASKED_SCORE;
                    continue;
                };
                ties += usize::from(products.iter().filter(|&&it| it == most).count() > 1);
                score += most;
                let d_query = d_queries[first_query + at].iter_mut();
                d_query
                    .zip(document[best])
                    .for_each(|(sum, x)| *sum += d * x);
                let d_document = d_documents[first_document + best].iter_mut();
                d_document.zip(*token).for_each(|(sum, x)| *sum += d * x);
            }
            scores.push(score);
            first_document += document.len();
        }
        first_query += query.len();
    }
    (scores, [d_queries, d_documents], ties)
}

/// Rows of every text.
fn split<'a>(values: &'a [f32], lengths: &[usize], dim: usize) -> Vec<Vec<&'a [f32]>> {
    let mut rows = values.chunks_exact(dim);
    let texts = lengths.iter();
    texts
        .map(|&length| rows.by_ref().take(length).collect())
        .collect()
}

/// Vectors of multiples of 1/4: all sums are exact, and several tokens have the same product. One
/// document is longer than a group of packed columns, the queries than a block of rows.
#[test]
fn max_sim_equals_loops() {
    const DIM: usize = 5;
    let lengths: [&[usize]; 2] = [&[3, 0, 7, 120], &[4, 1, 0, 150, 6]];
    let mut random = SplitMix64::new(11, 0);
    let mut values = |count: usize| -> Vec<f32> {
        let quarters = (0..count).map(|_| random.below(9) as f32 - 4.0);
        quarters.map(|it| it / 4.0).collect()
    };
    let vectors = lengths.map(|it| values(it.iter().sum::<usize>() * DIM));
    let d_scores = values(lengths[0].len() * lengths[1].len());
    let [queries, documents] = [0, 1].map(|side| TextVectors {
        values: &vectors[side],
        lengths: lengths[side],
    });
    let rows = [0, 1].map(|side| split(&vectors[side], lengths[side], DIM));
    let (scores, gradients, ties) = by_loops(&rows[0], &rows[1], &d_scores);
    assert!(ties > 10, "{ties}");
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let (found, of_vectors) = pool.build().unwrap().install(|| {
            let pass = MaxSimPass::new(queries, documents, DIM, TokenSimilarity::MaxSim);
            (pass.scores().to_vec(), pass.backward(&d_scores))
        });
        assert_eq!(found, scores);
        for (found, expected) in of_vectors.iter().zip(&gradients) {
            assert_eq!(found, &expected.concat());
        }
    }
    // Divided by the length of the query.
    let mean = MaxSimPass::new(queries, documents, DIM, TokenSimilarity::MeanMaxSim);
    let [of_mean, _] = mean.backward(&d_scores);
    let lengths = lengths[0].iter().enumerate();
    let owners = lengths.flat_map(|(query, &length)| vec![(query, length); length * DIM]);
    for ((at, (_, length)), found) in owners.enumerate().zip(&of_mean) {
        let expected = gradients[0].concat()[at] / length as f32;
        assert!((found - expected).abs() < 1e-4, "{found}, {expected}");
    }
    for (row, (found, expected)) in mean.scores().iter().zip(&scores).enumerate() {
        let length = [3.0, 1.0, 7.0, 120.0][row / 5];
        let apart = (found - expected / length).abs();
        assert!(apart <= 1e-6 * expected.abs(), "{found}, {expected}");
    }
}

#[test]
fn max_sim_equals_automatic_differentiation() {
    const DIM: usize = 7;
    let lengths: [&[usize]; 2] = [&[3, 4], &[5, 1, 9]];
    let mut random = SplitMix64::new(12, 0);
    let mut values = |count: usize| -> Vec<f32> {
        let uniform = (0..count).map(|_| (random.next_u64() >> 40) as f32 / (1 << 24) as f32);
        uniform.map(|it| it - 0.5).collect()
    };
    let vectors = lengths.map(|it| values(it.iter().sum::<usize>() * DIM));
    let d_scores = values(6);
    let device = Device::flex().autodiff();
    let leaves = vectors.each_ref().map(|values| {
        let data = TensorData::new(values.clone(), [values.len() / DIM, DIM]);
        Tensor::<2>::from_data(data, &device).require_grad()
    });
    let [q, d] = leaves.clone();
    let scores = loss::max_sim(q, lengths[0], d, lengths[1]);
    let factors = TensorData::new(d_scores.clone(), [2, 3]);
    let factors = Tensor::<2>::from_data(factors, &device);
    let mut gradients = (scores.clone() * factors).sum().backward();
    let [queries, documents] = [0, 1].map(|side| TextVectors {
        values: &vectors[side],
        lengths: lengths[side],
    });
    let pass = MaxSimPass::new(queries, documents, DIM, TokenSimilarity::MaxSim);
    let expected = scores.into_data().try_into_vec::<f32>().unwrap();
    assert_near(pass.scores(), &expected, 1e-5, "scores");
    let found = pass.backward(&d_scores);
    for (found, leaf) in found.iter().zip(leaves) {
        let expected = leaf.grad_remove(&mut gradients).unwrap();
        let expected = expected.try_into_vec_as::<f32>().unwrap();
        assert!(largest(&expected) > 0.1);
        assert_near(found, &expected, 1e-5, "gradients");
    }
}

/// The derivative of the loss along the gradient of each parameter of the projections is its norm;
/// with all losses, activation functions, biases and residual connections.
#[test]
fn gradients_of_projections_equal_finite_differences() {
    const DISTANCE: f64 = 2e-3;
    let losses = [
        Loss::Softmax { temperature: 0.5 },
        Loss::Symmetric { temperature: 0.5 },
        Loss::Pointwise { scale: Some(0.1) },
        Loss::Margin { margin: 5.0 },
        Loss::KlDivergence { temperature: 1.0 },
        Loss::MarginMse,
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/late-interaction");
    let mut checked = 0;
    for (name, loss) in ["bert-attended", "pylate"]
        .into_iter()
        .flat_map(|name| losses.map(|loss| (name, loss)))
    {
        let config = TrainingConfig {
            encoder: EncoderConfig::default().with_backend(backend()),
            batch_size: 3,
            hard_negatives: 2,
            mini_batch_size: Some(4),
            loss,
            dropout: 0.0,
            ..TrainingConfig::late_interaction()
        };
        let (model, trained) = open(&root.join(name), &config);
        let batch = sample(&config);
        let of = |trained: &Trained| model.gradients(trained, &batch, &config, 0).unwrap();
        let (_, gradients) = of(&trained);
        let tensors = trained.head.named_tensors();
        assert_eq!(tensors.len(), gradients.head.len());
        for (tensor, gradient) in tensors.into_iter().zip(&gradients.head) {
            let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>();
            let norm = norm.sqrt();
            if norm < 1e-2 {
                continue;
            }
            let at = |distance: f64| {
                let mut moved = trained.clone();
                let elements = moved.head.elements_mut(&tensor.name).unwrap().iter_mut();
                let pairs = elements.zip(gradient);
                pairs.for_each(|(x, g)| *x += (f64::from(*g) / norm * distance) as f32);
                of(&moved).0
            };
            let slope = (at(DISTANCE) - at(-DISTANCE)) / (2.0 * DISTANCE);
            let tensor = &tensor.name;
            // Some tokens lose their maximum to another one on the way.
            assert!(
                (slope / norm - 1.0).abs() < 0.05,
                "{name}, {loss:?}, {tensor}: {slope}, {norm}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} parameters");
}
