//! Llama, Mistral, Qwen2, Qwen3 and EuroBERT: normalization before attention and a gated
//! feed-forward network, rotary positions, key and value heads that several query heads share.

use serde_json::Value;

use super::config_file::{ConfigFile, FULL_ATTENTION};
use super::definition::{Definition, FieldNames, HeadLayout, HeadPooling, TensorNames};
use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::{
    Architecture, Biases, LayerConfig, Norm, NormPlacement, TransformerConfig,
};

pub(super) const LLAMA: Definition = Definition {
    name: Architecture::LLAMA.0,
    model_types: &["llama"],
    class: "Llama",
    body: "model",
    field_names: FieldNames::LLAMA,
    read: |file| read(file, Architecture::LLAMA),
    names: &[TensorNames::LLAMA],
    head: Some(|_| Ok(HeadLayout::DECODER)),
};

pub(super) const EUROBERT: Definition = Definition {
    name: Architecture::EUROBERT.0,
    model_types: &["eurobert"],
    class: "EuroBert",
    body: "model",
    field_names: FieldNames::LLAMA,
    read: |file| {
        let mut config = read(file, Architecture::EUROBERT)?;
        config.layer.causal = false;
        config.layer_norm_eps = file.number("rms_norm_eps")?.unwrap_or(1e-5);
        Ok(config)
    },
    names: &[TensorNames::LLAMA],
    head: Some(read_eurobert_head),
};

pub(super) const MISTRAL: Definition = Definition {
    name: Architecture::MISTRAL.0,
    model_types: &["mistral"],
    class: "Mistral",
    body: "model",
    field_names: FieldNames::LLAMA,
    read: |file| {
        let mut config = read(file, Architecture::MISTRAL)?;
        config.layer.bias = Biases::all(false);
        // A file without the field has the default, one with null has no window.
        let window = match file.integer("sliding_window")? {
            None if !file.fields.contains_key("sliding_window") => Some(4096),
            window => window,
        };
        if let Some(window) = window {
            config.layer.local_layers = match file.local_layers(config.layers)? {
                Some(layers) => layers,
                None => (0..config.layers).collect(),
            };
            set_window(file, &mut config, window)?;
        }
        Ok(config)
    },
    names: &[TensorNames::LLAMA],
    head: Some(|_| Ok(HeadLayout::DECODER)),
};

pub(super) const QWEN2: Definition = Definition {
    name: Architecture::QWEN2.0,
    model_types: &["qwen2"],
    class: "Qwen2",
    body: "model",
    field_names: FieldNames::LLAMA,
    read: |file| {
        let mut config = read(file, Architecture::QWEN2)?;
        config.layer.bias = Biases {
            qkv: true,
            ..Biases::all(false)
        };
        read_qwen_windows(file, &mut config)?;
        Ok(config)
    },
    names: &[TensorNames::LLAMA],
    head: Some(|_| Ok(HeadLayout::DECODER)),
};

pub(super) const QWEN3: Definition = Definition {
    name: Architecture::QWEN3.0,
    model_types: &["qwen3"],
    class: "Qwen3",
    body: "model",
    field_names: FieldNames::LLAMA,
    read: |file| {
        let mut config = read(file, Architecture::QWEN3)?;
        config.layer.query_key_norm = true;
        read_qwen_windows(file, &mut config)?;
        Ok(config)
    },
    names: &[TensorNames::LLAMA],
    head: Some(|_| Ok(HeadLayout::DECODER)),
};

fn read(
    file: &ConfigFile<'_>,
    architecture: Architecture,
) -> Result<TransformerConfig, ModelError> {
    let mut config = TransformerConfig::new(architecture);
    file.read_common(&mut config)?;
    config.layer_norm_eps = file.number("rms_norm_eps")?.unwrap_or(1e-6);
    config.activation = file.activation("hidden_act", "silu")?;
    let attention = file.flag("attention_bias")?.unwrap_or(false);
    let mlp = file.flag("mlp_bias")?.unwrap_or(false);
    let default_head_size = (architecture == Architecture::QWEN3).then_some(128);
    config.layer = LayerConfig {
        norm: Norm::RmsNorm,
        norm_placement: NormPlacement::Before,
        embedding_norm: false,
        final_norm: true,
        position_embeddings: false,
        key_value_heads: file.integer("num_key_value_heads")?,
        head_size: file.integer("head_dim")?.or(default_head_size),
        causal: file.flag("is_causal")?.unwrap_or(true),
        gated: true,
        bias: Biases {
            qkv: attention,
            output: attention,
            ..Biases::all(mlp)
        },
        ..LayerConfig::default()
    };
    let head_size = config.attention().head_size;
    config.layer.rotary = Some(file.rotary(FULL_ATTENTION, ("rope_theta", 10_000.0), head_size)?);
    Ok(config)
}

/// Windows of Qwen2 and Qwen3, which are off unless `use_sliding_window` is set.
fn read_qwen_windows(
    file: &ConfigFile<'_>,
    config: &mut TransformerConfig,
) -> Result<(), ModelError> {
    let first = file.integer("max_window_layers")?.unwrap_or(28);
    let (true, Some(window)) = (
        file.flag("use_sliding_window")?.unwrap_or(false),
        file.integer("sliding_window")?,
    ) else {
        // Read only with windows.
        let _ = file.get("layer_types");
        return Ok(());
    };
    config.layer.local_layers = match file.local_layers(config.layers)? {
        Some(layers) => layers,
        None => (first..config.layers.max(first)).collect(),
    };
    set_window(file, config, window)
}

/// Sets the window from the number of tokens that a token attends to, itself included.
fn set_window(
    file: &ConfigFile<'_>,
    config: &mut TransformerConfig,
    tokens: usize,
) -> Result<(), ModelError> {
    if tokens == 0 {
        return Err(file.error("sliding_window", "1 or more", Value::from(tokens)));
    }
    // A window to both sides includes its bounds.
    let distance = if config.layer.causal {
        tokens - 1
    } else {
        tokens
    };
    config.layer.window = Some(distance);
    Ok(())
}

fn read_eurobert_head(file: &ConfigFile<'_>) -> Result<HeadLayout, ModelError> {
    let pooling = match file.text("classifier_pooling")?.unwrap_or("late") {
        "bos" => HeadPooling::First,
        "mean" => HeadPooling::Mean,
        "late" => HeadPooling::MeanLogits,
        other => return Err(file.error("classifier_pooling", "bos, mean or late", other)),
    };
    Ok(HeadLayout {
        pooling,
        ..HeadLayout::BERT.with_dense("dense", Activation::Gelu)
    })
}
