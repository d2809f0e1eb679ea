//! Jina Embeddings v3 (Sturua et al. 2024): XLM-R with rotary positions. Adapters of tasks are not
//! applied.

use super::config_file::FULL_ATTENTION;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, Rows, TensorNames};
use crate::model_folder::{Architecture, LayerConfig, TransformerConfig};

pub(super) const JINA_V3: Definition = Definition {
    name: Architecture::JINA_V3.0,
    model_types: &["jina_embeddings_v3"],
    class: "JinaEmbeddingsV3",
    body: "roberta",
    field_names: FieldNames::BERT,
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::JINA_V3);
        file.read_common(&mut config)?;
        if !file.has("layer_norm_eps") {
            config.layer_norm_eps = 1e-5;
        }
        config.token_types = file.integer("type_vocab_size")?.unwrap_or(1);
        config.activation = file.activation("hidden_act", "gelu")?;
        config.layer = LayerConfig {
            position_embeddings: false,
            head_size: file.integer("head_dim")?,
            ..LayerConfig::default()
        };
        let head_size = config.attention().head_size;
        let theta = (file.theta_field(), 20_000.0);
        config.layer.rotary = Some(file.rotary(FULL_ATTENTION, theta, head_size)?);
        Ok(config)
    },
    names: &[
        TensorNames {
            parts: LayerNames {
                up: Rows::All("mlp.fc1"),
                down: "mlp.fc2",
                ..TensorNames::ROTARY_BERT.parts
            },
            ..TensorNames::ROTARY_BERT
        },
        // Of the model's own code, before transformers had the architecture.
        TensorNames {
            parts: LayerNames {
                qkv: &["mixer.Wqkv"],
                output: "mixer.out_proj",
                up: Rows::All("mlp.fc1"),
                ..TensorNames::FLASH_BERT.parts
            },
            ..TensorNames::FLASH_BERT
        },
    ],
    head: Some(|_| Ok(HeadLayout::ROBERTA)),
};
