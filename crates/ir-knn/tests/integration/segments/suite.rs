//! The suites of ir-testkit: histories, kills, readers, writers, and the contract of retrievers.

use std::sync::Mutex;

use ir_core::{DocIds, Retriever};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorSimilarity,
};
use ir_testkit::segments::{
    check_abandoned_writers, check_history, check_killed_writers, check_lost_manifest,
    check_one_writer, check_readers_during_commits, check_readers_keep_their_commit,
    check_replaced_folder, steps,
};
use ir_testkit::{Contract, check_vectors, toy};
use proptest::prelude::*;
use tempfile::TempDir;

use super::VectorTest;
use crate::cases::{ALL, matrix};

/// Vectors of few values, which have many equal scores. None is zero.
fn vector() -> impl Strategy<Value = Vec<f32>> {
    [-2..3_i8, -2..3, -2..3].prop_map(|vector| match vector {
        [0, 0, 0] => vec![1.0, 0.0, 0.0],
        some => some.map(f32::from).to_vec(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_history_equals_an_index_built_once(
        steps in steps(vector()),
        merge_factor in 2..5_usize,
        similarity in prop::sample::select(ALL.to_vec()),
        codes: bool,
        graphs: bool,
        fingerprints: bool,
        // Few vectors: several segments per commit.
        memory in prop::sample::select(vec![0, 60, 1 << 20]),
    ) {
        let mut config = VectorIndexConfig::new(3, similarity)
            .with_codes(codes)
            .with_fingerprints(fingerprints)
            .with_user_metadata("model");
        if graphs {
            config = config.with_hnsw(HnswConfig::default().with_m(2).with_ef_construction(8));
        }
        let test = VectorTest::new(config, &[vec![1.0, 2.0, -1.0], vec![-2.0, 0.5, 0.0]])
            .with_merge_factor(merge_factor)
            .with_memory(memory);
        check_history(&test, &steps);
    }
}

fn check_killed(config: VectorIndexConfig, name: &str) {
    let queries = [vec![0.0; 5], vec![5.0, 3.0, 1.0, 9.0, 2.0]];
    // Segments are written before the commit too.
    let test = VectorTest::new(config, &queries)
        .with_merge_factor(3)
        .with_memory(40);
    check_killed_writers(&test, name, |id, commit| {
        let value = |axis: u64| ((id * 7 + commit * 5 + axis * 3) % 11) as f32;
        (0..5).map(value).collect()
    });
}

#[test]
fn killed_writers() {
    let config = VectorIndexConfig::new(5, VectorSimilarity::Euclidean);
    check_killed(config, "segments::suite::killed_writers");
}

#[test]
fn killed_writers_of_graphs() {
    let config = VectorIndexConfig::new(5, VectorSimilarity::Euclidean);
    let config = config.with_hnsw(HnswConfig::default());
    check_killed(config, "segments::suite::killed_writers_of_graphs");
}

#[test]
fn readers_and_writers() {
    for (similarity, merge_factor, memory) in [
        (VectorSimilarity::InnerProduct, 8, 1 << 20),
        // The second vector writes the first one as a segment.
        (VectorSimilarity::Cosine, 2, 0),
    ] {
        let config = VectorIndexConfig::new(2, similarity);
        let test = VectorTest::new(config, &[vec![1.0, 0.5]])
            .with_merge_factor(merge_factor)
            .with_memory(memory);
        let vector = vec![1.0, 2.0];
        check_readers_keep_their_commit(&test, &vector);
        check_readers_during_commits(&test, &vector);
        check_one_writer(&test);
        check_abandoned_writers(&test, &vector);
        check_lost_manifest(&test, &vector);
        check_replaced_folder(&test, &vector);
    }
}

#[test]
fn contract() {
    for (similarity, batch, codes, graphs) in [
        (VectorSimilarity::InnerProduct, 1, true, false),
        (VectorSimilarity::Euclidean, 9, false, false),
        (VectorSimilarity::InnerProduct, 100, true, true),
        (VectorSimilarity::Euclidean, 20, true, true),
    ] {
        let folders = Mutex::new(Vec::new());
        let build = |ids: DocIds, rows: Vec<Vec<f32>>| {
            let folder = TempDir::new().unwrap();
            let mut config = VectorIndexConfig::new(6, similarity).with_codes(codes);
            if graphs {
                config = config.with_hnsw(HnswConfig::default());
            }
            let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
            // An earlier vector of every id, and some that are deleted.
            for (n, id) in ids.iter().enumerate() {
                writer.put(id, &[7.0; 6]).unwrap();
                writer.put(&format!("deleted{n}"), &[9.0; 6]).unwrap();
            }
            writer.commit().unwrap();
            for (n, (id, row)) in ids.iter().zip(&rows).enumerate() {
                writer.put(id, row).unwrap();
                writer.delete(&format!("deleted{n}")).unwrap();
                if n % batch == 0 {
                    writer.commit().unwrap();
                }
            }
            writer.commit().unwrap();
            let index = SegmentedVectorIndex::open(folder.path()).unwrap();
            folders.lock().unwrap().push(folder);
            index
        };
        check_vectors(build);
        if graphs {
            // Scans so few vectors; `graphs::contract_of_traversed_graphs` has more.
            check_vectors(|ids, rows| build(ids, rows).hnsw_searcher(EfSearch(64)).unwrap());
        }
    }
}

#[test]
fn contract_of_cosine_similarity() {
    // Cosine similarity rejects the zero vectors of the toy collection.
    let nonzero = |count| -> Vec<Vec<f32>> {
        let mut vectors = toy::vectors(count, 6);
        vectors.iter_mut().for_each(|vector| vector[0] += 0.125);
        vectors
    };
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(6, VectorSimilarity::Cosine);
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    for (n, row) in nonzero(70).iter().enumerate() {
        writer.put(&n.to_string(), row).unwrap();
        if n % 30 == 0 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    let (queries, zeros) = (nonzero(9), [0.0; 6]);
    let contract = Contract {
        valid_queries: queries.iter().map(Vec::as_slice).collect(),
        invalid_queries: vec![&zeros, &zeros[1..], &[f32::NAN; 6]],
    };
    let index = SegmentedVectorIndex::open(folder.path()).unwrap();
    contract.check(&index);
    let flat = FlatIndex::new(
        index.ids().clone(),
        matrix(&nonzero(70)),
        index.similarity(),
    );
    contract.check_equal(&index, &flat.unwrap());
}
