//! The type `rerank`.

use std::sync::Arc;

use ir_core::fusion::Reranked;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::system::{OpenSystem, System, SystemContext};

/// First hits of one system, ranked by the scores of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerankSystem {
    /// Name of the system that finds the candidates.
    pub first: String,
    /// Name of the system that ranks the candidates. Candidates that it does not return are
    /// dropped.
    pub second: String,
    /// Number of candidates. Range: ≥ 1. Default: 100.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1))]
    pub depth: usize,
}

fn default_depth() -> usize {
    100
}

impl System for RerankSystem {
    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds::default()
    }

    fn inputs(&self) -> Vec<(String, String)> {
        vec![
            ("first".to_owned(), self.first.clone()),
            ("second".to_owned(), self.second.clone()),
        ]
    }

    fn max_hits(&self) -> Option<usize> {
        Some(self.depth)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let first = context.system(&self.first)?.retriever;
        let second = context.system(&self.second)?.retriever;
        let reranked = Reranked::new(first, second, self.depth);
        let reranked = reranked.map_err(SystemError::stage("reranking"))?;
        Ok(OpenSystem::new(Arc::new(reranked)))
    }
}
