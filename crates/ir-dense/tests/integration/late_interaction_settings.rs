//! Settings of late-interaction models, and folders that are rejected.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::common::{copy_tree, on_backend, replace, testdata, tiny};
use ir_core::{Side, TokenEncoder, TokenVectors};
use ir_dense::{
    BiEncoder, MultiVectorConfig, MultiVectorEncoder, SideConfig, TokenSimilarity, describe,
};
use serde_json::{Value, json};

/// Temporary copy of a committed folder.
fn copy(name: &str) -> tempfile::TempDir {
    copy_tree(&testdata("late-interaction").join(name))
}

/// Sets a value of a JSON file; `pointer` is the object.
fn set(folder: &Path, file: &str, pointer: &str, key: &str, value: &Value) {
    let path = folder.join(file);
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    json.pointer_mut(pointer).unwrap()[key] = value.clone();
    fs::write(path, json.to_string()).unwrap();
}

fn error(folder: &Path, config: &MultiVectorConfig) -> String {
    match MultiVectorEncoder::open_with(folder, config) {
        Ok(_) => "opens".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn assert_error(folder: &Path, config: &MultiVectorConfig, parts: &[&str]) {
    let found = error(folder, config);
    assert!(
        parts.iter().all(|part| found.contains(part)),
        "{found}\nexpected {parts:?}"
    );
}

fn encoder(name: &str, config: &MultiVectorConfig) -> MultiVectorEncoder {
    let folder = testdata("late-interaction").join(name);
    let config = config.clone().with_backend(on_backend().backend);
    MultiVectorEncoder::open_with(folder, &config).unwrap()
}

fn encode(encoder: &MultiVectorEncoder, side: Side, text: &str) -> TokenVectors {
    encoder.encode_tokens(side, &[text]).unwrap().remove(0)
}

#[test]
fn other_models_are_rejected() {
    let config = MultiVectorConfig::default();
    let reader = "BiEncoder reads models with one vector per text";
    assert_error(&tiny("bert"), &config, &["the model is BertModel", reader]);
    let dense = testdata("families/bert-dense");
    assert_error(
        &dense,
        &config,
        &["the model is SentenceTransformer", reader],
    );
    let folder = copy("stanford");
    replace(
        folder.path(),
        "config.json",
        "HF_ColBERT",
        "BertForSequenceClassification",
    );
    let reader = "a cross-encoder scores pairs of texts";
    assert_error(
        folder.path(),
        &config,
        &["BertForSequenceClassification", reader],
    );
    let missing = Path::new("no such folder");
    assert_error(missing, &config, &["no such folder"]);
}

#[test]
fn bi_encoders_are_no_late_interaction_models() {
    for (name, what) in [
        ("modernbert", "MultiVectorEncoder"),
        ("pylate", "ColBERT of PyLate"),
        ("stanford", "HF_ColBERT"),
    ] {
        let folder = testdata("late-interaction").join(name);
        let error = BiEncoder::open(folder).unwrap_err().to_string();
        let expected = format!("the model is {what}, expected a bi-encoder: MultiVectorEncoder");
        assert!(error.contains(&expected), "{error}");
    }
    // Early versions of PyLate.
    let folder = copy("pylate");
    replace(
        folder.path(),
        "config_sentence_transformers.json",
        "model_type",
        "other",
    );
    let error = BiEncoder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("ColBERT of PyLate"), "{error}");
    assert!(MultiVectorEncoder::open(folder.path()).is_ok());
}

#[test]
fn stanford_folders_are_checked() {
    let config = MultiVectorConfig::default();
    for (key, value, parts) in [
        (
            "query_maxlen",
            json!(3),
            &["queries is 3, expected 4 or more: the special tokens"][..],
        ),
        (
            "query_maxlen",
            json!(65),
            &["query_maxlen is 65, expected at most 64, the positions"],
        ),
        (
            "query_maxlen",
            json!("many"),
            &["query_maxlen is \"many\", expected a number of tokens"],
        ),
        (
            "doc_maxlen",
            json!(2),
            &["documents is 2, expected 4 or more"],
        ),
        (
            "similarity",
            json!("l2"),
            &["similarity is l2, expected cosine"],
        ),
        (
            "mask_punctuation",
            json!(1),
            &["mask_punctuation is 1, expected true or false"],
        ),
        ("query_token_id", json!("[unused0]"), &["opens"]),
    ] {
        let folder = copy("stanford");
        set(folder.path(), "artifact.metadata", "", key, &value);
        assert_error(folder.path(), &config, parts);
    }
    let folder = copy("stanford");
    let weights = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let mut names = bytes.windows(13);
    let name = names.position(|it| it == b"linear.weight").unwrap();
    bytes[name + 12] = b'x';
    fs::write(&weights, &bytes).unwrap();
    assert_error(folder.path(), &config, &["has no tensor linear.weight"]);

    let folder = copy("stanford");
    let path = folder.path().join("tokenizer.json");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("[MASK]", "[OTHER]");
    fs::write(path, text).unwrap();
    let expected = "id of token \"[MASK]\" is 347, expected below 347";
    assert_error(folder.path(), &config, &[expected]);

    let folder = copy("stanford");
    set(
        folder.path(),
        "tokenizer_config.json",
        "",
        "padding_side",
        &json!("left"),
    );
    assert_error(
        folder.path(),
        &config,
        &["padding_side is left, expected right"],
    );
}

#[test]
fn sentence_transformers_folders_are_checked() {
    let config = MultiVectorConfig::default();
    let model = "config_sentence_transformers.json";
    let transformer = "sentence_bert_config.json";
    let expansion = "/query_expansion";
    for (file, pointer, key, value, part) in [
        (
            model,
            "",
            "similarity_fn_name",
            json!("cosine"),
            "expected maxsim or meanmaxsim",
        ),
        (
            model,
            "",
            "model_type",
            json!("CrossEncoder"),
            "a cross-encoder scores pairs",
        ),
        (
            model,
            "",
            "model_type",
            json!("SparseEncoder"),
            "the model is SparseEncoder",
        ),
        (
            transformer,
            "",
            "query_expansion",
            json!(true),
            "expected null or an object",
        ),
        (
            transformer,
            "",
            "query_length",
            json!(8),
            "query_length is 8, expected 24 or more",
        ),
        (
            transformer,
            expansion,
            "strategy",
            json!("max"),
            "expected fixed or min",
        ),
        (
            transformer,
            expansion,
            "length",
            json!(0),
            "query_expansion.length is 0",
        ),
        (
            transformer,
            expansion,
            "attend",
            json!("no"),
            "expected true or false",
        ),
        (
            transformer,
            expansion,
            "token",
            json!("[none]"),
            "expected a token of the vocabulary",
        ),
        (
            transformer,
            expansion,
            "tokens",
            json!(1),
            "query_expansion.tokens is 1",
        ),
        (
            "1_Dense/config.json",
            "",
            "in_features",
            json!(7),
            "in_features is 7, expected 24",
        ),
        (
            "1_Dense/config.json",
            "",
            "module_input_name",
            json!("sentence_embedding"),
            "module_input_name is sentence_embedding, expected token_embeddings",
        ),
        (
            "2_MultiVectorMask/config.json",
            "",
            "skiplist_tasks",
            json!("queries"),
            "expected query or document",
        ),
        (
            "2_MultiVectorMask/config.json",
            "",
            "skiplist_tasks",
            json!(7),
            "skiplist_tasks is 7",
        ),
        (
            "2_MultiVectorMask/config.json",
            "",
            "keep_only_token_ids",
            json!("all"),
            "is invalid",
        ),
        (
            "modules.json",
            "/2",
            "type",
            json!("sentence_transformers.x.HierarchicalTokenPooling"),
            "module 2 is sentence_transformers.x.HierarchicalTokenPooling",
        ),
        (
            "modules.json",
            "/0",
            "type",
            json!("sentence_transformers.x.Router"),
            "module 0",
        ),
        (
            "modules.json",
            "/1",
            "path",
            json!("../other"),
            "a path inside the model folder",
        ),
    ] {
        let folder = copy("modernbert");
        set(folder.path(), file, pointer, key, &value);
        assert_error(folder.path(), &config, &[part]);
    }
    let folder = copy("modernbert");
    fs::remove_file(folder.path().join("1_Dense/model.safetensors")).unwrap();
    assert_error(
        folder.path(),
        &config,
        &["1_Dense", "has no model.safetensors"],
    );
    let folder = copy("pylate");
    set(
        folder.path(),
        "modules.json",
        "/1",
        "type",
        &json!("sentence_transformers.x.Normalize"),
    );
    assert_error(
        folder.path(),
        &config,
        &["expected a Dense module, the projection"],
    );
}

#[test]
fn configurations_are_checked() {
    let folder = testdata("late-interaction/stanford");
    let limit = |tokens| SideConfig::default().with_max_tokens(tokens);
    let config = MultiVectorConfig::default;
    for (config, part) in [
        (
            config().with_query(limit(3)),
            "queries is 3, expected 4 or more",
        ),
        (config().with_query(limit(65)), "expected at most 64"),
        (
            config().with_document(limit(65)),
            "documents is 65, expected at most 64",
        ),
        (
            config().with_truncate_dim(0),
            "truncate_dim is 0, expected 1 or more",
        ),
    ] {
        assert_error(&folder, &config, &[part]);
    }
    let folder = copy("modernbert");
    let file = "sentence_bert_config.json";
    set(
        folder.path(),
        file,
        "/query_expansion",
        "strategy",
        &json!("min"),
    );
    let expected = "max_tokens is 20, expected 24 or more, the length of expanded queries";
    assert_error(folder.path(), &config().with_query(limit(20)), &[expected]);
    assert_error(folder.path(), &config().with_query(limit(30)), &["opens"]);
}

#[test]
fn vectors_that_are_not_finite_are_an_error() {
    let folder = copy("stanford");
    let weights = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let offsets = &header["linear.weight"]["data_offsets"];
    let [start, end] = [0, 1].map(|at| offsets[at].as_u64().unwrap() as usize + 8 + length);
    for value in bytes[start..end].chunks_exact_mut(4) {
        value.copy_from_slice(&3e38_f32.to_le_bytes());
    }
    fs::write(&weights, &bytes).unwrap();
    let encoder = MultiVectorEncoder::open(folder.path()).unwrap();
    let error = encoder.encode_documents(&["a ship at sea"]).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("expected finite numbers"), "{source}");
}

