//! Files of segmented vector indexes that are missing, damaged, doubled or of another index.

use std::error::Error;
use std::fs;
use std::path::Path;

use ir_core::store::{AtomicFile, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify};
use ir_core::{Retriever, Search};
use ir_knn::{
    EfSearch, HnswConfig, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorSimilarity,
};
use tempfile::TempDir;

static MANIFEST: IndexFormat = IndexFormat {
    magic: *b"ir-vecs\n",
    version: 1,
    name: "the manifest of a segmented vector index",
    large_sections: &[],
};

/// Two segments, one with deleted vectors.
fn build(config: VectorIndexConfig, seed: f32) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    for segment in 0..2 {
        for n in 0..4 {
            let vector = [seed + n as f32, segment as f32];
            writer.put(&format!("d{segment}{n}"), &vector).unwrap();
        }
        writer.commit().unwrap();
    }
    writer.delete("d00").unwrap();
    writer.commit().unwrap();
    folder
}

fn config() -> VectorIndexConfig {
    VectorIndexConfig::new(2, VectorSimilarity::InnerProduct)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "writer.lock").collect();
    names.sort();
    names
}

/// The tests of flat and HNSW indexes change every byte of theirs.
#[test]
fn damaged_and_missing_files_are_errors() {
    for config in [config(), config().with_hnsw(HnswConfig::default())] {
        let folder = build(config, 1.0);
        let names = names(folder.path());
        assert_eq!(names.len(), 4, "manifest, two segments, deleted vectors");
        for name in names {
            let path = folder.path().join(&name);
            // Opens the index, and searches it once.
            let open = || -> Result<(), Box<dyn Error>> {
                let index = SegmentedVectorIndex::open(folder.path())?;
                let (query, search) = ([1.0, 1.0], Search::top(1));
                let _ = index.search(&query, &search)?;
                if let Some(graphs) = index.hnsw_searcher(EfSearch(1)) {
                    let _ = graphs.search(&query, &search)?;
                }
                Ok(())
            };
            let bytes = fs::read(&path).unwrap();
            let step = if name.starts_with("segment-") { 41 } else { 3 };
            for at in (0..bytes.len()).step_by(step) {
                let mut flipped = bytes.clone();
                flipped[at] ^= [0x04, 0x10, 0xff][at % 3];
                fs::write(&path, &flipped).unwrap();
                assert!(open().is_err(), "{name}: byte {at}");
                fs::write(&path, &bytes[..at]).unwrap();
                assert!(open().is_err(), "{name}: {at} bytes");
            }
            fs::remove_file(&path).unwrap();
            let error = SegmentedVectorIndex::open(folder.path()).unwrap_err();
            let is_named = match &error {
                OpenIndexError::MissingManifest { manifest } => *manifest == path,
                OpenIndexError::Io { path: at, .. } => *at == path && name != "manifest.ir",
                _ => false,
            };
            assert!(is_named, "{error}");
            fs::write(&path, &bytes).unwrap();
            assert!(open().is_ok());
        }
    }
}

#[test]
fn files_of_another_index_are_errors() {
    let (good, other) = (build(config(), 1.0), build(config(), 9.0));
    let error = || {
        SegmentedVectorIndex::open(good.path())
            .unwrap_err()
            .to_string()
    };
    let all = names(good.path());
    assert_eq!(all, names(other.path()));
    // Segments and the manifest of an index with other vectors.
    for name in all.iter().filter(|name| !name.starts_with("deleted-")) {
        let path = good.path().join(name);
        let bytes = fs::read(&path).unwrap();
        fs::copy(other.path().join(name), &path).unwrap();
        assert!(
            error().contains("this is another file"),
            "{name}: {}",
            error()
        );
        fs::write(&path, &bytes).unwrap();
    }
    // Segments without graphs under a manifest with graphs, and the reverse.
    let graphs = build(config().with_hnsw(HnswConfig::default()), 1.0);
    fs::copy(
        graphs.path().join("manifest.ir"),
        good.path().join("manifest.ir"),
    )
    .unwrap();
    assert!(error().contains("not an HNSW index"), "{}", error());
    // A file of another format as the manifest.
    fs::copy(
        good.path().join("segment-0.ir"),
        good.path().join("manifest.ir"),
    )
    .unwrap();
    assert!(
        error().contains("not the manifest of a segmented vector index"),
        "{}",
        error()
    );
}

/// Manifests that are forged with correct checksums.
#[test]
fn forged_manifests_are_errors() {
    let folder = build(config(), 1.0);
    let path = folder.path().join("manifest.ir");
    let file = IndexFile::open(&MANIFEST, &path, Verify::AllSections).unwrap();
    let commit: serde_json::Value =
        serde_json::from_slice(file.section("commit").unwrap().as_ref()).unwrap();
    let open = |commit: &serde_json::Value| {
        let file = AtomicFile::create(&path).unwrap();
        let mut writer = IndexFileWriter::new(&MANIFEST, file).unwrap();
        let content = serde_json::to_vec(commit).unwrap();
        writer.section("commit", &content).unwrap();
        writer.finish().unwrap().commit().unwrap();
        SegmentedVectorIndex::open(folder.path()).map_err(|error| error.to_string())
    };
    assert_eq!(open(&commit).unwrap().len(), 7);
    for (name, value) in [("dim", 3.into()), ("similarity", "cosine".into())] {
        let mut forged = commit.clone();
        forged["config"][name] = value;
        let error = open(&forged).unwrap_err();
        assert!(
            error.contains("the properties that the manifest records"),
            "{name}: {error}"
        );
    }
}
