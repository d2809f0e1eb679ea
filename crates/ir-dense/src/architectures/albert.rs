//! ALBERT: factorized embeddings, and layers that share their weights.

use serde_json::Value;

use super::bert;
use super::definition::{Definition, HeadDense, HeadLayout, LayerNames, Rows, TensorNames};
use crate::model_folder::Architecture;

pub(super) const ALBERT: Definition = Definition {
    name: Architecture::ALBERT.0,
    model_types: &["albert"],
    class: "Albert",
    body: "albert",
    read: |file| {
        let mut config = bert::read(file, Architecture::ALBERT)?;
        for field in ["num_hidden_groups", "inner_group_num"] {
            file.expect(field, &Value::from(1))?;
        }
        config.layer.embedding_size = Some(file.integer("embedding_size")?.unwrap_or(128));
        config.layer.shared_layers = true;
        config.activation = file.activation("hidden_act", "gelu_new")?;
        Ok(config)
    },
    names: &[TensorNames {
        embedding_projection: "encoder.embedding_hidden_mapping_in",
        layer: "encoder.albert_layer_groups.0.albert_layers.",
        parts: LayerNames {
            qkv: &["attention.query", "attention.key", "attention.value"],
            output: "attention.dense",
            attention_norm: "attention.LayerNorm",
            up: Rows::All("ffn"),
            down: "ffn_output",
            norm: "full_layer_layer_norm",
            ..TensorNames::BERT.parts
        },
        ..TensorNames::BERT
    }],
    head: Some(|_| Ok(HEAD)),
};

const HEAD: HeadLayout = HeadLayout {
    dense: Some(HeadDense {
        name: "pooler",
        in_encoder: true,
        ..HeadDense::TANH
    }),
    ..HeadLayout::BERT
};