#[test]
fn configuration_overrides_the_folder() {
    let default = encoder("stanford", &MultiVectorConfig::default());
    assert_eq!(default.expanded_length(), Some(16));
    assert_eq!(
        [Side::Query, Side::Document].map(|side| default.max_tokens(side)),
        [16, 40]
    );
    assert_eq!(default.prefix(Side::Document), "[unused1] ");
    let short = SideConfig::default()
        .with_max_tokens(10)
        .with_prefix("tea ");
    let config = MultiVectorConfig::default();
    let config = config.with_query(short.clone()).with_document(short);
    let other = encoder("stanford", &config);
    assert_eq!(other.expanded_length(), Some(10));
    let text = "the ship left the harbor at sea, and more tokens than fit";
    for side in [Side::Query, Side::Document] {
        assert_eq!(other.token_ids(side, text).unwrap().len(), 10);
        assert!(other.is_truncated(side, text).unwrap());
        assert_eq!(other.truncated_texts(side), 0);
        assert!(encode(&other, side, text).len() <= 10);
        assert_eq!(other.truncated_texts(side), 1);
        assert!(!other.is_truncated(side, "a").unwrap());
    }
    // Documents are not expanded.
    assert_eq!(encode(&other, Side::Query, "a").len(), 10);
    assert!(encode(&other, Side::Document, "a").len() < 10);
    assert_ne!(default.fingerprint(), other.fingerprint());
    // Queries fit the vectors of a folder with other queries.
    let query = MultiVectorConfig::default().with_query(config.query.clone());
    assert_eq!(
        default.fingerprint(),
        encoder("stanford", &query).fingerprint()
    );
    let folder = copy("stanford");
    set(
        folder.path(),
        "artifact.metadata",
        "",
        "mask_punctuation",
        &json!(false),
    );
    let unmasked = MultiVectorEncoder::open(folder.path()).unwrap();
    assert_ne!(default.fingerprint(), unmasked.fingerprint());
    let counts = [&default, &unmasked].map(|it| encode(it, Side::Document, "a, b.").len());
    assert_eq!(counts[0] + 2, counts[1]);
}

