//! Static embeddings: folders of model2vec and of the module StaticEmbedding, written here, with
//! vectors computed by hand.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ir_core::{Encoder, Side, VectorSimilarity};
use ir_dense::{
    Architecture, BiEncoder, EncoderConfig, ModelTokenizer, Precision, SideConfig,
    UNLIMITED_TOKENS, describe,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Name, element type, shape and little-endian elements of a tensor.
type Tensor<'a> = (&'a str, &'a str, &'a [usize], Vec<u8>);

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|it| it.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// A safetensors file: length of the header, header, elements.
fn write_weights(path: &Path, tensors: &[Tensor<'_>]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, element, shape, bytes) in tensors {
        let start = data.len();
        data.extend(bytes);
        let entry = json!({"dtype": element, "shape": shape, "data_offsets": [start, data.len()]});
        header.insert((*name).to_owned(), entry);
    }
    let mut header = Value::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    let length = (header.len() as u64).to_le_bytes();
    let file = [&length[..], header.as_bytes(), &data].concat();
    fs::write(path, file).unwrap();
}

/// Words between white space: [UNK] 0, green 1, tea 2, milk 3, and a special token before texts,
/// which static embeddings leave out.
fn write_tokenizer(folder: &Path, truncation: Value) {
    let tokenizer = json!({
        "version": "1.0",
        "truncation": truncation,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[UNK]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
            ],
            "special_tokens": {"[UNK]": {"id": "[UNK]", "ids": [0], "tokens": ["[UNK]"]}},
        },
        "decoder": null,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0, "green": 1, "tea": 2, "milk": 3},
            "unk_token": "[UNK]",
        },
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

/// Vectors of [UNK], green, tea and milk.
const ROWS: [f32; 8] = [8.0, 8.0, 1.0, 2.0, 3.0, -4.0, 0.5, 0.0];

