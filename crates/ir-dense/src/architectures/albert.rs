//! ALBERT: factorized embeddings, and layers that share their weights.

use super::bert;
use super::definition::{
    Definition, FieldNames, HeadDense, HeadLayout, LayerNames, Rows, TensorNames,
};
use crate::error::ModelError;
use crate::model_folder::{Architecture, SharedLayers};

pub(super) const ALBERT: Definition = Definition {
    name: Architecture::ALBERT.0,
    model_types: &["albert"],
    class: "Albert",
    body: "albert",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = bert::read(file, Architecture::ALBERT)?;
        config.layer.embedding_size = Some(file.integer("embedding_size")?.unwrap_or(128));
        let count = |field| -> Result<usize, ModelError> {
            match file.integer(field)?.unwrap_or(1) {
                0 => Err(file.error(field, "1 or more", 0)),
                count => Ok(count),
            }
        };
        let group_size = count("inner_group_num")?;
        config.layer.shared_layers = Some(SharedLayers {
            groups: count("num_hidden_groups")?,
            group_size,
        });
        config.layers = config.layers.saturating_mul(group_size);
        file.check_layers("inner_group_num", group_size, config.layers)?;
        config.activation = file.activation("hidden_act", "gelu_new")?;
        Ok(config)
    },
    names: &[TensorNames {
        embedding_projection: "encoder.embedding_hidden_mapping_in",
        layer: "encoder.albert_layer_groups.",
        inner_layer: ".albert_layers.",
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
