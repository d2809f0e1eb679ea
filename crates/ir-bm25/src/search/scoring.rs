//! Scoring parameters of a searcher.

use std::sync::Arc;

use super::Pruning;
use super::scorer::FieldModel;
use crate::{Bm25, FieldStats, SearcherError};

/// The range of nonzero field weights.
const WEIGHTS: std::ops::RangeInclusive<f32> = 1e-9..=1e9;

/// BM25 bound to the statistics of a collection, field weights and top-k algorithm.
#[derive(Debug, Clone)]
pub(crate) struct Scoring {
    pub(crate) bm25: Bm25,
    pub(crate) models: Arc<[FieldModel]>,
    pub(crate) weights: Box<[f32]>,
    pub(crate) pruning: Pruning,
}

impl Scoring {
    /// Weights of 1 for the fields with these statistics.
    pub(crate) fn new(bm25: Bm25, fields: &[FieldStats]) -> Result<Self, SearcherError> {
        bm25.validate()?;
        let models = fields.iter().map(|stats| FieldModel::new(bm25, stats));
        Ok(Self {
            bm25,
            models: models.collect(),
            weights: vec![1.0; fields.len()].into(),
            pruning: Pruning::default(),
        })
    }

    /// Sets the weights of some fields; `names` are the names of all.
    pub(crate) fn set_weights(
        &mut self,
        names: &[&'static str],
        weights: &[(&str, f32)],
    ) -> Result<(), SearcherError> {
        for &(name, weight) in weights {
            let Some(at) = names.iter().position(|&known| known == name) else {
                return Err(SearcherError::UnknownField {
                    expected: names.to_vec(),
                    found: name.to_owned(),
                });
            };
            if weight != 0.0 && !WEIGHTS.contains(&weight) {
                return Err(SearcherError::Parameter {
                    name: "weight",
                    expected: "0 or a number from 1e-9 to 1e9",
                    found: weight,
                });
            }
            self.weights[at] = weight;
        }
        Ok(())
    }
}
