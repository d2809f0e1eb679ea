//! Golden values of scikit-learn, written by `testdata/golden.py`.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use ir_knn::{
    Classes, CsrMatrix, KnnClassifier, TfidfConfig, TfidfVectorizer, TruncatedSvd,
    TruncatedSvdConfig, VectorSimilarity,
};
use ndarray::Array2;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Case {
    #[serde(rename = "made with")]
    Inputs {
        texts: Vec<String>,
        new: Vec<String>,
    },
    Tfidf {
        config: Box<TfidfConfig>,
        terms: Vec<String>,
        idf: Option<Vec<f64>>,
        fitted: Pairs,
        new: Pairs,
    },
    Folds {
        labels: Vec<String>,
        folds: usize,
        #[serde(rename = "of")]
        assignment: Option<Vec<u32>>,
    },
    Knn {
        k: usize,
        folds: usize,
        metric: VectorSimilarity,
        sparse: bool,
        x: Vec<Vec<f64>>,
        labels: Vec<String>,
        accuracies: Vec<f64>,
    },
    Svd {
        k: usize,
        dim: usize,
        x: Pairs,
        singular_values: Vec<f64>,
        components: Vec<Vec<f64>>,
        transformed: Vec<Vec<f64>>,
    },
}

type Pairs = Vec<Vec<(u32, f64)>>;

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64, label: &str) {
    let far = (found - expected).abs();
    assert!(
        far <= tolerance * expected.abs().max(1.0),
        "{label}: {found} for {expected}"
    );
}

#[track_caller]
fn same_rows(found: &CsrMatrix, expected: &Pairs, label: &str) {
    assert_eq!(found.nrows(), expected.len(), "{label}");
    for (row, expected) in expected.iter().enumerate() {
        let columns: Vec<u32> = expected.iter().map(|pair| pair.0).collect();
        assert_eq!(found.row_slices(row).0, columns, "{label}, row {row}");
        for (found, expected) in found.row(row).zip(expected) {
            near(found.1, expected.1, 1e-15, label);
        }
    }
}

#[test]
fn tfidf() {
    let (mut texts, mut new) = (Vec::new(), Vec::new());
    let mut count = 0;
    for case in cases() {
        match case {
            Case::Inputs { texts: t, new: n } => (texts, new) = (t, n),
            Case::Tfidf {
                config,
                terms,
                idf,
                fitted,
                new: expected,
            } => {
                count += 1;
                let label = format!("{config:?}");
                let (tfidf, rows) = TfidfVectorizer::fit_transform(&texts, &config).unwrap();
                assert_eq!(tfidf.terms().collect::<Vec<_>>(), terms, "{label}");
                let idf = idf.unwrap_or_else(|| vec![1.0; terms.len()]);
                for (found, expected) in tfidf.idf().iter().zip(idf) {
                    near(*found, expected, 1e-15, &label);
                }
                same_rows(&rows, &fitted, &label);
                assert_eq!(tfidf.transform(&texts), rows, "{label}");
                same_rows(&tfidf.transform(&new), &expected, &label);
                // Serialization preserves the vectorizer.
                let saved = serde_json::to_string(&tfidf).unwrap();
                let read: TfidfVectorizer = serde_json::from_str(&saved).unwrap();
                assert_eq!(read.transform(&new), tfidf.transform(&new), "{label}");
                assert_eq!(read.config(), tfidf.config());
            }
            _ => {}
        }
    }
    assert_eq!(count, 150);
}

#[test]
fn folds() {
    let (mut count, mut rejected) = (0, 0);
    for case in cases() {
        if let Case::Folds {
            labels,
            folds,
            assignment,
        } = case
        {
            count += 1;
            let found = Classes::new(&labels).stratified_folds(folds);
            match assignment {
                Some(expected) => {
                    assert_eq!(found.unwrap().assignment, expected, "{folds} of {labels:?}")
                }
                None => {
                    rejected += 1;
                    assert!(found.is_err(), "{folds} of {labels:?}");
                }
            }
        }
    }
    assert!(count == 200 && rejected > 10, "{count}, {rejected}");
}

#[test]
fn knn() {
    let mut count = 0;
    for case in cases() {
        if let Case::Knn {
            k,
            folds,
            metric,
            sparse,
            x,
            labels,
            accuracies,
        } = case
        {
            count += 1;
            let shape = (x.len(), x[0].len());
            let rows = Array2::from_shape_vec(shape, x.concat()).unwrap();
            let classes = Classes::new(&labels);
            let knn = KnnClassifier::new(k).with_metric(metric);
            let dense = knn.cross_validate(&rows, &classes, folds).unwrap();
            assert_eq!(
                dense.folds, accuracies,
                "case {count}: {knn:?}, sparse: {sparse}"
            );
            let rows = CsrMatrix::from_dense(rows.view());
            let as_sparse = knn.cross_validate(&rows, &classes, folds).unwrap();
            assert_eq!(as_sparse.folds, accuracies);
        }
    }
    assert_eq!(count, 40);
}

#[test]
fn svd() {
    let mut count = 0;
    for case in cases() {
        if let Case::Svd {
            k,
            dim,
            x,
            singular_values,
            components,
            transformed,
        } = case
        {
            count += 1;
            let mut starts = vec![0];
            starts.extend(x.iter().scan(0, |end, row| {
                *end += row.len();
                Some(*end)
            }));
            let (columns, values) = x.into_iter().flatten().unzip();
            let rows = CsrMatrix::new(dim, starts, columns, values).unwrap();
            let svd = TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(k)).unwrap();
            let pairs = svd.singular_values().iter().zip(&singular_values);
            for (found, expected) in pairs {
                near(*found, *expected, 1e-11, "singular value");
            }
            let pairs = svd.components().iter().zip(components.iter().flatten());
            for (found, expected) in pairs {
                near(*found, *expected, 1e-8, &format!("component, case {count}"));
            }
            let found = svd.transform(&rows).unwrap();
            let pairs = found.iter().zip(transformed.iter().flatten());
            for (found, expected) in pairs {
                near(
                    *found,
                    *expected,
                    1e-8,
                    &format!("coordinate, case {count}"),
                );
            }
        }
    }
    assert_eq!(count, 10);
}

/// Ties are broken by the order of the classes, which differs between integers and strings.
///
/// # Source
/// `cross_validate(KNeighborsClassifier(4, algorithm="brute"), x, y, cv=5)` of scikit-learn 1.9.1,
/// with integers `y` and with strings of a letter and these integers.
#[test]
fn ties_between_numbered_classes() {
    let values = (0..240_u32).flat_map(|i| (0..3).map(move |j| (i * 31 + j * 17 + i * j * j) % 23));
    let rows = Array2::from_shape_vec((240, 3), values.map(f64::from).collect()).unwrap();
    let class = |i: u32| (i * i + i / 3) % 12;
    let integers = Classes::new((0..240).map(|i| class(i).to_string()));
    let texts = Classes::new((0..240).map(|i| format!("c{}", class(i))));
    let correct = |classes: &Classes| -> Vec<f64> {
        let accuracy = KnnClassifier::new(4)
            .cross_validate(&rows, classes, 5)
            .unwrap();
        accuracy
            .folds
            .iter()
            .map(|fraction| fraction * 48.0)
            .collect()
    };
    assert_eq!(correct(&integers), [3.0, 5.0, 2.0, 0.0, 8.0]);
    assert_eq!(correct(&texts), [2.0, 7.0, 3.0, 0.0, 7.0]);
    assert_eq!(integers.names()[..3], ["0", "1", "2"]);
    assert_eq!(texts.names()[..3], ["c0", "c1", "c10"]);
}
