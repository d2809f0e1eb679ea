//! `ir index` and `ir encode` with `--add`, `--delete` and `--compact`, killed at random moments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use ir_core::{DocNum, Retriever, SplitMix64};
use ir_knn::SegmentedVectorIndex;

use crate::kills::kill_once;
use crate::many_texts::many_texts;
use crate::{contents, ir, tiny_model, variable};

/// The output of a command, which succeeds.
#[track_caller]
fn output(here: &Path, line: &str) -> String {
    let command = ir(here)
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&command.stderr);
    assert!(command.status.success(), "{line}: {error}");
    String::from_utf8(command.stdout).unwrap()
}

/// Copies the files of a folder without folders in it.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Kills updates of the index in the folder `index` at random moments, `IR_KILLS` commands in all
/// (default: 10). After a kill, `read` returns what it did before the update, or what it does after
/// it. Then the update runs to its end, from which on it is the latter.
fn kill(name: &str, here: &Path, updates: &[&str], read: impl Fn() -> Vec<String>) {
    let count = variable("IR_KILLS").unwrap_or(10);
    let mut random = SplitMix64::from_name(variable("IR_HOSTILE_SEED").unwrap_or(1), name);
    let (index, before_update) = (here.join("index"), here.join("before"));
    let (mut killed, mut committed) = (0, 0);
    for (number, update) in updates.iter().enumerate() {
        copy(&index, &before_update);
        let before = read();
        let started = Instant::now();
        output(here, update);
        let time = started.elapsed();
        let after = read();
        let finished = contents(&index).len();
        let goal = count * (number as u64 + 1) / updates.len() as u64;
        // On a machine that has become faster, most commands end before they are killed.
        let mut attempts = 0;
        while attempts < 20 * count && killed < goal {
            copy(&before_update, &index);
            let mut is_committed = false;
            for _ in 0..=random.below(3) {
                attempts += 1;
                killed += u64::from(kill_once(here, update, time, &mut random));
                let found = read();
                // What was committed stays so.
                let is_whole = found == after || found == before && !is_committed;
                assert!(is_whole, "{name}: {update}: {} lines", found.len());
                is_committed = found != before;
            }
            committed += u64::from(is_committed);
            output(here, update);
            assert!(read() == after, "{name}: {update}: other documents");
            // Files of the killed commands are removed.
            assert_eq!(contents(&index).len(), finished, "{name}: {update}");
        }
    }
    eprintln!("{name}: {killed} kills, {committed} indexes had the update after these");
    assert!(killed > 0 || count == 0, "{name}: no command was killed");
}

/// Writes documents, others with some of their ids, queries, and ids to delete.
fn write_inputs(here: &Path, count: usize) {
    let (old, new) = (many_texts(count), many_texts(2 * count));
    fs::write(here.join("old.tsv"), old).unwrap();
    let new = new
        .replace("\tship", "\tradar tea")
        .replace(" sea", " black");
    let new: Vec<_> = new.lines().skip(count / 2).collect();
    fs::write(here.join("new.tsv"), new.join("\n")).unwrap();
    let gone: String = (0..count / 3).map(|n| format!("d{}\n", 3 * n)).collect();
    fs::write(here.join("gone"), gone).unwrap();
    fs::write(
        here.join("queries.tsv"),
        "1\ttea at sea\n2\tradar 17\n3\tgreen\n",
    )
    .unwrap();
}

#[test]
fn killed_index_updates() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_inputs(here, 15_000);
    output(here, "index old.tsv -o index --add");
    kill(
        "index updates",
        here,
        &[
            "index new.tsv -o index --add --threads 1",
            "index -o index --delete gone",
            "index -o index --compact",
            "index old.tsv -o index --add --delete gone --compact --memory 1MB",
        ],
        || {
            let hits = output(here, "search index --queries queries.tsv -k 50 -o -");
            hits.lines().map(str::to_owned).collect()
        },
    );
}

#[test]
fn killed_encode_updates() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_inputs(here, 1_500);
    let model = tiny_model();
    let encode = |rest: &str| format!("encode {model} {rest} --threads 1");
    output(here, &encode("old.tsv -o index --add"));
    let add = encode("new.tsv -o index --add");
    let add_all = encode("old.tsv -o index --add --delete gone --compact");
    kill(
        "encode updates",
        here,
        &[
            &add,
            "encode -o index --delete gone",
            "encode -o index --compact",
            &add_all,
        ],
        || {
            let index = SegmentedVectorIndex::open(here.join("index")).unwrap();
            let docs = index.ids().iter().zip((0..).map(DocNum::new));
            let vectors = docs.map(|(id, doc)| format!("{id} {:?}", index.vector(doc)));
            // Documents are numbered as they were added.
            vectors.collect::<BTreeSet<_>>().into_iter().collect()
        },
    );
}
