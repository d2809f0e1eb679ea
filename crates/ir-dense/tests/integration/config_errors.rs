//! Errors of configuration files: the field as the file names it, and what is known instead.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ir_core::{Encoder, Side};
use ir_dense::{Activation, BiEncoder, ModelError, RotaryScaling, TransformerConfig, describe};
use serde_json::{Value, json};

use crate::common::{changed, copy_tree, testdata};

fn error(folder: &Path) -> ModelError {
    BiEncoder::open(folder).unwrap_err()
}

/// Errors name a field as the file does, not as BERT does.
#[test]
fn errors_name_the_fields_of_the_file() {
    for (family, field, value, expected) in [
        (
            "distilbert",
            "n_heads",
            json!(5),
            "n_heads is 5, expected a divisor of dim, 24",
        ),
        ("distilbert", "dim", Value::Null, "dim is missing"),
        ("distilbert", "n_layers", json!("2"), "n_layers is \"2\""),
        (
            "t5",
            "num_heads",
            json!(0),
            "num_heads is 0, expected 1 or more",
        ),
        ("t5", "d_kv", json!(0), "d_kv is 0"),
        (
            "t5",
            "layer_norm_epsilon",
            json!(0.0),
            "layer_norm_epsilon is 0, expected above 0",
        ),
        ("modernbert", "norm_eps", json!(-1.0), "norm_eps is -1"),
        (
            "qwen3-bf16",
            "rms_norm_eps",
            json!(0.0),
            "rms_norm_eps is 0",
        ),
        (
            "bert-dense",
            "layer_norm_eps",
            json!(0.0),
            "layer_norm_eps is 0",
        ),
    ] {
        let copy = changed(family, "config.json", &json!({field: value}));
        let path = copy.path().join("config.json");
        let found = error(copy.path()).to_string();
        let start = format!("{}: {expected}", path.display());
        assert!(found.starts_with(&start), "{found}");
    }
}

#[test]
fn errors_of_json_files_name_the_field() {
    for (file, text, expected, source) in [
        (
            "modules.json",
            r#"[{"path": "", "type": 3}]"#,
            "[0].type is invalid",
            "invalid type",
        ),
        (
            "modules.json",
            r#"[{"type": "x"}]"#,
            "[0] is invalid",
            "missing field `path`",
        ),
        ("modules.json", "[{", "modules.json is invalid", "EOF"),
        (
            "config_sentence_transformers.json",
            r#"{"prompts": {"query": 1}}"#,
            "prompts.query is invalid",
            "invalid type",
        ),
        (
            "sentence_bert_config.json",
            r#"{"max_seq_length": -1}"#,
            "max_seq_length is invalid",
            "invalid value",
        ),
        (
            "ir_dense.json",
            r#"{"version": 1, "query": {"max_tokens": "x"}}"#,
            "query.max_tokens is invalid",
            "invalid type",
        ),
        (
            "2_Dense/config.json",
            r#"{"in_features": "24"}"#,
            "in_features is invalid",
            "invalid type",
        ),
        (
            "config.json",
            r#"["bert"]"#,
            "config.json is invalid",
            "invalid type",
        ),
        (
            "tokenizer_config.json",
            r#"{"model_max_length": true}"#,
            "model_max_length is true",
            "",
        ),
    ] {
        let copy = copy_tree(&testdata("families/bert-dense"));
        fs::write(copy.path().join(file), text).unwrap();
        let found = error(copy.path());
        let message = found.to_string();
        assert!(
            message.contains(file) && message.contains(expected),
            "{message}"
        );
        let cause = std::error::Error::source(&found).map(ToString::to_string);
        assert!(
            cause.unwrap_or_default().contains(source),
            "{file}: {found:?}"
        );
    }
}

#[test]
fn unknown_architectures_are_compared_with_the_nearest_one() {
    let fields = json!({"model_type": "qwen3_moe", "num_experts": 4, "moe_intermediate_size": 8});
    let copy = changed("qwen3-bf16", "config.json", &fields);
    let found = error(copy.path()).to_string();
    let expected = "; the nearest is qwen3 (it does not read moe_intermediate_size, num_experts)";
    assert!(found.ends_with(expected), "{found}");
    let fields = json!({"model_type": "bert_next", "hidden_size": null});
    let copy = changed("bert-dense", "config.json", &fields);
    let found = error(copy.path()).to_string();
    assert!(
        found.ends_with("; the nearest is bert (here hidden_size is missing)"),
        "{found}"
    );
}

