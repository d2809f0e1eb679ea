//! Description of a model folder: how its files are understood.

use std::path::Path;
use std::sync::Arc;

use ir_core::{Side, VectorSimilarity};
use serde::Serialize;

use crate::encode::bi_encoder::{check_pair, open_towers};
use crate::encode::{EncoderConfig, TowerDescription};
use crate::error::ModelError;
use crate::late_interaction::{self, LateInteractionDescription};
use crate::similarity;

/// How a model folder is understood. [`describe`] reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelDescription {
    /// Dimension of the vectors, after all modules and truncation.
    pub dim: usize,
    /// Similarity function ([`BiEncoder::similarity`](crate::BiEncoder::similarity)).
    #[serde(serialize_with = "similarity::serialize_option")]
    pub similarity: Option<VectorSimilarity>,
    /// One tower for both sides, or query tower and document tower.
    pub towers: Vec<TowerDescription>,
    /// Vectors of tokens, in place of one vector per text. `None` for a bi-encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_interaction: Option<LateInteractionDescription>,
}

/// Reads a model folder as [`BiEncoder::open_with`](crate::BiEncoder::open_with) does, or
/// [`MultiVectorEncoder`](crate::MultiVectorEncoder) for late interaction, without the weights of
/// its transformers.
///
/// ```no_run
/// let model = ir_dense::describe("embeddinggemma-300m", &Default::default())?;
/// println!("{} dimensions, {} parameters", model.dim, model.towers[0].weights.parameters);
/// # Ok::<(), ir_dense::ModelError>(())
/// ```
///
/// # Errors
/// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
/// supported. Of the weights, names and shapes are compared with the configuration
/// ([`TowerDescription::problems`]); their elements are not read.
pub fn describe(
    folder: impl AsRef<Path>,
    config: &EncoderConfig,
) -> Result<ModelDescription, ModelError> {
    if let Some((tower, dim, late_interaction)) =
        late_interaction::describe(folder.as_ref(), config)?
    {
        return Ok(ModelDescription {
            dim,
            similarity: None,
            towers: vec![tower],
            late_interaction: Some(late_interaction),
        });
    }
    let [query, document] = open_towers(folder.as_ref(), config)?;
    check_pair(&query, &document)?;
    let towers = if Arc::ptr_eq(&query, &document) {
        vec![query.describe(&[Side::Query, Side::Document], config)?]
    } else {
        vec![
            query.describe(&[Side::Query], config)?,
            document.describe(&[Side::Document], config)?,
        ]
    };
    Ok(ModelDescription {
        dim: query.dim(),
        similarity: query.similarity.or(document.similarity),
        towers,
        late_interaction: None,
    })
}
