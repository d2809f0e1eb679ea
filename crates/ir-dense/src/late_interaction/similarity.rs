//! Similarity of the token vectors of two texts.

use std::fmt;
use std::str::FromStr;

use ir_core::TokenVectors;
use serde::{Deserialize, Serialize};

/// Similarity function of token vectors, `similarity_fn_name` of sentence-transformers.
///
/// ```
/// use ir_core::TokenVectors;
/// use ir_dense::TokenSimilarity;
/// let query = TokenVectors::new(2, vec![1.0, 0.0, 0.0, 1.0], vec![0..3, 4..7]);
/// let document = TokenVectors::new(2, vec![0.6, 0.8, 0.0, 1.0], vec![0..1, 2..3]);
/// assert_eq!(TokenSimilarity::MaxSim.score(&query, &document), 0.6 + 1.0);
/// assert_eq!(TokenSimilarity::MeanMaxSim.score(&query, &document), 0.8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TokenSimilarity {
    /// Sum over the query's tokens of the maximum dot product with a token of the document. The
    /// default.
    #[default]
    MaxSim,
    /// MaxSim divided by the number of tokens of the query. The order of documents is the same.
    MeanMaxSim,
}

/// Error of an unknown [`TokenSimilarity`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown similarity of token vectors {0:?}, expected maxsim or meanmaxsim")]
pub struct UnknownTokenSimilarity(String);

impl TokenSimilarity {
    /// Every function, in the order of this page.
    pub const ALL: [Self; 2] = [Self::MaxSim, Self::MeanMaxSim];

    /// Name in `config_sentence_transformers.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxSim => "maxsim",
            Self::MeanMaxSim => "meanmaxsim",
        }
    }

    /// Returns the score of a document, in a loop over all pairs of tokens. Query and document must
    /// have the same dimension. A query without tokens has the score 0, a document without tokens
    /// -∞.
    #[must_use]
    pub fn score(self, query: &TokenVectors, document: &TokenVectors) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let best = |token: &[f32]| {
            let scores = document.rows().map(|other| dot(token, other));
            scores.fold(f32::NEG_INFINITY, f32::max)
        };
        let sum: f32 = query.rows().map(best).sum();
        match self {
            Self::MaxSim => sum,
            Self::MeanMaxSim => sum / query.len().max(1) as f32,
        }
    }
}

impl fmt::Display for TokenSimilarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TokenSimilarity {
    type Err = UnknownTokenSimilarity;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| UnknownTokenSimilarity(name.to_owned()))
    }
}