#[test]
fn truncated_vectors_are_normalized() {
    let whole = encoder("stanford", &MultiVectorConfig::default());
    let part = encoder(
        "stanford",
        &MultiVectorConfig::default().with_truncate_dim(3),
    );
    assert_eq!((whole.dim(), part.dim()), (8, 3));
    assert_ne!(whole.fingerprint(), part.fingerprint());
    let text = "a ship at sea";
    let [whole, part] = [&whole, &part].map(|it| encode(it, Side::Document, text));
    assert_eq!(whole.spans, part.spans);
    for (whole, part) in whole.rows().zip(part.rows()) {
        let norm = whole[..3].iter().map(|x| x * x).sum::<f32>().sqrt();
        for (a, b) in whole.iter().zip(part) {
            assert!((a / norm - b).abs() < 1e-5, "{whole:?}, {part:?}");
        }
    }
}

#[test]
fn spans_are_the_text_of_tokens() {
    let encoder = encoder("pylate", &MultiVectorConfig::default());
    let text = "Thé at SEA: Straße \u{65e5}cafe\u{301}";
    let found = encode(&encoder, Side::Document, text);
    let tokens: Vec<&str> = found.spans.iter().map(|span| &text[span.clone()]).collect();
    // [CLS] and [D] have an empty span, as [SEP] has; the colon has no vector.
    assert_eq!(tokens[..2], ["", ""]);
    assert_eq!(tokens.last(), Some(&""));
    let joined = tokens.concat();
    for word in ["Thé", "at", "SEA", "\u{65e5}"] {
        assert!(joined.contains(word), "{tokens:?}");
    }
    assert!(!joined.contains(':'), "{tokens:?}");
}

