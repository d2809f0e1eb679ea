//! Writers of a segmented vector index that are killed at random moments: the index opens at its
//! last commit, and nothing is left behind.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ir_core::{DocIds, Retriever, Search, SplitMix64};
use ir_knn::{
    FlatIndex, HnswConfig, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorSimilarity,
};
use tempfile::TempDir;

/// The folder of the index, for the process that writes.
const FOLDER: &str = "IR_KNN_KILLED_WRITER";
/// Set if the index has graphs.
const GRAPHS: &str = "IR_KNN_KILLED_GRAPHS";
const DIM: usize = 5;

fn config(graphs: bool) -> VectorIndexConfig {
    let config = VectorIndexConfig::new(DIM, VectorSimilarity::Euclidean);
    if graphs {
        return config.with_hnsw(HnswConfig::default());
    }
    config
}

/// What commit `n` writes: three new vectors, one that replaces an earlier one.
fn puts(n: u64) -> [(String, [f32; DIM]); 4] {
    let ids = [3 * n, 3 * n + 1, 3 * n + 2, n / 2];
    ids.map(|id| {
        let value = |axis: u64| ((id * 7 + n * 5 + axis * 3) % 11) as f32;
        (format!("d{id}"), [0, 1, 2, 3, 4].map(value))
    })
}

/// The id that commit `n` deletes.
fn deleted(n: u64) -> String {
    format!("d{}", n + 2)
}

/// The index after `commits` commits.
fn expected(commits: u64) -> FlatIndex {
    let mut vectors: Vec<(String, [f32; DIM])> = Vec::new();
    for n in 0..commits {
        for (id, vector) in puts(n) {
            vectors.retain(|(earlier, _)| *earlier != id);
            vectors.push((id, vector));
        }
        vectors.retain(|(id, _)| *id != deleted(n));
    }
    let ids: DocIds = vectors.iter().map(|(id, _)| id).collect();
    let values = vectors.iter().flat_map(|(_, vector)| vector).copied();
    FlatIndex::from_row_major(ids, DIM, values.collect(), VectorSimilarity::Euclidean).unwrap()
}

/// Not a test by itself: commits until it is killed, when started by the test below.
#[test]
fn write_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let start = SegmentedVectorIndex::open(&folder).map_or(0, |index| count_commits(&index));
    let writer = if SegmentedVectorIndex::exists(&folder) {
        VectorIndexWriter::open(&folder)
    } else {
        VectorIndexWriter::create(&folder, config(std::env::var_os(GRAPHS).is_some()))
    };
    // Segments are written before the commit too.
    let mut writer = writer.unwrap().with_merge_factor(3).with_memory(40);
    for n in start.. {
        for (id, vector) in puts(n) {
            writer.put(&id, &vector).unwrap();
        }
        writer.delete(&deleted(n)).unwrap();
        writer.commit().unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {}", n + 1).unwrap();
        out.flush().unwrap();
    }
}

/// The number of commits, from the vector with the largest number, which no commit deletes.
fn count_commits(index: &SegmentedVectorIndex) -> u64 {
    let numbers = index.ids().iter().map(|id| id[1..].parse::<u64>().unwrap());
    numbers.max().map_or(0, |last| last / 3 + 1)
}

/// `IR_KILLS` sets the number of kills; default 20.
#[test]
fn a_killed_writer_loses_no_commit() {
    let kills = std::env::var("IR_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let mut random = SplitMix64::new(7, 0);
    let mut folder = TempDir::new().unwrap();
    // Grows on a machine on which most writers make no commit in this time.
    let mut longest = 60_000;
    let mut after_commits = 0;
    for kill in 0..kills {
        if kill % 10 == 0 {
            folder = TempDir::new().unwrap();
        }
        let path = folder.path().join("index");
        let mut command = Command::new(std::env::current_exe().unwrap());
        if kill / 10 % 2 == 1 {
            command.env(GRAPHS, "1");
        }
        let mut child = command
            .args(["write_until_killed", "--exact", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.next_u64() % longest));
        child.kill().unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(n) = line.unwrap().strip_prefix("committed ") {
                acknowledged = n.parse().unwrap();
            }
        }
        child.wait().unwrap();
        match acknowledged {
            0 if 2 * after_commits < kill => longest += longest / 4,
            0 => {}
            _ => after_commits += 1,
        }
        if !SegmentedVectorIndex::exists(&path) {
            assert_eq!(acknowledged, 0);
            continue;
        }
        check(&path, acknowledged);
    }
    assert!(
        2 * after_commits >= kills || kills < 10,
        "{after_commits} of {kills} kills came after a commit"
    );
}

fn check(path: &Path, acknowledged: u64) {
    let index = SegmentedVectorIndex::open(path).unwrap();
    let commits = count_commits(&index);
    assert!(
        commits >= acknowledged,
        "{acknowledged} commits were acknowledged, found {commits}"
    );
    let expected = expected(commits);
    assert_eq!(index.ids(), expected.ids());
    for query in [[0.0; DIM], [5.0, 3.0, 1.0, 9.0, 2.0]] {
        let search = Search::top(20);
        let ranking = expected.search(&query, &search).unwrap();
        assert_eq!(index.search(&query, &search).unwrap(), ranking);
    }
    // The next writer removes what the killed one left.
    drop(VectorIndexWriter::open(path).unwrap());
    let segments = index.segments();
    let with_deleted = segments.filter(|segment| segment.deleted > 0).count();
    let files = fs::read_dir(path).unwrap().count();
    assert_eq!(files, 2 + index.segments().len() + with_deleted);
}
