//! Late-interaction models against sentence-transformers: folders of
//! `.ci/encoder-folders --late-interaction`.

#![allow(clippy::unwrap_used)]

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use crate::common::{on_backend, on_default_backend, testdata};
use ir_core::{Side, TokenEncoder, TokenVectors};
use ir_dense::{MultiVectorConfig, MultiVectorEncoder, Precision, TokenSimilarity};
use serde::Deserialize;

/// Maximum difference, as a fraction of the largest component of the expected vectors.
const TOLERANCE: f32 = 1e-5;

/// `expected.json`.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    /// Vector of every token of every text.
    query: Vec<Vec<Vec<f32>>>,
    document: Vec<Vec<Vec<f32>>>,
    /// Range in bytes of every token in the text; empty for tokens that are not of the text.
    query_spans: Vec<Vec<[usize; 2]>>,
    document_spans: Vec<Vec<[usize; 2]>>,
    similarity: TokenSimilarity,
    /// Score of every document for every query.
    scores: Vec<Vec<f32>>,
}

fn read_expected(folder: &Path) -> Expected {
    let expected = read_to_string(folder.join("expected.json")).unwrap();
    serde_json::from_str(&expected).unwrap()
}

/// Folders with an `expected.json`, by name: the committed ones, and those below the folder that
/// the variable IR_LATE_INTERACTION_FOLDERS names.
fn folders() -> Vec<PathBuf> {
    let other = std::env::var_os("IR_LATE_INTERACTION_FOLDERS").map(PathBuf::from);
    let roots = [testdata("late-interaction")].into_iter().chain(other);
    let entries = roots.flat_map(|root| read_dir(root).unwrap());
    let folders = entries.map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders
        .filter(|folder| folder.join("expected.json").exists())
        .collect();
    folders.sort();
    folders
}

fn on_test_backend() -> MultiVectorConfig {
    MultiVectorConfig::default().with_backend(on_backend().backend)
}

/// Returns what is wrong with the vectors of a folder.
fn failures(folder: &Path) -> Vec<String> {
    let expected = read_expected(folder);
    let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
    let encoder = match MultiVectorEncoder::open_with(folder, &on_test_backend()) {
        Ok(encoder) => encoder,
        Err(error) => return vec![error.to_string()],
    };
    let sides = [
        (Side::Query, &expected.query, &expected.query_spans),
        (Side::Document, &expected.document, &expected.document_spans),
    ];
    let (mut failures, mut vectors) = (Vec::new(), Vec::new());
    for (side, expected, spans) in sides {
        let found = match encoder.encode_tokens(side, &texts) {
            Ok(found) => found,
            Err(error) => return vec![format!("{side:?}: {error}")],
        };
        failures.extend(side_failures(side, &texts, &found, expected, spans));
        let alone = |text: &str| encoder.encode_tokens(side, &[text]).unwrap().remove(0);
        if on_default_backend() {
            let mut texts = texts.iter().zip(&found);
            if let Some((text, _)) = texts.find(|(text, found)| alone(text) != **found) {
                failures.push(format!("{side:?}: {text:?} depends on its batch"));
            }
        }
        vectors.push(found);
    }
    if encoder.similarity() != expected.similarity {
        failures.push(format!("similarity is {}", encoder.similarity()));
    }
    for (query, expected) in vectors[0].iter().zip(&expected.scores) {
        for (document, expected) in vectors[1].iter().zip(expected) {
            let found = encoder.similarity().score(query, document);
            let most = TOLERANCE * expected.abs().max(query.len() as f32);
            if !found.is_finite() || (found - expected).abs() > most {
                failures.push(format!("score {found}, expected {expected}"));
            }
        }
    }
    failures
}

