//! Learned sparse encoders beside sentence-transformers: folders of
//! `.ci/encoder-folders --sparse`.

#![allow(clippy::unwrap_used)]

use std::fs::{copy, create_dir, read_dir, read_to_string, write};
use std::path::{Path, PathBuf};

use crate::common::{on_backend, on_default_backend, testdata};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, EncoderConfig, SparseEncoder};
use serde::Deserialize;
use tempfile::TempDir;

/// Maximum difference, as a fraction of the largest weight of a text.
const TOLERANCE: f32 = 1e-5;

/// Components of a text with their weights.
type Weights = Vec<(u32, f32)>;

/// `expected.json`.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    query: Vec<Weights>,
    document: Vec<Weights>,
}

/// Folders with an `expected.json`: the committed ones, and those below the folder that the
/// variable IR_SPARSE_ENCODER_FOLDERS names.
fn folders() -> Vec<PathBuf> {
    let other = std::env::var_os("IR_SPARSE_ENCODER_FOLDERS").map(PathBuf::from);
    let roots = [testdata("sparse-encoders")].into_iter().chain(other);
    let entries = roots.flat_map(|root| read_dir(root).unwrap());
    let folders = entries.map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.join("expected.json").exists());
    folders.collect()
}

/// Returns the largest difference of dense vectors of both, as a fraction of the largest weight.
fn difference(dim: usize, found: &Weights, expected: &Weights) -> f32 {
    let dense = |weights: &Weights| {
        let mut dense = vec![0.0_f32; dim];
        weights.iter().for_each(|&(at, x)| dense[at as usize] = x);
        dense
    };
    let (found, expected) = (dense(found), dense(expected));
    let largest = expected.iter().fold(f32::MIN_POSITIVE, |a, &b| a.max(b));
    let differences = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max) / largest
}

#[test]
fn weights_are_those_of_sentence_transformers() {
    let folders = folders();
    assert!(folders.len() >= 5, "{folders:?}");
    for folder in folders {
        let expected = read_to_string(folder.join("expected.json")).unwrap();
        let expected: Expected = serde_json::from_str(&expected).unwrap();
        let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
        let config = EncoderConfig::default().with_backend(on_backend().backend);
        if !on_default_backend() && folder.ends_with("router") {
            continue;
        }
        let encoder = SparseEncoder::open_with(&folder, &config).unwrap();
        for (side, expected) in [
            (Side::Query, &expected.query),
            (Side::Document, &expected.document),
        ] {
            let found = encoder.encode_weights(side, &texts).unwrap();
            for ((text, found), expected) in texts.iter().zip(&found).zip(expected) {
                let difference = difference(encoder.dim(), found, expected);
                assert!(
                    difference <= TOLERANCE,
                    "{} {side:?} {text:?}: {difference:e}",
                    folder.display()
                );
                assert!(found.iter().all(|(_, weight)| *weight > 0.0));
                assert!(found.is_sorted_by(|a, b| a.0 < b.0));
                if on_default_backend() {
                    let alone = encoder.encode_weights(side, &[text]).unwrap();
                    assert_eq!(alone[0], *found, "{text:?} depends on its batch");
                }
            }
            assert!(found.iter().any(|weights| !weights.is_empty()));
        }
    }
}

#[test]
fn dense_and_sparse_vectors_have_the_same_components() {
    let encoder = SparseEncoder::open(testdata("sparse-encoders/bert")).unwrap();
    let texts = ["green tea", ""];
    let weights = encoder.encode_documents(&texts).unwrap();
    let dense = encoder.encode(Side::Document, &texts).unwrap();
    let mut sparse = Vec::new();
    let mut emit = |columns: &[u32], values: &[f32]| {
        let pairs = columns.iter().copied().zip(values.iter().copied());
        sparse.push(pairs.collect::<Weights>());
    };
    encoder
        .encode_sparse(Side::Document, &texts, &mut emit)
        .unwrap();
    assert_eq!(sparse, weights);
    for (row, weights) in dense.chunks_exact(encoder.dim()).zip(&weights) {
        let nonzero = row.iter().filter(|&&x| x != 0.0).count();
        assert_eq!(nonzero, weights.len());
        assert!(weights.iter().all(|&(at, x)| row[at as usize] == x));
    }
    let (token, _) = weights[0][0];
    let name = encoder.component_name(token as usize).unwrap();
    assert_eq!(name, encoder.token(token));
}

