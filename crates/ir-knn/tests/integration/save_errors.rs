//! Messages of errors saving vector indexes.

use crate::cases::flat_index;
use ir_core::{NoProgress, Retriever};
use ir_knn::{
    HnswConfig, HnswIndex, SaveVectorIndexError, SparseIndex, SparseVector, VectorSimilarity,
};

#[test]
fn save_errors_name_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/index");
    let similarity = VectorSimilarity::InnerProduct;
    let flat = flat_index(&[vec![1.0, 2.0], vec![3.0, 4.0]], similarity);
    let graph = HnswIndex::build(flat.clone(), &HnswConfig::default(), &mut NoProgress).unwrap();
    let vector = SparseVector::new(vec![0], vec![1.0]).unwrap();
    let vectors = [vector.clone(), vector];
    let sparse = SparseIndex::new(flat.ids().clone(), 2, vectors, similarity).unwrap();
    for path in [missing.as_path(), folder.path()] {
        let errors: [SaveVectorIndexError; 3] = [
            flat.save(path).unwrap_err(),
            graph.save(path).unwrap_err(),
            sparse.save(path).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                error.to_string(),
                format!("{}: cannot write the index file", path.display())
            );
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
