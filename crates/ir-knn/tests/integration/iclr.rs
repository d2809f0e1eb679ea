//! Published values of the ICLR benchmark, on the original files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};

use crate::cases::data;
use ir_core::{NoProgress, Retriever, Search};
use ir_knn::{
    Classes, EfSearch, FlatIndex, HnswConfig, HnswIndex, KeywordClasses, KnnClassifier, Lsi,
    LsiConfig, MatrixView, TfWeighting, TfidfConfig, TfidfVectorizer, TruncatedSvdConfig,
    VectorSimilarity, normalize_rows, npy,
};
use ndarray::{Array2, Axis};
use serde::Deserialize;

/// Returns the numbers of the papers with a class, and their classes.
fn classified<'a>(labels: impl IntoIterator<Item = &'a str>) -> (Vec<usize>, Classes) {
    let (rows, labels): (Vec<usize>, Vec<&str>) = labels
        .into_iter()
        .enumerate()
        .filter(|&(_, label)| label != "unlabeled")
        .unzip();
    (rows, Classes::new(labels))
}

/// Formats an accuracy in percent with this number of decimals.
fn percent(accuracy: f64, decimals: usize) -> String {
    format!("{:.decimals$}", accuracy * 100.0)
}

/// Means are published with the benchmark (scripts/05 of berenslab/iclr-dataset); the folds are
/// those of scikit-learn 1.9.1 on the published coordinates.
#[test]
fn maps_of_24v2() {
    let Some(folder) = data("iclr") else { return };
    let labels = fs::read_to_string(folder.join("labels_24v2.txt")).unwrap();
    let (rows, classes) = classified(labels.lines());
    assert_eq!((rows.len(), classes.names().len()), (13_053, 45));
    let expected = [
        (
            "sbert",
            "56.844666232478",
            [
                0.5689127105666156,
                0.5934150076569679,
                0.608728943338438,
                0.6038314176245211,
                0.578544061302682,
                0.5685823754789272,
                0.5624521072796935,
                0.5448275862068965,
                0.5333333333333333,
                0.5218390804597701,
            ],
        ),
        (
            "cohere",
            "56.400614904391",
            [
                0.5467075038284839,
                0.5758039816232772,
                0.5972434915773354,
                0.621455938697318,
                0.5754789272030651,
                0.5770114942528736,
                0.5524904214559387,
                0.5517241379310345,
                0.5386973180076629,
                0.503448275862069,
            ],
        ),
        (
            "openai",
            "57.143598950907",
            [
                0.5643185298621746,
                0.5926493108728943,
                0.6033690658499234,
                0.6038314176245211,
                0.5762452107279693,
                0.5754789272030651,
                0.5678160919540229,
                0.5524904214559387,
                0.5524904214559387,
                0.5256704980842912,
            ],
        ),
        (
            "L2_svd",
            "56.737850064248",
            [
                0.5206738131699847,
                0.5934150076569679,
                0.5964777947932619,
                0.6038314176245211,
                0.589272030651341,
                0.5823754789272031,
                0.5609195402298851,
                0.563984674329502,
                0.5241379310344828,
                0.5386973180076629,
            ],
        ),
    ];
    for (model, mean, folds) in expected {
        let name = format!("tsne_{model}.npy");
        let file = File::open(folder.join(&name)).unwrap();
        let map = npy::read(BufReader::new(file), &name).unwrap();
        assert_eq!(map.dim(), (24_445, 2));
        let map = map.select(Axis(0), &rows);
        let accuracy = KnnClassifier::default()
            .cross_validate(&map, &classes, 10)
            .unwrap();
        assert_eq!(percent(accuracy.mean(), 12), mean, "{model}");
        assert!(accuracy.small_classes.is_empty());
        assert_eq!(accuracy.sizes[..4], [1306, 1306, 1306, 1305]);
        assert_eq!(accuracy.folds, folds, "{model}");
    }
}

#[derive(Deserialize)]
struct Paper {
    #[serde(rename = "abstract")]
    text: String,
    keywords: Vec<String>,
    label: String,
}

fn papers(folder: &std::path::Path) -> Vec<Paper> {
    let file = File::open(folder.join("abstracts_2017_2018_2021.jsonl.zst")).unwrap();
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(file)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Recall of the HNSW graph among vectors of real texts.
fn check_graph(rows: &Array2<f64>) {
    let ids = (0..rows.nrows()).map(|n| n.to_string()).collect();
    let flat = FlatIndex::new(
        ids,
        rows.mapv(|value| value as f32),
        VectorSimilarity::Cosine,
    )
    .unwrap();
    let index = HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress).unwrap();
    let searcher = index.searcher(EfSearch(64));
    let (mut found, mut all) = (0, 0);
    for query in index.flat().vectors().outer_iter().step_by(20) {
        let query = query.to_slice().unwrap();
        let search = Search::top(10);
        let exact = index.flat().search(query, &search).unwrap();
        let near = searcher.search(query, &search).unwrap();
        found += near.iter().filter(|hit| exact.hits().contains(hit)).count();
        all += exact.len();
    }
    let recall = found as f64 / all as f64;
    // As in the README.
    assert!((recall - 0.9991).abs() <= 0.0015, "{recall}");
    eprintln!("recall of the graph among abstracts: {recall:.4}");
}

