//! Cross-encoders of all heads against sentence-transformers: folders of `.ci/encoder-folders
//! --cross-encoders`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use crate::common::{apart, backend, on_default_backend, testdata};
use ir_dense::{CrossEncoder, CrossEncoderConfig};
use serde::Deserialize;

/// Maximum difference of a score.
const TOLERANCE: f32 = 1e-5;

/// `expected.json`.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    /// Numbers of query and document in `texts`.
    pairs: Vec<(usize, usize)>,
    /// Token ids of every pair.
    ids: Vec<Vec<u32>>,
    /// Scores of every pair, one per label.
    scores: Vec<Vec<f32>>,
}

impl Expected {
    fn pairs(&self) -> Vec<(&str, &str)> {
        let text = |number: usize| &self.texts[number][..];
        let pairs = self.pairs.iter();
        pairs
            .map(|&(query, document)| (text(query), text(document)))
            .collect()
    }
}

fn expected(folder: &Path) -> Expected {
    let text = read_to_string(folder.join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Folders with an `expected.json`, by name: the committed ones, and those below the folder that
/// the variable IR_CROSS_ENCODER_FOLDERS names.
fn folders() -> Vec<PathBuf> {
    let own = testdata("cross-encoders");
    let other = std::env::var_os("IR_CROSS_ENCODER_FOLDERS").map(PathBuf::from);
    let roots = [own].into_iter().chain(other);
    let entries = roots.flat_map(|root| {
        read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()))
    });
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = paths
        .filter(|folder| folder.join("expected.json").exists())
        .collect();
    folders.sort();
    folders
}

fn on_backend() -> CrossEncoderConfig {
    CrossEncoderConfig::default().with_backend(backend())
}

/// Returns what is wrong with the token ids and the scores of a folder.
fn failures(folder: &Path) -> Vec<String> {
    let expected = expected(folder);
    let model = match CrossEncoder::open_with(folder, &on_backend()) {
        Ok(model) => model,
        Err(error) => return vec![error.to_string()],
    };
    let pairs = expected.pairs();
    let found = match model.predict(&pairs) {
        Ok(found) => found,
        Err(error) => return vec![error.to_string()],
    };
    let mut failures = Vec::new();
    let differing = |is_equal: &dyn Fn(usize) -> bool| {
        let all = (0..pairs.len()).filter(|&pair| !is_equal(pair));
        let all: Vec<usize> = all.collect();
        let first = all.first().map(|&pair| pairs[pair]);
        (!all.is_empty()).then(|| format!("{} pairs differ: {all:?}, {first:?}", all.len()))
    };
    let ids = |pair: usize| {
        let (query, document) = pairs[pair];
        model.token_ids(query, document).unwrap().concat() == expected.ids[pair]
    };
    failures.extend(differing(&ids).map(|it| format!("ids: {it}")));
    let difference = |pair: usize| apart(&found[pair], &expected.scores[pair]);
    let is_near = |pair: usize| difference(pair) <= TOLERANCE;
    let largest = (0..pairs.len()).map(difference).fold(0.0, f32::max);
    failures.extend(differing(&is_near).map(|it| format!("scores by up to {largest:.1e}: {it}")));
    if on_default_backend() {
        let alone = |pair: usize| model.predict(&[pairs[pair]]).unwrap()[0] == found[pair];
        failures.extend(differing(&alone).map(|it| format!("alone: {it}")));
    }
    failures
}

#[test]
fn scores_equal_sentence_transformers() {
    let folders = folders();
    assert!(folders.len() >= 18);
    let lines = folders.iter().flat_map(|folder| {
        let failures = failures(folder).into_iter();
        failures.map(|failure| format!("{}: {failure}", folder.display()))
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
