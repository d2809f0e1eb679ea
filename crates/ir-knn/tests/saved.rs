//! What is saved and loaded: errors name the file, and configurations that no fit has are refused.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{DocIds, Retriever};
use ir_knn::{
    FlatIndex, HalfIndex, HnswConfig, HnswIndex, RandomIndexing, RandomIndexingConfig, SaveError,
    Similarity, SparseIndex, SparseVector, TfIdf, TfIdfConfig,
};

fn flat() -> FlatIndex {
    let ids: DocIds = ["a", "b"].into_iter().collect();
    FlatIndex::of(ids, &[[1.0, 2.0], [3.0, 4.0]], Similarity::InnerProduct).unwrap()
}

#[test]
fn an_index_that_cannot_be_saved_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/index");
    let flat = flat();
    let half = HalfIndex::of(&flat).unwrap().0;
    let graph = HnswIndex::new(flat.clone(), &HnswConfig::default()).unwrap();
    let vector = SparseVector::new(vec![0], vec![1.0]).unwrap();
    let ids = flat.ids().clone();
    let rows = [vector.clone(), vector];
    let sparse = SparseIndex::new(ids, 2, rows, Similarity::InnerProduct).unwrap();
    for path in [missing.as_path(), folder.path()] {
        let errors: [SaveError; 4] = [
            flat.save(path).unwrap_err(),
            half.save(path).unwrap_err(),
            graph.save(path).unwrap_err(),
            sparse.save(path).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                error.to_string(),
                format!("{}: could not be written", path.display())
            );
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn codes_are_added_without_copying_the_rows() {
    let flat = flat();
    let coded = flat.clone().with_codes();
    assert!(coded.has_codes() && !flat.has_codes());
    assert_eq!(coded.rows().as_ptr(), flat.rows().as_ptr());
}

#[test]
fn configurations_that_no_fit_has_are_refused() {
    let fitted = TfIdf::fit(&["ships at sea", "green tea"], &TfIdfConfig::default()).unwrap();
    let saved = serde_json::to_value(&fitted).unwrap();
    for (field, value) in [("shortest", 0), ("longest", 0), ("max_features", 0)] {
        let mut changed = saved.clone();
        changed["config"][field] = value.into();
        let error = serde_json::from_value::<TfIdf>(changed).unwrap_err();
        assert_eq!(error.to_string(), "the configuration cannot be used");
    }
    serde_json::from_value::<TfIdf>(saved).unwrap();

    let config = RandomIndexingConfig::default();
    let fitted = RandomIndexing::fit_transform(&["ships at sea", "green tea"], &config)
        .unwrap()
        .0;
    let mut saved = serde_json::to_value(&fitted).unwrap();
    let dim = saved["config"]["dim"].as_u64().unwrap();
    saved["config"]["dim"] = (dim + 10).into();
    let error = serde_json::from_value::<RandomIndexing>(saved).unwrap_err();
    let expected = format!("row 0: expected {} dimensions, found {dim}", dim + 10);
    assert_eq!(error.to_string(), expected);
}
