//! Writers of a segmented index that are killed at random moments: the index opens at its last
//! commit, and nothing is left behind.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ir_bm25::{Bm25, Index, IndexConfig, IndexWriter, SegmentedIndex};
use ir_core::{Document, NoProgress, Retriever, Search, SplitMix64};
use tempfile::TempDir;

/// The folder of the index, for the process that writes.
const FOLDER: &str = "IR_BM25_KILLED_WRITER";

/// What commit `n` writes: three new documents, one that replaces an earlier one.
fn puts(n: u64) -> Vec<Document> {
    let text = |id: u64| format!("tea {} {}", "milk ".repeat(id as usize % 4), n % 5);
    let ids = [3 * n, 3 * n + 1, 3 * n + 2, n / 2];
    let document = |id| Document::new(format!("d{id}")).with_text(text(id));
    ids.map(document).into()
}

/// The id that commit `n` deletes.
fn deleted(n: u64) -> String {
    format!("d{}", n + 2)
}

/// The documents after `commits` commits, in the order of their last writes.
fn documents(commits: u64) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    for n in 0..commits {
        for document in puts(n) {
            documents.retain(|earlier| earlier.id != document.id);
            documents.push(document);
        }
        documents.retain(|document| document.id != deleted(n));
    }
    documents
}

/// Not a test by itself: commits until it is killed, when started by the test below.
#[test]
fn write_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let start = SegmentedIndex::open(&folder).map_or(0, |index| count_commits(&index));
    let writer = match start {
        0 if !Path::new(&folder).join("manifest.ir").exists() => {
            IndexWriter::create(&folder, IndexConfig::default())
        }
        _ => IndexWriter::open(&folder),
    };
    let mut writer = writer.unwrap().with_merge_factor(3).with_threads(1);
    for n in start.. {
        for document in puts(n) {
            writer.put(&document).unwrap();
        }
        writer.delete(&deleted(n)).unwrap();
        writer.commit().unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {}", n + 1).unwrap();
        out.flush().unwrap();
    }
}

/// The number of commits, from the document with the largest number, which no commit deletes.
fn count_commits(index: &SegmentedIndex) -> u64 {
    let numbers = index.ids().iter().map(|id| id[1..].parse::<u64>().unwrap());
    numbers.max().map_or(0, |last| last / 3 + 1)
}

/// `IR_KILLS` sets the number of kills; default 20.
#[test]
fn a_killed_writer_loses_no_commit() {
    let kills = std::env::var("IR_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let mut random = SplitMix64::new(7, 0);
    let mut folder = TempDir::new().unwrap();
    // Grows on a machine on which a writer makes no commit in this time.
    let mut longest = 60_000;
    let mut after_commits = 0;
    for kill in 0..kills {
        if kill % 20 == 0 {
            folder = TempDir::new().unwrap();
        }
        let path = folder.path().join("index");
        let mut child = Command::new(std::env::current_exe().unwrap())
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
            0 if longest < 5_000_000 => longest += longest / 4,
            0 => {}
            _ => after_commits += 1,
        }
        if !path.join("manifest.ir").exists() {
            assert_eq!(acknowledged, 0);
            continue;
        }
        let index = SegmentedIndex::open(&path).unwrap();
        index.verify().unwrap();
        let commits = count_commits(&index);
        assert!(
            commits >= acknowledged,
            "{acknowledged} commits were acknowledged, found {commits}"
        );
        let expected = documents(commits);
        let expected = Index::build(&expected, &IndexConfig::default(), &mut NoProgress).unwrap();
        assert_eq!(index.ids(), expected.ids());
        let searcher = index.searcher(Bm25::ANSERINI).unwrap();
        let expected = expected.searcher(Bm25::ANSERINI).unwrap();
        for query in ["tea milk", "3", "4 milk tea"] {
            let how = Search::top(20);
            assert_eq!(
                searcher.search(query, &how).unwrap(),
                expected.search(query, &how).unwrap()
            );
        }
        // The next writer removes what the killed one left.
        drop(IndexWriter::open(&path).unwrap());
        let segments = index.segments();
        let with_deleted = segments.filter(|segment| segment.deleted > 0).count();
        let files = fs::read_dir(&path).unwrap().count();
        assert_eq!(files, 2 + index.segments().len() + with_deleted);
    }
    assert!(
        2 * after_commits >= kills || kills < 10,
        "{after_commits} of {kills} kills came after a commit"
    );
}
