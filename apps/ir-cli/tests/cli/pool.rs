//! `ir pool`: from runs to judgments.

use crate::common::{Folder, QRELS, RUN, value, words};

#[test]
fn pool_from_runs_to_judgments() {
    let here = Folder::new();
    let list = |tag: &str, first: usize| -> String {
        (0..100)
            .map(|n| format!("q1 Q0 d{:03} {n} {} {tag}\n", first + n, 100 - n))
            .collect()
    };
    here.write("a.trec", list("A", 0));
    here.write("b.trec", list("B", 50));
    let whole = here.ir("pool --depth 10 a.trec b.trec").ok().out;
    assert_eq!(whole.lines().count(), 20);
    assert!(whole.starts_with("q1\td000\nq1\td001\n"), "{whole}");
    let shuffled = here.ir("pool -k 10 --shuffle a.trec b.trec").ok().out;
    assert_ne!(shuffled, whole);
    let mut lines: Vec<&str> = shuffled.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, whole.lines().collect::<Vec<_>>());

    let draw = words(
        "pool -k 10 --sample 50:10% --sample 100:7 --seed 1 a.trec b.trec -o judge.tsv --pool \
        pool.qrels",
    );
    if std::path::Path::new("/dev/full").exists() {
        let mut full = draw.clone();
        let output = full.len() - 3;
        full[output] = "/dev/full";
        here.ir(&full).fails(1, &["/dev/full: cannot be written"]);
        assert!(!here.at("pool.qrels").exists(), "a pool without its list");
    }
    here.ir(&draw).ok();
    let (judge, pool) = (here.read("judge.tsv"), here.read("pool.qrels"));
    // The top tens; 80 documents down to rank 50, which are all below the top tens of both; the
    // rest of b, 50 documents.
    assert_eq!(judge.lines().count(), 20 + 8 + 7);
    assert_eq!(pool.lines().count(), 150);
    assert_eq!(
        pool.lines().filter(|line| line.ends_with(" -2")).count(),
        35
    );
    here.ir(&draw).ok();
    assert_eq!(
        (here.read("judge.tsv"), here.read("pool.qrels")),
        (judge.clone(), pool.clone())
    );

    // Judgments: even documents are relevant, the last line has no grade.
    let mut graded: Vec<String> = judge
        .lines()
        .map(|line| {
            let even = line.bytes().next_back().unwrap() % 2 == 0;
            format!("{line}\t{}\n", u8::from(even))
        })
        .collect();
    let last = graded.pop().unwrap();
    here.write(
        "graded.tsv",
        graded.concat() + &last.replace("\t0\n", "\n").replace("\t1\n", "\n"),
    );
    let merged = here
        .ir("pool --merge pool.qrels graded.tsv -o final.qrels")
        .ok();
    assert!(
        merged
            .err
            .contains("warning: 1 pooled documents have no judgment yet"),
        "{}",
        merged.err
    );
    // The missing grade as a qrels line on standard input, merged into the result.
    let (topic, rest) = last.trim().split_once('\t').unwrap();
    let four = format!("{topic} 0 {}\n", rest.replace('\t', " "));
    let args = ["pool", "--merge", "final.qrels", "-"];
    let done = here.ir_with(&args, &four).ok();
    assert_eq!(done.err, "");
    assert_eq!(
        done.out
            .lines()
            .filter(|line| line.ends_with(" -1"))
            .count(),
        115
    );
    here.write("final.qrels", &done.out);
    let args = "pool --merge final.qrels graded.tsv --form plain -o plain.qrels";
    here.ir(args).ok();
    assert_eq!(here.read("plain.qrels").lines().count(), 35);
    let scores = here
        .ir("eval -m num_rel -m infAP plain.qrels a.trec")
        .ok()
        .out;
    assert!(value(&scores, "num_rel") > 10.0);

    // A second round excludes judged documents.
    let args = "pool -k 10 --judged plain.qrels a.trec b.trec";
    assert_eq!(here.ir(args).ok().out, "");

    let fails = |text: &str, parts: &[&str]| {
        here.ir_with("pool --merge pool.qrels -", text)
            .fails(1, parts);
    };
    fails(
        "q1 d000 x\n",
        &["standard input:1", "expected an integer grade", "\"x\""],
    );
    let merge = |text: &str| here.ir_with("pool --merge pool.qrels -", text).ok().out;
    let marked = "\u{feff}q1\td000\t1\r\n";
    assert_eq!(merge(marked), merge("q1\td000\t1\n"));
    fails("\nq1 d999 1\n", &["standard input:2", "d999"]);
    fails("q1 d000 -1\n", &["expected a grade >= 0, found -1"]);
    fails("q1 0 d000 1 extra\n", &["5 columns"]);
    fails(
        "q1 d000 1\nq1 d000 0\n",
        &["standard input:2", "expected the existing grade 1, found 0"],
    );
    let not_drawn = pool
        .lines()
        .find(|line| line.ends_with(" -1"))
        .unwrap()
        .split(' ')
        .nth(2)
        .unwrap();
    fails(&format!("q1 {not_drawn} 1\n"), &["drawn for judging"]);
    here.ir("pool a.trec -o x --pool x").fails(
        2,
        &[
            "--pool: expected a destination other than --output",
            "x for both",
        ],
    );
    here.ir("interleave a.trec b.trec --teams -")
        .fails(2, &["--teams: expected a destination other than --output"]);
    here.ir("pool --sample 200:5% a.trec").fails(2, &["--pool"]);
    here.ir("pool --sample 50:5% a.trec --pool x")
        .fails(2, &["after rank 100"]);
    here.ir("pool --sample 50:5x a.trec")
        .fails(2, &["TO:PERCENT%"]);
    here.ir("pool --preset biocaddie-submitted -k 3 a.trec")
        .fails(2, &["--depth"]);
}

