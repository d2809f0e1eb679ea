//! Description of the folder of a late-interaction model.

use std::path::Path;

use ir_core::Side;
use serde::Serialize;

use super::encoder::rules;
use super::folder::LateInteractionFolder;
use super::{MultiVectorConfig, TokenSimilarity};
use crate::encode::late_interaction_format::LateInteractionFormat;
use crate::encode::{EncoderConfig, TowerDescription};
use crate::error::ModelError;

/// What a folder says about vectors of tokens ([`MultiVectorEncoder`](crate::MultiVectorEncoder)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LateInteractionDescription {
    /// `sentence-transformers`, `PyLate` or `ColBERT`.
    pub format: &'static str,
    /// Similarity function of token vectors.
    pub similarity: TokenSimilarity,
    /// Expansion of queries. `None`: queries are not expanded.
    pub query_expansion: Option<ExpansionDescription>,
    /// Number of token ids without a vector in queries.
    pub query_skip_list: usize,
    /// Number of token ids without a vector in documents.
    pub document_skip_list: usize,
}

/// Tokens that are appended to queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpansionDescription {
    /// `fixed`: longer queries are truncated to `length`; `min`: they are not.
    pub strategy: &'static str,
    /// Number of tokens to which shorter queries are expanded.
    pub length: usize,
    /// Id of the token that is appended.
    pub token: u32,
    /// If `true`, tokens attend to the appended tokens.
    pub attend: bool,
}

/// Describes the folder of a late-interaction model; `None` if it is another one. Returns the
/// tower, the dimension and the rest.
pub(crate) fn describe(
    folder: &Path,
    config: &EncoderConfig,
) -> Result<Option<(TowerDescription, usize, LateInteractionDescription)>, ModelError> {
    let Some(format) = LateInteractionFormat::read(folder)? else {
        return Ok(None);
    };
    let config = MultiVectorConfig::from_encoder(config);
    let folder = LateInteractionFolder::open(folder, &config)?;
    let rules = rules(&folder, &config)?;
    let sides = [Side::Query, Side::Document];
    let mut tower = folder.tower.describe(&sides, &config.encoder())?;
    tower.pooling = None;
    for (side, limit) in tower.sides.iter_mut().zip(rules.limits) {
        side.max_tokens = limit;
    }
    let is_fixed = folder.expansion.as_ref().is_some_and(|it| it.is_fixed);
    let expansion = rules.expansion.map(|expansion| ExpansionDescription {
        strategy: if is_fixed { "fixed" } else { "min" },
        length: expansion.length,
        token: expansion.token,
        attend: expansion.attend,
    });
    let [query_skip_list, document_skip_list] = sides.map(|side| rules.mask.skipped(side).len());
    let description = LateInteractionDescription {
        format: format.name(),
        similarity: folder.similarity,
        query_expansion: expansion,
        query_skip_list,
        document_skip_list,
    };
    Ok(Some((tower, folder.tower.dim(), description)))
}
