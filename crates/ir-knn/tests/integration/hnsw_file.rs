//! Files of HNSW indexes: round trips, damage, errors.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cases::{ALL, check_every_cut, check_every_flip};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, NoProgress, Ranking, Retriever, Search};
use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
use ndarray::Array2;

/// Index with few links, and so five layers. Two vectors are equal.
fn index(similarity: VectorSimilarity) -> HnswIndex {
    let row = |n: u32| [n as f32 + 0.5, (n * 7 % 11) as f32, -1.0];
    let mut rows: Vec<[f32; 3]> = (0..24).map(row).collect();
    rows[14] = rows[3];
    let ids = (0..24).map(|n| format!("ü{n}")).collect();
    let flat = FlatIndex::new(ids, Array2::from(rows), similarity).unwrap();
    HnswIndex::build(flat, &HnswConfig::default().with_m(2), &mut NoProgress).unwrap()
}

/// Two clusters, each too dense for 8-bit codes.
fn dense_clusters() -> HnswIndex {
    let row = |n: u32| {
        let center = if n.is_multiple_of(2) { 1e4 } else { -1e4 };
        [center + n as f32, (n * 7 % 11) as f32, center]
    };
    let rows: Vec<[f32; 3]> = (0..40).map(row).collect();
    let ids = (0..40).map(|n| format!("ü{n}")).collect();
    let flat = FlatIndex::new(ids, Array2::from(rows), VectorSimilarity::Euclidean).unwrap();
    HnswIndex::build(flat, &HnswConfig::default().with_m(2), &mut NoProgress).unwrap()
}

/// Whether the file contains 8-bit codes of the nodes.
fn is_coded(bytes: &[u8]) -> bool {
    bytes.windows(10).any(|window| window == b"node_codes")
}

fn saved(folder: &Path, index: &HnswIndex) -> PathBuf {
    let path = folder.join("vectors.ir");
    index.save(&path).unwrap();
    path
}

/// Rankings of graph searches, and of one scan.
fn rankings(index: &HnswIndex) -> Vec<ir_core::Ranking> {
    let queries = [[1.0, 2.0, 3.0], [40.0, 5.0, -1.0], [-70.0, 0.1, 0.0]];
    let search = |query: &[f32; 3], effort| {
        let searcher = index.searcher(EfSearch(effort));
        searcher.search(query, &Search::top(3)).unwrap()
    };
    [1, 4, 100]
        .iter()
        .flat_map(|&effort| queries.map(|query| search(&query, effort)))
        .collect()
}

#[test]
fn save_and_open() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in ALL {
        let index = index(similarity);
        let path = saved(folder.path(), &index);
        let opened = HnswIndex::open(&path).unwrap();
        assert_eq!(
            (opened.flat().similarity(), opened.flat().dim()),
            (similarity, 3)
        );
        assert_eq!(opened.ids(), index.ids());
        assert_eq!(opened.config(), index.config());
        assert_eq!(opened.flat().vectors(), index.flat().vectors());
        assert_eq!(rankings(&opened), rankings(&index));
        assert!(is_coded(&fs::read(&path).unwrap()));
        opened.verify().unwrap();
        // Saving again, over the open file, writes the same bytes.
        let bytes = fs::read(&path).unwrap();
        opened.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(
            rankings(&opened),
            rankings(&index),
            "the old file remains mapped"
        );
    }
    let clusters = dense_clusters();
    let path = saved(folder.path(), &clusters);
    assert!(!is_coded(&fs::read(&path).unwrap()));
    let opened = HnswIndex::open(&path).unwrap();
    assert_eq!(rankings(&opened), rankings(&clusters));
    let empty = FlatIndex::new(
        DocIds::new(),
        Array2::zeros((0, 4)),
        VectorSimilarity::Cosine,
    );
    let empty = HnswIndex::build(empty.unwrap(), &HnswConfig::default(), &mut NoProgress).unwrap();
    let opened = HnswIndex::open(saved(folder.path(), &empty)).unwrap();
    assert!(opened.flat().is_empty());
    // The codes of the flat index are saved too.
    let flat = index(VectorSimilarity::Cosine).flat().clone().with_codes();
    let coded = HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress).unwrap();
    let opened = HnswIndex::open(saved(folder.path(), &coded)).unwrap();
    assert!(opened.flat().has_codes());
}

