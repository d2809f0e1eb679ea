//! Scoring parameters of a searcher.

use std::sync::Arc;

use super::Pruning;
use super::bm25_scorer::Bm25Fields;
use super::columns::ColumnCache;
use super::combined_fields::CombinedFields;
use super::model_scorer::ModelFields;
use crate::models::{Model, ModelKind, ParameterRange, WindowStatistics};
use crate::{FieldStats, SearcherError};

/// A model bound to the statistics of a collection.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    Bm25(Arc<Bm25Fields>, Arc<ColumnCache>),
    Bm25F(Arc<CombinedFields>),
    Other(Arc<ModelFields>),
}

impl Bound {
    /// Statistics by which the model scores phrases and windows.
    pub(crate) fn window_statistics(&self) -> WindowStatistics {
        match self {
            Self::Bm25(..) | Self::Bm25F(_) => WindowStatistics::Terms,
            Self::Other(model) => model.window_statistics(),
        }
    }
}

/// A model bound to the statistics of a collection, field weights and top-k algorithm.
#[derive(Debug, Clone)]
pub(crate) struct Scoring {
    pub(crate) model: Model,
    pub(crate) bound: Bound,
    pub(crate) weights: Box<[f32]>,
    pub(crate) pruning: Pruning,
}

impl Scoring {
    /// Weights of the model, or 1, for the fields with these names and statistics in a collection
    /// of `documents` documents.
    pub(crate) fn new(
        model: Model,
        names: &[&'static str],
        fields: &[FieldStats],
        documents: usize,
    ) -> Result<Self, SearcherError> {
        model.validate()?;
        let bound = match model.kind() {
            ModelKind::Bm25(bm25) => {
                let bm25 = Bm25Fields::new(*bm25, fields);
                Bound::Bm25(Arc::new(bm25), Arc::default())
            }
            ModelKind::Bm25F(bm25f) => Bound::Bm25F(Arc::new(CombinedFields::new(
                bm25f, names, fields, documents,
            ))),
            ModelKind::Other(other) => {
                Bound::Other(Arc::new(ModelFields::new(Arc::clone(other), fields)))
            }
        };
        let mut scoring = Self {
            model,
            bound,
            weights: vec![1.0; fields.len()].into(),
            pruning: Pruning::default(),
        };
        if let ModelKind::Bm25F(bm25f) = scoring.model.clone().kind() {
            let weights = bm25f.fields.iter();
            let weights: Vec<_> = weights
                .map(|field| (field.name.as_str(), field.weight))
                .collect();
            scoring.set_weights(names, &weights)?;
        }
        Ok(scoring)
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
            if !ParameterRange::Weight.contains(weight) {
                return Err(SearcherError::Parameter {
                    name: "weight",
                    expected: ParameterRange::Weight.expected(),
                    found: weight,
                });
            }
            self.weights[at] = weight;
            self.model.set_field_weight(name, weight);
        }
        Ok(())
    }
}