/// The error of judgments in a format of `ir pool`, or of a run in their place, names the command
/// that converts or reads them.
#[test]
fn judgments_in_other_formats() {
    let here = Folder::new();
    here.write("a.trec", RUN);
    here.write("b.trec", RUN.replace("d2", "d4"));
    here.write("ann.tsv", "q1\td1\t1\nq1\td2\t0\nq2\td3\t1\n");
    here.write("spaces.tsv", "q1 d1 1\n");
    here.write("ungraded.tsv", "q1\td1\n");
    here.write("qrels", QRELS);
    let convert = |file: &str| format!("ir pool --merge POOL --form plain {file} -o NAME.qrels");
    for file in ["ann.tsv", "spaces.tsv"] {
        for args in [
            &["pool", "a.trec", "--judged", file][..],
            &["eval", file, "a.trec"],
            &["agree", file, "qrels"],
            &["overlap", "a.trec", "b.trec", "--qrels", file],
        ] {
            here.ir(args).fails(1, &[&convert(file)]);
        }
    }

    // The header line needs no pool, and comes first.
    let header = "(query, document and grade? separate them by tabs below the header line `query-id corpus-id score`; judgments of a pool?";
    here.ir("eval spaces.tsv a.trec").fails(1, &[header]);
    here.write(
        "headed.tsv",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t1\n",
    );
    here.ir("eval headed.tsv a.trec").ok();

    // Two columns are judgments of grade 1, or a pool that is not judged yet.
    let ran = here.ir("eval ungraded.tsv a.trec").ok();
    assert!(ran.err.contains("ir pool"), "{}", ran.err);

    let draw = ["pool", "-k", "3", "a.trec", "-o", "x", "--pool", "pool"];
    here.ir(&draw).ok();
    here.errors(
        "
        agree pool qrels
          1: convert them with ir pool --merge pool --form plain -o NAME.qrels
        buckets --training pool qrels a.trec
          1: convert them with ir pool --merge pool --form plain
        eval pool a.trec
          1: read them with -R strata
        agree qrels a.trec
          1: (a run? runs are given with --run)
        buckets --training a.trec qrels b.trec
          1: (a run?)
        buckets --training qrels a.trec b.trec
          1: (a run? the judgments are the first argument)
        eval a.trec qrels
          1: (a run? the judgments are the first argument)
    ",
    );

    // The named command converts a pool, also without further judgments.
    here.ir("pool --merge pool ann.tsv -o final").ok();
    let plain = ["pool", "--merge", "final", "--form", "plain"];
    assert_eq!(here.ir(&plain).ok().out, QRELS);
    here.ir("pool --merge final").fails(2, &["<RUN>"]);

    // Assessors who differ.
    here.write("ben.tsv", "q1\td1\t0\n");
    here.errors(r#"
        pool --merge pool ann.tsv ben.tsv
          1: ben.tsv:1: query "q1", document "d1": expected the existing grade 1, found 0 (assessors differ? `ir agree` | merge one file of agreed grades
    "#);
}
