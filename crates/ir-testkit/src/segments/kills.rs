//! Writers that are killed at random moments.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ir_core::{DocIds, SplitMix64};
use tempfile::TempDir;

use super::{Model, SegmentedIndexTest, check_files};

/// Folder of the index, for the process that writes.
const FOLDER: &str = "IR_TESTKIT_KILLED_WRITER";

/// Ids that commit `n` puts: three new ones, and one that replaces an earlier document.
fn puts(n: u64) -> [u64; 4] {
    [3 * n, 3 * n + 1, 3 * n + 2, n / 2]
}

/// Id that commit `n` deletes.
fn deleted(n: u64) -> String {
    format!("d{}", n + 2)
}

/// Number of commits, from the document with the largest number, which no commit deletes.
fn count_commits(ids: &DocIds) -> u64 {
    let numbers = ids.iter().map(|id| id[1..].parse::<u64>().unwrap());
    numbers.max().map_or(0, |last| last / 3 + 1)
}

/// Kills a process that commits without end, and asserts after every kill that the index is at the
/// last commit, which is not before the last one that was acknowledged or found in the folder, and
/// that the next writer removes all other files. `content` is the content of a document.
///
/// `name` is the full name of the calling test: the process that writes runs it alone. The
/// environment variable `IR_KILLS` sets the number of kills; default 20.
///
/// # Panics
/// If a commit is lost, or fewer than half of the processes lived to a commit.
pub fn check_killed_writers<T: SegmentedIndexTest>(
    test: &T,
    name: &str,
    content: impl Fn(u64, u64) -> T::Content,
) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(test, folder.as_ref(), content);
    }
    let kills: u32 = std::env::var("IR_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let mut random = SplitMix64::new(7, 0);
    let mut folder = TempDir::new().unwrap();
    // Grows on a machine on which most writers make no commit in this time.
    let mut longest = 60_000;
    let mut after_commits = 0;
    // Commits that the folder had after earlier kills.
    let mut known = 0;
    // More on a machine on which few writers make a commit.
    for kill in 0..10 * kills {
        if kill >= kills && 2 * after_commits >= kills {
            break;
        }
        if kill % 20 == 0 {
            folder = TempDir::new().unwrap();
            known = 0;
        }
        let path = folder.path().join("index");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.next_u64() % longest));
        // A writer that failed is not killed.
        let failed = child.try_wait().unwrap();
        assert!(failed.is_none(), "the writer ended by itself: {failed:?}");
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
        known = acknowledged.max(known);
        if !ir_core::segments::exists(&path) {
            assert_eq!(known, 0, "the index is gone");
            continue;
        }
        let reader = test.read(&path);
        let commits = count_commits(test.ids(&reader));
        assert!(
            commits >= known,
            "{known} commits were acknowledged or found before, found {commits}"
        );
        known = commits;
        let mut model = Model::default();
        for n in 0..commits {
            for id in puts(n) {
                model.put(format!("d{id}"), content(id, n));
            }
            model.delete(&deleted(n));
        }
        test.check(&reader, &model.0);
        drop(test.open(&path).unwrap());
        check_files(test, &path);
    }
    assert!(
        2 * after_commits >= kills || kills < 10,
        "{after_commits} of {kills} kills came after a commit"
    );
}

fn write_until_killed<T: SegmentedIndexTest>(
    test: &T,
    folder: &Path,
    content: impl Fn(u64, u64) -> T::Content,
) {
    let (mut writer, start) = if ir_core::segments::exists(folder) {
        let start = count_commits(test.ids(&test.read(folder)));
        (test.open(folder).unwrap(), start)
    } else {
        (test.create(folder).unwrap(), 0)
    };
    for n in start.. {
        for id in puts(n) {
            test.put(&mut writer, &format!("d{id}"), &content(id, n));
        }
        test.delete(&mut writer, &deleted(n));
        test.commit(&mut writer);
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {}", n + 1).unwrap();
        out.flush().unwrap();
    }
}
