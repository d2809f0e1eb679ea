//! `ir eval` on unusual, invalid, large and unsorted runs and qrels.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::common::{Folder, value};

const QRELS: &str = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\nq3 0 d1 -1\nq3 0 d2 -2\n";
const RUN: &str = "q1 Q0 d2 1 2.5 me\nq1 Q0 d1 2 1.5 me\nq2 Q0 d3 1 1.0 me\nq3 Q0 d1 1 1.0 me\n";
const PLAIN: &[&str] = &["eval", "-q", "-m", "all_trec", "qrels", "run"];

/// Exit code, output and messages for a run; asserts that they depend neither on the number of
/// threads nor on reading from standard input.
fn printed(here: &Folder, run: &str) -> (i32, String, String) {
    here.write("run", run);
    let mut all = Vec::new();
    for threads in ["1", "2", "4"] {
        let ran = here.ir(&[PLAIN, &["--threads", threads]].concat());
        all.push((ran.code, ran.out, ran.err));
    }
    let piped = here.ir_with("eval -q -m all_trec qrels -", run);
    let named = |text: &str| {
        text.replace("standard input", "run")
            .replace("- with", "run with")
    };
    all.push((piped.code, named(&piped.out), named(&piped.err)));
    for other in &all[1..] {
        assert_eq!(&all[0], other, "{run}");
    }
    all.swap_remove(0)
}

/// The one-line error for a run.
fn error_of(here: &Folder, run: &str) -> String {
    let (code, out, err) = printed(here, run);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    let errors: Vec<&str> = err
        .lines()
        .filter(|line| !line.starts_with("warning"))
        .collect();
    assert_eq!(errors.len(), 1, "{err}");
    errors[0].to_owned()
}

#[test]
fn white_space_and_line_order_are_irrelevant() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    let (code, expected, warned) = printed(&here, RUN);
    assert_eq!((code, warned.as_str()), (0, ""));
    let mixed = RUN
        .replace('\n', "\r\n")
        .replace("Q0 ", "Q0\t \t")
        .replace(" me", "\tme more");
    assert_eq!(
        printed(&here, &format!("\r\n# comment\n\n{mixed} \t \n")).1,
        expected
    );
    let unended = RUN.trim_end();
    assert_eq!(printed(&here, unended).1, expected);
    // The lines of q1 are not adjacent.
    let mut lines: Vec<&str> = RUN.lines().collect();
    lines.rotate_left(1);
    assert_eq!(printed(&here, &lines.join("\n")).1, expected);
    let qrels: Vec<&str> = QRELS.lines().rev().collect();
    here.write("qrels", qrels.join(" \r\n"));
    assert_eq!(printed(&here, RUN).1, expected);
}

#[test]
fn queries_missing_from_one_file() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    assert_eq!(
        error_of(&here, "z1 Q0 d1 1 2 me\nz2 Q0 d1 1 2 me\n"),
        "error: run with qrels: expected a query that has both judgments and results, found none \
         (the qrels have 3 queries, such as \"q1\", the run has 2, such as \"z1\")"
    );
    // Warnings about the run come with the error.
    let (code, _, err) = printed(&here, "z1 Q0 d1 1 two me\n");
    assert_eq!(code, 1);
    for part in ["\"two\" is not a number", "found none"] {
        assert!(err.contains(part), "{err}");
    }
    // A byte-order mark is no part of the first id.
    let marked = printed(&here, "\u{feff}q2 Q0 d3 1 1.0 me\n");
    assert_eq!((marked.0, value(&marked.1, "num_q")), (0, 1.0));
    let (code, out, err) = printed(&here, "z9 Q0 d1 1 2 me\nq2 Q0 d3 1 1.0 me\n");
    assert_eq!(
        (code, value(&out, "num_q"), value(&out, "map")),
        (0, 1.0, 1.0)
    );
    assert!(
        err.contains("warning: 2 judged queries have no results"),
        "{err}"
    );
    assert!(
        err.contains(
            "warning: 1 queries of the run have no judgments and are ignored, such as \"z9\""
        ),
        "{err}"
    );
    // A query with negative grades only counts as judged, without relevant documents.
    let (_, out, _) = printed(&here, RUN);
    assert_eq!(
        (value(&out, "num_q"), value(&out, "num_rel")),
        (3.0, 1.0),
        "num_rel of q1"
    );
    assert!(
        out.contains("\nmap                   \tq3\t0.0000\n"),
        "{out}"
    );
}

