//! Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and a gated feed-forward network.

use super::config_file::FULL_ATTENTION;
use super::definition::{Definition, HeadLayout, LayerNames, Rows, TensorNames};
use crate::model_folder::{Architecture, Biases, LayerConfig, TransformerConfig};

pub(super) const NOMIC_BERT: Definition = Definition {
    name: Architecture::NOMIC_BERT.0,
    model_types: &["nomic_bert"],
    class: "NomicBert",
    body: "nomic_bert",
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::NOMIC_BERT);
        file.read_common(&mut config)?;
        config.token_types = file.integer("type_vocab_size")?.unwrap_or(2);
        config.activation = file.activation("hidden_act", "silu")?;
        config.layer = LayerConfig {
            position_embeddings: false,
            head_size: file.integer("head_dim")?,
            gated: true,
            bias: Biases::all(false),
            ..LayerConfig::default()
        };
        let head_size = config.attention().head_size;
        config.layer.rotary =
            Some(file.rotary(FULL_ATTENTION, ("rope_theta", 1_000.0), head_size)?);
        Ok(config)
    },
    names: &[
        TensorNames {
            parts: LayerNames {
                attention_norm: "post_attention_layernorm",
                norm: "post_mlp_layernorm",
                ..TensorNames::LLAMA.parts
            },
            layer: "layers.",
            ..TensorNames::BERT
        },
        // Of the model's own code, before transformers had the architecture.
        TensorNames {
            embedding_norm: "emb_ln",
            layer: "encoder.layers.",
            parts: LayerNames {
                qkv: &["attn.Wqkv"],
                output: "attn.out_proj",
                attention_norm: "norm1",
                gate: Rows::All("mlp.fc12"),
                up: Rows::All("mlp.fc11"),
                down: "mlp.fc2",
                norm: "norm2",
                ..TensorNames::BERT.parts
            },
            ..TensorNames::BERT
        },
    ],
    head: Some(|_| Ok(HeadLayout::BERT)),
};
