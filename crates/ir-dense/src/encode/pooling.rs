//! Pooling of token vectors.

use std::fmt;
use std::str::FromStr;

use burn::tensor::{Bool, Tensor, TensorData};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::kernels::memory::{self, values, values_mut};
use crate::transformer::TokenBatch;
use crate::transformer::concatenate;

/// Pooling: how the vectors of a text's tokens are reduced to one vector. The names in files and
/// options are the names of sentence-transformers: `cls`, `mean`, `max`, `mean_sqrt_len_tokens`,
/// `weightedmean`, `lasttoken`.
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
    #[serde(rename = "mean_sqrt_len_tokens")]
    MeanSqrt,
    /// Mean with the position of each token as its weight: 1, 2, ..., n (SGPT).
    #[serde(rename = "weightedmean")]
    WeightedMean,
    /// Vector of the last token, such as `[SEP]`.
    #[serde(rename = "lasttoken")]
    LastToken,
}

/// Pooling modes, usually one. The vectors of several are concatenated in this order, so that the
/// dimension is a multiple of `hidden_size`.
///
/// Text form: names joined by `+`, such as `mean` or `cls+weightedmean`.
///
/// ```
/// use ir_dense::{Pooling, PoolingModes};
/// let modes: PoolingModes = "cls+mean".parse()?;
/// assert_eq!(modes.modes(), [Pooling::Cls, Pooling::Mean]);
/// assert_eq!(PoolingModes::from(Pooling::Max).to_string(), "max");
/// # Ok::<(), ir_dense::UnknownPooling>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PoolingModes(Vec<Pooling>);

/// Error of a name that is not a pooling mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pooling is {found:?}, expected {}", Pooling::NAMES.map(|(_, name)| name).join(", "))]
pub struct UnknownPooling {
    found: String,
}

