//! Saving of indexes: errors name the file.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{DocIds, Retriever};
use ir_knn::{
    FlatIndex, HalfIndex, HnswConfig, HnswIndex, SaveError, Similarity, SparseIndex, SparseVector,
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
