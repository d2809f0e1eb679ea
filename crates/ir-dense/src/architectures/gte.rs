//! GTE (Zhang et al. 2024, "mGTE"): BERT with rotary positions and a gated feed-forward network.

use super::config_file::FULL_ATTENTION;
use super::definition::{Definition, HeadLayout, LayerNames, Rows, TensorNames};
use crate::model_folder::{Architecture, Biases, LayerConfig, TransformerConfig};

pub(super) const GTE: Definition = Definition {
    name: Architecture::GTE.0,
    model_types: &["gte"],
    class: "Gte",
    body: "gte",
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
        config.layer.rotary =
            Some(file.rotary(FULL_ATTENTION, ("rope_theta", 160_000.0), head_size)?);
        Ok(config)
    },
    names: &[
        TensorNames {
            layer: "layers.",
            parts: LayerNames {
                attention_norm: "post_attention_layernorm",
                norm: "post_mlp_layernorm",
                ..TensorNames::LLAMA.parts
            },
            ..TensorNames::BERT
        },
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
