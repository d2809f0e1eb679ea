//! Segmented vector indexes: any history of writes equals a flat index built once from the vectors
//! that are left.

#![allow(clippy::unwrap_used)]

mod cases;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cases::{ALL, matrix, normal, random_vectors};
use ir_core::segments::SegmentsError;
use ir_core::{DocIds, DocNum, DocSet, Flow, Retriever, Search, SearchError, SplitMix64};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, HnswError, HnswIndex, PutOutcome, SegmentedVectorIndex,
    VectorIndexConfig, VectorIndexWriter, VectorIndexWriterError, VectorSimilarity,
};
use ir_testkit::{Contract, check_vectors, toy};
use proptest::prelude::*;
use tempfile::TempDir;

const DIM: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, [i8; DIM]),
    Delete(u8),
    Commit,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Few values: many equal scores.
        12 => (0..40_u8, [-2..3_i8, -2..3, -2..3]).prop_map(|(id, x)| Step::Put(id, x)),
        4 => (0..40_u8).prop_map(Step::Delete),
        3 => Just(Step::Commit),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

/// The vectors that are left, in the order of their last writes.
#[derive(Default, Clone)]
struct Model(Vec<(String, Vec<f32>)>);

/// Fingerprint of a vector.
fn fingerprint(id: &str, vector: &[f32]) -> u64 {
    let bits = vector.iter().map(|value| u64::from(value.to_bits()));
    bits.fold(id.len() as u64, |hash, bits| hash.rotate_left(7) ^ bits)
}

impl Model {
    fn put(&mut self, id: &str, vector: &[f32]) {
        self.delete(id);
        self.0.push((id.to_owned(), vector.to_vec()));
    }

    fn delete(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, _)| other != id);
        self.0.len() < before
    }

    /// The index built once.
    fn build(&self, config: &VectorIndexConfig) -> FlatIndex {
        let ids: DocIds = self.0.iter().map(|(id, _)| id).collect();
        let values = self.0.iter().flat_map(|(_, vector)| vector).copied();
        let index = FlatIndex::from_row_major(ids, config.dim, values.collect(), config.similarity)
            .unwrap();
        let index = if config.fingerprints {
            let all = self.0.iter().map(|(id, vector)| fingerprint(id, vector));
            let all: Vec<u64> = all.collect();
            index.with_fingerprints(&all).unwrap()
        } else {
            index
        };
        let index = match &config.user_metadata {
            Some(text) => index.with_user_metadata(text),
            None => index,
        };
        if config.codes {
            index.with_codes()
        } else {
            index
        }
    }
}

fn check(folder: &Path, model: &Model, config: &VectorIndexConfig, queries: &[Vec<f32>]) {
    let index = SegmentedVectorIndex::open(folder).unwrap();
    let expected = model.build(config);
    assert_eq!(index.ids(), expected.ids());
    assert_eq!(index.config(), config);
    for doc in (0..index.len() as u32).map(DocNum::new) {
        assert_eq!(index.vector(doc), expected.vector(doc));
        assert_eq!(index.fingerprint(doc), expected.fingerprint(doc));
    }
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let few: DocSet = [0, 3, 5].map(DocNum::new).into_iter().collect();
    let mut asked: Vec<(&[f32], Search<'_>)> = Vec::new();
    for query in queries {
        for k in [0, 1, 3, 100] {
            asked.push((query, Search::top(k)));
            asked.push((query, Search::top(k).within(&even)));
            asked.push((query, Search::top(k).within(&few)));
        }
    }
    let rankings = expected.search_batch(&asked).unwrap();
    assert_eq!(index.search_batch(&asked).unwrap(), rankings);
    // Small segments are scanned.
    let graph = index.hnsw_searcher(EfSearch(1000));
    assert_eq!(graph.is_some(), config.hnsw.is_some());
    for ((query, how), ranking) in asked.iter().zip(&rankings) {
        assert_eq!(&index.search(query, how).unwrap(), ranking);
        if let Some(graph) = &graph {
            assert_eq!(&graph.search(query, how).unwrap(), ranking);
        }
    }
}

fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut paths: Vec<PathBuf> = names
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("segment-"))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// Bytes of the index built once, in the file format of the configuration.
fn saved(model: &Model, config: &VectorIndexConfig) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("vectors.ir");
    let flat = model.build(config);
    match &config.hnsw {
        None => flat.save(&path).unwrap(),
        Some(hnsw) => HnswIndex::new(flat, hnsw).unwrap().save(&path).unwrap(),
    }
    fs::read(path).unwrap()
}