impl Pooling {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Cls, "cls"),
        (Self::Mean, "mean"),
        (Self::Max, "max"),
        (Self::MeanSqrt, "mean_sqrt_len_tokens"),
        (Self::WeightedMean, "weightedmean"),
        (Self::LastToken, "lasttoken"),
    ];

    /// Name in files and options.
    pub fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(mode, _)| *mode == self);
        name.map_or("", |(_, name)| name)
    }

    /// Returns one vector per text of the batch. Padding tokens are excluded.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; result: `[texts, dim]`.
    pub fn pool(self, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        PoolingModes::from(self).pool(hidden, batch)
    }

    #[cfg(test)]
    pub(crate) fn backward_on_cpu(
        self,
        hidden: Tensor<2>,
        batch: &TokenBatch,
        d_vectors: Tensor<2>,
    ) -> Tensor<2> {
        PoolingModes::from(self).backward_on_cpu(hidden, batch, d_vectors)
    }

    /// Pools the tokens of a text after the first `skip`. Without any, the vector is zero.
    pub(crate) fn pool_text(self, text: &[f32], skip: usize, out: &mut [f32]) {
        let dim = out.len().max(1);
        let mut rows = text.get(skip * dim..).unwrap_or_default().chunks_exact(dim);
        let length = rows.len();
        match rows.next() {
            Some(first) => out.copy_from_slice(first),
            None => out.fill(0.0),
        }
        match self {
            Self::Cls => {}
            Self::LastToken => {
                if let Some(last) = rows.next_back() {
                    out.copy_from_slice(last);
                }
            }
            Self::Max => rows.for_each(|row| {
                out.iter_mut()
                    .zip(row)
                    .for_each(|(out, x)| *out = out.max(*x));
            }),
            Self::WeightedMean => {
                out.iter_mut().for_each(|out| *out *= (skip + 1) as f32);
                for (row, position) in rows.zip(skip + 2..) {
                    let weight = position as f32;
                    out.iter_mut()
                        .zip(row)
                        .for_each(|(out, x)| *out += weight * x);
                }
            }
            Self::Mean | Self::MeanSqrt => rows.for_each(|row| {
                out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
            }),
        }
        if let Some(divisor) = self.divisor(length, skip) {
            out.iter_mut().for_each(|out| *out /= divisor);
        }
    }

    /// Divisor of the sum of the vectors of `length` tokens after the first `skip`; `None` if the
    /// vector is not a sum.
    fn divisor(self, length: usize, skip: usize) -> Option<f32> {
        let divisor = match self {
            Self::Mean => length as f32,
            Self::MeanSqrt => (length as f32).sqrt(),
            Self::WeightedMean => (length * (2 * skip + length + 1) / 2) as f32,
            Self::Cls | Self::Max | Self::LastToken => return None,
        };
        Some(divisor.max(1.0))
    }

    /// Replaces the token vectors of a text, `[length, d.len()]`, by the gradient of them. `d`:
    /// gradient of the pooled vector.
    fn text_backward(self, text: &mut [f32], d: &[f32]) {
        let dim = d.len().max(1);
        match self {
            Self::Cls => {
                text.fill(0.0);
                if let Some(first) = text.get_mut(..dim) {
                    first.copy_from_slice(d);
                }
            }
            Self::LastToken => {
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
            Self::Mean | Self::MeanSqrt | Self::WeightedMean => {
                let divisor = self.divisor(text.len() / dim, 0).unwrap_or(1.0);
                for (row, position) in text.chunks_exact_mut(dim).zip(1_usize..) {
                    let weight = match self {
                        Self::WeightedMean => position as f32,
                        _ => 1.0,
                    };
                    row.iter_mut()
                        .zip(d)
                        .for_each(|(x, d)| *x = weight * d / divisor);
                }
            }
        }
    }

    /// Pools texts of equal length, `[texts, length, dim]`, of which the first `skip` tokens were
    /// cut off.
    fn pool_block(
        self,
        rows: Tensor<3>,
        padding: Option<Tensor<3, Bool>>,
        skip: usize,
    ) -> Tensor<2> {
        let [texts, length, dim] = rows.dims();
        let masked = |rows: Tensor<3>, value: f32| match &padding {
            None => rows,
            Some(padding) => rows.mask_fill(padding.clone().expand([texts, length, dim]), value),
        };
        let power = match self {
            Self::Cls => return rows.slice([0..texts, 0..1]).reshape([texts, dim]),
            Self::Max => return masked(rows, f32::MIN).max_dim(1).reshape([texts, dim]),
            Self::LastToken => {
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
            Self::Mean | Self::WeightedMean => 1.0,
            Self::MeanSqrt => 0.5,
        };
        let weights = (self == Self::WeightedMean).then(|| {
            let weights: Vec<f32> = (skip + 1..).take(length).map(|it| it as f32).collect();
            let weights = TensorData::new(weights, [1, length, 1]);
            Tensor::<3>::from_data(weights, &rows.device())
        });
        let weighted = |rows: Tensor<3>| match &weights {
            Some(weights) => rows * weights.clone(),
            None => rows,
        };
        let sum: Tensor<2> = weighted(masked(rows, 0.0)).sum_dim(1).reshape([texts, dim]);
        match padding {
            None => sum.div_scalar(self.divisor(length, skip).unwrap_or(1.0)),
            Some(padding) => {
                let count = weighted(padding.bool_not().float());
                let count: Tensor<2> = count.sum_dim(1).reshape([texts, 1]);
                sum / count.clamp_min(1.0).powf_scalar(power)
            }
        }
    }
}

impl PoolingModes {
    /// Modes of which the vectors are concatenated; `None` without any.
    #[must_use]
    pub fn new(modes: impl IntoIterator<Item = Pooling>) -> Option<Self> {
        let modes: Vec<Pooling> = modes.into_iter().collect();
        (!modes.is_empty()).then_some(Self(modes))
    }

    /// The modes, in the order of their vectors.
    #[must_use]
    pub fn modes(&self) -> &[Pooling] {
        &self.0
    }

    /// Returns one vector per text of the batch. Padding tokens are excluded.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; result: `[texts, modes · dim]`.
    pub fn pool(&self, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        self.pool_after(0, hidden, batch)
    }

    /// [`PoolingModes::pool`] without the first `skip` tokens of every text, the prompt.
    pub(crate) fn pool_after(
        &self,
        skip: usize,
        hidden: Tensor<2>,
        batch: &TokenBatch,
    ) -> Tensor<2> {
        let [_, dim] = hidden.dims();
        if batch.runs_by_text(&hidden) {
            return self.pool_on_cpu(skip, hidden, batch);
        }
        let padding: Option<Tensor<3, Bool>> =
            batch.padding(&hidden.device()).map(|p| p.unsqueeze_dim(2));
        let pooled = batch.blocks().iter().map(|block| {
            let (texts, length) = (block.texts, block.length);
            let rows = hidden.clone().slice([block.tokens(), 0..dim]);
            let mut rows: Tensor<3> = rows.reshape([texts, length, dim]);
            let mut padding = padding.clone();
            if skip >= length && length > 0 {
                let zeros = rows.slice([0..texts, 0..1]).zeros_like();
                return zeros.reshape([texts, dim]).repeat_dim(1, self.0.len());
            }
            if skip > 0 {
                rows = rows.slice([0..texts, skip..length]);
                padding = padding.map(|it| it.slice([0..texts, skip..length]));
            }
            let pooled = self.0.iter().map(|mode| {
                let pooled = mode.pool_block(rows.clone(), padding.clone(), skip);
                match &padding {
                    // A text without other tokens.
                    Some(padding) if skip > 0 => {
                        let is_empty = padding.clone().slice([0..texts, 0..1]);
                        let is_empty: Tensor<2, Bool> = is_empty.reshape([texts, 1]);
                        pooled.mask_fill(is_empty.expand([texts, dim]), 0.0)
                    }
                    _ => pooled,
                }
            });
            let mut pooled: Vec<Tensor<2>> = pooled.collect();
            match pooled.len() {
                1 => pooled.remove(0),
                _ => Tensor::cat(pooled, 1),
            }
        });
        concatenate(pooled.collect())
    }

    fn pool_on_cpu(&self, skip: usize, hidden: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        let (device, [_, dim]) = (hidden.device(), hidden.dims());
        let (hidden, dim) = (memory::data(hidden), dim * self.0.len());
        let mut out = vec![0.0; batch.texts() * dim];
        self.pool_rows(skip, values(&hidden), batch, &mut out);
        Tensor::from_data(TensorData::new(out, [batch.texts(), dim]), &device)
    }

    /// Writes one vector per text of a batch without padding, of the tokens after the first `skip`.
    ///
    /// # Shapes
    /// `hidden`: `[tokens, dim]`; `out`: `[texts, modes · dim]`.
    pub(crate) fn pool_rows(
        &self,
        skip: usize,
        hidden: &[f32],
        batch: &TokenBatch,
        out: &mut [f32],
    ) {
        let width = out.len() / batch.texts().max(1);
        let dim = width / self.0.len();
        let mut rest = hidden;
        for (out, length) in out.chunks_exact_mut(width.max(1)).zip(batch.lengths()) {
            let (text, others) = rest.split_at(length * dim);
            rest = others;
            for (mode, out) in self.0.iter().zip(out.chunks_exact_mut(dim.max(1))) {
                mode.pool_text(text, skip, out);
            }
        }
    }

    /// Backward pass of [`PoolingModes::pool`] for a batch without padding in CPU memory. Maps the
    /// gradient of the vectors, `[texts, modes · dim]`, to the gradient of `hidden`.
    pub(crate) fn backward_on_cpu(
        &self,
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
            text
        });
        let texts: Vec<&mut [f32]> = texts.collect();
        let tasks = values(&d_vectors).par_chunks(dim * self.0.len()).zip(texts);
        tasks.for_each(|(d, text)| {
            if let [mode] = self.0[..] {
                return mode.text_backward(text, d);
            }
            let states = text.to_vec();
            text.fill(0.0);
            for (mode, d) in self.0.iter().zip(d.chunks_exact(dim)) {
                let mut gradient = states.clone();
                mode.text_backward(&mut gradient, d);
                text.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
            }
        });
        Tensor::from_data(hidden, &device)
    }
}

