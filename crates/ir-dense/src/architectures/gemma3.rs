//! Gemma 3 (EmbeddingGemma): normalization around attention and feed-forward network, attention to
//! a window in five of six layers.

use serde_json::Value;

use super::config_file::{FULL_ATTENTION, SLIDING_ATTENTION};
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, TensorNames};
use crate::model_folder::{
    Architecture, Biases, LayerConfig, Norm, NormPlacement, TransformerConfig,
};

pub(super) const GEMMA3: Definition = Definition {
    name: Architecture::GEMMA3.0,
    model_types: &["gemma3_text"],
    class: "Gemma3Text",
    body: "model",
    field_names: FieldNames {
        own: &[
            ("layer_norm_eps", "rms_norm_eps"),
            ("hidden_act", "hidden_activation"),
        ],
        aliases: &[],
    },
    read: |file| {
        let mut config = TransformerConfig::new(Architecture::GEMMA3);
        file.read_common(&mut config)?;
        config.layer_norm_eps = file.number("rms_norm_eps")?.unwrap_or(1e-6);
        config.activation = file.activation("hidden_activation", "gelu_pytorch_tanh")?;
        let head_size = file.integer("head_dim")?.unwrap_or(256);
        // transformers does not apply it, the reference implementation does.
        file.expect("attn_logit_softcapping", &Value::Null)?;
        let scale = file.number("query_pre_attn_scalar")?.unwrap_or(256.0);
        if scale <= 0.0 {
            return Err(file.error("query_pre_attn_scalar", "above 0", scale));
        }
        let window = file.integer("sliding_window")?.unwrap_or(4096);
        let bidirectional = file.flag("use_bidirectional_attention")?.unwrap_or(false);
        let is_causal = file.flag("is_causal")?.unwrap_or(true);
        let causal = !bidirectional && is_causal;
        let distance = match (bidirectional, is_causal) {
            (false, true) => window.saturating_sub(1),
            (false, false) => window,
            (true, true) => window / 2,
            // transformers adds 1 to half of the window and includes this bound.
            (true, false) => window / 2 + 1,
        };
        let every = match file.integer("sliding_window_pattern")? {
            Some(every) => every,
            None => file.integer("_sliding_window_pattern")?.unwrap_or(6),
        };
        let local = |layer: &usize| !(layer + 1).is_multiple_of(every.max(1));
        file.expect_rotary_by_kind()?;
        let bias = file.flag("attention_bias")?.unwrap_or(false);
        config.layer = LayerConfig {
            norm: Norm::RmsNormOnePlus,
            norm_placement: NormPlacement::Around,
            embedding_norm: false,
            final_norm: true,
            embedding_scale: (config.hidden_size as f64).sqrt(),
            position_embeddings: false,
            rotary: Some(file.rotary(FULL_ATTENTION, ("rope_theta", 1_000_000.0), head_size)?),
            local_rotary: Some(file.unscaled_rotary(
                SLIDING_ATTENTION,
                ("rope_local_base_freq", 10_000.0),
                head_size,
            )?),
            key_value_heads: Some(file.integer("num_key_value_heads")?.unwrap_or(4)),
            head_size: Some(head_size),
            causal,
            window: Some(distance),
            local_layers: match file.local_layers(config.layers)? {
                Some(layers) => layers,
                None => (0..config.layers).filter(local).collect(),
            },
            query_key_norm: true,
            attention_scale: Some(scale.sqrt().recip()),
            gated: true,
            bias: Biases {
                qkv: bias,
                output: bias,
                ..Biases::all(false)
            },
            ..LayerConfig::default()
        };
        Ok(config)
    },
    names: &[TensorNames {
        parts: LayerNames {
            attention_output_norm: "post_attention_layernorm",
            norm: "pre_feedforward_layernorm",
            output_norm: "post_feedforward_layernorm",
            ..TensorNames::LLAMA.parts
        },
        ..TensorNames::LLAMA
    }],
    head: Some(|_| Ok(HeadLayout::DECODER)),
};