/// Opens an index and searches it once.
fn search(path: &Path) -> Result<Ranking, Box<dyn Error>> {
    let searcher = HnswIndex::open(path)?.searcher(EfSearch(1));
    Ok(searcher.search(&[1.0, 2.0, 3.0], &Search::top(3))?)
}

/// Searches a damaged index: an error, or different documents with the exact scores of its vectors.
/// The cosine divides by stored norms, which may be damaged.
fn check_search(index: &HnswIndex, effort: usize, k: usize) {
    let (query, search) = ([1.0, 2.0, 3.0], Search::top(k));
    let searcher = index.searcher(EfSearch(effort));
    let Ok(ranking) = searcher.search(&query, &search) else {
        return;
    };
    assert!(ranking.len() <= k);
    let mut docs: Vec<_> = ranking.iter().map(|hit| hit.doc).collect();
    docs.sort_unstable();
    docs.dedup();
    assert_eq!(docs.len(), ranking.len());
    assert!(docs.iter().all(|doc| doc.index() < index.flat().len()));
    if index.flat().similarity() == VectorSimilarity::Cosine {
        return;
    }
    for hit in &ranking {
        let explanation = index
            .flat()
            .explain(&query, hit.doc, &search)
            .unwrap()
            .unwrap();
        assert_eq!(explanation.value, f64::from(hit.score));
    }
}

/// A flipped byte is an error; without the checksums of large sections, it is an error or another
/// ranking.
#[test]
fn every_flipped_byte_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    for index in [index(VectorSimilarity::Cosine), dense_clusters()] {
        let path = saved(folder.path(), &index);
        check_every_flip(&path, |path| {
            if let Ok(opened) = HnswIndex::open_with(path, Verify::SmallSections) {
                assert!(opened.verify().is_err());
                check_search(&opened, 1, 3);
            }
            search(path)
        });
        check_every_flip(&path, |path| {
            HnswIndex::open_with(path, Verify::AllSections)
        });
    }
}

/// Arbitrary links, codes and vectors: an error, or hits with exact scores.
#[test]
fn arbitrary_graph_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for index in [index(VectorSimilarity::Euclidean), dense_clusters()] {
        check_arbitrary_bytes(&saved(folder.path(), &index));
    }
}

fn check_arbitrary_bytes(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let mut random = ir_core::SplitMix64::new(5, 5);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        let from = 64 + random.below(bytes.len() - 64);
        let to = bytes.len().min(from + 1 + random.below(3000));
        let bits = random.next_u64();
        for byte in &mut damaged[from..to] {
            *byte = match bits % 3 {
                0 => random.next_u64() as u8,
                // Small enough for valid links.
                1 => (random.next_u64() & 0x41) as u8,
                _ => 0,
            };
        }
        fs::write(path, &damaged).unwrap();
        if let Ok(opened) = HnswIndex::open_with(path, Verify::SmallSections) {
            for effort in [1, 2, 5] {
                check_search(&opened, effort, 1);
            }
        }
    }
}

#[test]
fn every_truncation_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(VectorSimilarity::InnerProduct));
    for verify in [Verify::AllSections, Verify::FirstUse, Verify::SmallSections] {
        check_every_cut(&path, |path| HnswIndex::open_with(path, verify));
    }
}

#[test]
fn error_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(VectorSimilarity::Cosine));
    let name = path.display().to_string();
    let text = |error: OpenIndexError| error.to_string().replace(&name, "FILE");
    assert_eq!(
        text(FlatIndex::open(&path).unwrap_err()),
        r#"FILE: not a flat index: expected it to start with "ir-flat\n", found "ir-hnsw\n""#
    );
    index(VectorSimilarity::Cosine).flat().save(&path).unwrap();
    assert_eq!(
        text(HnswIndex::open(&path).unwrap_err()),
        r#"FILE: not an HNSW index: expected it to start with "ir-hnsw\n", found "ir-flat\n""#
    );
}
