//! `ir sweep --grid`: settings of a grid, searched, evaluated and held out.

use crate::common::{Folder, QRELS, RUN, tiny};

/// Rows of settings: name, score, number of queries that select it.
fn rows(out: &str) -> Vec<Vec<&str>> {
    let rows = out.lines().skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().collect()).collect()
}

fn grid_folder() -> Folder {
    let here = Folder::new();
    let mut corpus = String::new();
    for n in 0..30 {
        let text = "tea ".repeat(1 + n % 4) + &"leaf milk ".repeat(n % 7) + &"ship ".repeat(n % 3);
        corpus += &format!("{{\"_id\": \"d{n:02}\", \"text\": \"{text}\"}}\n");
    }
    here.write("notes/corpus.jsonl", corpus);
    let queries = ["tea leaf", "ship milk", "milk", "tea ship"];
    let queries = (1..).zip(queries);
    let queries = queries.map(|(n, text)| format!("{{\"_id\": \"{n}\", \"text\": \"{text}\"}}\n"));
    here.write("notes/queries.jsonl", queries.collect::<String>());
    let judged = (1..5).flat_map(|query| (0..30).step_by(query + 2).map(move |doc| (query, doc)));
    let judged = judged.map(|(query, doc)| format!("{query}\td{doc:02}\t1\n"));
    let header = "query-id\tcorpus-id\tscore\n".to_owned();
    here.write("notes/qrels/test.tsv", header + &judged.collect::<String>());
    here
}

#[test]
fn a_grid_equals_the_runs_of_its_settings() {
    let here = grid_folder();
    let mut files = Vec::new();
    for k1 in ["0.2", "3"] {
        for b in ["0", "0.5", "1"] {
            let file = format!("k1={k1},b={b}");
            let search = ["search", "notes", "--k1", k1, "--b", b, "--scores", "exact"];
            here.ir(&[&search[..], &["-o", &file]].concat()).ok();
            files.push(file);
        }
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let by_hand = ["sweep", "-q", "-m", "AP", "notes"];
    let by_hand = here.ir(&[&by_hand[..], &files].concat()).ok().out;
    let grid = ["sweep", "-q", "-m", "AP", "notes", "notes"];
    let axes = ["--grid", "k1=0.2,3", "--grid", "b=0,0.5,1"];
    let grid = here.ir(&[&grid[..], &axes].concat()).ok().out;
    assert_eq!(rows(&grid), rows(&by_hand));
    assert_eq!(rows(&grid).len(), 6);
    assert_eq!(grid, by_hand);
    // A saved index and a file of queries; other models, feedback.
    here.ir(&["index", "notes", "-o", "saved.ir"]).ok();
    let saved = [
        "sweep",
        "-q",
        "-m",
        "AP",
        "notes",
        "saved.ir",
        "--query-file",
        "notes",
    ];
    assert_eq!(here.ir(&[&saved[..], &axes].concat()).ok().out, grid);
    let model = ["--model", "qld", "--grid", "mu=1,10,100"];
    let found = here
        .ir(&[&["sweep", "notes", "notes"][..], &model].concat())
        .ok();
    assert_eq!(rows(&found.out)[2][0], "mu=100");
    let feedback = [
        "--feedback",
        "rm3(terms=5)",
        "--grid",
        "feedback.docs=1,5",
        "--grid",
        "k1=1",
    ];
    let found = here
        .ir(&[&["sweep", "notes", "notes"][..], &feedback].concat())
        .ok();
    assert_eq!(rows(&found.out)[1][0], "feedback.docs=5,k1=1");
    let fixed = ["--model", "bm25(b=0.5)", "--grid", "k1=0.2,3"];
    let fixed = here
        .ir(&[&["sweep", "notes", "notes"][..], &fixed].concat())
        .ok()
        .out;
    let scores: Vec<&str> = rows(&fixed).iter().map(|row| row[1]).collect();
    assert_eq!(scores, [rows(&grid)[1][1], rows(&grid)[4][1]]);
}

#[test]
fn wrong_grids_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    let sweep = |options: &[&str]| here.ir(&[&["sweep", "tiny", "tiny"][..], options].concat());
    for (options, parts) in [
        (
            &["--grid", "k1"][..],
            &["--grid", "expected NAME=VALUE,VALUE,..., found \"k1\""][..],
        ),
        (
            &["--grid", "k1=1"],
            &["--grid: expected 2 to 10000 settings, found 1"],
        ),
        (
            &["--grid", "k1=1,2", "--grid", "k1=1"],
            &["--grid: expected different parameters"],
        ),
        (
            &["--grid", "k1=1,2,1.0"],
            &["--grid: expected different values of \"k1\", found 1 twice"],
        ),
        (
            &["--grid", "k=1,2"],
            &["expected a parameter of bm25 (k1, b), found \"k\""],
        ),
        (
            &["--grid", "b=0,2"],
            &["b: expected a number from 0 to 1, found 2"],
        ),
        (
            &["--grid", "mu=1,2", "--model", "qdl"],
            &["did you mean qld?"],
        ),
        (
            &["--grid", "feedback.docs=1,2"],
            &["expected --feedback, found none"],
        ),
        (
            &["--grid", "feedback.doc=1,2", "--feedback", "rm3"],
            &["--feedback", "expected a parameter of rm3", "found \"doc\""],
        ),
        (
            &["--grid", "k1=1,2", "third"],
            &["--grid: expected one collection", "found 2"],
        ),
        (&["--model", "qld"], &["--grid"]),
    ] {
        sweep(options).fails(2, parts);
    }
    let weights = ["--model", "bm25f", "--grid", "weight.titel=1,2"];
    sweep(&weights).fails(
        1,
        &[
            "tiny: weight.titel=1: expected a field of the index",
            "found \"titel\"",
        ],
    );
    sweep(&["--model", "bm25f", "--grid", "weight.title=-1,2"]).fails(
        2,
        &["--grid, --model: weight.title: expected 0 or a number from 1e-9 to 1e9, found -1"],
    );
    let fields = ["sweep", "qrels", "run", "run", "--fields", "separate"];
    here.ir(&fields)
        .fails(2, &["--fields: expected --grid, found none"]);
}
