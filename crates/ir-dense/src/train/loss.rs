//! Training losses as functions of score matrices.
//!
//! Row i has the scores of query i for all candidates of the batch, or for its own candidates. All
//! functions are burn operations: on a device with automatic differentiation they are
//! differentiable.
//!
//! | training data | loss |
//! |---|---|
//! | queries with a positive, with or without hard negatives | [`softmax()`] |
//! | pairs in which either side may be the query | [`symmetric`] |
//! | independent relevance labels | [`pointwise`]; of a cross-encoder [`binary_cross_entropy`] |
//! | logits of a cross-encoder, with in-batch negatives | [`multiple_negatives`] |
//! | only the order of positive and negatives matters | [`margin()`], [`rank_net`] |
//! | any of these, with one vector per token | [`max_sim`] for the scores, then one of the losses |
//! | teacher scores (of a cross-encoder) for every candidate | [`kl_divergence`], [`margin_mse`] |
//! | any of these, with sparse vectors | the loss of dot products, plus [`flops`] or [`l1`] |

use std::ops::Range;

use burn::tensor::activation::{log_sigmoid, log_softmax, sigmoid};
use burn::tensor::{Bool, Int, Tensor, TensorData};

use crate::transformer::index_tensor;

/// Masks scores: a masked candidate has no effect on the losses of this module.
///
/// # Shapes
/// Both `[queries, candidates]`.
pub fn mask(scores: Tensor<2>, masked: Tensor<2, Bool>) -> Tensor<2> {
    scores.mask_fill(masked, MASKED_SCORE)
}

/// Finite, because infinity times zero would make gradients NaN.
pub(super) const MASKED_SCORE: f32 = -1e9;

/// Softmax cross-entropy of the positive among all candidates: the mean over queries of
/// `−ln(exp(s⁺) / Σ exp(s))`.
///
/// With in-batch negatives, this is InfoNCE, also called multiple negatives ranking loss. It is
/// `ln n` if all n scores are equal. For a temperature, divide the scores by it first.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `scores`.
///
/// # Source
/// Karpukhin et al., "Dense Passage Retrieval for Open-Domain Question Answering", EMNLP 2020,
/// section 3.2.
///
/// ```
/// use ir_dense::burn::tensor::{Device, Tensor};
/// use ir_dense::train::loss;
/// let scores = Tensor::<2>::zeros([11, 88], &Device::flex());
/// let positives: Vec<usize> = (0..11).map(|query| 8 * query).collect();
/// let value: f32 = loss::softmax(scores, &positives).into_scalar();
/// assert!((value - 88_f32.ln()).abs() < 1e-5);
/// ```
pub fn softmax(scores: Tensor<2>, positives: &[usize]) -> Tensor<1> {
    pick(log_softmax(scores, 1), positives).mean().neg()
}

/// Mean of the [`softmax()`] losses from queries to candidates and from positives to queries.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `scores`.
///
/// # Source
/// Radford et al., "Learning Transferable Visual Models From Natural Language Supervision", ICML
/// 2021, figure 3.
pub fn symmetric(scores: Tensor<2>, positives: &[usize]) -> Tensor<1> {
    let columns = indices(positives, &scores);
    let positive_scores = scores.clone().select(1, columns);
    let to_candidates = softmax(scores, positives);
    let queries: Vec<usize> = (0..positives.len()).collect();
    let to_queries = softmax(positive_scores.swap_dims(0, 1), &queries);
    (to_candidates + to_queries).div_scalar(2.0)
}