fn copied(name: &str) -> TempDir {
    fn copy_all(from: &Path, to: &Path) {
        for entry in read_dir(from).unwrap() {
            let (path, to) = {
                let entry = entry.unwrap();
                (entry.path(), to.join(entry.file_name()))
            };
            if path.is_dir() {
                create_dir(&to).unwrap();
                copy_all(&path, &to);
            } else {
                copy(&path, &to).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy_all(&testdata(&format!("sparse-encoders/{name}")), folder.path());
    folder
}

/// Replaces a text in a file of a folder.
fn replaced(folder: &TempDir, file: &str, from: &str, to: &str) {
    let path = folder.path().join(file);
    let text = read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    write(path, text.replace(from, to)).unwrap();
}

#[test]
fn unusable_folders_are_errors() {
    let error = |folder: &Path| SparseEncoder::open(folder).unwrap_err().to_string();
    // An encoder without head.
    let found = error(&testdata("families/albert"));
    assert!(found.contains("expected SparseEncoder"), "{found}");
    let folder = copied("bert-older");
    replaced(&folder, "config.json", "BertForMaskedLM", "BertModel");
    let found = error(folder.path());
    assert!(
        found.contains("a masked language model, such as BertForMaskedLM"),
        "{found}"
    );
    // The weights of another vocabulary, and negative ones.
    let folder = copied("router");
    let file = "query_0_SparseStaticEmbedding/model.safetensors";
    let write_weights = |weights: &[f32]| {
        let (count, end) = (weights.len(), 4 * weights.len());
        let header = format!(
            "{{\"weight\":{{\"dtype\":\"F32\",\"shape\":[{count}],\"data_offsets\":[0,{end}]}}}}"
        );
        let length = (header.len() as u64).to_le_bytes();
        let weights = weights.iter().flat_map(|it| it.to_le_bytes());
        let weights: Vec<u8> = weights.collect();
        let bytes = [&length[..], header.as_bytes(), &weights].concat();
        write(folder.path().join(file), bytes).unwrap();
        error(folder.path())
    };
    let found = write_weights(&[1.0; 5]);
    assert!(
        found.contains("below 5, the rows of the embedding table"),
        "{found}"
    );
    let dim = SparseEncoder::open(testdata("sparse-encoders/router"))
        .unwrap()
        .dim();
    let mut weights = vec![1.0; dim];
    weights[7] = -0.5;
    let found = write_weights(&weights);
    assert!(
        found.contains("element 7 of weight is -0.5, expected at least 0"),
        "{found}"
    );
    weights[7] = f32::NAN;
    assert!(write_weights(&weights).contains("weight"));
    let config = EncoderConfig::default().with_truncate_dim(5);
    let found = SparseEncoder::open_with(testdata("sparse-encoders/bert"), &config);
    let found = found.unwrap_err().to_string();
    assert!(found.contains("truncate_dim"), "{found}");
    // A sparse encoder in place of a dense one.
    let found = BiEncoder::open(testdata("sparse-encoders/bert")).unwrap_err();
    assert!(found.to_string().contains("SparseEncoder"), "{found}");
    let folder = copied("bert");
    let pooling = "1_SpladePooling/config.json";
    replaced(&folder, pooling, "\"max\"", "\"mean\"");
    let found = error(folder.path());
    assert!(
        found.contains("pooling_strategy is mean, expected max or sum"),
        "{found}"
    );
}
