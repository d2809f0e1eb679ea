//! Reflective random indexing of the dataset descriptions of DataFinder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};

use crate::cases::data;
use ir_knn::{ElementalVectors, RandomIndexing, RandomIndexingConfig};

/// Descriptions of the datasets.
fn descriptions() -> Option<Vec<String>> {
    let file = File::open(data("datafinder/corpus_7602.jsonl.zst")?).unwrap();
    let decoder = ruzstd::decoding::StreamingDecoder::new(file).unwrap();
    let contents = BufReader::new(decoder).lines().map(|line| {
        let record: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        record["contents"].as_str().unwrap().to_lowercase()
    });
    Some(contents.collect())
}

fn words(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.len() > 3).collect()
}

/// Pairs of words in 10 to 60 descriptions that never co-occur, and share at least half of the rare
/// neighbors of the one with fewer.
fn pairs(texts: &[String]) -> Vec<(String, String)> {
    let mut documents: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (n, text) in texts.iter().enumerate() {
        for word in words(text) {
            documents.entry(word).or_default().insert(n);
        }
    }
    let some = documents
        .iter()
        .filter(|(_, of)| (10..=60).contains(&of.len()));
    let some: Vec<_> = some.step_by(5).collect();
    let neighbors = |of: &BTreeSet<usize>| -> BTreeSet<&str> {
        let all = of.iter().flat_map(|&n| words(&texts[n]));
        all.filter(|word| documents[word].len() <= 600).collect()
    };
    let near: Vec<_> = some.iter().map(|(_, of)| neighbors(of)).collect();
    let mut pairs = Vec::new();
    for (a, (first, of_first)) in some.iter().enumerate() {
        for (b, (second, of_second)) in some.iter().enumerate().skip(a + 1) {
            let common = near[a].intersection(&near[b]).count();
            let least = near[a].len().min(near[b].len());
            if of_first.is_disjoint(of_second) && 2 * common >= least {
                pairs.push(((*first).to_string(), (*second).to_string()));
            }
        }
    }
    pairs
}

/// Words that never co-occur but share neighbors rise in cosine, pair by pair.
#[test]
fn words_that_never_co_occur_rise_in_cosine_on_descriptions() {
    let Some(texts) = descriptions() else {
        return;
    };
    let pairs = pairs(&texts);
    assert!(pairs.len() >= 20, "{} pairs", pairs.len());
    let cosines = |reflections| -> Vec<f64> {
        let config = RandomIndexingConfig::default()
            .with_elemental(ElementalVectors::Texts)
            .with_dim(1000)
            .with_reflections(reflections);
        let (fitted, _) = RandomIndexing::fit_transform(&texts, &config).unwrap();
        let names: BTreeMap<&str, usize> = fitted.terms().zip(0..).collect();
        let vector = |word: &String| fitted.term_vectors().row(names[word.as_str()]).to_owned();
        let cosine = |(a, b): &(String, String)| {
            let (a, b) = (vector(a), vector(b));
            a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt()
        };
        pairs.iter().map(cosine).collect()
    };
    let (before, after) = (cosines(0), cosines(1));
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    eprintln!(
        "{} pairs: mean cosine {:.3} before, {:.3} after a reflection",
        pairs.len(),
        mean(&before),
        mean(&after)
    );
    assert!(mean(&before).abs() < 0.05 && mean(&after) > mean(&before) + 0.1);
    for ((pair, before), after) in pairs.iter().zip(&before).zip(&after) {
        assert!(after > before, "{pair:?}: {before} before, {after} after");
    }
}
