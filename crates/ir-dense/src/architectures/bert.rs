//! BERT, RoBERTa and ELECTRA, and the BERT encoders of DPR.

use serde_json::Value;

use super::config_file::ConfigFile;
use super::definition::{Definition, FieldNames, HeadLayout, TensorNames};
use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::{Architecture, TransformerConfig};

pub(super) const BERT: Definition = Definition {
    name: Architecture::BERT.0,
    model_types: &["bert"],
    class: "Bert",
    body: "bert",
    field_names: FieldNames::BERT,
    read: |file| read(file, Architecture::BERT),
    names: &[TensorNames::BERT],
    head: Some(|_| Ok(HeadLayout::BERT)),
};

pub(super) const ROBERTA: Definition = Definition {
    name: Architecture::ROBERTA.0,
    model_types: &["roberta", "xlm-roberta", "camembert"],
    class: "Roberta",
    body: "roberta",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = read(file, Architecture::ROBERTA)?;
        let padding = file.integer("pad_token_id")?.unwrap_or(1);
        config.position_offset = padding.saturating_add(1);
        config.position_padding = u32::try_from(padding).ok();
        Ok(config)
    },
    names: &[TensorNames::BERT],
    head: Some(|_| Ok(HeadLayout::ROBERTA)),
};

pub(super) const ELECTRA: Definition = Definition {
    name: Architecture::ELECTRA.0,
    model_types: &["electra"],
    class: "Electra",
    body: "electra",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = read(file, Architecture::ELECTRA)?;
        let size = file.integer("embedding_size")?;
        config.layer.embedding_size = size.filter(|size| *size != config.hidden_size);
        Ok(config)
    },
    names: &[TensorNames::BERT],
    head: Some(|_| Ok(HeadLayout::ROBERTA.with_dense("classifier.dense", Activation::Gelu))),
};

pub(super) const DPR: Definition = Definition {
    name: "dpr",
    model_types: &["dpr"],
    class: "Bert",
    body: "bert",
    field_names: FieldNames::BERT,
    read: |file| {
        file.expect("projection_dim", &Value::from(0))?;
        read(file, Architecture::BERT)
    },
    names: &[TensorNames::BERT],
    head: None,
};

/// Reads the fields that are the same in BERT and its successors with absolute positions.
pub(super) fn read(
    file: &ConfigFile<'_>,
    architecture: Architecture,
) -> Result<TransformerConfig, ModelError> {
    let mut config = TransformerConfig::new(architecture);
    file.read_common(&mut config)?;
    config.token_types = file.integer("type_vocab_size")?.unwrap_or(2);
    config.activation = file.activation("hidden_act", "gelu")?;
    if let Some(other) = file
        .text("position_embedding_type")?
        .filter(|it| *it != "absolute")
    {
        return Err(file.error("position_embedding_type", "absolute", other));
    }
    if file.flag("is_decoder")? == Some(true) {
        let expected = "false: attention must be bidirectional";
        return Err(file.error("is_decoder", expected, true));
    }
    Ok(config)
}