fn run(config: &VectorIndexConfig, steps: &[Step], merge_factor: usize, memory: usize) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let open = |writer: VectorIndexWriter| {
        let writer = writer.with_merge_factor(merge_factor);
        writer.with_memory(memory)
    };
    let mut writer = open(VectorIndexWriter::create(&path, config.clone()).unwrap());
    assert!(!SegmentedVectorIndex::exists(&path));
    writer.commit().unwrap();
    let (mut model, mut committed) = (Model::default(), Model::default());
    let queries = [vec![1.0, 2.0, -1.0], vec![-2.0, 0.5, 0.0]];
    for step in steps.iter().chain([&Step::Commit, &Step::Compact]) {
        match step {
            Step::Put(id, vector) => {
                let (id, mut vector) = (format!("d{id}"), vector.map(f32::from));
                if vector == [0.0; DIM] {
                    vector[0] = 1.0;
                }
                if config.fingerprints {
                    let number = fingerprint(&id, &vector);
                    writer.put_with_fingerprint(&id, &vector, number).unwrap();
                } else {
                    writer.put(&id, &vector).unwrap();
                }
                model.put(&id, &vector);
            }
            Step::Delete(id) => {
                let id = format!("d{id}");
                assert_eq!(writer.delete(&id).unwrap(), model.delete(&id));
            }
            Step::Commit => {
                writer.commit().unwrap();
                committed = model.clone();
            }
            Step::Compact => {
                writer.compact().unwrap();
                committed = model.clone();
                let index = SegmentedVectorIndex::open(&path).unwrap();
                assert_eq!(index.segments().len(), usize::from(!model.0.is_empty()));
                assert!(index.segments().all(|segment| segment.deleted == 0));
                if let [file] = &*segment_files(&path) {
                    assert!(fs::read(file).unwrap() == saved(&model, config));
                }
            }
            Step::Reopen => {
                drop(writer);
                model = committed.clone();
                writer = open(VectorIndexWriter::open(&path).unwrap());
            }
        }
        assert_eq!(writer.len(), model.0.len());
        if matches!(step, Step::Commit | Step::Compact | Step::Reopen) {
            check(&path, &committed, config, &queries);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_history_equals_an_index_built_once(
        steps in prop::collection::vec(step(), 0..120),
        merge_factor in 2..5_usize,
        similarity in prop::sample::select(ALL.to_vec()),
        codes: bool,
        graphs: bool,
        fingerprints: bool,
        // Few vectors: several segments per commit.
        memory in prop::sample::select(vec![0, 60, 1 << 20]),
    ) {
        let mut config = VectorIndexConfig::new(DIM, similarity)
            .with_codes(codes)
            .with_fingerprints(fingerprints)
            .with_user_metadata("model");
        if graphs {
            config = config.with_hnsw(HnswConfig::default().with_m(2).with_ef_construction(8));
        }
        run(&config, &steps, merge_factor, memory);
    }
}

/// Writes of many vectors over several commits, with deletions and replacements.
fn write_many(
    folder: &Path,
    config: &VectorIndexConfig,
    rows: &[Vec<f32>],
    commits: usize,
) -> (VectorIndexWriter, Model) {
    let mut writer = VectorIndexWriter::create(folder, config.clone())
        .unwrap()
        .with_memory(100 << 10);
    let (mut random, mut model) = (SplitMix64::new(5, 0), Model::default());
    for some in rows.chunks(rows.len().div_ceil(commits)) {
        for row in some {
            let id = format!("d{}", random.below(rows.len()));
            let outcome = writer.put(&id, row).unwrap();
            assert_ne!(outcome, PutOutcome::Dropped);
            model.put(&id, row);
        }
        for _ in 0..some.len() / 10 {
            let id = format!("d{}", random.below(rows.len()));
            assert_eq!(writer.delete(&id).unwrap(), model.delete(&id));
        }
        writer.commit().unwrap();
    }
    (writer, model)
}

#[test]
fn many_vectors_in_several_segments() {
    for (n, similarity) in ALL.into_iter().enumerate() {
        for codes in [true, false] {
            let mut random = SplitMix64::new(n as u64, 0);
            let rows = random_vectors(&mut random, 7, 6000, 24);
            let queries = random_vectors(&mut random, 7, 40, 24);
            let folder = TempDir::new().unwrap();
            let config = VectorIndexConfig::new(24, similarity).with_codes(codes);
            let (mut writer, model) = write_many(folder.path(), &config, &rows, 7);
            check(folder.path(), &model, &config, &queries);
            let index = SegmentedVectorIndex::open(folder.path()).unwrap();
            let segments: Vec<_> = index.segments().collect();
            assert!(segments.len() > 2, "{segments:?}");
            assert!(segments.iter().any(|segment| segment.deleted > 0));
            assert!(segments.iter().all(|one| one.deleted * 4 <= one.documents));
            let search = Search::top(10);
            let asked: Vec<(&[f32], _)> =
                queries.iter().map(|query| (&query[..], search)).collect();
            let expected = index.search_batch(&asked).unwrap();
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let pool = pool.build().unwrap();
                assert_eq!(
                    pool.install(|| index.search_batch(&asked)).unwrap(),
                    expected
                );
                for ((query, how), ranking) in asked.iter().zip(&expected) {
                    let found = pool.install(|| index.search(query, how));
                    assert_eq!(&found.unwrap(), ranking);
                }
            }
            writer.compact().unwrap();
            check(folder.path(), &model, &config, &queries);
            let [file] = &*segment_files(folder.path()) else {
                panic!("expected one segment");
            };
            assert!(fs::read(file).unwrap() == saved(&model, &config));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
            // The segment is a flat index by itself, and a flat index is a single segment.
            let flat = FlatIndex::open(file).unwrap();
            let single = SegmentedVectorIndex::from(flat);
            assert_eq!(single.search_batch(&asked).unwrap(), expected);
            assert!(single.single().is_some());
            let compacted = SegmentedVectorIndex::open(folder.path()).unwrap();
            assert!(compacted.single().is_some() && index.single().is_none());
        }
    }
}

