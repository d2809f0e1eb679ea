//! Folders of sentence-transformers: modules, prompts, similarity function, truncation, shards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use crate::common::{apart, config, copy_of, examples, on_backend, on_default_backend, replace};
use ir_core::{Encoder, NoProgress, Side, VectorSimilarity};
use ir_dense::train::{TrainError, Trainer};
use ir_dense::{BiEncoder, ModelError, model_files};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value, json};

const TEXTS: [&str; 3] = [
    "a ship at sea",
    "green tea",
    "seen by the radar, and by a black ship",
];
/// Dimension of the vectors of `testdata/tiny/bert`.
const HIDDEN: usize = 12;

/// Copy of a tiny model with modules after pooling, each with its folder.
fn with_modules(others: &[(&str, &str)]) -> tempfile::TempDir {
    let copy = copy_of("bert");
    let all = [("", "Transformer"), ("1_Pooling", "Pooling")];
    let modules = all.iter().chain(others).map(|(path, class)| {
        json!({"path": path, "type": format!("sentence_transformers.models.{class}")})
    });
    let modules = Value::Array(modules.collect());
    fs::write(copy.path().join("modules.json"), modules.to_string()).unwrap();
    for (path, _) in all[1..].iter().chain(others) {
        fs::create_dir(copy.path().join(path)).unwrap();
    }
    fs::write(copy.path().join("1_Pooling/config.json"), "{}").unwrap();
    copy
}

fn settings(folder: &Path, text: &str) {
    fs::write(folder.join("config_sentence_transformers.json"), text).unwrap();
}

fn open(folder: &Path) -> BiEncoder {
    BiEncoder::open_with(folder, &on_backend()).unwrap()
}

fn message(folder: &Path) -> String {
    BiEncoder::open_with(folder, &on_backend())
        .unwrap_err()
        .to_string()
}

fn vectors(encoder: &BiEncoder) -> Vec<Vec<f32>> {
    let all = encoder.encode(Side::Document, &TEXTS).unwrap();
    all.chunks(encoder.dim()).map(<[f32]>::to_vec).collect()
}

/// Compares vectors and fingerprints.
#[track_caller]
fn assert_same_encoder(found: &BiEncoder, expected: &BiEncoder) {
    assert_eq!(vectors(found), vectors(expected));
    let [found, expected] = [found, expected].map(|it| it.fingerprint(Side::Document));
    assert_eq!(found, expected);
}

fn normalized(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

fn near(found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(apart(a, b) < 1e-5, "{a:?}, {b:?}");
    }
}

