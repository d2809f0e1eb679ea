//! Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and a gated feed-forward network.

use serde_json::json;

use super::config_file::FULL_ATTENTION;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, Rows, TensorNames};
use crate::activation::Activation;
use crate::model_folder::{Architecture, Biases, LayerConfig, TransformerConfig};

pub(super) const NOMIC_BERT: Definition = Definition {
    name: Architecture::NOMIC_BERT.0,
    model_types: &["nomic_bert"],
    class: "NomicBert",
    body: "nomic_bert",
    field_names: FieldNames {
        own: &[],
        aliases: &[
            ("hidden_size", "n_embd"),
            ("num_hidden_layers", "n_layer"),
            ("num_attention_heads", "n_head"),
            ("intermediate_size", "n_inner"),
            ("max_position_embeddings", "n_positions"),
            ("layer_norm_eps", "layer_norm_epsilon"),
            ("hidden_act", "activation_function"),
        ],
    },
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::NOMIC_BERT);
        file.read_common(&mut config)?;
        config.token_types = file.integer("type_vocab_size")?.unwrap_or(2);
        // Names of gated networks in the model's own code.
        config.activation = match file.text("hidden_act")? {
            Some("swiglu") => Activation::Silu,
            Some("geglu") => Activation::Gelu,
            _ => file.activation("hidden_act", "silu")?,
        };
        // Fields of the model's own code, with the values of the published models.
        for (field, value) in [
            ("causal", json!(false)),
            ("mlp_fc1_bias", json!(false)),
            ("mlp_fc2_bias", json!(false)),
            ("parallel_block", json!(false)),
            ("prenorm", json!(false)),
            ("qkv_proj_bias", json!(false)),
            ("rotary_emb_interleaved", json!(false)),
            ("rotary_emb_fraction", json!(1.0)),
            ("use_rms_norm", json!(false)),
        ] {
            file.expect(field, &value)?;
        }
        for field in ["rotary_emb_scale_base", "rotary_scaling_factor"] {
            if let Some(factor) = file.number(field)? {
                return Err(file.error(field, "null", factor));
            }
        }
        config.layer = LayerConfig {
            position_embeddings: false,
            head_size: file.integer("head_dim")?,
            gated: true,
            bias: Biases::all(false),
            ..LayerConfig::default()
        };
        let head_size = config.attention().head_size;
        let theta = (file.theta_field(), 1_000.0);
        config.layer.rotary = Some(file.rotary(FULL_ATTENTION, theta, head_size)?);
        Ok(config)
    },
    names: &[
        TensorNames::ROTARY_BERT,
        // Of the model's own code, before transformers had the architecture.
        TensorNames {
            parts: LayerNames {
                qkv: &["attn.Wqkv"],
                output: "attn.out_proj",
                gate: Rows::All("mlp.fc12"),
                up: Rows::All("mlp.fc11"),
                ..TensorNames::FLASH_BERT.parts
            },
            ..TensorNames::FLASH_BERT
        },
    ],
    head: Some(|_| Ok(HeadLayout::BERT)),
};