fn side_failures(
    side: Side,
    texts: &[&str],
    found: &[TokenVectors],
    expected: &[Vec<Vec<f32>>],
    spans: &[Vec<[usize; 2]>],
) -> Vec<String> {
    let all = expected.iter().flatten().flatten();
    let largest = all.fold(0.0, |a: f32, b| a.max(b.abs()));
    let mut failures = Vec::new();
    for ((text, found), (expected, spans)) in
        texts.iter().zip(found).zip(expected.iter().zip(spans))
    {
        let text: String = text.chars().take(40).collect();
        if found.len() != expected.len() {
            let (found, expected) = (found.len(), expected.len());
            failures.push(format!(
                "{side:?}: {found} tokens, expected {expected}: {text:?}"
            ));
            continue;
        }
        let rows = found.rows().zip(expected);
        let difference = |(a, b): (&[f32], &Vec<f32>)| {
            assert_eq!(a.len(), b.len(), "dimension");
            assert!(a.iter().all(|x| x.is_finite()), "{a:?}");
            let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
            differences.fold(0.0, f32::max)
        };
        let differences: Vec<f32> = rows.map(difference).collect();
        let most = differences.iter().copied().fold(0.0, f32::max) / largest;
        if most > TOLERANCE {
            let tokens = differences.iter().filter(|it| **it > TOLERANCE * largest);
            let (count, all) = (tokens.count(), differences.len());
            failures.push(format!(
                "{side:?}: {count} of {all} tokens differ, by up to {most:.1e}: {text:?}"
            ));
        }
        let found: Vec<[usize; 2]> = found.spans.iter().map(|it| [it.start, it.end]).collect();
        let pairs = found.iter().zip(spans);
        // Empty ranges are equal.
        let is_other = |(a, b): &(&[usize; 2], &[usize; 2])| a != b && (a[0] < a[1] || b[0] < b[1]);
        if let Some((found, expected)) = pairs.into_iter().find(is_other) {
            failures.push(format!(
                "{side:?}: a token is at {found:?}, expected {expected:?}: {text:?}"
            ));
        }
    }
    failures
}

#[test]
fn token_vectors_equal_sentence_transformers() {
    let folders = folders();
    assert!(folders.len() >= 4);
    let lines = folders.iter().flat_map(|folder| {
        let failures = failures(folder).into_iter();
        failures.map(|failure| format!("{}: {failure}", folder.display()))
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

/// Vectors are equal bit for bit.
#[test]
fn saved_folders_have_the_same_vectors() {
    for folder in folders() {
        let name = folder.display();
        let texts = read_expected(&folder).texts;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encoder = MultiVectorEncoder::open_with(&folder, &on_test_backend()).unwrap();
        let here = tempfile::tempdir().unwrap();
        let saved = here.path().join("saved");
        encoder.save(&saved).unwrap();
        assert!(encoder.save(&saved).is_err(), "{name}: the folder exists");
        let reopened = MultiVectorEncoder::open_with(&saved, &on_test_backend()).unwrap();
        assert_eq!(reopened.fingerprint(), encoder.fingerprint(), "{name}");
        assert_eq!(reopened.similarity(), encoder.similarity(), "{name}");
        assert_eq!(reopened.expanded_length(), encoder.expanded_length());
        for side in [Side::Query, Side::Document] {
            assert_eq!(reopened.prefix(side), encoder.prefix(side), "{name}");
            assert_eq!(reopened.max_tokens(side), encoder.max_tokens(side));
            let found = reopened.encode_tokens(side, &texts).unwrap();
            assert!(
                found == encoder.encode_tokens(side, &texts).unwrap(),
                "{name}, {side:?}"
            );
        }
    }
}

#[test]
fn bytes_do_not_depend_on_batches_and_threads() {
    for name in ["modernbert", "stanford"] {
        let folder = testdata("late-interaction").join(name);
        let expected = read_expected(&folder);
        let texts = expected.texts.iter().map(String::as_str).cycle().take(45);
        let texts: Vec<&str> = texts.collect();
        for precision in Precision::ALL {
            let config = MultiVectorConfig::default().with_precision(precision);
            let encoder = MultiVectorEncoder::open_with(&folder, &config).unwrap();
            let small = config.with_batch_tokens(40).with_batch_texts(3);
            let small = MultiVectorEncoder::open_with(&folder, &small).unwrap();
            for side in [Side::Query, Side::Document] {
                let found = encoder.encode_tokens(side, &texts).unwrap();
                assert!(found.iter().any(|it| !it.is_empty()));
                assert!(found == small.encode_tokens(side, &texts).unwrap());
                for threads in [1, 3] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                    let pool = pool.build().unwrap();
                    let other = pool.install(|| small.encode_tokens(side, &texts).unwrap());
                    assert!(found == other, "{name} in {precision} on {threads} threads");
                }
                assert_eq!(encoder.fingerprint(), small.fingerprint());
            }
        }
    }
}
