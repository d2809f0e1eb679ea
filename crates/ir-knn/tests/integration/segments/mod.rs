//! Segmented vector indexes: any history of writes equals a flat index built once from the vectors
//! that are left.

mod damage;
mod graphs;
mod many;
mod suite;
mod writers;

use std::path::Path;

use ir_core::segments::SegmentStats;
use ir_core::{DocIds, DocNum, DocSet, NoProgress, Retriever, Search};
use ir_knn::{
    EfSearch, FlatIndex, HnswIndex, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorIndexWriterError,
};
use ir_testkit::segments::{Model, SegmentedIndexTest};
use tempfile::TempDir;

/// Vectors that are left after a history of writes.
type Vectors = Model<Vec<f32>>;

/// Writers and readers of a vector index of this configuration.
struct VectorTest {
    config: VectorIndexConfig,
    merge_factor: usize,
    memory: usize,
    queries: Vec<Vec<f32>>,
}

/// Fingerprint of a vector.
fn fingerprint(id: &str, vector: &[f32]) -> u64 {
    let bits = vector.iter().map(|value| u64::from(value.to_bits()));
    bits.fold(id.len() as u64, |hash, bits| hash.rotate_left(7) ^ bits)
}

impl VectorTest {
    fn new(config: VectorIndexConfig, queries: &[Vec<f32>]) -> Self {
        Self {
            config,
            merge_factor: 8,
            memory: 100 << 10,
            queries: queries.to_vec(),
        }
    }

    fn with_merge_factor(self, merge_factor: usize) -> Self {
        Self {
            merge_factor,
            ..self
        }
    }

    fn with_memory(self, memory: usize) -> Self {
        Self { memory, ..self }
    }

    fn set_up(&self, writer: VectorIndexWriter) -> VectorIndexWriter {
        let writer = writer.with_merge_factor(self.merge_factor);
        writer.with_memory(self.memory)
    }

    /// The index built once.
    fn build(&self, vectors: &[(String, Vec<f32>)]) -> FlatIndex {
        let config = &self.config;
        let ids: DocIds = vectors.iter().map(|(id, _)| id).collect();
        let values = vectors.iter().flat_map(|(_, vector)| vector).copied();
        let index = FlatIndex::from_row_major(ids, config.dim, values.collect(), config.similarity);
        let mut index = index.unwrap();
        if config.fingerprints {
            let all = vectors.iter().map(|(id, vector)| fingerprint(id, vector));
            let all: Vec<u64> = all.collect();
            index = index.with_fingerprints(&all).unwrap();
        }
        if let Some(text) = &config.user_metadata {
            index = index.with_user_metadata(text);
        }
        if config.codes {
            index = index.with_codes();
        }
        index
    }
}

impl SegmentedIndexTest for VectorTest {
    type Content = Vec<f32>;
    type Writer = VectorIndexWriter;
    type Reader = SegmentedVectorIndex;
    type Error = VectorIndexWriterError;

    fn create(&self, folder: &Path) -> Result<VectorIndexWriter, VectorIndexWriterError> {
        let writer = VectorIndexWriter::create(folder, &self.config)?;
        Ok(self.set_up(writer))
    }

    fn open(&self, folder: &Path) -> Result<VectorIndexWriter, VectorIndexWriterError> {
        Ok(self.set_up(VectorIndexWriter::open(folder)?))
    }

    fn put(&self, writer: &mut VectorIndexWriter, id: &str, vector: &Vec<f32>) {
        if self.config.fingerprints {
            let number = fingerprint(id, vector);
            writer.put_with_fingerprint(id, vector, number).unwrap();
        } else {
            writer.put(id, vector).unwrap();
        }
    }

    fn delete(&self, writer: &mut VectorIndexWriter, id: &str) -> bool {
        writer.delete(id).unwrap()
    }

    fn commit(&self, writer: &mut VectorIndexWriter) {
        writer.commit().unwrap();
    }

    fn compact(&self, writer: &mut VectorIndexWriter) {
        writer.compact().unwrap();
    }

    fn len(&self, writer: &VectorIndexWriter) -> usize {
        writer.len()
    }

    fn read(&self, folder: &Path) -> SegmentedVectorIndex {
        SegmentedVectorIndex::open(folder).unwrap()
    }

    fn ids<'r>(&self, reader: &'r SegmentedVectorIndex) -> &'r DocIds {
        reader.ids()
    }

    fn segments(&self, reader: &SegmentedVectorIndex) -> Vec<SegmentStats> {
        reader.segments().collect()
    }

    fn check(&self, index: &SegmentedVectorIndex, vectors: &[(String, Vec<f32>)]) {
        let expected = self.build(vectors);
        index.verify().unwrap();
        assert_eq!(index.ids(), expected.ids());
        assert_eq!(index.config(), &self.config);
        for doc in (0..index.len() as u32).map(DocNum::new) {
            assert_eq!(index.vector(doc), expected.vector(doc));
            assert_eq!(index.fingerprint(doc), expected.fingerprint(doc));
        }
        let even = |doc: DocNum| doc.get().is_multiple_of(2);
        let few: DocSet = [0, 3, 5].map(DocNum::new).into_iter().collect();
        let mut asked: Vec<(&[f32], Search<'_>)> = Vec::new();
        for query in &self.queries {
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
        assert_eq!(graph.is_some(), self.config.hnsw.is_some());
        for ((query, search), ranking) in asked.iter().zip(&rankings) {
            assert_eq!(&index.search(query, search).unwrap(), ranking);
            if let Some(graph) = &graph {
                assert_eq!(&graph.search(query, search).unwrap(), ranking);
            }
        }
    }

    fn saved(&self, vectors: &[(String, Vec<f32>)]) -> Vec<u8> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("vectors.ir");
        let flat = self.build(vectors);
        match &self.config.hnsw {
            None => flat.save(&path).unwrap(),
            Some(hnsw) => HnswIndex::build(flat, hnsw, &mut NoProgress)
                .unwrap()
                .save(&path)
                .unwrap(),
        }
        std::fs::read(path).unwrap()
    }
}
