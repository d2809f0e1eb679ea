//! Files of segmented indexes that are missing, damaged, doubled or of another index.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ir_bm25::{Bm25, IndexConfig, IndexWriter, SegmentedIndex};
use ir_core::store::{AtomicFile, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify};
use ir_core::{Document, Retriever, Search};
use serde_json::{Value, json};
use tempfile::TempDir;

static MANIFEST: IndexFormat = IndexFormat {
    magic: *b"ir-segs\n",
    version: 1,
    name: "the manifest of a segmented index",
    large_sections: &[],
};

static SEGMENT: IndexFormat = IndexFormat {
    magic: *b"ir-bm25\n",
    version: 5,
    name: "a BM25 index",
    large_sections: &[],
};

/// An index of three segments, two of them with a deleted document.
fn build(texts: [&str; 2], deleted: &str, config: IndexConfig) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut writer = IndexWriter::create(folder.path(), config).unwrap();
    for (n, text) in texts.into_iter().enumerate() {
        for id in ["d", "e", "f", "g"].map(|letter| format!("{letter}{n}")) {
            writer.put(&Document::new(id).with_text(text)).unwrap();
        }
        writer.commit().unwrap();
    }
    assert!(writer.delete(deleted).unwrap());
    writer.put(&Document::new("d1").with_text("salt")).unwrap();
    writer.commit().unwrap();
    folder
}

fn good() -> TempDir {
    build(["tea", "milk"], "d0", IndexConfig::default())
}

/// The files of an index but its lock.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    let mut files: BTreeMap<_, _> = entries.map(file).collect();
    files.remove("writer.lock");
    files
}

/// The error of readers, which is that of writers, which do not remove files then.
#[track_caller]
fn error(folder: &Path) -> OpenIndexError {
    let before = contents(folder);
    let error = SegmentedIndex::open(folder).unwrap_err();
    let of_writer = IndexWriter::open(folder).unwrap_err();
    assert_eq!(of_writer.to_string(), error.to_string());
    assert!(contents(folder) == before);
    error
}

/// Asserts an error that names a file.
#[track_caller]
fn check_error(folder: &Path, file: &str, expected: &str) {
    let error = error(folder).to_string();
    let path = folder.join(file).display().to_string();
    assert!(error.starts_with(&format!("{path}: ")), "{file}: {error}");
    assert!(error.contains(expected), "{file}: {error}");
}

const ANOTHER: &str = "this is another file";

#[test]
fn missing_and_damaged_files() {
    let folder = good();
    let names = contents(folder.path());
    assert_eq!(names.len(), 6, "manifest, three segments, two of deletions");
    for (name, bytes) in names {
        let path = folder.path().join(&name);
        fs::remove_file(&path).unwrap();
        let found = error(folder.path());
        let is_named = match &found {
            OpenIndexError::MissingManifest { manifest } => *manifest == path,
            OpenIndexError::Io { path: at, .. } => *at == path && name != "manifest.ir",
            _ => false,
        };
        assert!(is_named, "{found}");
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(error(folder.path()).is_damage());
        for at in (0..bytes.len()).step_by(7) {
            let mut flipped = bytes.clone();
            flipped[at] ^= [0x01, 0x10, 0xff][at % 3];
            fs::write(&path, &flipped).unwrap();
            let opened = SegmentedIndex::open(folder.path());
            let damage = opened.and_then(|index| index.verify());
            assert!(damage.is_err(), "{name}: byte {at}");
        }
        fs::write(&path, &bytes).unwrap();
        assert!(SegmentedIndex::open(folder.path()).is_ok());
    }
}