#[test]
fn compacted_graphs_have_the_bytes_of_one_built_once() {
    let rows = random_vectors(&mut SplitMix64::new(8, 0), 7, 3000, 16);
    let folder = TempDir::new().unwrap();
    let hnsw = HnswConfig::default().with_m(6).with_ef_construction(30);
    let config = VectorIndexConfig::new(16, VectorSimilarity::Cosine).with_hnsw(hnsw);
    let (mut writer, model) = write_many(folder.path(), &config, &rows, 4);
    writer.compact().unwrap();
    let [file] = &*segment_files(folder.path()) else {
        panic!("expected one segment");
    };
    assert!(fs::read(file).unwrap() == saved(&model, &config));
    // The exact search of a graph index.
    check_exact(folder.path(), &model, &config, &rows[..20]);
}

fn check_exact(folder: &Path, model: &Model, config: &VectorIndexConfig, queries: &[Vec<f32>]) {
    let (index, expected) = (
        SegmentedVectorIndex::open(folder).unwrap(),
        model.build(config),
    );
    for query in queries {
        let search = Search::top(10);
        assert_eq!(
            index.search(query, &search).unwrap(),
            expected.search(query, &search).unwrap()
        );
    }
}

/// Thirty clusters of intrinsic dimension 12, in 32 dimensions.
fn clustered(seed: u64, count: usize) -> Vec<Vec<f32>> {
    let (random, shared) = (&mut SplitMix64::new(seed, 1), &mut SplitMix64::new(1, 2));
    let mut normals = |dim: usize| -> Vec<f32> { (0..dim).map(|_| normal(shared)).collect() };
    let basis: Vec<Vec<f32>> = (0..12).map(|_| normals(32)).collect();
    let centers: Vec<Vec<f32>> = (0..30).map(|_| normals(12)).collect();
    let mut row = || {
        let center = &centers[random.below(30)];
        let mut row: Vec<f32> = (0..32).map(|_| normal(random) * 0.1).collect();
        for (center, axis) in center.iter().zip(&basis) {
            let coordinate = center + normal(random);
            let components = row.iter_mut().zip(axis);
            components.for_each(|(x, axis)| *x += coordinate * axis);
        }
        row
    };
    (0..count).map(|_| row()).collect()
}

