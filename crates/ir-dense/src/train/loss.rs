//! What training makes small, as functions of matrices of scores.
//!
//! Row i holds the scores of query i: of all candidates of the batch, or of the query's own. All
//! functions are plain burn operations, so on a device with gradients they have gradients.
//!
//! | your data | loss |
//! |---|---|
//! | queries with a right answer, with or without hard negatives | [`softmax()`] |
//! | pairs in which either side may be asked for the other | [`symmetric`] |
//! | answers that are right or wrong on their own, whatever else there is | [`pointwise`] |
//! | the order matters, not the distance beyond a margin | [`margin()`] |
//! | scores of a better model (a cross-encoder) for every candidate | [`kl_divergence`], [`margin_mse`] |

use burn::tensor::activation::{log_sigmoid, log_softmax};
use burn::tensor::{Bool, Int, Tensor, TensorData};

/// The scores without some of them: what is excluded gets a score so low that no loss of this
/// module sees it.
///
/// # Shapes
/// Both `[queries, candidates]`.
pub fn without(scores: Tensor<2>, excluded: Tensor<2, Bool>) -> Tensor<2> {
    scores.mask_fill(excluded, LOWEST)
}

/// Far below every score, but finite: infinity times zero would be no number in a gradient.
const LOWEST: f32 = -1e9;

/// Cross-entropy of the right candidate among all: the mean over queries of
/// `−ln(exp(s⁺) / Σ exp(s))`.
///
/// With the documents of the other queries as negatives, as everybody trains bi-encoders:
/// InfoNCE, "multiple negatives ranking". `ln n` when all n scores are equal. For a temperature,
/// divide the scores by it first.
///
/// # Shapes
/// `scores`: `[queries, candidates]`; `positives`: the column of every query's right answer;
/// result: `[1]`.
///
/// # Panics
/// When `positives` has another length than `scores` has rows.
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

/// The mean of [`softmax()`] from queries to candidates and from right answers to queries: an answer,
/// too, has to find its query among all.
///
/// # Shapes
/// As [`softmax()`].
///
/// # Panics
/// As [`softmax()`].
///
/// # Source
/// Radford et al., "Learning Transferable Visual Models From Natural Language Supervision", ICML
/// 2021, figure 3.
pub fn symmetric(scores: Tensor<2>, positives: &[usize]) -> Tensor<1> {
    let columns = indices(positives, &scores);
    let answers = scores.clone().select(1, columns);
    let there = softmax(scores, positives);
    let queries: Vec<usize> = (0..positives.len()).collect();
    let back = softmax(answers.swap_dims(0, 1), &queries);
    (there + back).div_scalar(2.0)
}

/// Every candidate judged on its own, equation (1) of Talk to Papers:
/// `−Σ ln p over right answers − Σ ln(1 − p) over the others`, as mean over queries.
///
/// The paper puts cosines in place of p, which can be negative, and does not say how it maps them
/// between 0 and 1. Without `scale`, p is `(1 + s)/2`, for cosines; with it, p is the logistic
/// function of `scale · s`, for any scores.
///
/// # Shapes
/// As [`softmax()`].
///
/// # Panics
/// As [`softmax()`].
///
/// # Source
/// Zhao and Lee, "Talk to Papers: Bringing Neural Question Answering to Academic Search", ACL
/// 2020, equation (1).
pub fn pointwise(scores: Tensor<2>, positives: &[usize], scale: Option<f64>) -> Tensor<1> {
    let [queries, candidates] = scores.dims();
    let (right, wrong) = match scale {
        Some(scale) => {
            let scaled = scores.mul_scalar(scale);
            (log_sigmoid(scaled.clone()), log_sigmoid(scaled.neg()))
        }
        None => {
            let log = |share: Tensor<2>| share.clamp_min(1e-6).log();
            let half = scores.div_scalar(2.0);
            (
                log(half.clone().add_scalar(0.5)),
                log(half.neg().add_scalar(0.5).clamp_max(1.0)),
            )
        }
    };
    assert_eq!(positives.len(), queries, "one right answer per query");
    let mut is_right = vec![false; queries * candidates];
    for (row, &column) in positives.iter().enumerate() {
        is_right[row * candidates + column] = true;
    }
    let data = TensorData::new(is_right, [queries, candidates]);
    let is_right: Tensor<2, Bool> = Tensor::from_data(data, &right.device());
    wrong.mask_where(is_right, right).sum_dim(1).mean().neg()
}

/// How far candidates come nearer to the right answer than a margin: the mean over queries and
/// their other candidates of `max(0, margin − s⁺ + s)`.
///
/// # Shapes
/// As [`softmax()`].
///
/// # Panics
/// As [`softmax()`].
///
/// # Source
/// Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor
/// Classification", JMLR 2009; as triplet loss, Schroff et al., CVPR 2015.
pub fn margin(scores: Tensor<2>, positives: &[usize], margin: f64) -> Tensor<1> {
    let [_, candidates] = scores.dims();
    let right = pick(scores.clone(), positives);
    let apart = scores - right;
    // The right answer itself is exactly `margin` from it.
    let over = apart.add_scalar(margin).clamp_min(0.0).sum_dim(1);
    let over = over.sub_scalar(margin.max(0.0));
    over.mean().div_scalar((candidates.max(2) - 1) as f64)
}

/// The divergence of the shares that two models give to the same candidates: the mean over queries
/// of `Σ p ln(p/q)`, p and q being the softmax of the teacher's and of our scores.
///
/// # Shapes
/// Both `[queries, candidates]`; result: `[1]`.
///
/// # Source
/// Hinton et al., "Distilling the Knowledge in a Neural Network", 2015; for retrieval, Lin et al.,
/// "In-Batch Negatives for Knowledge Distillation with Tightly-Coupled Teachers", RepL4NLP 2021.
pub fn kl_divergence(scores: Tensor<2>, teacher: Tensor<2>) -> Tensor<1> {
    let wanted = log_softmax(teacher, 1);
    let apart = wanted.clone() - log_softmax(scores, 1);
    (wanted.exp() * apart).sum_dim(1).mean()
}

/// The mean of the squares of how much the distances of two models between right answer and
/// another candidate differ: `((s⁺ − s) − (t⁺ − t))²`.
///
/// # Shapes
/// Both `[queries, candidates]`, at least two, the right answer first; result: `[1]`.
///
/// # Source
/// Hofstätter et al., "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge
/// Distillation", 2020, equation (3).
pub fn margin_mse(scores: Tensor<2>, teacher: Tensor<2>) -> Tensor<1> {
    let [queries, candidates] = scores.dims();
    let margins = |scores: Tensor<2>| {
        let right = scores.clone().slice([0..queries, 0..1]);
        right - scores.slice([0..queries, 1..candidates])
    };
    let apart = margins(scores) - margins(teacher);
    (apart.clone() * apart)
        .sum_dim(1)
        .mean()
        .div_scalar((candidates.max(2) - 1) as f64)
}

/// One element of every row, `[rows, 1]`.
fn pick(scores: Tensor<2>, columns: &[usize]) -> Tensor<2> {
    let [rows, _] = scores.dims();
    assert_eq!(columns.len(), rows, "one right answer per query");
    let columns = indices(columns, &scores).reshape([rows, 1]);
    scores.gather(1, columns)
}

fn indices(columns: &[usize], like: &Tensor<2>) -> Tensor<1, Int> {
    let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
    let length = columns.len();
    Tensor::from_data(TensorData::new(columns, [length]), &like.device())
}