#[test]
fn files_of_another_index() {
    let folder = good();
    let files = contents(folder.path());
    let config = IndexConfig::default();
    let positions = config.clone().with_positions(true);
    let configuration = "the configuration that the manifest records";
    let replace = |name: &str, bytes: &[u8], file: &str, expected: &str| {
        fs::write(folder.path().join(name), bytes).unwrap();
        check_error(folder.path(), file, expected);
        fs::write(folder.path().join(name), &files[name]).unwrap();
    };
    // Other texts, another deletion, another configuration: how many files differ, and the file and
    // error of the manifest.
    for (other, differing, file, expected) in [
        (
            build(["tea", "water"], "d0", config.clone()),
            2,
            "segment-1.ir",
            ANOTHER,
        ),
        (
            build(["tea", "milk"], "e0", config),
            2,
            "deleted-3.ir",
            ANOTHER,
        ),
        (
            build(["tea", "milk"], "d0", positions),
            4,
            "segment-0.ir",
            configuration,
        ),
    ] {
        let others = contents(other.path());
        assert!(others.keys().eq(files.keys()));
        let differ = others
            .iter()
            .filter(|(name, bytes)| files[*name] != **bytes);
        let mut found = 0;
        for (name, bytes) in differ {
            match name.as_str() {
                "manifest.ir" => replace(name, bytes, file, expected),
                _ => replace(name, bytes, name, expected),
            }
            found += 1;
        }
        assert_eq!(found, differing, "{file}");
    }
    // Files of other formats.
    for (name, other, expected) in [
        ("segment-0.ir", "manifest.ir", "not a BM25 index"),
        ("segment-0.ir", "deleted-3.ir", "not a BM25 index"),
        (
            "deleted-3.ir",
            "segment-0.ir",
            "not a file of deleted documents",
        ),
        (
            "manifest.ir",
            "segment-0.ir",
            "not the manifest of a segmented index",
        ),
    ] {
        replace(name, &files[other], name, expected);
    }
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().len(), 7);
}

#[test]
fn copies_of_segments() {
    let folder = good();
    let files = contents(folder.path());
    // A segment in place of another one.
    fs::write(folder.path().join("segment-0.ir"), &files["segment-1.ir"]).unwrap();
    check_error(folder.path(), "segment-0.ir", ANOTHER);
    fs::write(folder.path().join("segment-0.ir"), &files["segment-0.ir"]).unwrap();
    // A copy under another name has no effect, and is removed by the next writer.
    for name in ["segment-99.ir", "deleted-99.ir", "segment-00.ir"] {
        fs::write(folder.path().join(name), &files["segment-0.ir"]).unwrap();
    }
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().len(), 7);
    drop(IndexWriter::open(folder.path()).unwrap());
    assert!(contents(folder.path()) == files);
}

/// The commit in the manifest.
fn read_commit(folder: &Path) -> Value {
    let path = folder.join("manifest.ir");
    let file = IndexFile::open(&MANIFEST, &path, Verify::AllSections).unwrap();
    serde_json::from_slice(file.section("commit").unwrap().as_ref()).unwrap()
}

/// Writes a manifest with correct checksums.
fn write_commit(folder: &Path, commit: &Value) {
    let file = AtomicFile::create(folder.join("manifest.ir")).unwrap();
    let mut writer = IndexFileWriter::new(&MANIFEST, file).unwrap();
    let content = serde_json::to_vec(commit).unwrap();
    writer.section("commit", &content).unwrap();
    writer.finish().unwrap().commit().unwrap();
}

#[test]
fn forged_manifests() {
    let folder = good();
    let commit = read_commit(folder.path());
    let forge = |file: &str, expected: &str, change: &dyn Fn(&mut Value)| {
        let mut forged = commit.clone();
        change(&mut forged);
        assert_ne!(forged, commit, "{expected}");
        write_commit(folder.path(), &forged);
        check_error(folder.path(), file, expected);
    };
    let add = |commit: &mut Value, entry: Value| {
        commit["segments"].as_array_mut().unwrap().push(entry);
    };
    // A segment that is named twice.
    forge("manifest.ir", "a number for every file", &|commit| {
        add(commit, commit["segments"][0].clone());
    });
    forge("manifest.ir", "a number for every file", &|commit| {
        commit["segments"][1]["index"] = commit["segments"][0]["index"].clone();
    });
    forge("manifest.ir", "a number for every file", &|commit| {
        commit["next_file"] = json!(1);
    });
    forge("manifest.ir", "metadata cannot be parsed", &|commit| {
        commit["segments"][0]["index"]["number"] = json!(-1);
    });
    // A copy of a segment under a second name, with and without its deletions.
    let segment = commit["segments"][0].clone();
    let copy = folder.path().join("segment-77.ir");
    fs::copy(folder.path().join("segment-0.ir"), &copy).unwrap();
    for deleted in [Value::Null, segment["deleted"].clone()] {
        let mut entry = segment.clone();
        entry["index"]["number"] = json!(77);
        entry["deleted"] = deleted;
        if let Some(number) = entry["deleted"].get_mut("number") {
            let path = |number: &Value| folder.path().join(format!("deleted-{number}.ir"));
            fs::copy(path(number), path(&json!(78))).unwrap();
            *number = json!(78);
        }
        forge("segment-77.ir", "a copy of another segment", &|commit| {
            add(commit, entry.clone());
            commit["next_file"] = json!(79);
        });
    }
    fs::remove_file(&copy).unwrap();
    fs::remove_file(folder.path().join("deleted-78.ir")).unwrap();
    // Deletions of another segment.
    forge("segment-0.ir", ANOTHER, &|commit| {
        commit["segments"][0]["index"]["checksum"] = json!(1);
    });
    let number = segment["deleted"]["number"].to_string();
    forge(&format!("deleted-{number}.ir"), ANOTHER, &|commit| {
        commit["segments"][0]["deleted"]["checksum"] = json!(1);
    });
    // A configuration with which the segments would be read or ranked wrongly.
    for (name, value) in [
        ("fields", json!("separate")),
        ("order", json!("insertion")),
        ("positions", json!(true)),
        ("store", json!("everything")),
        ("analysis", json!(ir_bm25::Analysis::whitespace())),
    ] {
        let expected = "the configuration that the manifest records";
        forge("segment-0.ir", expected, &|commit| {
            commit["config"][name] = value.clone();
        });
    }
    write_commit(folder.path(), &commit);
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().len(), 7);
}