/// Binary cross-entropy of every candidate, equation (1) of Talk to Papers:
/// `−Σ ln p` over positives `− Σ ln(1 − p)` over negatives, as mean over queries.
///
/// The paper uses cosines for p, which can be negative, and does not state how it maps them to
/// 0..=1. Without `scale`, p is `(1 + s)/2`, for cosines; with it, p is the logistic function of
/// `scale · s`, for any scores.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `scores`.
///
/// # Source
/// Zhao and Lee, "Talk to Papers: Bringing Neural Question Answering to Academic Search", ACL
/// 2020, equation (1).
pub fn pointwise(scores: Tensor<2>, positives: &[usize], scale: Option<f64>) -> Tensor<1> {
    let [queries, candidates] = scores.dims();
    let (log_p, log_not_p) = match scale {
        Some(scale) => {
            let scaled = scores.mul_scalar(scale);
            (log_sigmoid(scaled.clone()), log_sigmoid(scaled.neg()))
        }
        None => {
            let log = |p: Tensor<2>| p.clamp_min(1e-6).log();
            let half = scores.div_scalar(2.0);
            (
                log(half.clone().add_scalar(0.5)),
                log(half.neg().add_scalar(0.5).clamp_max(1.0)),
            )
        }
    };
    assert_eq!(positives.len(), queries, "one positive per query");
    let mut is_positive = vec![false; queries * candidates];
    for (row, &column) in positives.iter().enumerate() {
        is_positive[row * candidates + column] = true;
    }
    let data = TensorData::new(is_positive, [queries, candidates]);
    let is_positive: Tensor<2, Bool> = Tensor::from_data(data, &log_p.device());
    log_not_p
        .mask_where(is_positive, log_p)
        .sum_dim(1)
        .mean()
        .neg()
}

/// Binary cross-entropy of logits s with labels y: the mean over all pairs of
/// `−w·y·ln σ(s) − (1 − y)·ln(1 − σ(s))`, with the logistic function σ.
///
/// `positive_weight`: w, the weight of positive labels; the number of negatives per positive
/// balances both. Range: > 0. Labels: 0..=1; values between are probabilities, such as scores of a
/// teacher.
///
/// # Shapes
/// Both `[queries, candidates]`; result: `[1]`.
///
/// # Source
/// Nogueira and Cho, "Passage Re-ranking with BERT", 2019, equation (1); as torch's
/// `BCEWithLogitsLoss` with `pos_weight`.
///
/// ```
/// use ir_dense::burn::tensor::{Device, Tensor};
/// use ir_dense::train::loss;
/// let logits = Tensor::<2>::zeros([1, 2], &Device::flex());
/// let labels = Tensor::<2>::from_floats([[1.0, 0.0]], &Device::flex());
/// let value: f32 = loss::binary_cross_entropy(logits, labels, 3.0).into_scalar();
/// assert!((value - 2.0 * 2_f32.ln()).abs() < 1e-6);
/// ```
pub fn binary_cross_entropy(
    logits: Tensor<2>,
    labels: Tensor<2>,
    positive_weight: f64,
) -> Tensor<1> {
    let positives = labels.clone() * log_sigmoid(logits.clone()).mul_scalar(positive_weight);
    let negatives = labels.neg().add_scalar(1.0) * log_sigmoid(logits.neg());
    (positives + negatives).mean().neg()
}

/// Multiple negatives ranking loss of logits s of a cross-encoder: the [`softmax()`] loss of
/// `scale · σ(s)`, with the logistic function σ.
///
/// The scores are bounded, so that a candidate which is nonrelevant with certainty has no gradient.
/// Range of `scale`: > 0; sentence-transformers' `MultipleNegativesRankingLoss` has 10.
///
/// # Shapes
/// `logits`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `logits`.
///
/// # Source
/// Henderson et al., "Efficient Natural Language Response Suggestion for Smart Reply", 2017,
/// section 4.4; the bounds are of sentence-transformers.
pub fn multiple_negatives(logits: Tensor<2>, positives: &[usize], scale: f64) -> Tensor<1> {
    softmax(sigmoid(logits).mul_scalar(scale), positives)
}

/// RankNet: the mean over queries and their negatives of the logistic loss of the difference to the
/// positive, `ln(1 + exp(s − s⁺))`.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `scores`.
///
/// # Source
/// Burges et al., "Learning to Rank using Gradient Descent", ICML 2005, equation (3).
pub fn rank_net(scores: Tensor<2>, positives: &[usize]) -> Tensor<1> {
    let [_, candidates] = scores.dims();
    let differences = pick(scores.clone(), positives) - scores;
    let losses = log_sigmoid(differences).neg().sum_dim(1);
    // The term of the positive itself is ln 2.
    let losses = losses.sub_scalar(std::f64::consts::LN_2);
    losses.mean().div_scalar((candidates.max(2) - 1) as f64)
}