/// Folder of model2vec with this configuration.
fn model2vec(config: Value, tensors: &[Tensor<'_>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut all = json!({"model_type": "model2vec", "architectures": ["StaticModel"]});
    let fields = config.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(fields);
    fs::write(folder.path().join("config.json"), all.to_string()).unwrap();
    write_tokenizer(folder.path(), Value::Null);
    write_weights(&folder.path().join("model.safetensors"), tensors);
    folder
}

fn plain(config: Value) -> TempDir {
    model2vec(config, &[("embeddings", "F32", &[4, 2], f32s(&ROWS))])
}

/// Folder of sentence-transformers with the modules after StaticEmbedding.
fn module(others: &[Value], settings: Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("0_StaticEmbedding");
    fs::create_dir_all(&own).unwrap();
    write_tokenizer(&own, Value::Null);
    let tensor = ("embedding.weight", "F32", &[4, 2][..], f32s(&ROWS));
    write_weights(&own.join("model.safetensors"), &[tensor]);
    let first = json!({
        "idx": 0, "name": "0", "path": "0_StaticEmbedding",
        "type": "sentence_transformers.models.StaticEmbedding",
    });
    let modules = [&[first], others].concat();
    fs::write(
        folder.path().join("modules.json"),
        json!(modules).to_string(),
    )
    .unwrap();
    let settings_file = folder.path().join("config_sentence_transformers.json");
    fs::write(settings_file, settings.to_string()).unwrap();
    folder
}

fn normalize_module() -> Value {
    json!({
        "idx": 1, "name": "1", "path": "1_Normalize",
        "type": "sentence_transformers.models.Normalize",
    })
}

fn encode(encoder: &BiEncoder, text: &str) -> Vec<f32> {
    encoder.encode(Side::Document, &[text]).unwrap()
}

fn open(folder: &TempDir) -> BiEncoder {
    BiEncoder::open(folder.path()).unwrap()
}

fn error(folder: &TempDir) -> String {
    BiEncoder::open(folder.path()).unwrap_err().to_string()
}

#[test]
fn model2vec_averages_known_tokens() {
    let encoder = open(&plain(json!({})));
    assert_eq!(encoder.dim(), 2);
    for (text, expected) in [
        ("green", [1.0, 2.0]),
        ("green tea", [2.0, -1.0]),
        ("  green\ttea tea ", [7.0 / 3.0, -2.0]),
        // Unknown words are left out.
        ("green ocean tea", [2.0, -1.0]),
        ("Green", [0.0, 0.0]),
        ("", [0.0, 0.0]),
    ] {
        assert_eq!(encode(&encoder, text), expected, "{text:?}");
    }
    // A batch has the vectors of its texts alone.
    let texts = ["", "green tea", "ocean", "milk", "green"];
    let expected: Vec<f32> = texts
        .iter()
        .flat_map(|text| encode(&encoder, text))
        .collect();
    assert_eq!(encoder.encode(Side::Query, &texts).unwrap(), expected);
    assert_eq!(encoder.similarity(), Some(VectorSimilarity::Cosine));
    assert_eq!(encoder.max_tokens(Side::Document), 512);
}

#[test]
fn vectors_are_normalized_as_the_configuration_says() {
    let encoder = open(&plain(json!({"normalize": true})));
    let norm = 5.0_f32.sqrt();
    assert_eq!(encode(&encoder, "green tea"), [2.0 / norm, -1.0 / norm]);
    assert_eq!(encode(&encoder, "ocean"), [0.0, 0.0]);
    assert_eq!(encoder.similarity(), None);
    let config = EncoderConfig::default().with_normalize(false);
    let folder = plain(json!({"normalize": true}));
    let encoder = BiEncoder::open_with(folder.path(), &config).unwrap();
    assert_eq!(encode(&encoder, "green tea"), [2.0, -1.0]);
}

#[test]
fn half_precision_and_8_bit_tables_have_the_same_vectors() {
    // f16: 1.5 is 0x3e00, -2 is 0xc000, 0.25 is 0x3400.
    let halves = [0_u16, 0, 0x3e00, 0xc000, 0x3400, 0x3e00, 0, 0];
    let halves: Vec<u8> = halves.iter().flat_map(|it| it.to_le_bytes()).collect();
    let folder = model2vec(json!({}), &[("embeddings", "F16", &[4, 2], halves)]);
    assert_eq!(encode(&open(&folder), "green tea"), [0.875, -0.25]);
    let bytes: Vec<u8> = [0_i8, 0, 127, -127, -2, 4, 1, 1].map(|it| it as u8).into();
    let folder = model2vec(json!({}), &[("embeddings", "I8", &[4, 2], bytes)]);
    assert_eq!(encode(&open(&folder), "green tea"), [62.5, -61.5]);
}

/// Two rows for four tokens, each with a weight.
#[test]
fn quantized_vocabularies_map_tokens_to_weighted_rows() {
    let rows = f32s(&[1.0, 0.0, 0.0, 2.0]);
    for (element, mapping) in [
        ("I64", i64s(&[0, 1, 1, 0])),
        ("I32", [0_i32, 1, 1, 0].map(i32::to_le_bytes).concat()),
    ] {
        let tensors = [
            ("embeddings", "F32", &[2, 2][..], rows.clone()),
            ("mapping", element, &[4][..], mapping),
            ("weights", "F32", &[4][..], f32s(&[1.0, 0.5, 2.0, 4.0])),
        ];
        let encoder = open(&model2vec(json!({"vocabulary_quantization": 2}), &tensors));
        assert_eq!(encode(&encoder, "green"), [0.0, 1.0]);
        assert_eq!(encode(&encoder, "tea milk"), [2.0, 2.0]);
        let encoder = open(&model2vec(json!({}), &tensors[..2]));
        assert_eq!(encode(&encoder, "tea milk"), [0.5, 1.0]);
    }
    // Weights without a mapping.
    let tensors = [
        ("embeddings", "F32", &[4, 2][..], f32s(&ROWS)),
        ("weights", "F32", &[4][..], f32s(&[1.0, 0.5, 2.0, 4.0])),
    ];
    assert_eq!(
        encode(&open(&model2vec(json!({}), &tensors)), "green tea"),
        [3.25, -3.5]
    );
}

/// A text is cut to the median length of a token per token, here 4 characters ([UNK], green, tea,
/// milk), and then to the maximum number of tokens.
#[test]
fn long_texts_are_truncated() {
    let folder = plain(json!({}));
    let side = SideConfig::default().with_max_tokens(2);
    let config = EncoderConfig::default().with_document(side);
    let encoder = BiEncoder::open_with(folder.path(), &config).unwrap();
    // "green te"
    assert_eq!(encode(&encoder, "green tea milk"), [1.0, 2.0]);
    // "tea tea "
    assert_eq!(encode(&encoder, "tea tea milk"), [3.0, -4.0]);
    assert!(
        encoder
            .is_truncated(Side::Document, "tea tea milk")
            .unwrap()
    );
    assert!(!encoder.is_truncated(Side::Document, "tea milk").unwrap());
    assert_eq!(encoder.truncated_texts(Side::Document), 2);
    let long = "tea ".repeat(600) + &"milk ".repeat(600);
    let encoder = open(&folder);
    assert_eq!(encode(&encoder, &long), [3.0, -4.0]);
}

/// model2vec applies `max_length` of `config.json`, before unknown tokens are left out, and no
/// truncation of `tokenizer.json`; StaticEmbedding applies the latter.
#[test]
fn truncation_is_applied_as_in_the_libraries() {
    let truncation = |direction: &str| json!({"direction": direction, "max_length": 2, "strategy": "LongestFirst", "stride": 0});
    let folder = plain(json!({"max_length": 2}));
    let encoder = open(&folder);
    assert_eq!(encoder.max_tokens(Side::Document), 2);
    // "sea tea " of 2 × 4 characters.
    assert_eq!(encode(&encoder, "sea tea milk"), [3.0, -4.0]);
    assert_eq!(encoder.truncated_texts(Side::Document), 1);
    let folder = plain(json!({}));
    write_tokenizer(folder.path(), truncation("Left"));
    assert_eq!(encode(&open(&folder), "green tea ocean"), [2.0, -1.0]);
    let encoder = open(&plain(json!({"max_length": null})));
    assert_eq!(encoder.max_tokens(Side::Document), UNLIMITED_TOKENS);
    let long = "tea ".repeat(600) + &"milk ".repeat(600);
    assert_eq!(encode(&encoder, &long), [1.75, -2.0]);
    for found in [json!(0), json!(-1), json!("x")] {
        let folder = plain(json!({"max_length": found}));
        let error = BiEncoder::open(folder.path()).unwrap_err();
        let error = std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source());
        let error: Vec<String> = error.map(ToString::to_string).collect();
        assert!(error[0].contains("max_length"), "{error:?}");
    }
    let folder = module(&[], json!({}));
    write_tokenizer(
        &folder.path().join("0_StaticEmbedding"),
        truncation("Right"),
    );
    assert_eq!(encode(&open(&folder), "tea milk green"), [1.75, -2.0]);
}