/// Points of a plane, closer together than the resolution of 8-bit codes.
#[test]
fn graph_of_a_map() {
    let Some(folder) = data("iclr") else { return };
    let map = File::open(folder.join("tsne_sbert.npy")).unwrap();
    let map = npy::read(BufReader::new(map), "tsne_sbert.npy").unwrap();
    let ids = (0..map.nrows()).map(|n| n.to_string()).collect();
    let flat = FlatIndex::new(
        ids,
        map.mapv(|value| value as f32),
        VectorSimilarity::Euclidean,
    )
    .unwrap();
    let index = HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress).unwrap();
    for ef_search in [16, 64] {
        let searcher = index.searcher(EfSearch(ef_search));
        let (search, mut found, mut all) = (Search::top(10), 0, 0);
        for row in index.flat().vectors().outer_iter().step_by(100) {
            let row = row.to_slice().unwrap();
            let exact = index.flat().search(row, &search).unwrap();
            let least = exact.hits()[9].score;
            let near = searcher.search(row, &search).unwrap();
            found += near.iter().filter(|hit| hit.score >= least).count();
            all += exact.len();
        }
        let recall = found as f64 / all as f64;
        assert!(recall > 0.99, "efSearch {ef_search}: {recall}");
    }
}

/// Expected values are those of scikit-learn on the same abstracts. The last components of the SVD
/// may differ.
#[test]
fn abstracts_of_three_years() {
    let Some(folder) = data("iclr") else { return };
    let papers = papers(&folder);
    let (rows, classes) = classified(papers.iter().map(|paper| paper.label.as_str()));
    assert_eq!(
        (papers.len(), rows.len(), classes.names().len()),
        (4444, 2262, 41)
    );
    let texts: Vec<&str> = papers.iter().map(|paper| paper.text.as_str()).collect();
    let config = TfidfConfig::default().with_tf(TfWeighting::Sublinear);
    let accuracy = |rows: MatrixView<'_>, metric| {
        let knn = KnnClassifier::default().with_metric(metric);
        knn.cross_validate(rows, &classes, 10).unwrap()
    };

    let (_, tfidf) = TfidfVectorizer::fit_transform(&texts, &config).unwrap();
    let tfidf = tfidf.select_rows(&rows);
    let found = accuracy((&tfidf).into(), VectorSimilarity::Euclidean);
    assert_eq!(percent(found.mean(), 2), "59.38");
    assert!(!found.small_classes.is_empty());
    // On unit vectors both distances have the same order.
    let cosine = accuracy((&tfidf).into(), VectorSimilarity::Cosine);
    assert_eq!(cosine.folds, found.folds);

    let lsi = LsiConfig::default()
        .with_tfidf(config)
        .with_svd(TruncatedSvdConfig::new(100));
    let lsi = Lsi::fit(&texts, &lsi).unwrap();
    let all = lsi.transform(&texts);
    check_graph(&all);
    let plain = all.select(Axis(0), &rows);
    let mut unit = plain.clone();
    normalize_rows(&mut unit);
    let found = accuracy((&plain).into(), VectorSimilarity::Euclidean).mean() * 100.0;
    assert!((found - 56.33).abs() < 0.15, "{found}");
    let found = accuracy((&unit).into(), VectorSimilarity::Euclidean).mean() * 100.0;
    assert!((found - 60.57).abs() < 0.15, "{found}");
    let cosine = accuracy((&plain).into(), VectorSimilarity::Cosine).mean() * 100.0;
    assert!((cosine - found).abs() < 1e-9, "{cosine}");
}

#[test]
fn classes_from_keywords() {
    let Some(folder) = data("iclr") else { return };
    let table = File::open(folder.join("keyword_labels.tsv")).unwrap();
    let classes = KeywordClasses::read(BufReader::new(table), "keyword_labels.tsv").unwrap();
    assert_eq!(classes.len(), 111);
    for paper in papers(&folder) {
        let keywords: Vec<String> = paper.keywords.iter().map(|k| k.to_lowercase()).collect();
        assert_eq!(classes.class(&keywords).unwrap_or("unlabeled"), paper.label);
    }
}

/// Sizes of the published maps, if the table of all versions is in `IR_DATA`.
#[test]
fn keyword_classes_of_all_versions() {
    use ir_knn::IclrVersion::{V24v2, V25v2, V26v1};
    let name = "iclr_keyword_labels.tsv";
    let (Some(folder), Some(path)) = (data("iclr"), data(&format!("iclr/{name}"))) else {
        return;
    };
    let table = fs::read_to_string(path).unwrap();
    let read = |version| KeywordClasses::read_version(table.as_bytes(), name, version).unwrap();
    for (version, column, keywords, classes) in [
        (V24v2, 2, 111, 45),
        (V25v2, 3, 134, 50),
        (V26v1, 4, 147, 54),
    ] {
        let found = read(version);
        assert_eq!(found.len(), keywords);
        let labels: BTreeSet<&str> = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split('\t').nth(column))
            .filter(|label| !label.is_empty())
            .collect();
        assert_eq!(labels.len(), classes);
    }
    // 24v2 is the table of that version alone.
    let single = File::open(folder.join("keyword_labels.tsv")).unwrap();
    let single = KeywordClasses::read(BufReader::new(single), "keyword_labels.tsv").unwrap();
    assert_eq!(read(V24v2), single);
}
