//! Folders, texts and settings that are not as they should be: a clear error each, never a panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;

use common::{copy_of, tiny};
use ir_core::{EncodeError, Encoder, Side};
use ir_dense::{
    Backend, BackendError, BiEncoder, EncoderConfig, ModelError, SideConfig, TokenizerError,
};

fn error(folder: &Path) -> ModelError {
    BiEncoder::open(folder).expect_err("a model that cannot be used")
}

/// Replaces text in a file.
fn replace(folder: &Path, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(folder.join(file), text.replacen(from, to, 1)).unwrap();
}

#[test]
fn files_that_are_missing() {
    for (model, file, wanted) in [
        ("bert", "config.json", "config.json"),
        (
            "bert",
            "model.safetensors",
            "model.safetensors or pytorch_model.bin",
        ),
        ("bert", "vocab.txt", "tokenizer.json or vocab.txt"),
        (
            "distilbert",
            "tokenizer.json",
            "tokenizer.json or vocab.txt",
        ),
    ] {
        let copy = copy_of(model);
        fs::remove_file(copy.path().join(file)).unwrap();
        match error(copy.path()) {
            ModelError::MissingFile { folder, expected } => {
                assert_eq!((folder.as_path(), expected), (copy.path(), wanted));
            }
            other => panic!("{file}: {other:?}"),
        }
    }
    assert!(matches!(
        error(Path::new("/nowhere")),
        ModelError::MissingFile { .. }
    ));
}

#[test]
fn weights_that_are_cut_off() {
    let copy = copy_of("distilbert");
    let path = copy.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        match error(copy.path()) {
            ModelError::Truncated {
                expected, found, ..
            } => {
                assert_eq!((expected, found), (whole.len() as u64, length as u64));
            }
            // Cut within the header, which says how long the file is.
            ModelError::Weights { .. } => assert!(length < 8000, "{length}"),
            other => panic!("{length}: {other:?}"),
        }
    }
    fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    assert!(matches!(error(copy.path()), ModelError::Truncated { .. }));

    let copy = copy_of("bert-pytorch");
    let path = copy.path().join("pytorch_model.bin");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(997) {
        fs::write(&path, &whole[..length]).unwrap();
        let error = error(copy.path());
        let as_it_should = matches!(
            error,
            ModelError::Truncated { .. } | ModelError::Weights { .. }
        );
        assert!(as_it_should, "{length}: {error:?}");
    }
}

#[test]
fn weights_that_are_none() {
    for (model, file) in [
        ("bert", "model.safetensors"),
        ("bert-pytorch", "pytorch_model.bin"),
    ] {
        let copy = copy_of(model);
        let pointer =
            "version https://git-lfs.github.com/spec/v1\noid sha256:53aa51\nsize 90868376\n";
        fs::write(copy.path().join(file), pointer).unwrap();
        let error = error(copy.path());
        assert!(matches!(error, ModelError::Pointer { .. }), "{error:?}");
        assert!(error.to_string().contains(file), "{error}");
    }
}

/// Any byte of a PyTorch file may be wrong; loading ends in a model or an error.
#[test]
fn damaged_pytorch_files() {
    let copy = copy_of("bert-pytorch");
    let path = copy.path().join("pytorch_model.bin");
    let whole = fs::read(&path).unwrap();
    for position in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x55;
        fs::write(&path, damaged).unwrap();
        let _ = BiEncoder::open(copy.path());
    }
}