/// Margin (triplet) loss: the mean over queries and their negatives of
/// `max(0, margin − s⁺ + s)`.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: column of the positive of every query; result:
/// `[1]`.
///
/// # Panics
/// If the length of `positives` is not the number of rows of `scores`.
///
/// # Source
/// Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor
/// Classification", JMLR 2009; as triplet loss, Schroff et al., CVPR 2015.
pub fn margin(scores: Tensor<2>, positives: &[usize], margin: f64) -> Tensor<1> {
    let [_, candidates] = scores.dims();
    let differences = scores.clone() - pick(scores, positives);
    let violations = differences.add_scalar(margin).clamp_min(0.0).sum_dim(1);
    // The term of the positive itself is `margin`.
    let violations = violations.sub_scalar(margin.max(0.0));
    violations.mean().div_scalar((candidates.max(2) - 1) as f64)
}

/// KL divergence from a teacher: the mean over queries of `Σ p ln(p/q)`, where p and q are the
/// softmax of the teacher's scores and of `scores`.
///
/// # Shapes
/// Both `[queries, candidates]`; result: `[1]`.
///
/// # Source
/// Hinton et al., "Distilling the Knowledge in a Neural Network", 2015; for retrieval, Lin et al.,
/// "In-Batch Negatives for Knowledge Distillation with Tightly-Coupled Teachers", RepL4NLP 2021.
pub fn kl_divergence(scores: Tensor<2>, teacher: Tensor<2>) -> Tensor<1> {
    let log_p = log_softmax(teacher, 1);
    let log_ratio = log_p.clone() - log_softmax(scores, 1);
    (log_p.exp() * log_ratio).sum_dim(1).mean()
}

/// Margin-MSE: the mean squared difference between the margins of two models,
/// `((s⁺ − s) − (t⁺ − t))²`, where s are `scores` and t the teacher's.
///
/// # Shapes
/// Both `[queries, candidates]` with at least two candidates, the positive first; result: `[1]`.
///
/// # Source
/// Hofstätter et al., "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge
/// Distillation", 2020, equation (3).
pub fn margin_mse(scores: Tensor<2>, teacher: Tensor<2>) -> Tensor<1> {
    let [queries, candidates] = scores.dims();
    let margins = |scores: Tensor<2>| {
        let positive = scores.clone().slice([0..queries, 0..1]);
        positive - scores.slice([0..queries, 1..candidates])
    };
    let differences = margins(scores) - margins(teacher);
    (differences.clone() * differences)
        .sum_dim(1)
        .mean()
        .div_scalar((candidates.max(2) - 1) as f64)
}

