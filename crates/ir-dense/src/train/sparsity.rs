//! Sparsity regularization of learned sparse encoders.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::loss;

/// Sparsity regularization of a learned sparse encoder: penalties of the weights of queries and
/// documents that are added to the loss.
///
/// The weights of both penalties rise quadratically from 0 during a warm-up, so that the model
/// learns to rank before it becomes sparse.
///
/// # Source
/// Formal et al., "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking", SIGIR 2021,
/// equation (6); schedule as in Paria et al., "Minimizing FLOPs to Learn Efficient Sparse
/// Representations", ICLR 2020.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparsityConfig {
    /// Penalty of the weights of queries. Default: FLOPS with weight 5e-5.
    pub query: Regularizer,
    /// Penalty of the weights of documents. Default: FLOPS with weight 3e-5.
    pub document: Regularizer,
    /// Fraction of the steps over which the weights of the penalties rise. Range: 0..=1. Default:
    /// 1/3.
    pub warmup_ratio: f64,
}

/// Penalty with its weight in the loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regularizer {
    /// Function of the weights of a batch.
    pub kind: RegularizerKind,
    /// Factor of the penalty after the warm-up. 0 disables it. Range: ≥ 0.
    pub weight: f64,
}

/// Function of the weights of a batch that sparsity regularization adds to the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RegularizerKind {
    /// Expected number of products with another text: [`super::loss::flops`].
    Flops,
    /// Mean of the sums of weights: [`super::loss::l1`].
    L1,
}

impl Default for SparsityConfig {
    fn default() -> Self {
        let flops = |weight| Regularizer {
            kind: RegularizerKind::Flops,
            weight,
        };
        Self {
            query: flops(5e-5),
            document: flops(3e-5),
            warmup_ratio: 1.0 / 3.0,
        }
    }
}

impl SparsityConfig {
    /// Returns the factor of both weights at a step, from 0, of `total`, as sentence-transformers'
    /// `SpladeRegularizerWeightSchedulerCallback`: `(step/w)²` before step w, the warm-up rounded
    /// down to whole steps, and then 1.
    ///
    /// ```
    /// use ir_dense::train::SparsityConfig;
    /// // 30 of 90 steps are warm-up.
    /// let config = SparsityConfig::default();
    /// assert_eq!(config.factor(0, 90), 0.0);
    /// assert_eq!(config.factor(15, 90), 0.25);
    /// assert_eq!(config.factor(30, 90), 1.0);
    /// ```
    pub fn factor(&self, step: u64, total: u64) -> f64 {
        let warmup = (self.warmup_ratio * total as f64).floor();
        if self.warmup_ratio == 0.0 || step as f64 >= warmup.max(1.0) {
            return 1.0;
        }
        (step as f64 / warmup.max(1.0)).powi(2)
    }
}

/// Penalties of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparsityPenalty {
    pub(super) config: SparsityConfig,
    /// Factor of both weights ([`SparsityConfig::factor`]).
    pub(super) factor: f64,
}

impl SparsityPenalty {
    /// Sum of both penalties of query and document weights, `[texts, vocabulary]`.
    pub(super) fn loss(self, vectors: [Tensor<2>; 2]) -> Tensor<1> {
        let [query, document] = [self.config.query, self.config.document];
        let [q, d] = vectors;
        let term = |regularizer: Regularizer, vectors| {
            let penalty = match regularizer.kind {
                RegularizerKind::Flops => loss::flops(vectors),
                RegularizerKind::L1 => loss::l1(vectors),
            };
            penalty.mul_scalar(regularizer.weight * self.factor)
        };
        term(query, q) + term(document, d)
    }
}