#[test]
fn empty_inputs_have_few_vectors() {
    let encoder = encoder("pylate", &MultiVectorConfig::default());
    assert!(encoder.encode_tokens(Side::Query, &[]).unwrap().is_empty());
    // [CLS], [D] and [SEP]; punctuation has no vector.
    for text in ["", "  ", ".,."] {
        let found = encode(&encoder, Side::Document, text);
        assert_eq!(found.spans, vec![0..0; 3], "{text:?}");
    }
}

#[test]
fn similarities_have_names() {
    for similarity in TokenSimilarity::ALL {
        assert_eq!(similarity.name().parse(), Ok(similarity));
        assert_eq!(json!(similarity), similarity.name());
    }
    let error = "xtr".parse::<TokenSimilarity>().unwrap_err().to_string();
    assert!(
        error.contains("\"xtr\", expected maxsim or meanmaxsim"),
        "{error}"
    );
    let none = TokenVectors::new(2, Vec::new(), Vec::new());
    let span = 0..1;
    let one = TokenVectors::new(2, vec![0.6, 0.8], vec![span]);
    assert_eq!(TokenSimilarity::MeanMaxSim.score(&none, &one), 0.0);
    assert_eq!(
        TokenSimilarity::MaxSim.score(&one, &none),
        f32::NEG_INFINITY
    );
}

#[test]
fn descriptions_name_expansion_and_skip_list() {
    let folder = testdata("late-interaction/bert-attended");
    let model = describe(folder, &on_backend()).unwrap();
    assert_eq!(
        (model.dim, model.similarity, model.towers.len()),
        (8, None, 1)
    );
    let tower = &model.towers[0];
    assert_eq!(tower.pooling, None);
    let limits = tower.sides.iter().map(|side| side.max_tokens);
    assert!(limits.eq([16, 20]));
    assert_eq!(tower.modules.len(), 3);
    let expected = json!({
        "format": "sentence-transformers",
        "similarity": "maxsim",
        "query_expansion": {"strategy": "fixed", "length": 16, "token": 4, "attend": true},
        "query_skip_list": 4,
        "document_skip_list": 4,
    });
    assert_eq!(json!(model.late_interaction), expected);
    let model = json!(describe(tiny("bert"), &on_backend()).unwrap());
    assert!(model.get("late_interaction").is_none());
}

/// Words of the vocabulary that mark queries and documents are special tokens of a saved tokenizer.
#[test]
fn saved_folders_have_markers() {
    let folder = copy("stanford");
    let path = folder.path().join("tokenizer.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let added = json["added_tokens"].as_array_mut().unwrap();
    added.retain(|token| token["id"].as_u64() < Some(345));
    for (word, id) in [("[unused0]", 345), ("[unused1]", 346)] {
        json["model"]["vocab"][word] = id.into();
    }
    fs::write(path, json.to_string()).unwrap();
    let config = MultiVectorConfig::default().with_backend(on_backend().backend);
    let encoder = MultiVectorEncoder::open_with(folder.path(), &config).unwrap();
    let here = tempfile::tempdir().unwrap();
    let saved = here.path().join("saved");
    encoder.save(&saved).unwrap();
    let reopened = MultiVectorEncoder::open_with(&saved, &config).unwrap();
    for (side, marker) in [(Side::Query, 345), (Side::Document, 346)] {
        let expected = encoder.token_ids(side, "green tea").unwrap();
        assert!(expected.contains(&marker), "{expected:?}");
        assert_eq!(reopened.token_ids(side, "green tea").unwrap(), expected);
    }
    let described = describe(&saved, &Default::default()).unwrap();
    let format = described.late_interaction.map(|it| it.format);
    assert_eq!(format, Some("sentence-transformers"));
}

#[test]
fn truncated_vectors_are_not_saved() {
    let encoder = encoder("pylate", &MultiVectorConfig::default().with_truncate_dim(4));
    let here = tempfile::tempdir().unwrap();
    let error = encoder.save(here.path().join("saved")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("truncate_dim is 4, expected none"),
        "{error}"
    );
    assert!(!here.path().join("saved").exists());
}