/// MaxSim of token vectors, the scores of late interaction: the sum over the query's tokens of the
/// maximum dot product with a token of the document. The gradient of a maximum goes to the token
/// that has it.
///
/// With [`softmax()`], this is the contrastive loss of ColBERT with in-batch and hard negatives;
/// with [`kl_divergence`] or [`margin_mse`], distillation. A document without tokens is masked.
///
/// # Shapes
/// `queries`: `[query tokens, dim]`, text by text; `query_lengths`: number of tokens of every
/// query; `documents` and `document_lengths` likewise; result: `[queries, documents]`.
///
/// # Panics
/// If the sum of the lengths is not the number of rows, or there is no query or no document.
///
/// # Source
/// Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late
/// Interaction over BERT", SIGIR 2020, section 3.3.
///
/// ```
/// use ir_dense::burn::tensor::{Device, Tensor};
/// use ir_dense::train::loss;
/// let device = Device::flex();
/// let queries = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0]], &device);
/// let documents = Tensor::from_floats([[0.6, 0.8], [0.8, 0.6], [0.0, 1.0]], &device);
/// // One query of two tokens; documents of two tokens and of one.
/// let scores = loss::max_sim(queries, &[2], documents, &[2, 1]);
/// assert_eq!(scores.try_into_vec_as::<f32>().unwrap(), [1.6, 1.0]);
/// ```
pub fn max_sim(
    queries: Tensor<2>,
    query_lengths: &[usize],
    documents: Tensor<2>,
    document_lengths: &[usize],
) -> Tensor<2> {
    let [[rows, _], [columns, _]] = [queries.dims(), documents.dims()];
    assert_eq!(
        query_lengths.iter().sum::<usize>(),
        rows,
        "tokens of queries"
    );
    assert_eq!(
        document_lengths.iter().sum::<usize>(),
        columns,
        "tokens of documents"
    );
    let device = queries.device();
    let products = queries.matmul(documents.swap_dims(0, 1));
    // Of every query token and document.
    let best = ranges(document_lengths).map(|tokens| {
        if tokens.is_empty() {
            return Tensor::full([rows, 1], MASKED_SCORE, &device);
        }
        products.clone().slice([0..rows, tokens]).max_dim(1)
    });
    let best = Tensor::cat(best.collect(), 1);
    let sums = ranges(query_lengths).map(|tokens| {
        if tokens.is_empty() {
            return Tensor::zeros([1, document_lengths.len()], &device);
        }
        best.clone()
            .slice([tokens, 0..document_lengths.len()])
            .sum_dim(0)
    });
    Tensor::cat(sums.collect(), 0)
}

/// FLOPS regularizer of sparse vectors: `Σ ā²` over the components, where ā is the mean of a
/// component's absolute values over the texts.
///
/// It approximates the number of products of two texts: components that many texts have cost more.
///
/// # Shapes
/// `vectors`: `[texts, dim]`; result: `[1]`.
///
/// # Source
/// Paria et al., "Minimizing FLOPs to Learn Efficient Sparse Representations", ICLR 2020; for
/// SPLADE, Formal et al., SIGIR 2021, section 3.
///
/// ```
/// use ir_dense::burn::tensor::{Device, Tensor};
/// use ir_dense::train::loss;
/// let vectors = Tensor::<2>::from_floats([[2.0, 0.0], [0.0, 4.0]], &Device::flex());
/// let value: f32 = loss::flops(vectors).into_scalar();
/// assert_eq!(value, 1.0 + 4.0);
/// ```
pub fn flops(vectors: Tensor<2>) -> Tensor<1> {
    vectors.abs().mean_dim(0).powi_scalar(2).sum()
}

/// L1 regularizer of sparse vectors: the mean over texts of the sum of absolute values.
///
/// # Shapes
/// `vectors`: `[texts, dim]`; result: `[1]`.
///
/// # Source
/// For the queries of SPLADE, Lassance and Clinchant, "An Efficiency Study for SPLADE Models",
/// SIGIR 2022.
///
/// ```
/// use ir_dense::burn::tensor::{Device, Tensor};
/// use ir_dense::train::loss;
/// let vectors = Tensor::<2>::from_floats([[2.0, 0.0], [0.0, -4.0]], &Device::flex());
/// let value: f32 = loss::l1(vectors).into_scalar();
/// assert_eq!(value, 3.0);
/// ```
pub fn l1(vectors: Tensor<2>) -> Tensor<1> {
    vectors.abs().sum_dim(1).mean()
}

/// Consecutive ranges of these lengths.
fn ranges(lengths: &[usize]) -> impl Iterator<Item = Range<usize>> {
    lengths.iter().scan(0, |start, length| {
        let from = *start;
        *start += length;
        Some(from..*start)
    })
}

/// Returns one element of every row, `[rows, 1]`.
fn pick(scores: Tensor<2>, columns: &[usize]) -> Tensor<2> {
    let [rows, _] = scores.dims();
    assert_eq!(columns.len(), rows, "one positive per query");
    let columns = indices(columns, &scores).reshape([rows, 1]);
    scores.gather(1, columns)
}

fn indices(columns: &[usize], like: &Tensor<2>) -> Tensor<1, Int> {
    index_tensor(columns.iter().map(|&column| column as i64), &like.device())
}
