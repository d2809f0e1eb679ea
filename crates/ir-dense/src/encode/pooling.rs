//! Pooling of token vectors.

use burn::tensor::{Bool, Tensor, TensorData};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::kernels::memory::{self, values, values_mut};
use crate::transformer::TokenBatch;
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
    /// Vector of the last token, `[SEP]`: `lasttoken` in sentence-transformers.
    Sep,
}

impl Pooling {
    /// Returns one vector per text of the batch. Padding tokens are excluded.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; result: `[texts, dim]`.
    pub fn pool(self, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        let [_, dim] = hidden.dims();
        if batch.runs_by_text(&hidden) {
            return self.pool_on_cpu(hidden, batch);
        }
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

    fn pool_on_cpu(self, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        let (device, [_, dim]) = (hidden.device(), hidden.dims());
        let hidden = memory::data(hidden);
        let mut out = vec![0.0; batch.texts() * dim];
        self.pool_rows(values(&hidden), batch, &mut out);
        Tensor::from_data(TensorData::new(out, [batch.texts(), dim]), &device)
    }

    /// Writes one vector per text of a batch without padding.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; `out`: `[texts, dim]`.
    pub(crate) fn pool_rows(self, hidden: &[f32], batch: &TokenBatch, out: &mut [f32]) {
        let dim = out.len() / batch.texts().max(1);
        let mut rest = hidden;
        for (out, length) in out.chunks_exact_mut(dim.max(1)).zip(batch.lengths()) {
            let (text, others) = rest.split_at(length * dim);
            rest = others;
            self.pool_text(text, length, out);
        }
    }

    fn pool_text(self, text: &[f32], length: usize, out: &mut [f32]) {
        let mut rows = text.chunks_exact(out.len().max(1));
        match rows.next() {
            Some(first) => out.copy_from_slice(first),
            None => out.fill(0.0),
        }
        match self {
            Self::Cls => {}
            Self::Sep => {
                if let Some(last) = rows.next_back() {
                    out.copy_from_slice(last);
                }
            }
            Self::Max => rows.for_each(|row| {
                out.iter_mut()
                    .zip(row)
                    .for_each(|(out, x)| *out = out.max(*x));
            }),
            Self::Mean | Self::MeanSqrt => {
                rows.for_each(|row| {
                    out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
                });
                let count = self.divisor(length);
                out.iter_mut().for_each(|out| *out /= count);
            }
        }
    }

    /// Divisor of the sum of the vectors of a text.
    fn divisor(self, length: usize) -> f32 {
        match self {
            Self::MeanSqrt => (length as f32).sqrt(),
            _ => length as f32,
        }
        .max(1.0)
    }

    /// Backward pass of [`Pooling::pool`] for a batch without padding in CPU memory. Maps the
    /// gradient of the vectors, `[texts, dim]`, to the gradient of `hidden`.
    pub(crate) fn backward_on_cpu(
        self,
        hidden: Tensor<2>,
        batch: &TokenBatch,
        d_vectors: Tensor<2>,
    ) -> Tensor<2> {
        let (device, [_, dim]) = (hidden.device(), hidden.dims());
        let (mut hidden, d_vectors) = (memory::data(hidden), memory::data(d_vectors));
        let mut rest = values_mut(&mut hidden);
        let texts = batch.lengths().map(|length| {
            let (text, others) = std::mem::take(&mut rest).split_at_mut(length * dim);
            rest = others;
            (text, length)
        });
        let texts: Vec<(&mut [f32], usize)> = texts.collect();
        let tasks = values(&d_vectors).par_chunks(dim).zip(texts);
        tasks.for_each(|(d, (text, length))| match self {
            Self::Cls => {
                text.fill(0.0);
                if let Some(first) = text.get_mut(..dim) {
                    first.copy_from_slice(d);
                }
            }
            Self::Sep => {
                text.fill(0.0);
                if let Some(last) = text.rchunks_exact_mut(dim).next() {
                    last.copy_from_slice(d);
                }
            }
            Self::Max => {
                for (column, d) in d.iter().enumerate() {
                    let cells = || text.iter().skip(column).step_by(dim).enumerate();
                    let larger = |most: (usize, f32), (row, &x): (usize, &f32)| {
                        if x > most.1 { (row, x) } else { most }
                    };
                    let most = cells().fold((0, f32::MIN), larger);
                    let cells = text.iter_mut().skip(column).step_by(dim).enumerate();
                    cells.for_each(|(row, x)| *x = if row == most.0 { *d } else { 0.0 });
                }
            }
            Self::Mean | Self::MeanSqrt => {
                let count = self.divisor(length);
                for row in text.chunks_exact_mut(dim) {
                    row.iter_mut().zip(d).for_each(|(x, d)| *x = d / count);
                }
            }
        });
        Tensor::from_data(hidden, &device)
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
            Self::Sep => {
                let Some(padding) = padding else {
                    let last = length.saturating_sub(1);
                    return rows.slice([0..texts, last..length]).reshape([texts, dim]);
                };
                // 1 for the last token of a text: the next one is padding or does not exist.
                let attended = padding.bool_not().float();
                let end = attended.zeros_like().slice([0..texts, 0..1]);
                let next = attended.clone().slice([0..texts, 1..length]);
                let last = attended - Tensor::cat(vec![next, end], 1);
                let others = last.equal_elem(0.0).expand([texts, length, dim]);
                return rows.mask_fill(others, 0.0).sum_dim(1).reshape([texts, dim]);
            }
            Self::Mean => 1.0,
            Self::MeanSqrt => 0.5,
        };
        let sum: Tensor<2> = masked(rows, 0.0).sum_dim(1).reshape([texts, dim]);
        match padding {
            None => sum.div_scalar(self.divisor(length)),
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

/// L2-normalizes a vector; the same bits as [`normalize`] in CPU memory.
pub(crate) fn normalize_row(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let norm = if norm < 1e-12 { 1e-12 } else { norm };
    vector.iter_mut().for_each(|x| *x /= norm);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_row_has_the_bits_of_normalize() {
        for width in [1, 2, 7, 64, 384, 1000] {
            let rows: Vec<f32> = (0..3 * width)
                .map(|at| ((at * 7919 % 2003) as f32 - 1000.0) * 1e-3)
                .map(|x| if width == 2 { 1e-20 * x } else { x })
                .chain(vec![0.0; width])
                .collect();
            let tensor = Tensor::from_data(
                TensorData::new(rows.clone(), [4, width]),
                &Default::default(),
            );
            let expected = normalize(tensor).try_into_vec_as::<f32>().unwrap();
            let mut found = rows;
            found.chunks_exact_mut(width).for_each(normalize_row);
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&expected), "{width}");
        }
    }

    #[test]
    fn empty_texts_have_zero_vectors() {
        let hidden = Tensor::<2>::from_data([[1.0, -2.0], [3.0, 2.0]], &Default::default());
        let batch = TokenBatch::new(&[vec![], vec![7, 8]]);
        let half = 2_f32.sqrt().recip();
        for (pooling, expected, gradient) in [
            (Pooling::Cls, [1.0, -2.0], [1.0, 1.0, 0.0, 0.0]),
            (Pooling::Mean, [2.0, 0.0], [0.5; 4]),
            (Pooling::Max, [3.0, 2.0], [0.0, 0.0, 1.0, 1.0]),
            (Pooling::MeanSqrt, [4.0 * half, 0.0], [half; 4]),
            (Pooling::Sep, [3.0, 2.0], [0.0, 0.0, 1.0, 1.0]),
        ] {
            let vectors = pooling.pool(hidden.clone(), &batch);
            let ones = vectors.ones_like();
            let near = |found: Tensor<2>, expected: &[f32]| {
                let found = found.try_into_vec_as::<f32>().unwrap();
                let pairs = found.iter().zip(expected);
                assert!(
                    pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6),
                    "{pooling:?} {found:?}"
                );
                assert_eq!(found.len(), expected.len());
            };
            near(vectors, &[&[0.0; 2], &expected[..]].concat());
            near(
                pooling.backward_on_cpu(hidden.clone(), &batch, ones),
                &gradient,
            );
        }
    }
}