/// The names of fields in the code of NomicBERT and GTE, before transformers had both.
#[test]
fn configurations_of_the_models_own_code_are_read() {
    let read = |folder: &Path| TransformerConfig::read(folder);
    let nomic = |more: &Value| {
        let mut fields = json!({
            "hidden_size": null, "n_embd": 24, "num_hidden_layers": null, "n_layer": 2,
            "num_attention_heads": null, "n_head": 3, "intermediate_size": null, "n_inner": 36,
            "max_position_embeddings": null, "n_positions": 64, "hidden_act": null,
            "activation_function": "swiglu", "layer_norm_eps": null, "layer_norm_epsilon": 1e-12,
            "head_dim": null, "rope_parameters": null, "rotary_emb_base": 100.0, "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": false, "rotary_emb_scale_base": null, "qkv_proj_bias": false,
            "mlp_fc1_bias": false, "mlp_fc2_bias": false, "prenorm": false, "causal": false,
            "use_rms_norm": null, "parallel_block": false, "rotary_scaling_factor": null,
        });
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        changed("nomic-bert", "config.json", &fields)
    };
    let expected = read(&testdata("families/nomic-bert")).unwrap();
    let mut found = read(nomic(&json!({})).path()).unwrap();
    // A third of 24, in both.
    assert_eq!(expected.layer.head_size, Some(8));
    found.layer.head_size = Some(8);
    assert_eq!(found, expected);
    for (fields, start) in [
        (
            json!({"n_head": 5}),
            "n_head is 5, expected a divisor of n_embd",
        ),
        (
            json!({"rotary_scaling_factor": 2.0}),
            "rotary_scaling_factor is 2, expected null",
        ),
        (json!({"prenorm": true}), "prenorm is true, expected false"),
        (
            json!({"n_embd": 24, "hidden_size": 48}),
            "n_embd is 24, expected 48",
        ),
    ] {
        let found = read(nomic(&fields).path()).unwrap_err().to_string();
        assert!(found.contains(&format!("config.json: {start}")), "{found}");
    }

    let new = |more: Value| {
        let mut fields = json!({
            "model_type": "new", "rope_parameters": null, "rope_theta": 100.0,
            "position_embedding_type": "rope", "layer_norm_type": "layer_norm", "pack_qkv": true,
            "logn_attention_scale": false,
        });
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        changed("gte", "config.json", &fields)
    };
    let expected = read(&testdata("families/gte")).unwrap();
    assert_eq!(read(new(json!({})).path()).unwrap(), expected);
    let scaled = |factor: f64, exponent: Value| {
        let scaling = json!({"type": "ntk", "factor": factor, "mixed_b": exponent});
        new(json!({"rope_scaling": scaling}))
    };
    for (exponent, expected) in [(Value::Null, 1.0), (json!(0.625), 0.625)] {
        let layer = read(scaled(8.0, exponent).path()).unwrap().layer;
        let found = layer.rotary.and_then(|rotary| rotary.scaling);
        let Some(RotaryScaling::Ntk { factor, exponent }) = found else {
            panic!("{found:?}");
        };
        assert_eq!((factor, exponent), (8.0, expected));
    }
    let found = read(scaled(0.5, Value::Null).path()).unwrap_err();
    let found = found.to_string();
    let expected = "rope_scaling.factor is 0.5, expected 1 or more";
    assert!(found.contains(expected), "{found}");
    let scaled = new(json!({"logn_attention_scale": true}));
    let found = read(scaled.path()).unwrap_err().to_string();
    assert!(found.contains("logn_attention_scale is true"), "{found}");
}

