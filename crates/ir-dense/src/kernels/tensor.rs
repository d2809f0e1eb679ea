//! Layer normalization, softmax, GELU and sums on tensors, with their backward passes, in burn's
//! operations: for GPUs and libtorch. [`training`](super::training) has those for the CPU.

use burn::tensor::{IndexingUpdateOp, Int, Tensor};

const INVERSE_ROOT_2_PI: f32 = 0.398_942_3;

#[derive(Debug)]
pub(crate) struct SavedLayerNorm {
    /// Rows with mean 0 and variance 1, `[rows, width]`.
    standardized: Tensor<2>,
    /// Reciprocal standard deviation of every row, `[rows, 1]`.
    inverse_deviation: Tensor<2>,
}

/// Layer normalization of every row with scale `gamma` and shift `beta`.
pub(crate) fn layer_norm(
    x: Tensor<2>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
) -> (Tensor<2>, SavedLayerNorm) {
    let mean = x.clone().mean_dim(1);
    let centered = x - mean;
    let variance = (centered.clone() * centered.clone()).mean_dim(1);
    let inverse_deviation = variance.add_scalar(eps).sqrt().recip();
    let standardized = centered * inverse_deviation.clone();
    let y = standardized.clone() * gamma.unsqueeze() + beta.unsqueeze();
    let saved = SavedLayerNorm {
        standardized,
        inverse_deviation,
    };
    (y, saved)
}

/// Backward pass of [`layer_norm`]: gradients of the rows, of `gamma` and of `beta`.
pub(crate) fn layer_norm_backward(
    dy: Tensor<2>,
    saved: SavedLayerNorm,
    gamma: Tensor<1>,
) -> (Tensor<2>, [Tensor<1>; 2]) {
    let SavedLayerNorm {
        standardized,
        inverse_deviation,
    } = saved;
    let d_gamma = column_sums(dy.clone() * standardized.clone());
    let d_beta = column_sums(dy.clone());
    let d = dy * gamma.unsqueeze();
    let along = (d.clone() * standardized.clone()).mean_dim(1);
    let dx = (d.clone() - d.mean_dim(1) - standardized * along) * inverse_deviation;
    (dx, [d_gamma, d_beta])
}

/// Sums over rows, the gradient of a bias.
pub(crate) fn column_sums(x: Tensor<2>) -> Tensor<1> {
    let [_, width] = x.dims();
    x.sum_dim(0).reshape([width])
}

/// Softmax of `scale` times every row.
pub(crate) fn softmax(x: Tensor<4>, scale: f32) -> Tensor<4> {
    burn::tensor::activation::softmax(x.mul_scalar(scale), 3)
}

/// Backward pass of GELU: `dy` times Φ(x) + x·φ(x).
pub(crate) fn gelu_backward(dy: Tensor<2>, x: Tensor<2>) -> Tensor<2> {
    let cdf = x.clone().mul_scalar(std::f32::consts::FRAC_1_SQRT_2).erf();
    let cdf = cdf.add_scalar(1.0).mul_scalar(0.5);
    let density = (x.clone() * x.clone())
        .mul_scalar(-0.5)
        .exp()
        .mul_scalar(INVERSE_ROOT_2_PI);
    dy * (cdf + x * density)
}

/// Backward pass of [`softmax`], with respect to the rows before multiplication by `scale`.
pub(crate) fn softmax_backward(dy: Tensor<4>, y: Tensor<4>, scale: f32) -> Tensor<4> {
    let along = (dy.clone() * y.clone()).sum_dim(3);
    (dy - along) * y.mul_scalar(scale)
}

/// Adds the rows of `added` to the rows `rows` of `table`, which may repeat.
pub(crate) fn add_rows(table: Tensor<2>, rows: Tensor<1, Int>, added: Tensor<2>) -> Tensor<2> {
    table.select_assign(0, rows, added, IndexingUpdateOp::Add)
}

/// Squared L2 norm, summed in f32.
pub(crate) fn squared_norm(x: &Tensor<1>) -> f64 {
    let sum = (x.clone() * x.clone()).sum();
    f64::from(sum.into_scalar::<f32>())
}
