//! Randomly initialized models: deterministic bytes, BERT's weight distribution, Python.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{apart, python, run_python};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Encoder, NoProgress, Side};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, CreateModelError, ModelError, RandomModel};

/// Paragraphs of the README, and texts with unusual characters.
fn texts() -> Vec<&'static str> {
    let readme = include_str!("../../README.md").split("\n\n");
    let odd = [
        "",
        "caf\u{E9} na\u{EF}ve",
        "\u{65E5}\u{672C} \u{1F6A2}",
        "[SEP] or [CLS]",
    ];
    readme.chain(odd).collect()
}

fn small() -> RandomModel {
    let mut model = RandomModel::default()
        .with_shape(32, 2, 4)
        .with_vocab_size(700);
    model.max_positions = 64;
    model
}

/// Files of a folder by relative path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = self::files(&path).into_iter();
            files.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

fn created(model: &RandomModel, texts: &[&str]) -> (tempfile::TempDir, BTreeMap<String, Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    model.create(folder.path().join("new"), texts).unwrap();
    let files = files(&folder.path().join("new"));
    (folder, files)
}

#[test]
fn bytes_depend_on_seed_and_texts_only() {
    let mut texts = texts();
    let (_, first) = created(&small(), &texts);
    assert!(first["vocab.txt"].starts_with(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"));
    assert_eq!(
        first["vocab.txt"].iter().filter(|&&b| b == b'\n').count(),
        700
    );
    texts.reverse();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let again = pool
            .build()
            .unwrap()
            .install(|| created(&small(), &texts).1);
        assert!(first == again);
    }
    let (_, other) = created(&small().with_seed(1), &texts);
    let differs = |name: &&String| first[*name] != other[*name];
    let differing: Vec<&String> = first.keys().filter(differs).collect();
    assert_eq!(differing, ["model.safetensors"]);
    let kept = serde_json::to_string(&small()).unwrap();
    assert_eq!(serde_json::from_str::<RandomModel>(&kept).unwrap(), small());
}

#[test]
fn weights_have_berts_distribution() {
    let (_, files) = created(&small(), &texts());
    let tensors = safetensors::SafeTensors::deserialize(&files["model.safetensors"]).unwrap();
    // Three embedding tables, their layer normalization, and 16 tensors per layer.
    assert_eq!(tensors.len(), 3 + 2 + 2 * 16);
    for (name, tensor) in tensors.tensors() {
        let (values, _) = tensor.data().as_chunks::<4>();
        let values: Vec<f64> = values
            .iter()
            .map(|&b| f32::from_le_bytes(b).into())
            .collect();
        let all = |expected: f64| values.iter().all(|&x| (x - expected).abs() < 1e-12);
        if name.ends_with("bias") {
            assert!(all(0.0), "{name}");
        } else if name.contains("LayerNorm") {
            assert!(all(1.0), "{name}");
        } else {
            let values = match name.as_str() {
                "embeddings.word_embeddings.weight" => {
                    assert!(values[..32].iter().all(|&x| x.abs() < 1e-12));
                    &values[32..]
                }
                _ => &values[..],
            };
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            // Five standard errors of each.
            assert!(mean.abs() < 5.0 * 0.02 / n.sqrt(), "{name}: {mean}");
            let off = variance.sqrt() / 0.02 - 1.0;
            assert!(off.abs() < 5.0 / (2.0 * n).sqrt(), "{name}: {off}");
            // In a normal distribution, 31.7 % are beyond one standard deviation.
            let beyond = values.iter().filter(|x| x.abs() > 0.02).count() as f64 / n;
            assert!(
                (beyond - 0.3173).abs() < 5.0 * (0.2166 / n).sqrt(),
                "{name}: {beyond}"
            );
        }
    }
}

#[test]
fn trains_from_scratch() {
    let (folder, _) = created(&small(), &texts());
    let new = folder.path().join("new");
    let mut config = TrainingConfig::small_data();
    (config.epochs, config.batch_size, config.learning_rate) = (12, 4, 2e-3);
    let example =
        |query: &str, text: &str| TrainingExample::new(query).positive(TrainingText::new(text));
    let data = vec![
        example("python", "sentence-transformers loads the folder"),
        example("Vulkan", "the backend needs a driver"),
        example("memory", "some thousand texts are held at a time"),
        example("wrong file", "an error that names tensor and shape"),
    ];
    let trainer = Trainer::open(&new, &config).unwrap();
    let trained = trainer.train(&data, &mut NoProgress).unwrap();
    let rows = &trained.history.steps;
    let (first, last) = (rows[0].loss, rows[rows.len() - 1].loss);
    assert!(last < 0.2 * first, "{first} to {last}");
    let saved = folder.path().join("trained");
    trained.encoder.save(&saved).unwrap();
    let again = BiEncoder::open(&saved).unwrap();
    let texts = texts();
    let [before, after] =
        [&trained.encoder, &again].map(|encoder| encoder.encode(Side::Document, &texts).unwrap());
    assert_eq!(before, after);
    let untrained = BiEncoder::open(&new).unwrap();
    assert_ne!(untrained.encode(Side::Document, &texts).unwrap(), before);
}

#[test]
fn errors_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let said = |model: &RandomModel, texts: &[&str]| {
        let error = model.create(&path, texts).unwrap_err();
        assert!(!path.exists());
        error.to_string()
    };
    type Change = fn(&mut RandomModel);
    let cases: [(Change, &str); 3] = [
        (
            |m| m.heads = 5,
            "heads is 5, expected a divisor of hidden_size",
        ),
        (
            |m| m.hidden_size = 0,
            "hidden_size is 0, expected 1 or more",
        ),
        (
            |m| m.max_positions = 2,
            "max_positions is 2, expected 3 or more: two special tokens and one more",
        ),
    ];
    for (change, expected) in cases {
        let mut model = small();
        change(&mut model);
        assert_eq!(said(&model, &texts()), expected);
    }
    assert_eq!(
        said(&small().with_vocab_size(6), &["ab ab"]),
        "vocab_size is 6, and these alone are 8, expected room for the special tokens and the \
         characters of the texts"
    );
    for texts in [&[][..], &["", " \n"]] {
        assert_eq!(
            said(&small(), texts),
            "expected texts with words, found none"
        );
    }
    fs::create_dir(&path).unwrap();
    fs::write(path.join("mine"), "x").unwrap();
    let error = small().create(&path, &texts()).unwrap_err();
    assert!(
        matches!(error, CreateModelError::Model(ModelError::Write { .. })),
        "{error}"
    );
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// transformers and sentence-transformers read the folder: tokenizer by `vocab.txt` and by
/// `tokenizer.json`, weights, text vectors. Needs a Python with them in IR_DENSE_PYTHON.
#[test]
fn python_agrees() {
    let Some(python) = python() else { return };
    let (folder, _) = created(&small(), &texts());
    let new = folder.path().join("new");
    let encoder = BiEncoder::open(&new).unwrap();
    let program = "import json, sys\n\
        from sentence_transformers import SentenceTransformer\n\
        from transformers import AutoModel, AutoTokenizer, BertTokenizer\n\
        folder, texts = sys.argv[1], json.loads(sys.argv[2])\n\
        model, report = AutoModel.from_pretrained(folder, output_loading_info=True, add_pooling_layer=False)\n\
        assert not any(report[k] for k in ('missing_keys', 'unexpected_keys', 'mismatched_keys')), report\n\
        slow, fast = BertTokenizer(folder + '/vocab.txt'), AutoTokenizer.from_pretrained(folder)\n\
        ids = [t(texts, truncation=True, max_length=64)['input_ids'] for t in (slow, fast)]\n\
        assert ids[0] == ids[1]\n\
        rows = SentenceTransformer(folder, device='cpu').encode(texts)\n\
        print(json.dumps([ids[0], [float(x) for row in rows for x in row]]))";
    let texts = texts();
    let output = run_python(&python, program, &new, &texts);
    let (ids, vectors): (Vec<Vec<u32>>, Vec<f32>) = serde_json::from_slice(&output).unwrap();
    for (text, ids) in texts.iter().zip(&ids) {
        assert_eq!(
            &encoder.token_ids(Side::Document, text).unwrap(),
            ids,
            "{text}"
        );
    }
    let found = encoder.encode(Side::Document, &texts).unwrap();
    assert!(
        apart(&found, &vectors) < 1e-5,
        "{}",
        apart(&found, &vectors)
    );
}
