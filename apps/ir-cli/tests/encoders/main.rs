//! Encoders on the real collections: against sentence-transformers live, and published figures.
//!
//! Needs a model (`IR_MODEL=$(.ci/model)`) and `IR_DATA`, and for what runs live a Python with
//! sentence-transformers, named by `IR_DENSE_PYTHON`; says so and skips without. `IR_BACKEND` names
//! another backend than the default.

#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../../../../crates/ir-dense/tests/common/environment.rs"]
#[allow(unreachable_pub, clippy::expect_used)]
mod environment;

use std::path::{Path, PathBuf};
use std::process::Command;

use ir_core::{Encoder, Side};
use ir_data::Collection;
use ir_data::catalog::Catalog;
use ir_dense::{BiEncoder, TokenBatch};

use environment::{backend, minilm, on_backend};

fn open(name: &str) -> Option<Collection> {
    let catalog = Catalog::from_env();
    if !catalog.has(name).unwrap() {
        eprintln!("skipped: IR_DATA does not hold {name}");
        return None;
    }
    Some(catalog.open(name).unwrap())
}

/// Runs `tests/encoders/peer.py`; `None` when no Python is named.
fn peer(arguments: &[&str]) -> Option<String> {
    let Some(python) = std::env::var_os("IR_DENSE_PYTHON") else {
        eprintln!("skipped: IR_DENSE_PYTHON names no Python with sentence-transformers");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/encoders/peer.py");
    let ran = Command::new(python)
        .arg(script)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    Some(String::from_utf8(ran.stdout).unwrap())
}

fn floats(path: PathBuf) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&b| f32::from_le_bytes(b))
        .collect()
}

/// Texts of a collection, title and text with a blank between.
fn texts(collection: &Collection, every: usize) -> Vec<String> {
    let documents = collection.corpus().docs().unwrap().step_by(every);
    documents
        .map(|document| {
            let document = document.unwrap();
            format!("{} {}", document.title, document.text)
        })
        .collect()
}

/// A thousand texts: of the collections, and such as seldom occur in them.
fn thousand() -> Option<Vec<String>> {
    let mut all: Vec<String> = [
        "",
        " ",
        "\n",
        ".",
        "[CLS]",
        "[SEP] [MASK] [PAD]",
        "\u{1F600}\u{1F6A2}",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} family",
        "\u{65E5}\u{672C}\u{8A9E}\u{306E}\u{6587}\u{7AE0}",
        "\u{4E2D}\u{6587}\u{6587}\u{672C} mixed",
        "\u{D55C}\u{AD6D}\u{C5B4} \u{BB38}\u{C7A5}",
        "\u{645}\u{631}\u{62D}\u{628}\u{627}",
        "caf\u{E9} cafe\u{301}",
        "\u{130}stanbul",
        "a\u{0}b\u{7}c",
        "\u{FEFF}mark",
        "soft\u{AD}hyphen zero\u{200B}width",
        "x\u{2028}y\u{85}z",
        "\u{FB01}\u{FB02}\u{1D400}",
    ]
    .map(str::to_owned)
    .into();
    all.push("word ".repeat(20_000));
    all.push("x".repeat(5_000));
    all.push("\u{6F22}".repeat(3_000));
    all.push("\u{1F600}".repeat(3_000));
    for (name, every) in [
        ("beir/nfcorpus", 12),
        ("beir/arguana", 35),
        ("datafinder", 25),
        ("makg", 2),
    ] {
        all.extend(texts(&open(name)?, every));
    }
    all.truncate(1000);
    assert_eq!(all.len(), 1000);
    Some(all)
}