impl From<Pooling> for PoolingModes {
    fn from(mode: Pooling) -> Self {
        Self(vec![mode])
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for PoolingModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(Pooling::to_string).collect();
        f.write_str(&names.join("+"))
    }
}

impl FromStr for Pooling {
    type Err = UnknownPooling;

    fn from_str(text: &str) -> Result<Self, UnknownPooling> {
        let known = Self::NAMES.iter().find(|(_, known)| *known == text);
        let found = || UnknownPooling { found: text.into() };
        known.map(|(mode, _)| *mode).ok_or_else(found)
    }
}

impl FromStr for PoolingModes {
    type Err = UnknownPooling;

    fn from_str(text: &str) -> Result<Self, UnknownPooling> {
        let modes = text.split('+').map(str::parse);
        modes.collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<String> for PoolingModes {
    type Error = UnknownPooling;

    fn try_from(text: String) -> Result<Self, UnknownPooling> {
        text.parse()
    }
}

impl From<PoolingModes> for String {
    fn from(modes: PoolingModes) -> Self {
        modes.to_string()
    }
}

/// Epsilon of L2 normalization, x / max(‖x‖₂, ε): `eps` of `torch.nn.functional.normalize`, which
/// sentence-transformers calls.
pub(crate) const NORM_EPSILON: f32 = 1e-12;

/// L2-normalizes every row, `[texts, dim]`. A zero vector stays zero.
pub(crate) fn normalize(vectors: Tensor<2>) -> Tensor<2> {
    let norm = vectors.clone().powi_scalar(2).sum_dim(1).sqrt();
    vectors / norm.clamp_min(NORM_EPSILON)
}

/// L2-normalizes a vector; the same bits as [`normalize`] in CPU memory.
pub(crate) fn normalize_row(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let norm = if norm < NORM_EPSILON {
        NORM_EPSILON
    } else {
        norm
    };
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
            (
                Pooling::WeightedMean,
                [7.0 / 3.0, 2.0 / 3.0],
                [1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0],
            ),
            (Pooling::LastToken, [3.0, 2.0], [0.0, 0.0, 1.0, 1.0]),
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

    fn rows(tensor: Tensor<2>) -> Vec<f32> {
        tensor.try_into_vec_as::<f32>().unwrap()
    }

    /// Concatenation, prompts and padding, and gradients beside burn's.
    #[test]
    fn modes_are_concatenated_with_and_without_prompt() {
        let modes: PoolingModes = "max+cls+weightedmean+lasttoken+mean+mean_sqrt_len_tokens"
            .parse()
            .unwrap();
        assert_eq!(modes, PoolingModes::new(modes.modes().to_vec()).unwrap());
        assert_eq!(PoolingModes::new([]), None);
        let unknown = "cls+median"
            .parse::<PoolingModes>()
            .unwrap_err()
            .to_string();
        assert!(unknown.starts_with("pooling is \"median\", expected cls, mean"));
        let texts = [vec![1, 2, 3, 4], vec![5, 6], vec![7]];
        let states = [
            0.5, -1.0, 2.0, 0.25, -0.75, 3.0, 1.0, 1.5, -2.0, 0.0, 4.0, -3.0, 6.0, 7.0,
        ];
        let tensor = |values: &[f32]| {
            let data = TensorData::new(values.to_vec(), [values.len() / 2, 2]);
            Tensor::<2>::from_data(data, &Default::default())
        };
        let batch = TokenBatch::new(&texts);
        let mut padded = states[..8].to_vec();
        padded.extend(&states[8..12]);
        padded.extend([9.0; 4]);
        padded.extend(&states[12..]);
        padded.extend([9.0; 6]);
        let with_padding = TokenBatch::padded(&texts, 0);
        for skip in [0, 1, 3] {
            let found = rows(modes.pool_after(skip, tensor(&states), &batch));
            assert_eq!(found.len(), 3 * 12);
            let other = rows(modes.pool_after(skip, tensor(&padded), &with_padding));
            let pairs = found.iter().zip(&other);
            assert!(
                pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6),
                "{found:?} {other:?}"
            );
            for (at, mode) in modes.modes().iter().enumerate() {
                let single = PoolingModes::from(*mode).pool_after(skip, tensor(&states), &batch);
                let expected = found.chunks(12).flat_map(|it| &it[2 * at..][..2]);
                assert!(rows(single).iter().eq(expected), "{mode} after {skip}");
            }
        }
        // (2, 0.25), (-0.75, 3), (1, 1.5) have the weights 2, 3, 4.
        let after = rows(modes.pool_after(1, tensor(&states), &batch));
        assert_eq!(after[..6], [2.0, 3.0, 2.0, 0.25, 5.75 / 9.0, 15.5 / 9.0]);
        assert_eq!(after[24..], [0.0; 12]);

        let d: Vec<f32> = (0..36).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
        let d = Tensor::<2>::from_data(TensorData::new(d, [3, 12]), &Default::default());
        let found = rows(modes.backward_on_cpu(tensor(&states), &batch, d.clone()));
        let x = tensor(&padded).autodiff().require_grad();
        let y = modes.pool(x.clone(), &with_padding);
        let mut gradients = (y * d.autodiff()).sum().backward();
        let expected = rows(x.grad_remove(&mut gradients).unwrap());
        let attended = [0..12, 16..18].map(|it| &expected[it]).concat();
        let pairs = found.iter().zip(&attended);
        assert!(
            pairs.clone().all(|(a, b)| (a - b).abs() < 1e-5),
            "{found:?} {attended:?}"
        );
    }
}
