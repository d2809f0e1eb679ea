//! Pooling of token vectors.

use burn::tensor::{Bool, Tensor};
use serde::{Deserialize, Serialize};

use crate::TokenBatch;
use crate::transformer::concatenate;

/// Pooling: how the vectors of a text's tokens are reduced to one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pooling {
    /// Vector of the first token, `[CLS]`.
    Cls,
    /// Element-wise mean of the token vectors.
    Mean,
    /// Element-wise maximum of the token vectors.
    Max,
    /// Sum divided by the square root of the number of tokens.
    MeanSqrt,
}

impl Pooling {
    /// Returns one vector per text of the batch. Padding tokens are excluded.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; result: `[texts, dim]`.
    pub fn pool(self, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        let [_, dim] = hidden.dims();
        let padding: Option<Tensor<3, Bool>> =
            batch.padding(&hidden.device()).map(|p| p.unsqueeze_dim(2));
        let mut pooled = Vec::with_capacity(batch.blocks().len());
        for block in batch.blocks() {
            let rows = hidden.clone().slice([block.tokens(), 0..dim]);
            let rows: Tensor<3> = rows.reshape([block.texts, block.length, dim]);
            pooled.push(self.pool_block(rows, padding.clone()));
        }
        concatenate(pooled)
    }

    /// Pools texts of equal length, `[texts, length, dim]`.
    fn pool_block(self, rows: Tensor<3>, padding: Option<Tensor<3, Bool>>) -> Tensor<2> {
        let [texts, length, dim] = rows.dims();
        let masked = |rows: Tensor<3>, value: f32| match &padding {
            None => rows,
            Some(padding) => rows.mask_fill(padding.clone().expand([texts, length, dim]), value),
        };
        let power = match self {
            Self::Cls => return rows.slice([0..texts, 0..1]).reshape([texts, dim]),
            Self::Max => return masked(rows, f32::MIN).max_dim(1).reshape([texts, dim]),
            Self::Mean => 1.0,
            Self::MeanSqrt => 0.5,
        };
        let sum: Tensor<2> = masked(rows, 0.0).sum_dim(1).reshape([texts, dim]);
        match padding {
            None => sum.div_scalar((length as f32).powf(power)),
            Some(padding) => {
                let count: Tensor<2> = padding.bool_not().float().sum_dim(1).reshape([texts, 1]);
                sum / count.powf_scalar(power)
            }
        }
    }
}

/// L2-normalizes every row, `[texts, dim]`. A zero vector stays zero.
pub(crate) fn normalize(vectors: Tensor<2>) -> Tensor<2> {
    let norm = vectors.clone().powi_scalar(2).sum_dim(1).sqrt();
    vectors / norm.clamp_min(1e-12)
}