/// Token numbers equal, embeddings within 1e-5.
#[test]
fn a_thousand_texts_as_sentence_transformers() {
    let (Some(folder), Some(texts)) = (minilm(), thousand()) else {
        return;
    };
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("texts.json");
    std::fs::write(&file, serde_json::to_vec(&texts).unwrap()).unwrap();
    let out = here.path().join("out");
    let [folder, file, out] = [&folder, &file, &out].map(|path| path.to_str().unwrap());
    if peer(&["embed", folder, file, out]).is_none() {
        return;
    }
    let ids = std::fs::read(format!("{out}.json")).unwrap();
    let ids: Vec<Vec<u32>> = serde_json::from_slice(&ids).unwrap();
    let expected = floats(format!("{out}.f32").into());

    let encoder = BiEncoder::open_with(folder, &on_backend()).unwrap();
    for (text, ids) in texts.iter().zip(&ids) {
        let found = encoder.token_ids(Side::Document, text).unwrap();
        assert_eq!(
            &found,
            ids,
            "{:?}",
            text.chars().take(80).collect::<String>()
        );
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = encoder.encode(Side::Document, &texts).unwrap();
    assert_eq!(found.len(), expected.len());
    let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    let most = apart.fold(0.0, f32::max);
    eprintln!("largest difference of {} values: {most:e}", found.len());
    assert!(most < 1e-5, "{most}");
}

/// Hidden states within 1e-4 of transformers', with SciBERT's configuration and random weights.
#[test]
fn a_model_of_sciberts_shape_as_transformers() {
    let folder = tempfile::tempdir().unwrap();
    if peer(&["scibert", folder.path().to_str().unwrap()]).is_none() {
        return;
    }
    #[derive(serde::Deserialize)]
    struct Expected {
        texts: Vec<String>,
        ids: Vec<Vec<u32>>,
    }
    let expected = std::fs::read(folder.path().join("texts.json")).unwrap();
    let expected: Expected = serde_json::from_slice(&expected).unwrap();
    let config = on_backend().with_max_tokens(128);
    let encoder = BiEncoder::open_with(folder.path(), &config).unwrap();
    for (text, ids) in expected.texts.iter().zip(&expected.ids) {
        assert_eq!(&encoder.token_ids(Side::Query, text).unwrap(), ids);
    }
    let model = encoder.tower(Side::Query).transformer().unwrap();
    let found = model.forward(&TokenBatch::new(&expected.ids)).into_data();
    let expected = floats(folder.path().join("hidden.f32"));
    let found = found.as_slice::<f32>().unwrap();
    assert_eq!(found.len(), expected.len());
    let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    let most = apart.fold(0.0, f32::max);
    eprintln!("largest difference of {} values: {most:e}", found.len());
    assert!(most < 1e-4, "{most}");
}

/// Runs `ir` in a folder and returns its standard output.
fn ir(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    let ran = command.args(args).current_dir(folder).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {err}");
    String::from_utf8(ran.stdout).unwrap()
}

const ENCODER_SYSTEMS: &str = r#"measures = ["AP", "RR"]
[[tasks]]
collection = "bundled"
training = { split = "train" }
[search]
hits = 5
filter = "year"
[encoders.minilm]
model = "$IR_MODEL"
[[systems]]
name = "BM25"
type = "bm25"
[[systems]]
name = "kNN (encoder)"
type = "knn"
encoder = "minilm"
[[systems]]
name = "dense"
type = "dense"
encoder = "minilm"
[[systems]]
name = "hybrid"
type = "hybrid"
of = ["BM25", "dense"]
weights = [0.05, 1]
"#;

/// A second start with BM25, kNN with an encoder, dense retrieval and their hybrid, and one with
/// another measure, compute no stage.
#[test]
fn second_start_with_encoder_systems() {
    let Some(model) = minilm() else {
        return;
    };
    let model = std::fs::canonicalize(model).unwrap();
    let here = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
        command.arg("run").args(args).current_dir(here.path());
        let ran = command.env("IR_MODEL", &model).output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success(), "{args:?}: {err}");
        String::from_utf8(ran.stdout).unwrap()
    };
    // Paths and modification times of the entries.
    let entries = || {
        let mut found = Vec::new();
        let mut folders = vec![here.path().join(".ir-cache")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    found.push((entry.path(), entry.metadata().unwrap().modified().unwrap()));
                }
            }
        }
        found.sort();
        found
    };
    std::fs::write(here.path().join("e.toml"), ENCODER_SYSTEMS).unwrap();
    let plan = run(&["e.toml", "--dry-run"]);
    // An index, the vectors of the documents and four runs.
    assert!(plan.ends_with("\n6 stages to do, 0 cached\n"), "{plan}");
    let first = run(&["e.toml"]);
    let written = entries();
    assert_eq!(written.len(), 6, "{written:?}");
    let plan = run(&["e.toml", "--dry-run"]);
    assert!(plan.ends_with("\n0 stages to do, 4 cached\n"), "{plan}");
    let started = std::time::Instant::now();
    assert_eq!(run(&["e.toml"]), first);
    eprintln!("second start: {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!(entries(), written);
    let other = ENCODER_SYSTEMS.replace("\"RR\"", "\"nDCG@5\"");
    std::fs::write(here.path().join("other.toml"), other).unwrap();
    let table = run(&["other.toml"]);
    assert_eq!(entries(), written);
    assert!(table.contains("nDCG@5"), "{table}");
    for system in ["BM25", "kNN (encoder)", "dense", "hybrid"] {
        assert!(table.contains(system), "{table}");
    }
}