#[test]
fn modules_of_sentence_transformers_keep_unknown_tokens() {
    let encoder = open(&module(&[], json!({})));
    assert_eq!(encode(&encoder, "green ocean tea"), [4.0, 2.0]);
    assert_eq!(encode(&encoder, ""), [0.0, 0.0]);
    let long = "tea ".repeat(600) + &"milk ".repeat(600);
    assert_eq!(encode(&encoder, &long), [1.75, -2.0]);
    assert_eq!(encoder.similarity(), Some(VectorSimilarity::Cosine));

    let encoder = open(&module(&[normalize_module()], json!({})));
    assert_eq!(encode(&encoder, "tea"), [0.6, -0.8]);
    let settings =
        json!({"prompts": {"query": "green "}, "truncate_dim": 1, "similarity_fn_name": "dot"});
    let encoder = open(&module(&[], settings));
    assert_eq!(encoder.encode(Side::Query, &["tea"]).unwrap(), [2.0]);
    assert_eq!(encode(&encoder, "tea"), [3.0]);
    assert_eq!(encoder.similarity(), Some(VectorSimilarity::InnerProduct));
}

#[test]
fn descriptions_and_fingerprints_distinguish_folders() {
    let (first, second) = (plain(json!({})), module(&[], json!({})));
    let described = describe(first.path(), &EncoderConfig::default()).unwrap();
    let tower = &described.towers[0];
    assert_eq!((described.dim, tower.transformer.layers), (2, 0));
    assert_eq!(tower.transformer.architecture, Architecture::STATIC);
    assert_eq!(
        (tower.weights.parameters, tower.weights.format),
        (8, "safetensors")
    );
    assert_eq!(tower.tokenizer.model, "WordLevel");
    assert!(tower.problems.is_empty() && !tower.normalize);
    let fingerprint = |folder: &TempDir| open(folder).fingerprint(Side::Document);
    assert_eq!(fingerprint(&first), fingerprint(&plain(json!({}))));
    assert_ne!(fingerprint(&first).model, fingerprint(&second).model);
    let mut rows = ROWS;
    rows[7] = 1.0;
    let other = model2vec(json!({}), &[("embeddings", "F32", &[4, 2], f32s(&rows))]);
    assert_ne!(fingerprint(&first).model, fingerprint(&other).model);
    let config = EncoderConfig::default().with_precision(Precision::Int8);
    let encoder = BiEncoder::open_with(first.path(), &config).unwrap();
    assert_eq!(encode(&encoder, "green tea"), [2.0, -1.0]);
}