/// Recall@10 of the graphs. Asserts that hits have the exact scores and pass the filter.
fn recall(folder: &Path, ef_search: usize, queries: &[Vec<f32>], how: &Search<'_>) -> f64 {
    let index = SegmentedVectorIndex::open(folder).unwrap();
    let searcher = index.hnsw_searcher(EfSearch(ef_search)).unwrap();
    let asked: Vec<(&[f32], Search<'_>)> = queries.iter().map(|query| (&query[..], *how)).collect();
    let together = searcher.search_batch(&asked).unwrap();
    let (mut found, mut all) = (0, 0);
    for ((query, how), ranking) in asked.iter().zip(together) {
        assert_eq!(ranking, searcher.search(query, how).unwrap());
        let exact = index.search(query, how).unwrap();
        assert_eq!(ranking.len(), exact.len());
        for hit in &ranking {
            let only = |doc: DocNum| doc == hit.doc;
            let score = index.search(query, &Search::top(1).within(&only)).unwrap();
            assert_eq!(score.hits(), [*hit]);
            assert!(how.allows(hit.doc));
        }
        let is_exact = |hit: &&ir_core::Hit| exact.iter().any(|other| other.doc == hit.doc);
        found += ranking.iter().filter(is_exact).count();
        all += exact.len();
    }
    found as f64 / all as f64
}

/// Deletions do not reduce the recall of the vectors that are left.
#[test]
fn recall_with_deletions() {
    let (rows, queries) = (clustered(1, 9000), clustered(2, 80));
    let config = VectorIndexConfig::new(32, VectorSimilarity::Cosine);
    let config = config.with_hnsw(HnswConfig::default());
    let folder = TempDir::new().unwrap();
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    for (n, row) in rows.iter().enumerate() {
        writer.put(&format!("d{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    let top = Search::top(10);
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let filtered = Search::top(10).within(&even);
    let before = recall(folder.path(), 64, &queries, &top);
    // A quarter of the vectors: random ones, then the nearest of each query as well.
    let index = SegmentedVectorIndex::open(folder.path()).unwrap();
    let mut nearest = DocSet::new();
    for query in &queries {
        let ranking = index.search(query, &Search::top(20)).unwrap();
        ranking.iter().for_each(|hit| _ = nearest.insert(hit.doc));
    }
    let (mut random, mut deleted) = (SplitMix64::new(3, 0), 0);
    let nearest: Vec<DocNum> = nearest.iter().collect();
    for doc in &nearest {
        deleted += usize::from(writer.delete(index.ids().id(*doc)).unwrap());
    }
    while deleted < 2200 {
        let id = format!("d{}", random.below(rows.len()));
        deleted += usize::from(writer.delete(&id).unwrap());
    }
    writer.commit().unwrap();
    let stats: Vec<_> = writer.segments().collect();
    assert!(
        matches!(&*stats, [one] if one.deleted == deleted),
        "{stats:?}"
    );
    let with_deletions = recall(folder.path(), 64, &queries, &top);
    let with_filter = recall(folder.path(), 64, &queries, &filtered);
    // Vectors in a second segment.
    for (n, row) in clustered(4, 3000).iter().enumerate() {
        writer.put(&format!("new{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(writer.segments().len(), 2);
    let in_segments = recall(folder.path(), 64, &queries, &top);
    // More deletions: the graph is built again.
    for n in 0..1500 {
        writer.delete(&format!("d{n}")).unwrap();
    }
    writer.commit().unwrap();
    assert!(writer.segments().all(|segment| segment.deleted == 0));
    let rebuilt = recall(folder.path(), 64, &queries, &top);
    writer.compact().unwrap();
    let compacted = recall(folder.path(), 64, &queries, &top);
    let all = [
        before,
        with_deletions,
        with_filter,
        in_segments,
        rebuilt,
        compacted,
    ];
    println!("recall: {all:?}");
    assert!(all.iter().all(|&recall| recall >= 0.97), "{all:?}");
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
            let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
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
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
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

#[test]
fn fingerprints_of_the_last_commit() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(1, VectorSimilarity::InnerProduct).with_fingerprints(true);
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    writer.put("a", &[1.0]).unwrap();
    writer.put_with_fingerprint("b", &[2.0], 5).unwrap();
    assert_eq!(writer.committed_fingerprint("b"), None);
    writer.commit().unwrap();
    writer.put_with_fingerprint("b", &[2.0], 6).unwrap();
    assert_eq!(writer.committed_fingerprint("b"), Some(5));
    writer.commit().unwrap();
    let found = ["a", "b", "c"].map(|id| writer.committed_fingerprint(id));
    assert_eq!(found, [Some(0), Some(6), None]);
    writer.delete("b").unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.committed_fingerprint("b"), None);
    let flat = FlatIndex::new(DocIds::new(), matrix(&[]), VectorSimilarity::Cosine).unwrap();
    let error = flat.with_fingerprints(&[7]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a fingerprint for each of 0 vectors, found 1"
    );
}

#[test]
fn readers_keep_their_commit() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(1, VectorSimilarity::InnerProduct);
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    let mut readers = Vec::new();
    for n in 0..30 {
        writer.put(&format!("d{n}"), &[n as f32]).unwrap();
        if n > 0 {
            assert!(writer.delete(&format!("d{}", n - 1)).unwrap());
        }
        writer.commit().unwrap();
        readers.push(SegmentedVectorIndex::open(folder.path()).unwrap());
    }
    drop(writer);
    fs::remove_dir_all(folder.path()).unwrap();
    for (n, reader) in readers.iter().enumerate() {
        let ranking = reader.search(&[1.0], &Search::top(5)).unwrap();
        let found: Vec<_> = ranking
            .iter()
            .map(|hit| (reader.ids().id(hit.doc), hit.score))
            .collect();
        assert_eq!(found, [(&*format!("d{n}"), n as f32)]);
        assert!(reader.verify().is_ok());
    }
}

#[test]
fn a_reader_can_be_opened_during_commits_and_merges() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(2, VectorSimilarity::Cosine);
    let writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    let mut writer = writer.with_merge_factor(2);
    writer.commit().unwrap();
    let path = folder.path().to_owned();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut last = 0;
            while last < 60 {
                let index = SegmentedVectorIndex::open(&path).unwrap();
                assert!(index.len() >= last, "commits are seen in their order");
                last = index.len();
            }
        });
        for n in 0..60 {
            writer.put(&format!("d{n}"), &[1.0, n as f32]).unwrap();
            writer.commit().unwrap();
        }
        reader.join().unwrap();
    });
}

