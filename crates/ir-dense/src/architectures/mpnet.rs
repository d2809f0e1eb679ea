//! MPNet: BERT with a relative position bias, without token types.

use super::bert;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, TensorNames};
use crate::model_folder::Architecture;

pub(super) const MPNET: Definition = Definition {
    name: Architecture::MPNET.0,
    model_types: &["mpnet"],
    class: "MPNet",
    body: "mpnet",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = bert::read(file, Architecture::MPNET)?;
        config.token_types = 0;
        // Whatever the padding token is.
        (config.position_offset, config.position_padding) = (2, Some(1));
        let field = "relative_attention_num_buckets";
        config.relative_position_buckets = file.integer(field)?.unwrap_or(32);
        if config.relative_position_buckets == 0 {
            return Err(file.error(field, "4 or more", 0));
        }
        Ok(config)
    },
    names: &[TensorNames {
        parts: LayerNames {
            qkv: &["attention.attn.q", "attention.attn.k", "attention.attn.v"],
            output: "attention.attn.o",
            attention_norm: "attention.LayerNorm",
            ..TensorNames::BERT.parts
        },
        ..TensorNames::BERT
    }],
    head: Some(|_| Ok(HeadLayout::ROBERTA)),
};