/// Replaces statistics of the field of segment 0, and its checksum in the manifest.
fn forge_stats(folder: &Path, commit: &Value, stats: &Value) {
    let path = folder.join("segment-0.ir");
    let file = IndexFile::open(&SEGMENT, &path, Verify::AllSections).unwrap();
    let mut writer = IndexFileWriter::new(&SEGMENT, Vec::new()).unwrap();
    for (name, _) in file.sections() {
        let mut content = file.section(name).unwrap().as_ref().to_vec();
        if name == "meta" {
            let mut meta: Value = serde_json::from_slice(&content).unwrap();
            for (name, value) in stats.as_object().unwrap() {
                assert!(meta["fields"][0][name].is_u64(), "{name}");
                meta["fields"][0][name] = value.clone();
            }
            content = serde_json::to_vec(&meta).unwrap();
        }
        writer.section(name, &content).unwrap();
    }
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let forged = IndexFile::open(&SEGMENT, &path, Verify::AllSections).unwrap();
    let mut commit = commit.clone();
    commit["segments"][0]["index"]["checksum"] = forged.checksum().into();
    write_commit(folder, &commit);
}

/// Statistics of a segment with a deleted document, with correct checksums: four documents with one
/// token each.
#[test]
fn forged_statistics() {
    let field = |docs: u64, tokens: u64, longest: u64| {
        let one = docs.min(1);
        json!({"docs": docs, "tokens": tokens, "longest": longest, "terms": one, "postings": one})
    };
    let folder = good();
    let commit = read_commit(folder.path());
    let (possible, lengths) = (
        "possible statistics of the fields",
        "the statistics of the document lengths",
    );
    for (stats, expected) in [
        (field(5, 5, 1), "as many documents as its fields have"),
        (field(4, u64::MAX, u64::from(u32::MAX)), possible),
        (json!({"terms": u64::MAX}), possible),
        // Without the deleted document, fewer than none are left.
        (field(0, 0, 0), lengths),
    ] {
        let folder = good();
        forge_stats(folder.path(), &commit, &stats);
        let error = SegmentedIndex::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("segment-0.ir"), "{stats}: {error}");
        assert!(error.contains(expected), "{stats}: {error}");
    }
    // Possible statistics, which only the lengths of all documents contradict.
    for stats in [
        field(1, 1, 1),
        field(1, u64::from(u32::MAX), u64::from(u32::MAX)),
        field(3, 4, 2),
        field(4, 4 * u64::from(u32::MAX), u64::from(u32::MAX)),
    ] {
        let folder = good();
        forge_stats(folder.path(), &commit, &stats);
        let index = SegmentedIndex::open(folder.path()).unwrap();
        let searcher = index.searcher(Bm25::LUCENE).unwrap();
        for query in ["tea", "milk salt", "nowhere"] {
            let _ = searcher.search(query, &Search::top(10));
        }
        let mut writer = IndexWriter::open(folder.path()).unwrap();
        writer.delete("e0").unwrap();
        let _ = writer.compact();
    }
}