#[test]
fn tensors_that_do_not_fit() {
    let copy = copy_of("bert");
    replace(
        copy.path(),
        "config.json",
        "\"intermediate_size\": 24",
        "\"intermediate_size\": 25",
    );
    match error(copy.path()) {
        ModelError::Shape {
            tensor,
            expected,
            found,
            ..
        } => {
            assert_eq!(tensor, "encoder.layer.0.intermediate.dense.weight");
            assert_eq!((expected, found), (vec![25, 12], vec![24, 12]));
        }
        other => panic!("{other:?}"),
    }

    let copy = copy_of("bert");
    replace(
        copy.path(),
        "config.json",
        "\"num_hidden_layers\": 12",
        "\"num_hidden_layers\": 13",
    );
    match error(copy.path()) {
        ModelError::Tensor { tensor, .. } => {
            assert_eq!(tensor, "encoder.layer.12.attention.self.query.weight");
        }
        other => panic!("{other:?}"),
    }

    // The same bytes, declared as whole numbers.
    let copy = copy_of("bert");
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|w| w == b"\"F32\"").unwrap();
    bytes[at + 1] = b'I';
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(error(copy.path()), ModelError::Type { found, .. } if found == "i32"));
}

#[test]
fn weights_that_are_no_numbers() {
    for value in [f32::NAN, f32::INFINITY] {
        let copy = copy_of("bert");
        let path = copy.path().join("model.safetensors");
        let mut bytes = fs::read(&path).unwrap();
        // The header is followed by the embeddings, of which this is the bias of the norm.
        let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[start + 8..start + 12].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        match error(copy.path()) {
            ModelError::NotFinite {
                tensor,
                index,
                value: found,
                ..
            } => {
                assert_eq!((&tensor[..], index), ("embeddings.LayerNorm.bias", 2));
                assert_eq!(found.to_bits(), value.to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn configurations_that_say_what_cannot_be() {
    for (from, to, field) in [
        (
            "\"model_type\": \"bert\"",
            "\"model_type\": \"gpt2\"",
            "model_type",
        ),
        (
            "\"hidden_act\": \"gelu\"",
            "\"hidden_act\": \"swish\"",
            "hidden_act",
        ),
        (
            "\"num_attention_heads\": 4",
            "\"num_attention_heads\": 5",
            "num_attention_heads",
        ),
        (
            "\"num_attention_heads\": 4",
            "\"num_attention_heads\": 0",
            "num_attention_heads",
        ),
        ("\"hidden_size\": 12", "\"hidden_size\": 0", "hidden_size"),
        (
            "\"max_position_embeddings\": 32",
            "\"max_position_embeddings\": 0",
            "max_position_embeddings",
        ),
        (
            "\"layer_norm_eps\": 1e-12",
            "\"layer_norm_eps\": -1.0",
            "layer_norm_eps",
        ),
        (
            "\"position_embedding_type\": \"absolute\"",
            "\"position_embedding_type\": \"relative_key\"",
            "position_embedding_type",
        ),
    ] {
        let copy = copy_of("bert");
        replace(copy.path(), "config.json", from, to);
        match error(copy.path()) {
            ModelError::Setting {
                path, field: found, ..
            } => {
                assert_eq!((path, &found[..]), (copy.path().join("config.json"), field));
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    let copy = copy_of("bert");
    replace(copy.path(), "config.json", "\"vocab_size\"", "\"vocab\"");
    assert!(matches!(error(copy.path()), ModelError::Json { .. }));
}

#[test]
fn vocabularies_that_do_not_fit() {
    let copy = copy_of("bert");
    let path = copy.path().join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).unwrap();
    fs::write(&path, vocabulary.clone() + "one\ntwo\n").unwrap();
    let rows = vocabulary.lines().count();
    match error(copy.path()) {
        ModelError::Vocabulary {
            token,
            id,
            rows: found,
            ..
        } => {
            assert_eq!((&token[..], id as usize, found), ("two", rows + 1, rows));
        }
        other => panic!("{other:?}"),
    }

    fs::write(&path, vocabulary.replace("[SEP]", "[END]")).unwrap();
    match error(copy.path()) {
        ModelError::Tokenizer(TokenizerError::Special { token, .. }) => assert_eq!(token, "[SEP]"),
        other => panic!("{other:?}"),
    }

    fs::write(&path, b"[PAD]\n[UNK]\n\xff\n").unwrap();
    match error(copy.path()) {
        ModelError::Setting { field, .. } => assert_eq!(field, "line 3"),
        other => panic!("{other:?}"),
    }

    let copy = copy_of("roberta");
    fs::write(copy.path().join("tokenizer.json"), "{}").unwrap();
    let error = error(copy.path());
    assert!(
        matches!(error, ModelError::Tokenizer(TokenizerError::Read { .. })),
        "{error:?}"
    );
}

#[test]
fn sentence_transformers_parts_that_are_not_there() {
    let dense = r#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]"#;
    let copy = copy_of("bert");
    let here = dense.replacen(
        "\"path\": \"\", \"type\": \"sentence_transformers.models.P",
        "\"path\": \"1\", \"type\": \"sentence_transformers.models.P",
        1,
    );
    fs::write(copy.path().join("modules.json"), here).unwrap();
    assert!(matches!(error(copy.path()), ModelError::MissingFile { .. }));
    fs::create_dir(copy.path().join("1")).unwrap();
    fs::write(
        copy.path().join("1/config.json"),
        r#"{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false}"#,
    )
    .unwrap();
    match error(copy.path()) {
        ModelError::Setting { found, .. } => assert_eq!(found, "pooling_mode_lasttoken"),
        other => panic!("{other:?}"),
    }
    fs::write(
        copy.path().join("1/config.json"),
        r#"{"pooling_mode_mean_tokens": false}"#,
    )
    .unwrap();
    match error(copy.path()) {
        ModelError::Setting { field, found, .. } => {
            assert_eq!((&field[..], &found[..]), ("pooling_mode", "none"));
        }
        other => panic!("{other:?}"),
    }
    // Left out, the pooling is the mean, so that the next module is reached.
    fs::write(copy.path().join("1/config.json"), "{}").unwrap();
    match error(copy.path()) {
        ModelError::Setting { field, found, .. } => {
            assert_eq!(field, "module 2");
            assert_eq!(found, "sentence_transformers.models.Dense in \"2_Dense\"");
        }
        other => panic!("{other:?}"),
    }
    fs::remove_file(copy.path().join("modules.json")).unwrap();
    let prompts = r#"{"prompts": {"query": "query: "}, "default_prompt_name": "search"}"#;
    fs::write(
        copy.path().join("config_sentence_transformers.json"),
        prompts,
    )
    .unwrap();
    match error(copy.path()) {
        ModelError::Setting { field, .. } => assert_eq!(field, "default_prompt_name"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_and_towers_that_do_not_fit() {
    let open = |limit| {
        BiEncoder::open_with(
            tiny("bert"),
            &EncoderConfig::default().with_max_tokens(limit),
        )
    };
    assert!(open(3).is_ok() && open(32).is_ok());
    assert!(matches!(open(33), Err(ModelError::Setting { field, .. }) if field == "max_tokens"));
    assert!(matches!(
        open(2),
        Err(ModelError::Tokenizer(TokenizerError::Limit {
            limit: 2,
            least: 3
        }))
    ));
    let untied = BiEncoder::open_untied(tiny("bert"), tiny("mpnet"), &EncoderConfig::default());
    assert!(matches!(
        untied,
        Err(ModelError::Dimensions {
            query: 12,
            document: 8
        })
    ));
}

#[test]
fn backends_that_were_left_out_name_their_feature() {
    let left_out = [
        (Backend::Tch, "tch", cfg!(feature = "tch")),
        (Backend::TchCuda(0), "tch", cfg!(feature = "tch")),
        (Backend::Wgpu, "wgpu", cfg!(feature = "wgpu")),
        (Backend::Vulkan, "vulkan", cfg!(feature = "vulkan")),
        (Backend::Cuda(0), "cuda", cfg!(feature = "cuda")),
    ];
    for (backend, name, there) in left_out {
        assert_eq!(backend.to_string().parse(), Ok(backend));
        let config = EncoderConfig::default().with_backend(backend);
        match BiEncoder::open_with(tiny("bert"), &config) {
            // On a machine without such a card, an error too.
            Ok(_) | Err(ModelError::Backend(BackendError::NoGpu { .. })) if there => {}
            Err(ModelError::Backend(BackendError::NotCompiledIn { feature, .. })) => {
                assert_eq!(feature, name);
            }
            other => panic!("{other:?}"),
        }
    }
    #[cfg(feature = "tch")]
    assert!(matches!(
        Backend::TchCuda(999).device(),
        Err(BackendError::NoGpu { .. })
    ));
    assert!("gpu".parse::<Backend>().is_err() && "cuda:x".parse::<Backend>().is_err());
    assert!(serde_json::from_str::<EncoderConfig>(r#"{"backend": "gpu"}"#).is_err());
}

#[test]
fn texts_of_any_length() {
    let encoder = BiEncoder::open(tiny("roberta")).unwrap();
    let long = "ships at sea, ".repeat(75_000);
    let word = "s".repeat(1 << 20);
    let texts = ["", " ", &long, &word, "\u{0}\u{0}", "\u{1F600}"];
    let vectors = encoder.encode(Side::Query, &texts).unwrap();
    assert!(vectors.iter().all(|x| x.is_finite()));
    assert_eq!(vectors[..12], vectors[12..24], "white space is nothing");
    assert!(encoder.encode(Side::Query, &[]).unwrap().is_empty());

    let mut short = [0.0; 11];
    match encoder.encode_into(Side::Query, &["a"], &mut short) {
        Err(EncodeError::Shape {
            expected: 12,
            found: 11,
        }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn sides_differ_in_prefix_limit_and_tower() {
    let side = |prefix: &str, limit| {
        SideConfig::default()
            .with_prefix(prefix)
            .with_max_tokens(limit)
    };
    let config = EncoderConfig::default()
        .with_query(side("query: ", 8))
        .with_document(side("passage: ", 10));
    let encoder = BiEncoder::open_with(tiny("distilbert"), &config).unwrap();
    let plain = BiEncoder::open(tiny("distilbert")).unwrap();
    let text = "ships seen by radar at sea";
    let tokens = plain
        .token_ids(Side::Query, &format!("query: {text}"))
        .unwrap();
    let query = encoder.token_ids(Side::Query, text).unwrap();
    assert_eq!(query.len(), 8);
    assert_eq!(query[..7], tokens[..7]);
    assert_eq!(query.last(), tokens.last());
    assert_eq!(encoder.token_ids(Side::Document, text).unwrap().len(), 10);

    // Prompts of the folder count where the configuration says nothing.
    let copy = copy_of("distilbert");
    let prompts = r#"{"prompts": {"query": "query: ", "passage": "passage: "}}"#;
    fs::write(
        copy.path().join("config_sentence_transformers.json"),
        prompts,
    )
    .unwrap();
    let prompted = BiEncoder::open(copy.path()).unwrap();
    assert_eq!(prompted.token_ids(Side::Query, text).unwrap(), tokens);
    let passage = plain
        .token_ids(Side::Query, &format!("passage: {text}"))
        .unwrap();
    assert_eq!(prompted.token_ids(Side::Document, text).unwrap(), passage);

    let untied = EncoderConfig::default();
    let untied = BiEncoder::open_untied(tiny("bert"), tiny("distilbert"), &untied).unwrap();
    let [query, document] =
        [Side::Query, Side::Document].map(|side| untied.encode(side, &[text]).unwrap());
    assert_eq!(
        query,
        BiEncoder::open(tiny("bert"))
            .unwrap()
            .encode(Side::Query, &[text])
            .unwrap()
    );
    assert_eq!(document, plain.encode(Side::Query, &[text]).unwrap());
}
