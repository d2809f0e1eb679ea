//! Saved graph indexes: what comes back, and what is refused.

#![allow(clippy::unwrap_used)]

mod cases;

use std::fs;
use std::path::{Path, PathBuf};

use cases::{ALL, refuses_every_cut, refuses_every_flip};
use ir_core::{Retriever, Search};
use ir_knn::{Effort, FlatIndex, HnswConfig, HnswIndex, OpenError, Similarity, Verify};

/// Few links, so that there are five layers; two vectors are equal.
fn index(similarity: Similarity) -> HnswIndex {
    let row = |n: u32| [n as f32 + 0.5, (n * 7 % 11) as f32, -1.0];
    let mut rows: Vec<[f32; 3]> = (0..24).map(row).collect();
    rows[14] = rows[3];
    let ids = (0..24).map(|n| format!("ü{n}")).collect();
    let flat = FlatIndex::of(ids, &rows, similarity).unwrap();
    HnswIndex::new(flat, &HnswConfig::default().with_links(2)).unwrap()
}

/// Two crowds, each too close together for 8 bits.
fn crowds() -> HnswIndex {
    let row = |n: u32| {
        let place = if n.is_multiple_of(2) { 1e4 } else { -1e4 };
        [place + n as f32, (n * 7 % 11) as f32, place]
    };
    let rows: Vec<[f32; 3]> = (0..40).map(row).collect();
    let ids = (0..40).map(|n| format!("ü{n}")).collect();
    let flat = FlatIndex::of(ids, &rows, Similarity::Euclidean).unwrap();
    HnswIndex::new(flat, &HnswConfig::default().with_links(2)).unwrap()
}

/// Whether the walk is by 8 bits.
fn is_coded(bytes: &[u8]) -> bool {
    bytes.windows(9).any(|some| some == br#""records""#)
}

fn saved(folder: &Path, index: &HnswIndex) -> PathBuf {
    let path = folder.join("vectors.ir");
    index.save(&path).unwrap();
    path
}

/// Searches that walk, and one that scans.
fn answers(index: &HnswIndex) -> Vec<ir_core::Ranking> {
    let queries = [[1.0, 2.0, 3.0], [40.0, 5.0, -1.0], [-70.0, 0.1, 0.0]];
    let search = |query: &[f32; 3], effort| {
        let searcher = index.searcher(Effort(effort));
        searcher.search(query, &Search::top(3)).unwrap()
    };
    [1, 4, 100]
        .iter()
        .flat_map(|&effort| queries.map(|query| search(&query, effort)))
        .collect()
}

#[test]
fn what_was_saved_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in ALL {
        let index = index(similarity);
        let path = saved(folder.path(), &index);
        let opened = HnswIndex::open_as(&path, similarity, 3).unwrap();
        assert_eq!(opened.ids(), index.ids());
        assert_eq!(opened.config(), index.config());
        assert_eq!(opened.flat().rows(), index.flat().rows());
        assert_eq!(answers(&opened), answers(&index));
        assert!(is_coded(&fs::read(&path).unwrap()));
        opened.verify().unwrap();
        // The same bytes again, also from a file that is open.
        let bytes = fs::read(&path).unwrap();
        opened.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(
            answers(&opened),
            answers(&index),
            "the old file is still there"
        );
    }
    let index_of_crowds = crowds();
    let path = saved(folder.path(), &index_of_crowds);
    assert!(!is_coded(&fs::read(&path).unwrap()));
    let opened = HnswIndex::open(&path).unwrap();
    assert_eq!(answers(&opened), answers(&index_of_crowds));
    let none = FlatIndex::new([""; 0].into_iter().collect(), 4, vec![], Similarity::Cosine);
    let none = HnswIndex::new(none.unwrap(), &HnswConfig::default()).unwrap();
    let opened = HnswIndex::open(saved(folder.path(), &none)).unwrap();
    assert!(opened.flat().is_empty());
    // Codes for exact search are kept.
    let flat = index(Similarity::Cosine).flat().clone().with_codes();
    let coded = HnswIndex::new(flat, &HnswConfig::default()).unwrap();
    let opened = HnswIndex::open(saved(folder.path(), &coded)).unwrap();
    assert!(opened.flat().has_codes());
}

/// Every byte: an error, and where only tables are checked, an error or an answer, never a panic.
#[test]
fn every_flipped_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for index in [index(Similarity::Cosine), crowds()] {
        let path = saved(folder.path(), &index);
        refuses_every_flip(&path, |path| {
            if let Ok(opened) = HnswIndex::open_with(path, Verify::Tables) {
                assert!(opened.verify().is_err());
                let searcher = opened.searcher(Effort(1));
                let _ = searcher.search(&[1.0, 2.0, 3.0], &Search::top(3));
            }
            HnswIndex::open(path)
        });
    }
}

/// Links and records that are anything at all.
#[test]
fn nonsense_in_the_graph_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    for index in [index(Similarity::Euclidean), crowds()] {
        write_nonsense(&saved(folder.path(), &index));
    }
}

fn write_nonsense(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let mut random = ir_core::SplitMix::new(5, 5);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        let from = 64 + random.below(bytes.len() - 64);
        let to = bytes.len().min(from + 1 + random.below(3000));
        let bits = random.bits();
        for byte in &mut damaged[from..to] {
            *byte = match bits % 3 {
                0 => random.bits() as u8,
                // Numbers that are small enough to be links.
                1 => (random.bits() & 0x41) as u8,
                _ => 0,
            };
        }
        fs::write(path, &damaged).unwrap();
        if let Ok(opened) = HnswIndex::open_with(path, Verify::Tables) {
            for effort in [1, 2, 5] {
                let _ = opened
                    .searcher(Effort(effort))
                    .search(&[1.0, 2.0, 3.0], &Search::top(1));
            }
        }
    }
}

#[test]
fn every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(Similarity::InnerProduct));
    for verify in [Verify::Everything, Verify::Tables] {
        refuses_every_cut(&path, |path| HnswIndex::open_with(path, verify));
    }
}

#[test]
fn errors_say_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(Similarity::Cosine));
    let name = path.display().to_string();
    let text = |error: OpenError| error.to_string().replace(&name, "FILE");
    assert_eq!(
        text(HnswIndex::open_as(&path, Similarity::Euclidean, 3).unwrap_err()),
        "FILE: expected an index of Euclidean similarity, found cosine"
    );
    assert_eq!(
        text(HnswIndex::open_as(&path, Similarity::Cosine, 4).unwrap_err()),
        "FILE: expected an index of 4 dimensions, found 3"
    );
    assert_eq!(
        text(FlatIndex::open(&path).unwrap_err()),
        r#"FILE: not a flat index: expected it to begin with "ir-flat\n", found "ir-hnsw\n""#
    );
    index(Similarity::Cosine).flat().save(&path).unwrap();
    assert_eq!(
        text(HnswIndex::open(&path).unwrap_err()),
        r#"FILE: not an HNSW index: expected it to begin with "ir-hnsw\n", found "ir-flat\n""#
    );
}