#[test]
fn there_is_one_writer() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(2, VectorSimilarity::Cosine);
    let mut writer = VectorIndexWriter::create(folder.path(), config.clone()).unwrap();
    writer.commit().unwrap();
    let text = |result: Result<VectorIndexWriter, VectorIndexWriterError>| {
        let name = folder.path().display().to_string();
        result.unwrap_err().to_string().replace(&name, "FOLDER")
    };
    let locked = "FOLDER: the index is locked by another writer";
    assert_eq!(text(VectorIndexWriter::open(folder.path())), locked);
    let create = || VectorIndexWriter::create(folder.path(), config.clone());
    assert_eq!(text(create()), locked);
    drop(writer);
    assert!(VectorIndexWriter::open(folder.path()).is_ok());
    assert_eq!(text(create()), "FOLDER: contains an index already");
    let foreign = TempDir::new().unwrap();
    fs::write(foreign.path().join("segment-7.ir"), "mine").unwrap();
    assert!(matches!(
        VectorIndexWriter::create(foreign.path(), config.clone()),
        Err(VectorIndexWriterError::Segments(
            SegmentsError::ForeignFiles { .. }
        ))
    ));
    assert!(foreign.path().join("segment-7.ir").exists());
    let other = TempDir::new().unwrap();
    assert!(VectorIndexWriter::open(other.path().join("none")).is_err());
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

