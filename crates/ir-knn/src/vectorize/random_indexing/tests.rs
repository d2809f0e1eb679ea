//! Random indexing compared with its definition.

use super::*;

/// Definition of random indexing in dense matrices, one loop per sum.
fn reference(counts: &[Vec<f64>], config: &RandomIndexingConfig, names: &[&str]) -> Vec<Vec<f64>> {
    let (n, terms) = (counts.len(), counts[0].len());
    let global: Vec<f64> = (0..terms)
        .map(|t| {
            let df = (0..n).filter(|&d| counts[d][t] > 0.0).count() as f64;
            let all: f64 = (0..n).map(|d| counts[d][t]).sum();
            match config.weight {
                TermWeighting::Idf => (n as f64 / df).log10(),
                TermWeighting::LogEntropy => {
                    let mut entropy = 0.0;
                    for row in counts.iter().filter(|row| row[t] > 0.0) {
                        entropy += row[t] / all * (row[t] / all).log2();
                    }
                    1.0 + entropy / (n as f64).log2()
                }
                _ => 1.0,
            }
        })
        .collect();
    let local = |tf: f64| match config.weight {
        _ if tf == 0.0 => 0.0,
        TermWeighting::Idf => tf,
        TermWeighting::LogEntropy => (1.0 + tf).log10(),
        TermWeighting::Root => tf.sqrt(),
        TermWeighting::None => 1.0,
    };
    let normalize = |mut v: Vec<f64>| {
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            v.iter_mut().for_each(|x| *x /= length);
        }
        v
    };
    let sum = |count: usize, weight: &dyn Fn(usize) -> f64, vectors: &[Vec<f64>]| {
        let entry = |i: usize| (0..count).map(|j| weight(j) * vectors[j][i]).sum();
        normalize((0..config.dim).map(entry).collect())
    };
    let texts_of = |term_vectors: &[Vec<f64>]| -> Vec<Vec<f64>> {
        (0..n)
            .map(|d| sum(terms, &|t| local(counts[d][t]) * global[t], term_vectors))
            .collect()
    };
    let terms_of = |texts: &[Vec<f64>], raw: bool| -> Vec<Vec<f64>> {
        let weight = |tf| if raw { tf } else { local(tf) };
        (0..terms)
            .map(|t| sum(n, &|d| weight(counts[d][t]), texts))
            .collect()
    };
    let rows = |rows: Array2<f64>| -> Vec<Vec<f64>> {
        rows.rows().into_iter().map(|row| row.to_vec()).collect()
    };
    let (dim, nonzero, seed) = (config.dim, config.nonzero, config.seed);
    if config.elemental == ElementalVectors::Texts {
        let mut texts = rows(elemental_vectors(n, dim, nonzero, |d| {
            SplitMix64::new(seed, d as u64)
        }));
        for _ in 0..=config.reflections {
            texts = texts_of(&terms_of(&texts, true));
        }
        texts
    } else {
        let mut term_vectors = rows(elemental_vectors(terms, dim, nonzero, |t| {
            SplitMix64::from_name(seed, names[t])
        }));
        for _ in 0..config.reflections {
            term_vectors = terms_of(&texts_of(&term_vectors), false);
        }
        texts_of(&term_vectors)
    }
}

const TEXTS: [&str; 6] = [
    "tea tea milk",
    "milk bread bread bread",
    "ship sea night",
    "sea night radar tea",
    "",
    "ship ship radar ship",
];

#[test]
fn vectors_match_the_definition() {
    let words = ["bread", "milk", "night", "radar", "sea", "ship", "tea"];
    let counts: Vec<Vec<f64>> = TEXTS
        .iter()
        .map(|text| {
            let count = |word| text.split(' ').filter(|w| w == word).count() as f64;
            words.iter().map(count).collect()
        })
        .collect();
    let weights = [
        TermWeighting::Idf,
        TermWeighting::LogEntropy,
        TermWeighting::Root,
        TermWeighting::None,
    ];
    for weight in weights {
        for elemental in [ElementalVectors::Texts, ElementalVectors::Terms] {
            for reflections in 0..3 {
                let config = RandomIndexingConfig::default()
                    .with_dim(40)
                    .with_weight(weight)
                    .with_elemental(elemental)
                    .with_reflections(reflections)
                    .with_seed(7);
                let (fitted, found) = RandomIndexing::fit_transform(&TEXTS, &config).unwrap();
                assert_eq!(fitted.terms().collect::<Vec<_>>(), words);
                let expected = reference(&counts, &config, &words);
                for (found, expected) in found.iter().zip(expected.iter().flatten()) {
                    assert!((found - expected).abs() < 1e-12, "{config:?}");
                }
                // Transforming the texts of the fit returns the same vectors.
                assert_eq!(fitted.transform(&TEXTS), found);
                let saved = serde_json::to_string(&fitted).unwrap();
                let read: RandomIndexing = serde_json::from_str(&saved).unwrap();
                assert_eq!(read.transform(&["tea sea"]), fitted.transform(&["tea sea"]));
            }
        }
    }
}