/// transformers ignores rotary parameters outside of the kinds of layers.
#[test]
fn rotary_parameters_are_per_kind_of_layer_or_an_error() {
    for family in ["gemma3-bf16", "modernbert"] {
        let fields = json!({"rope_parameters": {"rope_theta": 1000.0, "rope_type": "default"}});
        let copy = changed(family, "config.json", &fields);
        let found = error(copy.path()).to_string();
        let expected = "rope_parameters.rope_theta is 1000.0, expected in full_attention and \
            sliding_attention";
        assert!(found.contains(expected), "{found}");
    }
    for kind in ["dynamic", "longrope", "ntk"] {
        let parameters = json!({"rope_theta": 1000.0, "rope_type": kind, "factor": 2.0});
        let fields = json!({"rope_parameters": parameters});
        let copy = changed("qwen3-bf16", "config.json", &fields);
        let found = error(copy.path()).to_string();
        let expected = format!("rope_parameters.rope_type is {kind}, expected default, ");
        assert!(found.contains(&expected), "{found}");
        let reason = "depend on the longest text of a batch";
        assert_eq!(found.contains(reason), kind != "ntk", "{found}");
    }
}

/// Real models have rows for tokens that were never added; a truncated vocabulary is an error.
#[test]
fn rows_without_tokens_are_a_note_or_an_error() {
    let open = |family: &str, rows: usize| {
        let fields = json!({"vocab_size": rows});
        let copy = changed(family, "config.json", &fields);
        describe(copy.path(), &Default::default())
    };
    for family in ["qwen3-bf16", "xlm-roberta-bytes", "gemma3-bf16"] {
        let folder = testdata("families").join(family);
        let own = describe(&folder, &Default::default()).unwrap();
        let count = own.towers[0].tokenizer.vocabulary;
        let described = open(family, count.next_multiple_of(128) + 1000).unwrap();
        let tower = &described.towers[0];
        let note = format!("rows for {count} tokens");
        assert!(
            tower.notes.iter().any(|it| it.ends_with(&note)),
            "{:?}",
            tower.notes
        );
        assert!(
            tower.problems[0].contains("shape of "),
            "{:?}",
            tower.problems
        );
        let found = open(family, 10 * count + 2000).unwrap_err().to_string();
        let expected = format!("the number of tokens is {count}, expected about ");
        assert!(found.contains(&expected), "{found}");
        let found = open(family, count - 1).unwrap_err().to_string();
        assert!(found.contains("id of token "), "{found}");
    }
}

#[test]
fn described_folders_list_the_problems_of_tensors() {
    let problems = |family: &str, fields: &Value| {
        let copy = changed(family, "config.json", fields);
        let described = describe(copy.path(), &Default::default()).unwrap();
        let expected = error(copy.path()).to_string();
        let found = &described.towers[0].problems;
        // What opening the model reports.
        assert!(found.contains(&expected), "{expected} in {found:?}");
        found.len()
    };
    // Weights of up, bias of up, weights of down; in two layers.
    assert_eq!(problems("bert-dense", &json!({"intermediate_size": 37})), 6);
    // Without biases, these belong to the layers without being described.
    assert_eq!(
        problems("qwen2-windows", &json!({"model_type": "llama"})),
        1
    );
    // Key and query of positions, weight and bias.
    let shared = json!({"share_att_key": false});
    assert_eq!(problems("deberta-v3", &shared), 8);
    // Up and gate are halves of one tensor.
    assert_eq!(problems("gte", &json!({"intermediate_size": 40})), 6);

    // Lengths that leave no room.
    for (file, fields, expected) in [
        (
            "sentence_bert_config.json",
            json!({"query_length": 2}),
            "query_length is 2, expected 3 or more",
        ),
        (
            "ir_dense.json",
            json!({"version": 1, "query": {"max_tokens": 1}}),
            "query.max_tokens is 1",
        ),
    ] {
        let copy = changed("bert-dense", file, &fields);
        let found = describe(copy.path(), &Default::default()).unwrap_err();
        assert!(found.to_string().contains(expected), "{found}");
    }
}