/// Writes tensors: name, shape, elements.
fn write_tensors(path: &Path, tensors: &[(&str, Vec<usize>, Vec<u8>)]) {
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (*name, view.unwrap())
    });
    safetensors::serialize_to_file(views, None, path).unwrap();
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn similarity_defaults_to_the_cosine() {
    let plain = with_modules(&[]);
    assert_eq!(
        open(plain.path()).similarity(),
        Some(VectorSimilarity::Cosine)
    );
    // The caller decides about normalization.
    let config = on_backend().with_normalize(false);
    let encoder = BiEncoder::open_with(plain.path(), &config).unwrap();
    assert_eq!(encoder.similarity(), None);
    settings(plain.path(), r#"{"similarity_fn_name": "dot"}"#);
    assert_eq!(
        open(plain.path()).similarity(),
        Some(VectorSimilarity::InnerProduct)
    );
    // The inner product of normalized vectors is the cosine.
    let unit = with_modules(&[("2_Normalize", "Normalize")]);
    assert_eq!(open(unit.path()).similarity(), None);
    // A folder of transformers. A saved folder has the inner product of `ir`.
    let folder = copy_of("bert");
    let encoder = open(folder.path());
    assert_eq!(encoder.similarity(), None);
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("model");
    encoder.save(&saved).unwrap();
    assert_eq!(
        open(&saved).similarity(),
        Some(VectorSimilarity::InnerProduct)
    );
}

#[test]
fn truncates_vectors() {
    let plain = with_modules(&[]);
    let unit = with_modules(&[("2_Normalize", "Normalize")]);
    for (folder, is_unit) in [(plain.path(), false), (unit.path(), true)] {
        let whole = open(folder);
        let expected: Vec<Vec<f32>> = vectors(&whole).iter().map(|it| it[..8].to_vec()).collect();
        settings(folder, r#"{"truncate_dim": 8}"#);
        let encoder = open(folder);
        assert_eq!((encoder.dim(), encoder.tower(Side::Query).dim()), (8, 8));
        let found = vectors(&encoder);
        near(&found, &expected);
        assert_eq!(
            encoder.similarity(),
            Some(VectorSimilarity::Cosine),
            "{is_unit}"
        );
        let [before, after] = [&whole, &encoder].map(|it| it.fingerprint(Side::Document).model);
        assert_ne!(before, after);
        // A text alone.
        let alone = encoder.encode(Side::Document, &TEXTS[..1]).unwrap();
        near(&[alone], &found[..1]);
        // `normalize_embeddings=True` of sentence-transformers.
        let config = on_backend().with_normalize(true);
        let again = BiEncoder::open_with(folder, &config).unwrap();
        let expected: Vec<Vec<f32>> = expected.iter().map(|it| normalized(it)).collect();
        near(&vectors(&again), &expected);
        let saved = tempfile::tempdir().unwrap();
        let error = again
            .save(saved.path().join("model"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("truncate_dim is 8, expected none"),
            "{error}"
        );

        let saved = saved.path().join("saved");
        encoder.save(&saved).unwrap();
        let text = json_of(&saved.join("config_sentence_transformers.json"));
        assert_eq!(text["truncate_dim"], 8);
        assert_eq!(vectors(&open(&saved)), found);
        assert_eq!(
            open(&saved).fingerprint(Side::Query),
            encoder.fingerprint(Side::Query)
        );

        // More dimensions than vectors have.
        settings(folder, r#"{"truncate_dim": 100}"#);
        assert_eq!(
            open(folder).fingerprint(Side::Query),
            whole.fingerprint(Side::Query)
        );
        settings(folder, r#"{"truncate_dim": 0}"#);
        let error = message(folder);
        assert!(
            error.ends_with("truncate_dim is 0, expected 1 or more"),
            "{error}"
        );
    }
    settings(plain.path(), r#"{"truncate_dim": 8}"#);
    let mut config = config();
    config.encoder = config.encoder.with_normalize(true);
    let error = Trainer::open(plain.path(), &config).unwrap_err();
    assert!(
        matches!(
            &error,
            TrainError::Setting {
                field: "encoder.normalize",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_default_prompt_is_for_texts_without_a_side() {
    let folder = with_modules(&[]);
    for (text, expected) in [
        (
            r#"{"prompts": {"query": "q: "}, "default_prompt_name": "query"}"#,
            ["q: ", ""],
        ),
        (
            r#"{"prompts": {"topic": "t: "}, "default_prompt_name": "topic"}"#,
            ["", ""],
        ),
        (
            r#"{"prompts": {"passage": "p: ", "corpus": "c: "}}"#,
            ["", "p: "],
        ),
        (
            r#"{"prompts": {"query": null}, "default_prompt_name": "document"}"#,
            ["", ""],
        ),
    ] {
        settings(folder.path(), text);
        let encoder = open(folder.path());
        let found =
            [Side::Query, Side::Document].map(|side| encoder.tower(side).prompt(side).to_owned());
        assert_eq!(found, expected, "{text}");
    }
}

/// Folders of sentence-transformers before version 2.
#[test]
fn reads_the_transformer_in_a_folder() {
    let folder = with_modules(&[]);
    let expected = open(folder.path());
    let own = folder.path().join("0_Transformer");
    fs::create_dir(&own).unwrap();
    for file in ["config.json", "model.safetensors", "vocab.txt"] {
        fs::rename(folder.path().join(file), own.join(file)).unwrap();
    }
    replace(
        folder.path(),
        "modules.json",
        "\"path\":\"\"",
        "\"path\":\"0_Transformer\"",
    );
    let found = open(folder.path());
    assert_same_encoder(&found, &expected);
    let files = model_files(folder.path());
    for file in ["config.json", "model.safetensors", "vocab.txt"] {
        assert!(files.contains(&own.join(file)), "{file}");
    }
    let saved = tempfile::tempdir().unwrap();
    found.save(saved.path().join("model")).unwrap();
    near(
        &vectors(&open(&saved.path().join("model"))),
        &vectors(&expected),
    );
    // One such folder per side.
    let sides = tempfile::tempdir().unwrap();
    for side in ["query", "document"] {
        let side = sides.path().join(side);
        for part in ["", "0_Transformer", "1_Pooling"] {
            let (from, to) = (folder.path().join(part), side.join(part));
            fs::create_dir_all(&to).unwrap();
            for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
                if file.path().is_file() {
                    fs::copy(file.path(), to.join(file.file_name())).unwrap();
                }
            }
        }
    }
    assert_eq!(vectors(&open(sides.path())), vectors(&expected));

    fs::write(
        own.join("sentence_bert_config.json"),
        r#"{"max_seq_length": 1}"#,
    )
    .unwrap();
    let error = message(folder.path());
    assert!(
        error.contains("0_Transformer/sentence_bert_config.json: max_seq_length is 1"),
        "{error}"
    );
    replace(folder.path(), "modules.json", "0_Transformer", "../model");
    let error = message(folder.path());
    let end = "path of module 0 is \"../model\", expected a path inside the model folder";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn reads_sharded_weights() {
    let folder = copy_of("bert");
    let expected = open(folder.path());
    let path = folder.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    let start = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header: Map<String, Value> = serde_json::from_slice(&whole[8..start]).unwrap();
    let tensors = header.iter().filter(|(name, _)| *name != "__metadata__");
    let tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = tensors
        .map(|(name, entry)| {
            assert_eq!(entry["dtype"], "F32");
            let [from, to]: [usize; 2] =
                serde_json::from_value(entry["data_offsets"].clone()).unwrap();
            let shape = serde_json::from_value(entry["shape"].clone()).unwrap();
            (
                name.as_str(),
                shape,
                whole[start + from..start + to].to_vec(),
            )
        })
        .collect();
    let names = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let mut map = Map::new();
    let mut shards = [Vec::new(), Vec::new()];
    for (number, tensor) in tensors.into_iter().enumerate() {
        map.insert(tensor.0.to_owned(), names[number % 2].into());
        shards[number % 2].push(tensor);
    }
    let paths = names.map(|name| folder.path().join(name));
    for (path, shard) in paths.iter().zip(&shards) {
        write_tensors(path, shard);
    }
    let index = folder.path().join("model.safetensors.index.json");
    let write_index = |map: &Map<String, Value>| {
        let text = json!({"metadata": {"total_size": 1}, "weight_map": map}).to_string();
        fs::write(&index, text).unwrap();
    };
    write_index(&map);
    fs::remove_file(&path).unwrap();
    let found = open(folder.path());
    assert_same_encoder(&found, &expected);
    let files = model_files(folder.path());
    assert!(paths.iter().all(|path| files.contains(path)));
    // Its weight files are replaced.
    drop(found);

    // A tensor that the file of the index lacks.
    let (name, last) = (shards[1][0].0, shards[1].split_off(1));
    write_tensors(&paths[1], &last);
    let error = message(folder.path());
    assert!(
        error.ends_with(&format!("{} has no tensor {name}", names[1])),
        "{error}"
    );
    // A tensor that the index lacks.
    map.remove(name);
    write_index(&map);
    let error = message(folder.path());
    assert!(
        error.ends_with(&format!("index.json has no tensor {name}")),
        "{error}"
    );
    fs::remove_file(&paths[1]).unwrap();
    let error = message(folder.path());
    assert!(
        error.contains("cannot read ") && error.ends_with(names[1]),
        "{error}"
    );
    map.insert(name.to_owned(), "../other.safetensors".into());
    write_index(&map);
    let error = message(folder.path());
    assert!(
        error.ends_with("expected a path inside the model folder"),
        "{error}"
    );
    fs::write(&index, "{}").unwrap();
    let error = BiEncoder::open(folder.path()).unwrap_err();
    assert!(
        matches!(&error, ModelError::Json { path, .. } if *path == index),
        "{error}"
    );
}

/// Weight and bias of a Dense module with five outputs.
fn dense_weights() -> (Vec<f32>, Vec<f32>) {
    let weight = (0..5 * HIDDEN).map(|n| ((n * 37 % 23) as f32 - 11.0) / 20.0);
    (weight.collect(), vec![0.25, -0.5, 0.0, 0.125, 1.0])
}

fn with_dense(activation: &str) -> tempfile::TempDir {
    let others = [
        ("2_Dense", "Dense"),
        ("3_Dropout", "Dropout"),
        ("4_Normalize", "Normalize"),
    ];
    let folder = with_modules(&others);
    let dense = folder.path().join("2_Dense");
    let class = format!("torch.nn.modules.activation.{activation}");
    let settings = json!({
        "in_features": HIDDEN, "out_features": 5, "bias": true, "activation_function": class,
    });
    fs::write(dense.join("config.json"), settings.to_string()).unwrap();
    let (weight, bias) = dense_weights();
    let weights = [
        ("linear.bias", vec![5], bytes(&bias)),
        ("linear.weight", vec![5, HIDDEN], bytes(&weight)),
    ];
    write_tensors(&dense.join("model.safetensors"), &weights);
    folder
}

#[test]
fn applies_modules_after_pooling() {
    let (weight, bias) = dense_weights();
    let pooled = vectors(&open(copy_of("bert").path()));
    for (name, activation) in [
        ("Tanh", f32::tanh as fn(f32) -> f32),
        ("ReLU", |x| x.max(0.0)),
        ("Sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
    ] {
        let folder = with_dense(name);
        let encoder = open(folder.path());
        let dense = |vector: &Vec<f32>| {
            let rows = weight.chunks(HIDDEN).zip(&bias);
            let row = |(row, bias): (&[f32], &f32)| {
                activation(row.iter().zip(vector).map(|(w, x)| w * x).sum::<f32>() + bias)
            };
            normalized(&rows.map(row).collect::<Vec<f32>>())
        };
        let expected: Vec<Vec<f32>> = pooled.iter().map(dense).collect();
        let found = vectors(&encoder);
        assert_eq!(encoder.dim(), 5);
        near(&found, &expected);
        if on_default_backend() {
            for (text, vector) in TEXTS.iter().zip(&found) {
                assert_eq!(&encoder.encode(Side::Document, &[text]).unwrap(), vector);
            }
        }
        let saved = tempfile::tempdir().unwrap();
        let saved = saved.path().join("model");
        encoder.save(&saved).unwrap();
        near(&vectors(&open(&saved)), &found);
        let [a, b] = [open(&saved), encoder].map(|it| it.fingerprint(Side::Query));
        assert_eq!(a, b);
    }
}

/// Training changes the transformer alone.
#[test]
fn training_keeps_modules() {
    let folder = with_dense("Tanh");
    let trained = Trainer::open(folder.path(), &config()).unwrap();
    let trained = trained.train(&examples(), &mut NoProgress).unwrap();
    assert!(
        trained
            .history
            .steps
            .iter()
            .all(|step| step.gradient_norm > 0.0)
    );
    assert_ne!(vectors(&trained.encoder), vectors(&open(folder.path())));
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("model");
    trained.encoder.save(&saved).unwrap();
    let config = on_backend().with_max_tokens(16);
    let opened = BiEncoder::open_with(&saved, &config).unwrap();
    near(&vectors(&opened), &vectors(&trained.encoder));
    let modules = json_of(&saved.join("modules.json"));
    let paths: Vec<&str> = modules
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        ["", "1_Pooling", "2_Dense", "3_Dropout", "4_Normalize"]
    );
    let config = "2_Dense/config.json";
    assert_eq!(
        json_of(&saved.join(config)),
        json_of(&folder.path().join(config))
    );
    let elements = |folder: &Path| {
        let file = fs::read(folder.join("2_Dense/model.safetensors")).unwrap();
        let (weight, _) = dense_weights();
        file.windows(4 * weight.len())
            .any(|window| window == bytes(&weight))
    };
    assert!(elements(&saved) && elements(folder.path()));
}

#[test]
fn rejects_invalid_modules() {
    let folder = with_dense("Tanh");
    let path = folder.path().join("2_Dense/config.json");
    let original = json_of(&path);
    for (field, value, end) in [
        (
            "in_features",
            json!(8),
            "in_features is 8, expected 12, the dimension of the module before",
        ),
        (
            "activation_function",
            json!("own.Swish"),
            "activation_function is own.Swish, expected a class of torch.nn: Identity, Tanh, ReLU, GELU, \
             Sigmoid, SiLU, ReLU6, LeakyReLU, ELU, SELU, Mish, Hardswish, Hardtanh, LogSigmoid, Softplus, Softsign",
        ),
        (
            "module_input_name",
            json!("token_embeddings"),
            "module_input_name is token_embeddings, expected sentence_embedding",
        ),
        (
            "use_residual",
            json!(true),
            "2_Dense/model.safetensors has no tensor residual.weight",
        ),
        (
            "out_features",
            json!(6),
            "expected [6, 12] as in the configuration",
        ),
        (
            "dropout",
            json!(0.5),
            "2_Dense/config.json: dropout is invalid",
        ),
    ] {
        let mut changed = original.clone();
        changed[field] = value;
        fs::write(&path, changed.to_string()).unwrap();
        let error = message(folder.path());
        assert!(error.contains("2_Dense") && error.ends_with(end), "{error}");
    }
    fs::write(&path, original.to_string()).unwrap();
    fs::remove_file(folder.path().join("2_Dense/model.safetensors")).unwrap();
    let error = message(folder.path());
    assert!(
        error.ends_with("2_Dense has no model.safetensors or pytorch_model.bin"),
        "{error}"
    );
}

#[test]
fn applies_layer_norm() {
    let folder = with_modules(&[("2_LayerNorm", "LayerNorm")]);
    let own = folder.path().join("2_LayerNorm");
    let config = json!({"dimension": HIDDEN}).to_string();
    fs::write(own.join("config.json"), config).unwrap();
    let scale: Vec<f32> = (0..HIDDEN).map(|n| 0.5 + n as f32 / 8.0).collect();
    let shift: Vec<f32> = (0..HIDDEN).map(|n| n as f32 / 4.0 - 1.0).collect();
    let weights = [
        ("norm.bias", vec![HIDDEN], bytes(&shift)),
        ("norm.weight", vec![HIDDEN], bytes(&scale)),
    ];
    write_tensors(&own.join("model.safetensors"), &weights);
    let normalized = |vector: &Vec<f32>| {
        let mean = vector.iter().sum::<f32>() / HIDDEN as f32;
        let variance = vector.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / HIDDEN as f32;
        let rows = vector.iter().zip(scale.iter().zip(&shift));
        rows.map(|(x, (scale, shift))| (x - mean) / (variance + 1e-5).sqrt() * scale + shift)
            .collect::<Vec<f32>>()
    };
    let pooled = vectors(&open(copy_of("bert").path()));
    let expected: Vec<Vec<f32>> = pooled.iter().map(normalized).collect();
    let encoder = open(folder.path());
    near(&vectors(&encoder), &expected);
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("model");
    encoder.save(&saved).unwrap();
    near(&vectors(&open(&saved)), &expected);
}
