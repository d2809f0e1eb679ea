//! Settings that one architecture reads in a way of its own, as transformers 5 does.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, TransformerConfig, describe};
use serde_json::{Value, json};

use crate::common::{changed, testdata};

const TEXTS: [&str; 2] = ["green tea is grown on hills", "the ship left the harbor"];

fn vectors(folder: &Path) -> Vec<f32> {
    let encoder = BiEncoder::open(folder).unwrap();
    encoder.encode(Side::Document, &TEXTS).unwrap()
}

/// MPNet's positions start at 2, and DistilBERT's ε is 1e-12, whatever the file says.
#[test]
fn fields_that_transformers_ignores_do_not_change_vectors() {
    for (family, fields) in [
        ("mpnet", json!({"pad_token_id": 0})),
        ("distilbert", json!({"layer_norm_eps": 0.1})),
    ] {
        let found = changed(family, "config.json", &fields);
        let expected = vectors(&testdata("families").join(family));
        assert!(vectors(found.path()) == expected, "{family}");
    }
}

#[test]
fn windows_and_masks_are_read_as_transformers_reads_them() {
    let gemma = |bidirectional: bool, causal: Option<bool>| {
        let fields = json!({
            "use_bidirectional_attention": bidirectional, "is_causal": causal, "sliding_window": 8,
        });
        let folder = changed("gemma3-bf16", "config.json", &fields);
        let layer = TransformerConfig::read(folder.path()).unwrap().layer;
        (layer.causal, layer.window)
    };
    assert_eq!(gemma(true, None), (false, Some(4)));
    assert_eq!(gemma(true, Some(false)), (false, Some(5)));
    assert_eq!(gemma(false, None), (true, Some(7)));
    assert_eq!(gemma(false, Some(false)), (false, Some(8)));

    let local = |family: &str, fields| {
        let folder = changed(family, "config.json", &fields);
        let layer = TransformerConfig::read(folder.path()).unwrap().layer;
        (layer.window, layer.local_layers)
    };
    let mistral = |types: Value| {
        let fields = json!({
            "model_type": "mistral", "num_hidden_layers": 2, "sliding_window": 4,
            "rope_parameters": null, "layer_types": types,
        });
        local("llama3", fields)
    };
    assert_eq!(mistral(Value::Null), (Some(3), vec![0, 1]));
    let types = json!(["full_attention", "sliding_attention"]);
    assert_eq!(mistral(types), (Some(3), vec![1]));
    let fields = json!({"local_attention": 8, "sliding_window": 1});
    assert_eq!(local("modernbert", fields).0, Some(1));
}

#[test]
fn settings_that_are_not_supported_are_errors() {
    for (family, file, fields, expected) in [
        (
            "t5",
            "config.json",
            json!({"is_decoder": true}),
            "is_decoder is true",
        ),
        (
            "t5",
            "config.json",
            json!({"is_gated_act": true}),
            "is_gated_act is true",
        ),
        (
            "t5",
            "config.json",
            json!({"dense_act_fn": "silu"}),
            "dense_act_fn is silu",
        ),
        (
            "t5",
            "config.json",
            json!({"num_hidden_layers": 1}),
            "num_hidden_layers is 1",
        ),
        (
            "gemma3-bf16",
            "config.json",
            json!({"attn_logit_softcapping": 50.0}),
            "attn_logit_softcapping is 50.0, expected null",
        ),
        (
            "deberta-v2-conv",
            "config.json",
            json!({"conv_kernel_size": 4}),
            "conv_kernel_size is 4, expected 0, or odd from 3 on",
        ),
        (
            "deberta-v2-conv",
            "config.json",
            json!({"conv_groups": 2}),
            "conv_groups is 2, expected 1",
        ),
        (
            "deberta-v3",
            "config.json",
            json!({"position_buckets": 8, "max_relative_positions": 3}),
            "max_relative_positions is 3",
        ),
        (
            "modernbert",
            "config.json",
            json!({"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
            "rope_scaling is ",
        ),
        (
            "deberta-v2",
            "1_Pooling/config.json",
            json!({"pooling_mode": null, "pooling_mode_mean_tokens": "true"}),
            "pooling_mode_mean_tokens is \"true\"",
        ),
        (
            "t5",
            "sentence_bert_config.json",
            json!({"tokenizer_name_or_path": "other"}),
            "tokenizer_name_or_path is other",
        ),
        (
            "t5-gated",
            "config.json",
            json!({"feed_forward_proj": "gated-xielu"}),
            "feed_forward_proj is xielu",
        ),
    ] {
        let folder = changed(family, file, &fields);
        let error = BiEncoder::open(folder.path()).unwrap_err().to_string();
        let path = folder.path().join(file).display().to_string();
        assert!(error.starts_with(&path), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    // The gate has a name of its own.
    let fields = json!({"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new", "is_gated_act": true});
    let folder = changed("t5", "config.json", &fields);
    let error = BiEncoder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("layer.1.DenseReluDense.wi_1"), "{error}");
}

#[test]
fn fields_that_are_not_read_are_described() {
    let unread = |folder: &Path| {
        let towers = describe(folder, &Default::default()).unwrap().towers;
        towers[0].unread_fields.clone()
    };
    let families = std::fs::read_dir(testdata("families")).unwrap();
    let folders = families.map(|entry| entry.unwrap().path());
    for folder in folders.filter(|folder| folder.is_dir()) {
        assert_eq!(
            unread(&folder),
            Vec::<String>::new(),
            "{}",
            folder.display()
        );
    }
    let parameters = json!({"rope_theta": 1000.0, "rope_type": "default", "beta_fast": 2.0});
    let fields = json!({
        "attention_sinks": 4, "use_cache": true, "query_scale": Value::Null,
        "rope_parameters": parameters, "rope_theta": 10.0,
    });
    let folder = changed("qwen3-bf16", "config.json", &fields);
    assert_eq!(
        unread(folder.path()),
        ["attention_sinks", "rope_parameters.beta_fast", "rope_theta"]
    );
}

/// Rotary positions have no table: `max_seq_length` may exceed the positions of pretraining.
#[test]
fn lengths_beyond_the_positions_need_no_position_embeddings() {
    let text = "tea ".repeat(400);
    for (family, tokens) in [("nomic-bert", 200), ("albert", 64)] {
        let fields = json!({"max_seq_length": 200});
        let folder = changed(family, "sentence_bert_config.json", &fields);
        let encoder = BiEncoder::open(folder.path()).unwrap();
        assert_eq!(encoder.max_tokens(Side::Document), tokens, "{family}");
        let found = encoder.encode(Side::Document, &[&text[..]]).unwrap();
        assert!(found.iter().all(|value| value.is_finite()), "{family}");
    }
}