#[test]
fn special_score_values() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    assert_eq!(
        error_of(&here, "q1 Q0 d1 1 2 me\nq1 Q0 d2 2 nan me\n"),
        "error: run:2: expected a score, found NaN"
    );
    assert_eq!(
        error_of(&here, "q1 Q0 d1 1 2 me\nq1 Q0 d2 2  me\n"),
        "error: run:2: expected at least 6 columns, found 5"
    );
    let first = |score: &str| {
        let run = format!("q1 Q0 d2 1 8.5 me\nq1 Q0 d1 2 {score} me\n");
        let (code, out, err) = printed(&here, &run);
        assert_eq!(code, 0, "{err}");
        (
            value(&out, "recip_rank") == 1.0,
            err.contains("warning: run:2: the score"),
        )
    };
    // Whether the score is above 8.5, and whether it causes a warning.
    assert_eq!(first("inf"), (true, true));
    assert_eq!(first("-inf"), (false, true));
    assert_eq!(first("0x10"), (true, true));
    assert_eq!(first("0x1p3"), (false, true));
    assert_eq!(first("1e400"), (true, true));
    assert_eq!(first("9,5"), (true, true));
    assert_eq!(first("high"), (false, true));
}

#[test]
fn first_error_and_warnings_are_reported() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    let twice = "run:3: document \"d1\" of query \"q1\" is already in line 1";
    let apart = "q1 Q0 d1 1 2 me\nq2 Q0 d1 1 2 me\nq1 Q0 d1 2 1 me\nq2 Q0\n";
    assert_eq!(error_of(&here, apart), format!("error: {twice}"));
    let later = "q1 Q0 d1 1 2 me\nq2 Q0\nq1 Q0 d1 2 1 me\n";
    assert_eq!(
        error_of(&here, later),
        "error: run:2: expected at least 6 columns, found 2"
    );
    let header = format!("QueryID Q0 DocID Rank Score Tag\n{RUN}");
    let (code, out, err) = printed(&here, &header);
    assert_eq!((code, value(&out, "num_q")), (0, 3.0));
    assert!(
        err.contains(
            "warning: run:1: the score \"Score\" is not a number and was read as 0 \
             (a header line? it counts as data)"
        ),
        "{err}"
    );
}

/// The run is larger than the address space of the command.
#[test]
#[cfg(target_os = "linux")]
fn large_run_is_streamed() {
    let here = Folder::new();
    let padding = "x".repeat(100);
    let (mut run, mut qrels) = (String::new(), String::new());
    for topic in 0..10_000 {
        for rank in 1..=100 {
            writeln!(run, "{topic} Q0 d{rank}-{padding} {rank} {} me", 100 - rank).unwrap();
        }
        writeln!(qrels, "{topic} 0 d2-{padding} 1").unwrap();
    }
    here.write("run", &run);
    here.write("qrels", qrels);
    assert!(run.len() > 120_000_000);
    let program = env!("CARGO_BIN_EXE_ir");
    let evaluate = |mib: u64, qrels: &str, run: &str, threads: &str| {
        let files = format!("{qrels} {run} --threads {threads}");
        let script = format!(
            "ulimit -v {}; exec {program} eval -m recip_rank {files}",
            mib << 10
        );
        std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(here.path())
            // By default, the allocator reserves address space for each thread.
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .unwrap()
    };
    here.write("few.qrels", QRELS);
    here.write("few.run", RUN);
    for threads in ["1", "2"] {
        // Address space of the program itself, which depends on its features.
        let own = (8..).step_by(8).find(|&mib| {
            evaluate(mib, "few.qrels", "few.run", threads)
                .status
                .success()
        });
        let output = evaluate(own.unwrap() + 32, "qrels", "run", threads);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(value(&text(&output.stdout), "recip_rank"), 0.5);
    }
}

