//! Encoder of T5 (Raffel et al. 2020): relative position bias, no biases, no scale of attention.

use serde_json::Value;

use super::config_file::ConfigFile;
use super::definition::{Definition, FieldNames, LayerNames, Rows, TensorNames};
use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::{
    Architecture, Biases, LayerConfig, Norm, NormPlacement, TransformerConfig,
};

pub(super) const T5: Definition = Definition {
    name: Architecture::T5.0,
    model_types: &["t5"],
    class: "T5",
    body: "",
    field_names: FieldNames {
        own: &[
            ("hidden_size", "d_model"),
            ("num_hidden_layers", "num_layers"),
            ("num_attention_heads", "num_heads"),
            ("intermediate_size", "d_ff"),
            ("head_dim", "d_kv"),
            ("layer_norm_eps", "layer_norm_epsilon"),
        ],
        aliases: &[],
    },
    read,
    names: &[
        NAMES,
        TensorNames {
            tokens: "encoder.embed_tokens",
            ..NAMES
        },
    ],
    head: None,
};

const NAMES: TensorNames = TensorNames {
    tokens: "shared",
    relative_position_bias: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    final_norm: "encoder.final_layer_norm",
    layer: "encoder.block.",
    parts: LayerNames {
        qkv: &[
            "layer.0.SelfAttention.q",
            "layer.0.SelfAttention.k",
            "layer.0.SelfAttention.v",
        ],
        output: "layer.0.SelfAttention.o",
        attention_norm: "layer.0.layer_norm",
        gate: Rows::All("layer.1.DenseReluDense.wi_0"),
        up: Rows::All("layer.1.DenseReluDense.wi_1"),
        ungated_up: Some("layer.1.DenseReluDense.wi"),
        down: "layer.1.DenseReluDense.wo",
        norm: "layer.1.layer_norm",
        ..TensorNames::BERT.parts
    },
    ..TensorNames::BERT
};

fn read(file: &ConfigFile<'_>) -> Result<TransformerConfig, ModelError> {
    let mut config = TransformerConfig::new(Architecture::T5);
    config.vocab_size = file.required("vocab_size")?;
    config.hidden_size = file.required("d_model")?;
    config.layers = file.layers("num_layers")?;
    config.heads = file.required("num_heads")?;
    config.intermediate_size = file.required("d_ff")?;
    for (field, value) in [
        ("num_hidden_layers", config.layers),
        ("hidden_size", config.hidden_size),
    ] {
        file.expect(field, &Value::from(value))?;
    }
    file.expect("is_decoder", &Value::from(false))?;
    // Buckets cover every distance.
    let positions = file.integer("max_position_embeddings")?;
    config.max_positions = positions.unwrap_or(u32::MAX as usize);
    config.layer_norm_eps = file.number("layer_norm_epsilon")?.unwrap_or(1e-6);
    config.relative_position_buckets = file
        .integer("relative_attention_num_buckets")?
        .unwrap_or(32);
    let (gated, name) = match file.text("feed_forward_proj")?.unwrap_or("relu") {
        // The tanh approximation, whatever the name says.
        "gated-gelu" => (true, "gelu_new"),
        name => match name.strip_prefix("gated-") {
            Some(name) => (true, name),
            None => (false, name),
        },
    };
    config.activation = Activation::from_transformers(name)
        .ok_or_else(|| file.error("feed_forward_proj", Activation::expected(), name))?;
    file.expect("is_gated_act", &Value::from(gated))?;
    if file.has("dense_act_fn") && file.activation("dense_act_fn", name)? != config.activation {
        let found = file.text("dense_act_fn")?.unwrap_or_default();
        let expected = format!("{name}, as feed_forward_proj says");
        return Err(file.error("dense_act_fn", expected, found));
    }
    config.layer = LayerConfig {
        norm: Norm::RmsNorm,
        norm_placement: NormPlacement::Before,
        embedding_norm: false,
        final_norm: true,
        position_embeddings: false,
        relative_position_distance: file
            .integer("relative_attention_max_distance")?
            .unwrap_or(128),
        head_size: Some(file.required("d_kv")?),
        attention_scale: Some(1.0),
        gated,
        bias: Biases::all(false),
        ..LayerConfig::default()
    };
    Ok(config)
}