/// What `.ci/encoder-folders` compares with transformers, and the errors.
#[test]
fn added_tokens_and_prefix_spaces_that_cannot_be_followed_are_errors() {
    for (family, fields, expected) in [
        (
            "bert-dense",
            json!({"bos_token": "<x>"}),
            "id of token \"<x>\" is 345, expected below 345",
        ),
        (
            "bert-dense",
            json!({"added_tokens_decoder": {"x": {"content": "a"}}}),
            "added_tokens_decoder.x is ",
        ),
        (
            "bert-dense",
            json!({"added_tokens_decoder": {"5": "a"}}),
            "added_tokens_decoder.5 is \"a\", expected an object",
        ),
        (
            "bert-dense",
            json!({"extra_special_tokens": 3}),
            "extra_special_tokens is 3",
        ),
        (
            "bert-dense",
            json!({"mask_token": 3}),
            "mask_token is 3, expected a token",
        ),
        (
            "bert-dense",
            json!({"split_special_tokens": "yes"}),
            "split_special_tokens is \"yes\"",
        ),
        (
            "llama3",
            json!({"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": true}),
            "add_prefix_space is true, expected false as in tokenizer.json",
        ),
        (
            "xlm-roberta-bytes",
            json!({"tokenizer_class": "XLMRobertaTokenizer", "add_prefix_space": false}),
            "add_prefix_space is false, expected true as in tokenizer.json",
        ),
    ] {
        let copy = changed(family, "tokenizer_config.json", &fields);
        let found = error(copy.path()).to_string();
        assert!(found.contains(expected), "{found}");
    }
    // Without effect in transformers, too.
    for (family, class) in [("llama3", "TokenizersBackend"), ("t5", "T5TokenizerFast")] {
        let fields = json!({"tokenizer_class": class, "add_prefix_space": family == "llama3"});
        let copy = changed(family, "tokenizer_config.json", &fields);
        BiEncoder::open(copy.path()).unwrap();
    }
}

/// The rules of `tokenizer.json` count, not the class, by which transformers 5 builds some
/// tokenizers anew: what README says.
#[test]
fn tokenizer_classes_do_not_change_the_rules_of_a_tokenizer() {
    let texts = ["don't, won't; 1998 3.14", "  Two  spaces"];
    let vectors = |folder: &Path| {
        let encoder = BiEncoder::open(folder).unwrap();
        encoder.encode(Side::Document, &texts).unwrap()
    };
    for (family, class) in [("llama3", "RobertaTokenizer"), ("t5", "LlamaTokenizer")] {
        let fields = json!({"tokenizer_class": class});
        let copy = changed(family, "tokenizer_config.json", &fields);
        let expected = vectors(&testdata("families").join(family));
        assert!(vectors(copy.path()) == expected, "{family}");
    }
}

/// All names of ACT2FN in transformers 5.24 that are one of the functions here, up to rounding.
#[test]
fn activation_functions_have_all_names_of_transformers() {
    let open = |name: &str| {
        let copy = changed("bert-dense", "config.json", &json!({"hidden_act": name}));
        TransformerConfig::read(copy.path()).map(|config| config.activation)
    };
    for (activation, names) in [
        (Activation::Gelu, &["gelu", "gelu_python"][..]),
        (
            Activation::GeluTanh,
            &[
                "gelu_new",
                "gelu_fast",
                "gelu_accurate",
                "gelu_pytorch_tanh",
                "gelu_python_tanh",
            ],
        ),
        (Activation::QuickGelu, &["quick_gelu"]),
        (Activation::Relu, &["relu"]),
        (Activation::Silu, &["silu", "swish"]),
        (Activation::Gelu10, &["gelu_10"]),
        (Activation::Hardswish, &["hardswish"]),
        (Activation::Laplace, &["laplace"]),
        (Activation::LeakyRelu, &["leaky_relu"]),
        (Activation::Identity, &["linear"]),
        (Activation::Mish, &["mish"]),
        (Activation::Relu2, &["relu2"]),
        (Activation::Relu6, &["relu6"]),
        (Activation::Sigmoid, &["sigmoid"]),
        (Activation::SqrtSoftplus, &["sqrtsoftplus"]),
        (Activation::Tanh, &["tanh"]),
    ] {
        for name in names {
            assert_eq!(open(name).unwrap(), activation, "{name}");
        }
    }
    // They have parameters.
    for name in ["prelu", "xielu"] {
        let found = open(name).unwrap_err().to_string();
        assert!(
            found.contains(&format!("hidden_act is {name}, expected linear, ")),
            "{found}"
        );
    }
}
