//! Encoders of all architectures against sentence-transformers: folders of `.ci/encoder-folders`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use crate::common::{apart, on_backend, on_default_backend, testdata};
use ir_core::{Encoder, Side};
use ir_dense::BiEncoder;
use serde::Deserialize;

/// Maximum difference, as a fraction of the largest component of the expected vectors.
const TOLERANCE: f32 = 1e-5;

/// Folders of models that are not supported, which are rejected.
const UNSUPPORTED: [(&str, &str); 3] = [
    ("deberta", "model_type is \"deberta\""),
    ("deberta-defaults", "model_type is \"deberta\""),
    ("deberta-v2-embedding-size", "embedding_size is 16"),
];

/// `expected.json`.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    /// Vectors of `encode_query`; `None` if `encode_document` returns the same.
    query: Option<Vec<Vec<f32>>>,
    document: Vec<Vec<f32>>,
}

/// Folders with an `expected.json`, by name: the committed ones, and those below the folder that
/// the variable IR_ENCODER_FOLDERS names.
fn folders() -> Vec<PathBuf> {
    let own = testdata("families");
    let other = std::env::var_os("IR_ENCODER_FOLDERS").map(PathBuf::from);
    let mut folders: Vec<PathBuf> = [own]
        .into_iter()
        .chain(other)
        .flat_map(|root| {
            read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        })
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("expected.json").exists())
        .collect();
    folders.sort();
    folders
}

/// Returns what is wrong with the vectors of a folder.
fn failures(folder: &Path) -> Vec<String> {
    let expected = read_to_string(folder.join("expected.json")).unwrap();
    let expected: Expected = serde_json::from_str(&expected).unwrap();
    let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
    let name = folder.file_name().unwrap();
    let unsupported = UNSUPPORTED.iter().find(|(other, _)| name == *other);
    let encoder = match BiEncoder::open_with(folder, &on_backend()) {
        Ok(_) if unsupported.is_some() => return vec!["is in UNSUPPORTED, but opens".to_owned()],
        Ok(encoder) => encoder,
        Err(error) => {
            let error = error.to_string();
            let expected = unsupported.is_some_and(|(_, part)| error.contains(part));
            return if expected { Vec::new() } else { vec![error] };
        }
    };
    let queries = expected.query.as_ref().unwrap_or(&expected.document);
    let sides = [(Side::Query, queries), (Side::Document, &expected.document)];
    let found = sides.map(|(side, expected)| side_failures(&encoder, side, &texts, expected));
    found.concat()
}

fn side_failures(
    encoder: &BiEncoder,
    side: Side,
    texts: &[&str],
    expected: &[Vec<f32>],
) -> Vec<String> {
    let found = match encoder.encode(side, texts) {
        Ok(found) => found,
        Err(error) => return vec![format!("{side:?}: {error}")],
    };
    let dim = encoder.dim();
    if dim != expected[0].len() {
        let other = expected[0].len();
        return vec![format!("{side:?}: dimension {dim}, expected {other}")];
    }
    let largest = expected
        .iter()
        .flatten()
        .fold(0.0, |a: f32, b| a.max(b.abs()));
    let rows = || texts.iter().zip(found.chunks(dim));
    let mut differences: Vec<(f32, &str)> = rows()
        .zip(expected)
        .map(|((text, found), expected)| {
            let finite = found.iter().all(|value| value.is_finite());
            let difference = if finite {
                apart(found, expected)
            } else {
                f32::INFINITY
            };
            (difference / largest, *text)
        })
        .filter(|(difference, _)| *difference > TOLERANCE)
        .collect();
    differences.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut failures = Vec::new();
    if let Some((difference, text)) = differences.first() {
        let (count, all) = (differences.len(), texts.len());
        let text: String = text.chars().take(40).collect();
        failures.push(format!(
            "{side:?}: {count} of {all} texts differ, by up to {difference:.1e}: {text:?}"
        ));
    }
    let alone = |text: &str| encoder.encode(side, &[text]).unwrap();
    if on_default_backend()
        && let Some((text, _)) = rows().find(|(text, found)| alone(text) != *found)
    {
        failures.push(format!("{side:?}: {text:?} depends on its batch"));
    }
    failures
}

#[test]
fn vectors_equal_sentence_transformers() {
    let folders = folders();
    assert!(!folders.is_empty());
    let lines = folders.iter().flat_map(|folder| {
        let failures = failures(folder).into_iter();
        failures.map(|failure| format!("{}: {failure}", folder.display()))
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