/// `truncate_dim` of the configuration keeps the first dimensions, before normalization at the end.
#[test]
fn vectors_are_truncated_by_the_configuration() {
    let folder = plain(json!({}));
    let open = |config: &EncoderConfig| BiEncoder::open_with(folder.path(), config);
    let config = EncoderConfig::default().with_truncate_dim(1);
    let encoder = open(&config).unwrap();
    assert_eq!(encoder.dim(), 1);
    let whole = EncoderConfig::default().with_truncate_dim(2);
    let whole = open(&whole).unwrap();
    assert_eq!(
        encode(&encoder, "green tea"),
        encode(&whole, "green tea")[..1]
    );
    let fingerprints = [&encoder, &whole].map(|it| it.fingerprint(Side::Document).model);
    assert_ne!(fingerprints[0], fingerprints[1]);
    let encoder = open(&config.with_normalize(true)).unwrap();
    assert_eq!(encode(&encoder, "green tea"), [1.0]);
    for dim in [0, 3] {
        let config = EncoderConfig::default().with_truncate_dim(dim);
        let error = open(&config).unwrap_err().to_string();
        let expected =
            format!("truncate_dim is {dim}, expected 1 to 2, the dimension of the model");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn invalid_folders_are_errors() {
    let floats = |values: &[f32]| f32s(values);
    let embeddings = ("embeddings", "F32", &[4, 2][..], floats(&ROWS));
    for (tensors, expected) in [
        (
            vec![("embeddings", "F32", &[8][..], floats(&ROWS))],
            "shape of embeddings is [8], expected [tokens, dimensions]",
        ),
        (
            vec![("embeddings", "F32", &[0, 2][..], Vec::new())],
            "shape of embeddings is [0, 2], expected at least one token and one dimension",
        ),
        (
            vec![("embeddings", "U8", &[4, 2][..], vec![0; 8])],
            "element type of embeddings is u8, expected f32, f16, bf16, f64 or i8",
        ),
        (
            vec![("vectors", "F32", &[4, 2][..], floats(&ROWS))],
            "embedding.weight",
        ),
        (
            vec![("embeddings", "F32", &[4, 2][..], floats(&[f32::NAN; 8]))],
            "element 0 of embeddings is NaN",
        ),
        (
            vec![
                embeddings.clone(),
                ("mapping", "I64", &[4][..], i64s(&[0, 1, 4, 0])),
            ],
            "element 2 of mapping is 4, expected a row of embeddings, 0 to 3",
        ),
        (
            vec![
                embeddings.clone(),
                ("mapping", "I64", &[4][..], i64s(&[0, -1, 0, 0])),
            ],
            "element 1 of mapping is -1, expected a row of embeddings, 0 to 3",
        ),
        (
            vec![
                embeddings.clone(),
                ("mapping", "F32", &[4][..], floats(&[0.0; 4])),
            ],
            "element type of mapping is f32, expected i64 or i32",
        ),
        (
            vec![
                embeddings.clone(),
                ("weights", "F32", &[3][..], floats(&[1.0; 3])),
            ],
            "shape of weights is [3], expected [4]",
        ),
        // The vocabulary has four tokens.
        (
            vec![("embeddings", "F32", &[3, 2][..], floats(&ROWS[..6]))],
            "below 3, the rows of the embedding table",
        ),
    ] {
        let found = error(&model2vec(json!({}), &tensors));
        assert!(found.contains(expected), "expected {expected:?} in {found}");
    }
    let folder = plain(json!({"normalize": "yes"}));
    assert!(error(&folder).contains("config.json"), "{}", error(&folder));
    let folder = plain(json!({}));
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert!(error(&folder).contains("tokenizer"), "{}", error(&folder));
    let pooling = json!({
        "idx": 1, "name": "1", "path": "1_Pooling",
        "type": "sentence_transformers.models.Pooling",
    });
    let folder = module(&[pooling], json!({}));
    let expected = "module 1 is sentence_transformers.models.Pooling";
    assert!(error(&folder).contains(expected), "{}", error(&folder));
}

#[test]
fn static_embeddings_are_not_saved() {
    let (folder, to) = (plain(json!({})), tempfile::tempdir().unwrap());
    let error = open(&folder).save(to.path().join("saved")).unwrap_err();
    let expected = "static embeddings are neither trained nor saved";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!to.path().join("saved").exists());
    assert!(ModelTokenizer::open(folder.path()).is_ok());
}
