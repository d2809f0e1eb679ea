//! Description of the folder of a cross-encoder.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::folder::CrossEncoderFolder;
use super::{CrossEncoder, CrossEncoderConfig};
use crate::activation::Activation;
use crate::architectures::unread_fields;
use crate::encode::{ComputationDescription, TokenizerDescription, WeightDescription};
use crate::error::ModelError;
use crate::model_folder::TransformerConfig;
use crate::reader::MissingHead;

/// How the folder of a cross-encoder is understood. [`describe_cross_encoder`] reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CrossEncoderDescription {
    /// Folder of the transformer.
    pub folder: PathBuf,
    /// Configuration of the transformer.
    pub transformer: TransformerConfig,
    /// Number of positions: with position embeddings, the highest possible maximum length.
    pub positions: usize,
    /// Fields of `config.json` that are not read and may change scores.
    pub unread_fields: Vec<String>,
    /// What computes the transformer.
    pub computation: ComputationDescription,
    /// Weight files of the transformer and the head.
    pub weights: WeightDescription,
    /// Kind and size of the vocabulary, and truncation.
    pub tokenizer: TokenizerDescription,
    /// Layers from the hidden states to the logits, in words.
    pub head: String,
    /// Number of labels. A [`Reranker`](ir_core::Reranker) has one.
    pub labels: usize,
    /// Activation function of the scores.
    pub activation: Activation,
    /// Maximum sequence length in tokens: query, document and special tokens.
    pub max_tokens: usize,
    /// Prompt, which precedes every query or is the system message of a chat; empty for none.
    pub prompt: String,
    /// Chat of the pair of the texts `{query}` and `{document}`. `None`: the model has no chat
    /// template.
    pub chat: Option<String>,
    /// Errors of tensors: missing, of another shape or element type, or of layers that the
    /// configuration does not describe. The model does not open with any.
    pub problems: Vec<String>,
}

/// Reads the folder of a cross-encoder as [`CrossEncoder::open_with`] does, without the weights of
/// its transformer. `None` for other folders: a folder with `modules.json` has the `model_type`
/// `CrossEncoder`, another one a class such as `BertForSequenceClassification`.
///
/// ```no_run
/// let model = ir_dense::describe_cross_encoder("ms-marco-MiniLM-L6-v2", &Default::default())?;
/// assert!(model.is_some_and(|model| model.labels == 1));
/// # Ok::<(), ir_dense::ModelError>(())
/// ```
///
/// # Errors
/// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
/// supported. Of the transformer's weights, names and shapes are compared with the configuration
/// ([`CrossEncoderDescription::problems`]); their elements are not read.
pub fn describe_cross_encoder(
    folder: impl AsRef<Path>,
    config: &CrossEncoderConfig,
) -> Result<Option<CrossEncoderDescription>, ModelError> {
    let folder = folder.as_ref();
    if !CrossEncoderFolder::is_cross_encoder(folder)? {
        return Ok(None);
    }
    let model = CrossEncoder::load(folder, config, MissingHead::Error)?;
    let transformer = model.weights.config();
    Ok(Some(CrossEncoderDescription {
        transformer: transformer.clone(),
        positions: transformer.max_tokens(),
        unread_fields: unread_fields(&model.folder)?,
        computation: ComputationDescription::new(transformer),
        weights: model.weights.describe()?,
        tokenizer: TokenizerDescription::new(&model.tokenizer),
        head: model.head.layers(),
        labels: model.labels(),
        activation: model.activation(),
        max_tokens: model.max_tokens(),
        prompt: model.prompt().to_owned(),
        chat: model.pairs.chat()?,
        problems: model.weights.problems()?,
        folder: model.folder,
    }))
}
