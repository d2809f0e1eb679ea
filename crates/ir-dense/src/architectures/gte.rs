//! GTE (Zhang et al. 2024, "mGTE"): BERT with rotary positions and a gated feed-forward network.

use serde_json::json;

use super::config_file::FULL_ATTENTION;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, Rows, TensorNames};
use crate::model_folder::{Architecture, Biases, LayerConfig, TransformerConfig};

pub(super) const GTE: Definition = Definition {
    name: Architecture::GTE.0,
    // "new" in the model's own code.
    model_types: &["gte", "new"],
    class: "Gte",
    body: "gte",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::GTE);
        file.read_common(&mut config)?;
        config.token_types = file.integer("type_vocab_size")?.unwrap_or(1);
        config.activation = file.activation("hidden_act", "gelu")?;
        config.layer = LayerConfig {
            position_embeddings: false,
            head_size: file.integer("head_dim")?,
            gated: true,
            bias: Biases {
                gate: false,
                up: false,
                ..Biases::all(true)
            },
            ..LayerConfig::default()
        };
        let head_size = config.attention().head_size;
        let is_new = file.text("model_type")? == Some("new");
        if is_new {
            for (field, value) in [
                ("layer_norm_type", json!("layer_norm")),
                ("logn_attention_scale", json!(false)),
                ("pack_qkv", json!(true)),
                ("position_embedding_type", json!("rope")),
            ] {
                file.expect(field, &value)?;
            }
        }
        let theta = if is_new { 10_000.0 } else { 160_000.0 };
        config.layer.rotary =
            Some(file.rotary(FULL_ATTENTION, ("rope_theta", theta), head_size)?);
        Ok(config)
    },
    names: &[
        TensorNames::ROTARY_BERT,
        // Of the model's own code, before transformers had the architecture.
        TensorNames {
            parts: LayerNames {
                qkv: &["attention.qkv_proj"],
                output: "attention.o_proj",
                attention_norm: "attn_ln",
                gate: Rows::Second("mlp.up_gate_proj"),
                up: Rows::First("mlp.up_gate_proj"),
                down: "mlp.down_proj",
                norm: "mlp_ln",
                ..TensorNames::BERT.parts
            },
            ..TensorNames::BERT
        },
    ],
    head: Some(|_| Ok(HeadLayout::BERT)),
};
