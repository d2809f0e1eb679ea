//! The type `hybrid`.

use std::sync::Arc;

use ir_core::fusion::{Fused, Fusion, ScoreCombination, ScoreNormalization, WeightedSum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_documents::with_numbers_of_the_index;
use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::system::{OpenSystem, SharedRetriever, System, SystemContext};

/// Fusion of several systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridSystem {
    /// Names of at least two systems. Ties are broken in the order of the documents of the first.
    pub of: Vec<String>,
    /// Fusion method. Default: `weighted-sum` if there are weights, otherwise `rrf`.
    #[serde(default)]
    pub fusion: Option<FusionName>,
    /// Weights of the scores, one for each system, for `weighted-sum`: [0.05, 1] is cos + 0.05 ·
    /// BM25 for BM25 and dense retrieval. Range: ≥ 0. Default: 1 each.
    #[serde(default)]
    #[schemars(inner(range(min = 0.0)))]
    pub weights: Option<Vec<f32>>,
    /// Damping constant of `rrf`. Range: ≥ 0. Default: 60.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = K))]
    pub k: Option<f64>,
    /// Number of hits of each system that are fused; `weighted-sum` is exact and has none. Range:
    /// ≥ 1. Default: 100.
    #[serde(default)]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = DEPTH))]
    pub depth: Option<usize>,
}

const K: f64 = 60.0;
const DEPTH: usize = 100;

/// Method that combines the rankings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FusionName {
    /// Weighted sum of the scores, over all documents.
    WeightedSum,
    /// Reciprocal rank fusion: Σ 1 / (k + rank).
    Rrf,
    /// Sum of the min-max normalized scores.
    CombSum,
    /// The same times the number of systems that return the document.
    CombMnz,
    /// Sum of the Borda points.
    Borda,
}

impl HybridSystem {
    fn method(&self) -> FusionName {
        self.fusion.unwrap_or(match self.weights {
            Some(_) => FusionName::WeightedSum,
            None => FusionName::Rrf,
        })
    }
}

impl System for HybridSystem {
    fn check(&self) -> Result<(), SystemError> {
        let expected = |key: &str, message: String| Err(SystemError::parameter(key, message));
        if self.of.len() < 2 {
            let message = format!("expected at least 2 systems, found {}", self.of.len());
            return expected("of", message);
        }
        let sum = self.method() == FusionName::WeightedSum;
        if let Some(weights) = &self.weights {
            if !sum {
                return expected("weights", "expected fusion = \"weighted-sum\"".to_owned());
            }
            if weights.len() != self.of.len() {
                let (count, found) = (self.of.len(), weights.len());
                return expected(
                    "weights",
                    format!("expected {count} weights, one for each system, found {found}"),
                );
            }
        }
        if self.k.is_some() && self.method() != FusionName::Rrf {
            return expected("k", "expected fusion = \"rrf\"".to_owned());
        }
        if self.depth.is_some() && sum {
            let first = self.fusion.map_or("weights", |_| "fusion");
            let reason = "a weighted sum is exact";
            return Err(SystemError::conflict(first, "depth", reason));
        }
        Ok(())
    }

    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds::default()
    }

    fn inputs(&self) -> Vec<(String, String)> {
        let parts = self.of.iter().enumerate();
        parts
            .map(|(n, name)| (format!("of[{n}]"), name.clone()))
            .collect()
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let (mut parts, mut rerankers) = (Vec::<SharedRetriever>::new(), Vec::new());
        let (mut descriptions, mut query_encoder) = (Vec::new(), None);
        for name in &self.of {
            let part = context.system(name)?;
            parts.push(part.retriever);
            rerankers.extend(part.rerankers);
            descriptions.push(part.description);
            query_encoder = query_encoder.or(part.query_encoder);
        }
        let descriptions: Option<Vec<String>> = descriptions.into_iter().collect();
        let open = |fused: SharedRetriever| {
            let open = OpenSystem {
                description: descriptions.map(|parts| parts.join(" and ")),
                query_encoder,
                ..OpenSystem::new(with_numbers_of_the_index(context, fused))
            };
            open.with_rerankers(rerankers)
        };
        let failed = SystemError::stage("fusion");
        let fusion = match self.method() {
            FusionName::WeightedSum => {
                let ones = vec![1.0; parts.len()];
                let weights = self.weights.clone().unwrap_or(ones);
                let sum = WeightedSum::new(parts.into_iter().zip(weights)).map_err(failed)?;
                return Ok(open(Arc::new(sum.with_names(self.of.clone()))));
            }
            FusionName::Rrf => Fusion {
                normalization: ScoreNormalization::None,
                combination: ScoreCombination::Rrf {
                    k: self.k.unwrap_or(K),
                },
            },
            FusionName::CombSum => Fusion::COMB_SUM,
            FusionName::CombMnz => Fusion::COMB_MNZ,
            FusionName::Borda => Fusion::BORDA,
        };
        let fused = Fused::new(parts, fusion, self.depth.unwrap_or(DEPTH)).map_err(failed)?;
        Ok(open(Arc::new(fused)))
    }
}