#[test]
fn a_writer_without_a_commit_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let config = VectorIndexConfig::new(1, VectorSimilarity::Euclidean);
    let create = || VectorIndexWriter::create(&path, config.clone()).unwrap();
    // The second vector writes the first one as a segment.
    let mut writer = create().with_memory(0);
    writer.put("a", &[1.0]).unwrap();
    writer.put("b", &[2.0]).unwrap();
    assert_eq!(segment_files(&path).len(), 1);
    drop(writer);
    assert!(!path.exists());
    // What a killed writer leaves.
    fs::create_dir(&path).unwrap();
    fs::write(path.join("writer.lock"), "").unwrap();
    fs::write(path.join("segment-0.ir"), "").unwrap();
    let mut writer = create();
    writer.commit().unwrap();
    let index = SegmentedVectorIndex::open(&path).unwrap();
    assert!(index.is_empty() && index.dim() == 1);
    assert!(index.search(&[1.0], &Search::top(1)).unwrap().is_empty());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
}

#[test]
fn invalid_configurations_vectors_and_ids() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let new = |dim| VectorIndexConfig::new(dim, VectorSimilarity::Cosine);
    let error = |config| VectorIndexWriter::create(&path, config).unwrap_err();
    assert_eq!(
        error(new(0)).to_string(),
        "expected vectors of at least one dimension, found none"
    );
    let m = error(new(2).with_hnsw(HnswConfig::default().with_m(1)));
    assert!(matches!(
        m,
        VectorIndexWriterError::Hnsw(HnswError::M { found: 1 })
    ));
    let wide = error(new(70_000).with_hnsw(HnswConfig::default()));
    assert!(matches!(
        wide,
        VectorIndexWriterError::Hnsw(HnswError::Dimensions { .. })
    ));
    assert!(!path.exists());
    let mut writer = VectorIndexWriter::create(&path, new(2)).unwrap();
    assert_eq!(writer.put("a", &[1.0, 0.0]).unwrap(), PutOutcome::Written);
    assert_eq!(writer.put("a", &[1.0, 2.0]).unwrap(), PutOutcome::Rewritten);
    for (vector, message) in [
        (&[1.0][..], "row 2: expected 2 dimensions, found 1"),
        (
            &[1.0, f32::NAN],
            "row 2, column 1: expected a finite number, found NaN",
        ),
        (
            &[0.0, 0.0],
            "row 2: expected a nonzero vector for cosine similarity, found a zero vector",
        ),
    ] {
        let error = writer.put("bad", vector).unwrap_err();
        assert_eq!(error.to_string(), "vector of \"bad\"");
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), message);
    }
    let long = "x".repeat(DocIds::MAX_LEN + 1);
    let error = writer.put(&long, &[1.0, 1.0]).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Ids(_)), "{error}");
    writer.put(&long[1..], &[1.0, 1.0]).unwrap();
    let error = writer
        .put_with_fingerprint("a", &[1.0, 2.0], 7)
        .unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::NoFingerprints));
    writer.commit().unwrap();
    let index = SegmentedVectorIndex::open(&path).unwrap();
    assert_eq!(index.fingerprint(DocNum::new(0)), None);
    assert_eq!(index.len(), 2);
    assert_eq!(index.vector(DocNum::new(0)), [1.0, 2.0]);
    let error = index.search(&[1.0], &Search::top(1)).unwrap_err();
    assert!(matches!(error, SearchError::Dimensions { .. }), "{error}");
    assert!(index.hnsw_searcher(EfSearch::default()).is_none());
}

#[test]
fn a_failed_or_canceled_merge_leaves_the_last_commit() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(2, VectorSimilarity::InnerProduct);
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    for n in 0..3 {
        writer.put(&format!("d{n}"), &[n as f32, 1.0]).unwrap();
        writer.commit().unwrap();
    }
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = writer.compact_with(&mut stop).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Canceled));
    let error = writer.put("d9", &[1.0, 1.0]).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Abandoned));
    drop(writer);
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 5, "manifest, lock and three segments");
    // A merge does not give damaged vectors a new checksum.
    let file = &segment_files(folder.path())[1];
    let mut bytes = fs::read(file).unwrap();
    bytes[64] ^= 1;
    fs::write(file, bytes).unwrap();
    let mut writer = VectorIndexWriter::open(folder.path()).unwrap();
    let error = writer.compact().unwrap_err();
    assert!(error.to_string().contains("section vectors"), "{error}");
    drop(writer);
    let index =
        SegmentedVectorIndex::open_with(folder.path(), ir_core::store::Verify::SmallSections);
    let index = index.unwrap();
    assert_eq!(index.segments().len(), 3);
    assert!(index.verify().is_err());
}