/// Asserts nDCG@10 of all-MiniLM-L6-v2, computed by the commands of the README. On a backend other
/// than the default, values may differ by .0005.
fn ndcg(name: &str, expected: f64, within: f64) {
    let (Some(model), Some(_)) = (minilm(), open(name)) else {
        return;
    };
    let model = std::fs::canonicalize(model).unwrap();
    let model = model.to_str().unwrap();
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let backend = backend().to_string();
    let on_backend = ["--backend", &backend];
    let began = std::time::Instant::now();
    let encode = ["encode", model, name, "-o", "vectors.ir"];
    ir(here, &[&encode[..], &on_backend].concat());
    let search = [
        "search",
        name,
        "--vectors",
        "vectors.ir",
        "--encoder",
        model,
    ];
    let mut search = [&search[..], &on_backend, &["-o", "dense.trec"]].concat();
    // ArguAna's queries are documents of the collection; BEIR removes them from their own results.
    if name == "beir/arguana" {
        search.push("--remove-self");
    }
    ir(here, &search);
    let scores = ir(here, &["eval", "-m", "ndcg_cut.10", name, "dense.trec"]);
    eprintln!("{name}: {scores}{:.0} s", began.elapsed().as_secs_f64());
    let found: f64 = scores.split_whitespace().last().unwrap().parse().unwrap();
    let within = match std::env::var_os("IR_BACKEND") {
        None => within,
        Some(_) => 0.0005,
    };
    assert!((found - expected).abs() <= within + 1e-9, "{name}: {found}");
}

/// Published: sentence-transformers' table for BEIR.
#[test]
#[ignore = "takes minutes in a release build"]
fn nfcorpus_as_published() {
    ndcg("beir/nfcorpus", 0.3159, 0.00005);
}

/// Published: sentence-transformers' table for BEIR.
#[test]
#[ignore = "takes minutes in a release build"]
fn arguana_as_published() {
    ndcg("beir/arguana", 0.5017, 0.0005);
}

/// Values of BM25 and all-MiniLM-L6-v2 that one command gives in a folder.
struct PublishedValues {
    /// nDCG@10 and R@100 of Anserini's regression `beir-v1.0.0-NAME.flat`.
    bm25: [f64; 2],
    /// nDCG@10 in sentence-transformers' table for BEIR.
    minilm: f64,
}

/// Runs `experiments/beir-encoder.toml` on a copy of a collection in a folder that the catalog does
/// not know.
fn unknown_beir_folder(name: &str, expected: &PublishedValues) {
    let (Some(model), Some(data)) = (minilm(), std::env::var_os("IR_DATA")) else {
        return;
    };
    let source = Path::new(&data).join(name);
    if !source.is_dir() {
        eprintln!("skipped: no {name} in IR_DATA");
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("unknown");
    std::fs::create_dir_all(folder.join("qrels")).unwrap();
    for inside in ["", "qrels"] {
        for entry in std::fs::read_dir(source.join(inside)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap();
                std::fs::copy(&path, folder.join(inside).join(name)).unwrap();
            }
        }
    }
    let experiment =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/beir-encoder.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    command
        .arg("run")
        .arg(experiment)
        .args(["--format", "json", "--cache"]);
    command.arg(here.path().join("cache")).env_remove("IR_DATA");
    command
        .env("BEIR", &folder)
        .env("IR_MODEL", std::fs::canonicalize(model).unwrap());
    let began = std::time::Instant::now();
    let ran = command.output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{err}");
    let results: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let systems = &results["tasks"][0]["comparison"]["systems"];
    let value = |system: usize, measure: usize| {
        let value = systems[system]["scores"][measure]["value"].as_f64();
        value.unwrap()
    };
    let found = [value(0, 0), value(0, 1), value(1, 0)];
    eprintln!(
        "{name}: {found:?} in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    let [ndcg, recall] = expected.bm25;
    for (found, expected) in found.into_iter().zip([ndcg, recall, expected.minilm]) {
        assert!(
            (found - expected).abs() <= 0.0005,
            "{name}: {found}, expected {expected}"
        );
    }
}

#[test]
#[ignore = "takes minutes in a release build"]
fn an_unknown_beir_folder() {
    let expected = PublishedValues {
        bm25: [0.3218, 0.2457],
        minilm: 0.3159,
    };
    unknown_beir_folder("beir/nfcorpus", &expected);
}

/// ArguAna: queries are documents, which are removed from their own results, and texts occur twice.
#[test]
#[ignore = "takes minutes in a release build"]
fn an_unknown_beir_folder_whose_queries_are_documents() {
    let expected = PublishedValues {
        bm25: [0.3970, 0.9324],
        minilm: 0.5017,
    };
    unknown_beir_folder("beir/arguana", &expected);
}