#[test]
fn elemental_vectors_are_sparse_and_nearly_orthogonal() {
    let rows = elemental_vectors(2000, 200, 10, |i| SplitMix64::from_name(3, &i.to_string()));
    for row in rows.rows() {
        assert_eq!(row.iter().filter(|&&v| v == 1.0).count(), 5);
        assert_eq!(row.iter().filter(|&&v| v == -1.0).count(), 5);
    }
    // Cosines of different vectors have mean 0 and standard deviation 1/√200.
    let cosine = |i: usize| -> f64 { rows.row(i).dot(&rows.row(i + 1)) / 10.0 };
    let all: Vec<f64> = (0..1999).map(cosine).collect();
    let mean = all.iter().sum::<f64>() / 1999.0;
    let deviation = (all.iter().map(|c| c * c).sum::<f64>() / 1999.0).sqrt();
    assert!(mean.abs() < 0.01, "{mean}");
    assert!((deviation - 200_f64.powf(-0.5)).abs() < 0.01, "{deviation}");
}

/// "ship" and "boat" never co-occur but share their neighbors.
#[test]
fn reflections_find_second_order_similarity() {
    let mut texts = Vec::new();
    for i in 0..40 {
        let vessel = if i % 2 == 0 { "ship" } else { "boat" };
        texts.push(format!("{vessel} sea harbour w{i}"));
        texts.push(format!("tea milk v{i}"));
    }
    let cosines = |reflections| {
        let config = RandomIndexingConfig::default().with_reflections(reflections);
        let (fitted, _) = RandomIndexing::fit_transform(&texts, &config).unwrap();
        let rows = fitted.transform(&["ship", "boat", "tea", "unknown"]);
        assert!(rows.row(3).iter().all(|&value| value == 0.0));
        let cosine = |a: usize, b: usize| -> f64 { rows.row(a).dot(&rows.row(b)) };
        (cosine(0, 1), cosine(0, 2))
    };
    let (before, after) = (cosines(0), cosines(1));
    assert!(
        before.0.abs() < 0.1 && after.0 > 0.4,
        "{before:?}, {after:?}"
    );
    assert!(
        before.1.abs() < 0.2 && after.1.abs() < 0.2,
        "{before:?}, {after:?}"
    );
}

#[test]
fn invalid_configurations_are_rejected() {
    for nonzero in [0, 3, 202] {
        let config = RandomIndexingConfig {
            nonzero,
            ..Default::default()
        };
        let error = RandomIndexing::fit_transform(&TEXTS, &config).unwrap_err();
        let text =
            format!("expected an even number of nonzero entries from 2 to 200, found {nonzero}");
        assert_eq!(error.to_string(), text);
    }
    for dim in [0, 1] {
        let config = RandomIndexingConfig::default().with_dim(dim);
        let error = RandomIndexing::fit_transform(&TEXTS, &config).unwrap_err();
        let text = format!("expected vectors of at least 2 dimensions, found {dim}");
        assert_eq!(error.to_string(), text);
    }
    let none = RandomIndexing::fit_transform(&[""], &RandomIndexingConfig::default());
    assert!(matches!(none, Err(RandomIndexingError::Vocabulary(_))));
}

#[test]
fn vectors_that_do_not_fit_into_memory_are_an_error() {
    let texts = ["ships at sea", "green tea"];
    let fit = |config: &RandomIndexingConfig| RandomIndexing::fit_transform(&texts, config);
    let config = RandomIndexingConfig::default();
    // Two texts and five terms.
    let enough = config.clone().with_max_bytes(7 * 200 * 8);
    assert_eq!(fit(&enough).unwrap().1.nrows(), 2);
    let error = fit(&config.clone().with_max_bytes(7 * 200 * 8 - 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected vectors that fit into memory (1 MiB are available), found an estimate of 1 MiB \
         for 2 texts and 5 terms in 200 dimensions; use fewer dimensions"
    );
    // More than any machine has: before the texts are analyzed.
    for dim in [1 << 48, usize::MAX] {
        let error = fit(&config.clone().with_dim(dim)).unwrap_err();
        let RandomIndexingError::Memory { limit, terms, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((limit, terms), (None, 0), "{dim}");
    }
}