/// Judgments and runs with header lines, as data frames and tables are saved.
#[test]
fn header_lines_of_tables() {
    let here = Folder::new();
    here.write(
        "qrels.tsv",
        "qid\tdocno\tlabel\titeration\nq\td\t1\t0\nq\te\t0\t0\n",
    );
    here.write("run", "number\tpassage\trank\nq\te\t1\nq\td\t2\n");
    here.ir("eval -m recip_rank qrels.tsv run").fails(
        1,
        &[
            "run:1: expected a query, a document and a rank, found the header line",
            "--skip-header",
        ],
    );
    let ran = here.ir("eval -m recip_rank --skip-header qrels.tsv run");
    let out = ran.ok().out;
    assert!(out.ends_with("\t0.5000\n"), "{out}");
    // Cranfield's codes are read with a warning.
    let codes = "1 7 3\n1 8 4\n1 9 -1\n";
    here.write("cranqrel", codes);
    here.write("one", "1 Q0 7 1 2 me\n");
    let err = here.ir("eval -m num_rel cranqrel one").ok().err;
    assert!(
        err.contains("warning: cranqrel:1: read as codes of Cranfield"),
        "{err}"
    );
    // In a file of another name, the numbers may be grades.
    for grades in [codes, "1 10 -1\n1 11 1\n2 10 -1\n2 12 2\n"] {
        here.write("grades", grades);
        here.ir("eval grades one").fails(
            1,
            &[
                "grades:1: expected the columns `query 0 document grade`, or codes of Cranfield",
                "in a file named cranqrel",
            ],
        );
    }
}

/// Documents of the run and the judgments have ids in different forms.
#[test]
fn runs_without_a_judged_result_are_a_warning() {
    let here = Folder::new();
    here.write("qrels", "q1 0 1008.0 1\nq2 0 7.0 0\n");
    here.write("run", "q1 Q0 1008 1 2.5 me\nq2 Q0 7 1 2.5 me\n");
    let known = "q1 Q0 1008 1 2.5 other\nq2 Q0 7.0 1 2.5 other\n";
    here.write("known", known);
    let warning = "warning: run: no result is judged (judgments: documents such as \"1008.0\"; run: \"1008\")\n";
    assert_eq!(here.ir("eval qrels run").ok().err, warning);
    assert_eq!(here.ir("eval qrels run known").ok().err, warning);
    assert_eq!(here.ir("eval qrels known").ok().err, "");
    for options in ["", " --per-topic"] {
        let ran = here.ir(&format!("compare qrels run known{options}")).ok();
        assert!(ran.err.contains(warning), "{}", ran.err);
        assert_eq!(ran.err.matches("no result is judged").count(), 1);
    }
    let piped = here.ir_with("eval qrels -", &here.read("run")).ok();
    assert!(
        piped.err.contains(": no result is judged ("),
        "{}",
        piped.err
    );
}

/// Runs as data frames are saved, and columnar files in place of runs.
#[test]
fn runs_of_data_frames() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    let expected = printed(&here, "q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\n");
    let record = |doc: &str, score: &str| {
        format!("{{\"qid\": \"q1\", \"docno\": \"{doc}\", \"score\": {score}, \"run\": \"x\"}}")
    };
    let records = [record("d1", "2.5"), record("d2", "1.5")];
    for run in [
        "qid,docid,docno,rank,score,query,run\nq1,7,d1,0,2.5,\"tea, green\",x\nq1,8,d2,1,1.5,tea,x\n"
            .to_owned(),
        "query_id\tdoc_id\tscore\ttag\nq1\td1\t2.5\tx\nq1\td2\t1.5\tx\n".to_owned(),
        records.join("\n"),
        format!("[{}]", records.join(",")),
    ] {
        assert_eq!(printed(&here, &run), expected, "{run}");
    }
    here.write("run.csv", "qid;docno;score\nq1;d1;2,5\n");
    let expected = "run.csv:2: expected a number in the field \"score\", found \"2,5\"";
    for args in ["eval qrels run.csv", "fuse run.csv run"] {
        here.ir(args).fails(1, &[expected]);
    }
    let expected = "expected a run of six columns (query, Q0, document, rank, score, tag)";
    here.write("run.parquet", b"PAR1\x15\x04\x15\n\x00PAR1");
    here.ir("eval qrels run.parquet")
        .fails(1, &["run.parquet: ", expected, "found a Parquet file"]);
}

#[test]
fn compressed_run_equals_plain_run() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    let expected = printed(&here, RUN);
    // With the lines of q1 adjacent, and apart, which needs a second pass over the file.
    let mut apart: Vec<&str> = RUN.lines().collect();
    apart.rotate_left(1);
    for name in ["run.gz", "run.zst"] {
        for text in [RUN.to_owned(), apart.join("\n")] {
            let mut file = ir_data::create(here.at(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.commit().unwrap();
            assert!(
                !std::fs::read(here.at(name)).unwrap().starts_with(b"q"),
                "{name}"
            );
            let ran = here.ir(&["eval", "-q", "-m", "all_trec", "qrels", name]);
            assert_eq!((ran.code, ran.out, ran.err), expected, "{name}: {text}");
        }
    }
}
