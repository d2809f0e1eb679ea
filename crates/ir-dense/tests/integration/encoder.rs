//! Encoder configuration: backends, maximum lengths, prefixes, towers; texts of any length.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use crate::common::{copy_of, on_backend, replace, tiny};
use ir_core::{EncodeError, Encoder, Side};
use ir_dense::{
    Backend, BackendError, BiEncoder, EncoderConfig, EncoderFingerprint, ModelError, Pooling,
    SideConfig, TokenizerError,
};

#[test]
fn encodes_texts_of_any_length() {
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
fn truncated_texts_have_more_tokens_than_the_limit() {
    let model = BiEncoder::open(tiny("bert")).unwrap();
    let texts = [
        "",
        " \n",
        "ships",
        "ships seen by radar at sea",
        "tea, tea; tea",
        "ships ",
    ];
    for limit in 3..16 {
        let side = SideConfig::default().with_max_tokens(limit);
        let config = EncoderConfig::default().with_document(side);
        let encoder = BiEncoder::open_with(tiny("bert"), &config).unwrap();
        assert_eq!(encoder.max_tokens(Side::Document), limit);
        let mut count = 0;
        for text in texts {
            let whole = model.token_ids(Side::Document, text).unwrap();
            assert!(whole.len() < model.max_tokens(Side::Document), "{text:?}");
            let truncated = encoder.is_truncated(Side::Document, text).unwrap();
            assert_eq!(truncated, whole.len() > limit, "{text:?}, {limit}");
            count += u64::from(truncated);
        }
        encoder.encode_documents(&texts).unwrap();
        encoder.clone().encode_documents(&texts).unwrap();
        assert_eq!(encoder.truncated_texts(Side::Document), 2 * count);
        assert_eq!(encoder.truncated_texts(Side::Query), 0);
    }
    // Of a long text, only a prefix is tokenized.
    let long = "ships at sea, ".repeat(10_000);
    assert!(model.is_truncated(Side::Query, &long).unwrap());
    assert!(
        !model
            .is_truncated(Side::Query, &" ".repeat(10_000))
            .unwrap()
    );
}

#[test]
fn sides_differ_in_prefix_length_and_tower() {
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

    // Without a prefix in the configuration, the prompts of the folder apply.
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

/// The fingerprint depends on everything that determines vectors, and on nothing else.
#[test]
fn fingerprints() {
    let of = |folder: &Path, config: &EncoderConfig| {
        let encoder = BiEncoder::open_with(folder, config).unwrap();
        encoder.fingerprint(Side::Document)
    };
    let config = on_backend();
    let (folder, plain) = (tiny("bert-pytorch"), of(&tiny("bert-pytorch"), &config));
    let text = serde_json::to_string(&plain).unwrap();
    let read: EncoderFingerprint = serde_json::from_str(&text).unwrap();
    assert_eq!(read, plain);
    let batches = config.clone().with_batch_tokens(7).with_batch_texts(2);
    assert_eq!(of(&folder, &batches), plain);
    let query = SideConfig::default().with_prefix("query: ");
    assert_eq!(of(&folder, &config.clone().with_query(query)), plain);
    // The same weights in another file format.
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("saved");
    BiEncoder::open_with(&folder, &config)
        .unwrap()
        .save(&saved)
        .unwrap();
    assert!(saved.join("model.safetensors").exists());
    assert_eq!(of(&saved, &config), plain);

    let document = |side| config.clone().with_document(side);
    let prefixed = of(&folder, &document(SideConfig::default().with_prefix("a: ")));
    assert_eq!((&prefixed.model, &*prefixed.prefix), (&plain.model, "a: "));
    let short = of(&folder, &document(SideConfig::default().with_max_tokens(7)));
    assert_eq!((&short.model, short.max_tokens), (&plain.model, 7));
    let pooled = of(&folder, &config.clone().with_pooling(Pooling::Max));
    assert_eq!(
        (&pooled.model, pooled.pooling),
        (&plain.model, Pooling::Max.into())
    );
    let other = config.clone().with_normalize(!plain.normalize);
    let other = of(&folder, &other);
    assert_eq!(
        (&other.model, other.normalize),
        (&plain.model, !plain.normalize)
    );

    let mut models = vec![plain.model];
    for name in [
        "bert",
        "bert-f16",
        "bert-bf16",
        "distilbert",
        "mpnet",
        "roberta",
    ] {
        models.push(of(&tiny(name), &config).model);
    }
    // One bit of one weight, the tokenizer, the configuration.
    let copy = copy_of("bert");
    let weights = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    // First byte after the header.
    let header = u64::from_le_bytes(*bytes.first_chunk().unwrap());
    bytes[8 + header as usize] ^= 1;
    fs::write(&weights, &bytes).unwrap();
    models.push(of(copy.path(), &config).model);
    let copy = copy_of("bert");
    replace(
        copy.path(),
        "vocab.txt",
        "\nship\n##ing\nsea\n",
        "\nsea\n##ing\nship\n",
    );
    models.push(of(copy.path(), &config).model);
    // Two tokens that the probe text does not have.
    let copy = copy_of("bert");
    let vocabulary = fs::read_to_string(copy.path().join("vocab.txt")).unwrap();
    let swapped = vocabulary
        .replace("\ntea\n", "\n?\n")
        .replace("\nblack\n", "\ntea\n")
        .replace("\n?\n", "\nblack\n");
    assert_ne!(swapped, vocabulary);
    fs::write(copy.path().join("vocab.txt"), swapped).unwrap();
    models.push(of(copy.path(), &config).model);
    let copy = copy_of("bert");
    replace(copy.path(), "config.json", "\"gelu\"", "\"relu\"");
    models.push(of(copy.path(), &config).model);
    let count = models.len();
    models.sort();
    models.dedup();
    assert_eq!(models.len(), count, "{models:?}");
}

#[test]
fn missing_backends_name_their_feature() {
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
            // A machine without such a GPU returns an error, too.
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
fn rejects_lengths_and_towers_that_do_not_match() {
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
fn rejects_weights_that_overflow() {
    let copy = copy_of("bert");
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for at in (start..bytes.len() - 3).step_by(4) {
        bytes[at..at + 4].copy_from_slice(&3e38_f32.to_le_bytes());
    }
    fs::write(&path, &bytes).unwrap();
    let encoder = BiEncoder::open_with(copy.path(), &on_backend()).unwrap();
    let error = encoder.encode(Side::Query, &["a ship at sea"]).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.ends_with("expected finite numbers: the weights are too large"),
        "{source}"
    );
    // The unmodified model encodes.
    let encoder = BiEncoder::open_with(tiny("bert"), &on_backend()).unwrap();
    encoder.encode(Side::Query, &["a ship at sea"]).unwrap();
}

#[test]
fn reads_max_length_of_early_versions() {
    let copy = copy_of("distilbert");
    let file = copy.path().join("sentence_distilbert_config.json");
    fs::write(file, r#"{"max_seq_length": 9}"#).unwrap();
    let encoder = BiEncoder::open(copy.path()).unwrap();
    let long = "word ".repeat(30);
    assert_eq!(encoder.token_ids(Side::Document, &long).unwrap().len(), 9);
    // The first existing name has priority.
    let file = copy.path().join("sentence_bert_config.json");
    fs::write(file, r#"{"max_seq_length": 5}"#).unwrap();
    let encoder = BiEncoder::open(copy.path()).unwrap();
    assert_eq!(encoder.token_ids(Side::Document, &long).unwrap().len(), 5);
}
