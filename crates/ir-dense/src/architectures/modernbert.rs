//! ModernBERT (Warner et al. 2024): normalization before attention and a gated feed-forward
//! network, rotary positions, attention to a window in two of three layers.

use super::config_file::{ConfigFile, FULL_ATTENTION, SLIDING_ATTENTION};
use super::definition::{
    Definition, FieldNames, HeadDense, HeadLayout, HeadNorm, HeadPooling, LayerNames, Rows,
    TensorNames,
};
use crate::error::ModelError;
use crate::model_folder::{
    Architecture, Biases, LayerConfig, Norm, NormPlacement, TransformerConfig,
};

pub(super) const MODERNBERT: Definition = Definition {
    name: Architecture::MODERNBERT.0,
    model_types: &["modernbert"],
    class: "ModernBert",
    body: "model",
    field_names: FieldNames {
        own: &[
            ("layer_norm_eps", "norm_eps"),
            ("hidden_act", "hidden_activation"),
        ],
        aliases: &[],
    },
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::MODERNBERT);
        file.read_common(&mut config)?;
        config.layer_norm_eps = file.number("norm_eps")?.unwrap_or(1e-5);
        config.activation = file.activation("hidden_activation", "gelu")?;
        file.expect_rotary_by_kind()?;
        let attention = file.flag("attention_bias")?.unwrap_or(false);
        let mlp = file.flag("mlp_bias")?.unwrap_or(false);
        let every = file
            .integer("global_attn_every_n_layers")?
            .unwrap_or(3)
            .max(1);
        let local = |layer: &usize| !layer.is_multiple_of(every);
        let head_size = config.attention().head_size;
        config.layer = LayerConfig {
            norm: if file.flag("norm_bias")?.unwrap_or(false) {
                Norm::LayerNorm
            } else {
                Norm::LayerNormWithoutShift
            },
            norm_placement: NormPlacement::Before,
            first_attention_norm: false,
            final_norm: true,
            position_embeddings: false,
            rotary: Some(file.rotary(
                FULL_ATTENTION,
                ("global_rope_theta", 160_000.0),
                head_size,
            )?),
            local_rotary: Some(file.rotary(
                SLIDING_ATTENTION,
                ("local_rope_theta", 10_000.0),
                head_size,
            )?),
            window: Some(match file.integer("sliding_window")? {
                Some(distance) => distance,
                None => file.integer("local_attention")?.unwrap_or(128) / 2,
            }),
            local_layers: match file.local_layers(config.layers)? {
                Some(layers) => layers,
                None => (0..config.layers).filter(local).collect(),
            },
            gated: true,
            bias: Biases {
                qkv: attention,
                output: attention,
                ..Biases::all(mlp)
            },
            ..LayerConfig::default()
        };
        Ok(config)
    },
    names: &[TensorNames {
        tokens: "embeddings.tok_embeddings",
        embedding_norm: "embeddings.norm",
        final_norm: "final_norm",
        layer: "layers.",
        parts: LayerNames {
            qkv: &["attn.Wqkv"],
            output: "attn.Wo",
            attention_norm: "attn_norm",
            gate: Rows::First("mlp.Wi"),
            up: Rows::Second("mlp.Wi"),
            down: "mlp.Wo",
            norm: "mlp_norm",
            ..TensorNames::BERT.parts
        },
        ..TensorNames::BERT
    }],
    head: Some(read_head),
};

fn read_head(file: &ConfigFile<'_>) -> Result<HeadLayout, ModelError> {
    let pooling = match file.text("classifier_pooling")?.unwrap_or("cls") {
        "cls" => HeadPooling::First,
        "mean" => HeadPooling::Mean,
        other => return Err(file.error("classifier_pooling", "cls or mean", other)),
    };
    let norm = HeadNorm {
        name: "head.norm",
        bias: file.flag("norm_bias")?.unwrap_or(false),
        epsilon: file.number("norm_eps")?.unwrap_or(1e-5),
    };
    let dense = HeadDense {
        name: "head.dense",
        in_encoder: false,
        bias: file.flag("classifier_bias")?.unwrap_or(false),
        activation: file.activation("classifier_activation", "gelu")?,
        norm: Some(norm),
    };
    Ok(HeadLayout {
        pooling,
        dense: Some(dense),
        ..HeadLayout::BERT
    })
}
