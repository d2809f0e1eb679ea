//! `ir compare`, `ir sweep` and `ir buckets`.

use crate::common::{Folder, data, words};

/// Eight queries with one relevant document each, and three runs: `good` finds it first, `bad`
/// fourth, and `ugly`, with the tag of `bad`, second, for six of the queries.
fn write_three_runs(folder: &Folder) {
    let mut qrels = String::new();
    let (mut good, mut bad, mut ugly) = (String::new(), String::new(), String::new());
    for query in 1..=8 {
        qrels += &format!("q{query} 0 d{query} 1\nq{query} 0 n{query} 0\n");
        let second = if query == 8 { 2 } else { 1 };
        good += &format!("q{query} Q0 d{query} {second} {}.5 good\n", 9 - second);
        good += &format!("q{query} Q0 x 1 7.9 good\n");
        for (rank, doc) in ["x", "y", &format!("n{query}"), &format!("d{query}")]
            .into_iter()
            .enumerate()
        {
            bad += &format!(
                "q{query} Q0 {doc} {} {} bad\n",
                rank + 1,
                10 - rank - query / 8
            );
        }
        if query < 7 {
            ugly += &format!("q{query} Q0 x 1 2.0 bad\nq{query} Q0 d{query} 2 1.0 bad\n");
        }
    }
    folder.write("qrels.txt", qrels);
    folder.write("good.trec", good);
    folder.write("bad.trec", bad);
    folder.write("ugly.trec", ugly);
}

#[test]
fn comparison_table() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let args = "compare -m recip_rank qrels.txt bad.trec good.trec ugly.trec";
    let out = folder.ir(args).ok().out;
    // Equal tags: the file names tell them apart.
    let table = "\
Scores

system           RR
---------------------
bad.trec    0.2500
good        0.9375†
ugly.trec   0.3750
";
    assert!(out.starts_with(table), "{out}");
    for part in [
        "\nsystems: 3; baseline: bad.trec\n",
        "\nqueries: 8; judged without results: ugly.trec 2 (count as 0)\n",
        "\nties: score then id descending; missing queries: count as 0; ",
        "\ntest: paired t, two-sided; correction: Holm, over the tests of a measure; level: 0.05; ",
    ] {
        assert!(out.contains(part), "expected {part:?} in {out}");
    }
    assert_eq!(folder.ir(args).ok().out, out);
}

/// The extension of the output selects the format, unless --format is given.
#[test]
fn formats_by_extension() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let compare = |more: &[&str]| {
        let runs = ["compare", "qrels.txt", "bad.trec", "good.trec"];
        folder.ir(&[&runs[..], more].concat())
    };
    for (output, format) in [
        ("t.html", "html"),
        ("t.md", "markdown"),
        ("t.tex", "latex"),
        ("t.csv", "csv"),
        ("t.json", "json"),
        ("t.txt", "table"),
    ] {
        compare(&["-o", output]).ok();
        let expected = compare(&["--format", format]).ok().out;
        assert_eq!(folder.read(output), expected, "{output}");
    }
    compare(&["-o", "t.html", "--format", "csv"]).ok();
    assert_eq!(folder.read("t.html"), folder.read("t.csv"));
    compare(&["--plots", "plot.svg"]).fails(2, &["--plots: expected a folder"]);
}

#[test]
fn baseline_selection_and_all_pairs() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let ir = |more: &[&str]| {
        let mut args = vec![
            "compare",
            "-m",
            "RR",
            "qrels.txt",
            "bad.trec",
            "good.trec",
            "ugly.trec",
        ];
        args.extend(more);
        folder.ir(&args)
    };
    for baseline in ["good", "good.trec"] {
        let out = ir(&["--baseline", baseline]).ok().out;
        assert!(out.contains("baseline: good\n"), "{out}");
        assert!(out.contains("bad.trec    0.2500‡\n"), "{out}");
    }
    // Two runs have this tag.
    ir(&["--baseline", "bad"]).fails(
        2,
        &[
            "--baseline",
            "bad.trec, good in good.trec, ugly.trec",
            "\"bad\"",
        ],
    );
    let out = ir(&["--all-pairs", "--test", "randomization"]).ok().out;
    assert!(out.contains("\nb good        0.9375 ac\n"), "{out}");
    assert!(out.contains("exact up to 20 differing queries"), "{out}");
    ir(&["--all-pairs", "--baseline", "good"]).fails(2, &["--baseline"]);
}

#[test]
fn all_significance_tests() {
    let folder = Folder::new();
    write_three_runs(&folder);
    for test in ["t", "wilcoxon", "randomization", "bootstrap", "datafinder"] {
        for alternative in ["two-sided", "greater", "less"] {
            let args = [
                "compare",
                "-m",
                "RR",
                "--test",
                test,
                "--alternative",
                alternative,
                "--format",
                "csv",
                "qrels.txt",
                "bad.trec",
                "good.trec",
            ];
            let sampling = ["--samples", "500", "--seed", "3"];
            let draws = !["t", "wilcoxon"].contains(&test);
            let ran = folder.ir(&[&args, &sampling[..if draws { 4 } else { 0 }]].concat());
            if test == "datafinder" && alternative == "two-sided" {
                ran.fails(2, &["datafinder", "two-sided"]);
                continue;
            }
            let out = ran.ok().out;
            let mut table = csv::Reader::from_reader(out.as_bytes());
            let header = table.headers().unwrap().clone();
            let p = header.iter().position(|name| name == "p").unwrap();
            let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
            assert_eq!(rows.len(), 3, "{out}");
            let p: f64 = rows[2][p].parse().unwrap();
            let low = alternative != "less";
            assert_eq!(p < 0.05, low, "{test} {alternative}: {p}");
        }
    }
}

/// The names of tests in scipy, trec_eval's literature and other tools; the help lists them.
#[test]
fn aliases_of_significance_tests() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let help = folder.ir("compare --help").ok().out;
    let compare = |test: &str| {
        let args = format!("compare --test {test} qrels.txt bad.trec good.trec");
        folder.ir(&args).ok().out
    };
    for (name, aliases) in [
        ("t", "student, ttest, t-test"),
        ("randomization", "fisher, permutation"),
    ] {
        assert!(help.contains(&format!("[aliases: {aliases}]")), "{help}");
        for alias in aliases.split(", ") {
            assert_eq!(compare(alias), compare(name), "{alias}");
        }
    }
}

/// Figure 7 of the DataFinder paper: the lists of the systems for one query, with relevance.
#[test]
fn lists_of_a_query_side_by_side() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let ir = |more: &str| {
        folder.ir(&format!(
            "compare --query q1 {more} qrels.txt bad.trec good.trec"
        ))
    };
    let out = ir("--query-depth 3").ok().out;
    let expected = "
q1: 1 relevant document

rank  bad     good
1     x       * d1 (1)
2     y       x
3     n1 (0)
";
    assert!(out.ends_with(expected), "{out}");
    let markdown = ir("--query-depth 1 --format markdown").ok().out;
    let expected = "
`q1`: 1 relevant document

| rank | `bad` | `good` |
| ---: | --- | --- |
| 1 | `x` | * `d1` (1) |
";
    assert!(markdown.ends_with(expected), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&ir("--format json").ok().out).unwrap();
    let list = &json["lists"][0]["lists"][0];
    assert_eq!(
        (&list["system"], &list["documents"][3]["relevant"]),
        (&"bad".into(), &true.into())
    );
    let html = ir("--format html").ok().out;
    assert!(
        html.contains("id=\"lists\"") && html.contains("<b>d1</b>"),
        "{html}"
    );

    // No list has the document.
    let missed = "compare --query q8 --query-depth 1 qrels.txt bad.trec good.trec";
    let out = folder.ir(missed).ok().out;
    assert!(out.ends_with("\nin no list: * d8 (1)\n"), "{out}");
    ir("--query q99").fails(2, &["--query q99: expected a query of the judgments"]);
    ir("--format latex").fails(2, &["--query: expected --format table"]);
    let alone = "compare --query-depth 3 qrels.txt bad.trec good.trec";
    folder.ir(alone).fails(2, &["--query"]);
}

#[test]
fn per_topic_differences() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let ir = |format: &str| {
        let args =
            format!("compare -m RR --per-topic=2 --format {format} qrels.txt bad.trec ugly.trec");
        folder.ir(&args)
    };
    let out = ir("table").ok().out;
    let gains = "
RR: ugly.trec above bad.trec (2 of 6 queries)

  +0.2500  0.2500 -> 0.5000  q1
           grade 1, rank 4 -> 2: d1
           grade 0, rank 3 -> -: n1
           unjudged, rank 2 -> -: y
";
    assert!(out.contains(gains), "{out}");
    let losses = "
RR: bad.trec above ugly.trec (2 of 2 queries)

  -0.2500  0.2500 -> 0.0000  q8
           grade 1, rank 4 -> -: d8
";
    assert!(out.contains(losses), "{out}");
    let json: serde_json::Value = serde_json::from_str(&ir("json").ok().out).unwrap();
    assert_eq!(json["topics"][0]["gains"][0]["moved"][0]["doc"], "d1");
    assert_eq!(json["queries"].as_array().unwrap().len(), 8);
    let csv = ir("csv").ok().out;
    assert_eq!(
        csv.lines().nth(1),
        Some("RR,ugly.trec,bad.trec,q1,0.5,0.25,0.25")
    );
    let markdown = ir("markdown").ok().out;
    let gains = "
RR: `ugly.trec` above `bad.trec` (2 of 6 queries):

- +0.2500 (0.2500 to 0.5000) `q1`
  - grade 1, rank 4 -> 2: `d1`
";
    assert!(markdown.contains(gains), "{markdown}");
    ir("latex").fails(2, &["--per-topic", "latex"]);
    // The number is a value of --per-topic, not a file.
    let apart = "compare qrels.txt bad.trec --per-topic 2 good.trec";
    folder.ir(apart).fails(2, &["--per-topic=2"]);
}

#[test]
fn common_queries_only() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let args = "compare --common -m RR qrels.txt bad.trec ugly.trec";
    let out = folder.ir(args).ok().out;
    assert!(out.contains("\nugly.trec   0.5000"), "{out}");
    assert!(
        out.contains("\nqueries: 6 that all systems answered, 2 left out that only some did; "),
        "{out}"
    );
}

#[test]
fn output_is_atomic() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let args = |run: &'static str| {
        [
            "compare",
            "--format",
            "latex",
            "-o",
            "table.tex",
            "qrels.txt",
            "bad.trec",
            run,
        ]
    };
    folder.ir(&args("nowhere.trec")).fails(1, &["nowhere.trec"]);
    assert!(!folder.at("table.tex").exists());
    assert_eq!(folder.ir(&args("good.trec")).ok().out, "");
    let table = folder.read("table.tex");
    assert_eq!(table.matches("\\toprule").count(), 1, "{table}");
    let more = |form| {
        folder.ir(&format!(
            "compare --details --format {form} qrels.txt bad.trec good.trec"
        ))
    };
    let tables = more("latex").ok().out;
    assert_eq!(tables.matches("\\toprule").count(), 3, "{tables}");
    assert!(tables.starts_with(&table), "{tables}");
    more("csv").fails(2, &["--details", "--format latex"]);
}

#[test]
fn compare_usage_errors() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let ir = |args: &[&str]| folder.ir(args);
    ir(&["compare", "qrels.txt", "good.trec"]).fails(2, &["at least 2 runs"]);
    ir(&["compare", "qrels.txt", "-", "-"]).fails(2, &["more than once"]);
    ir(&[
        "compare",
        "--alpha",
        "5",
        "qrels.txt",
        "good.trec",
        "bad.trec",
    ])
    .fails(2, &["between 0 and 1", "\"5\""]);
    ir(&[
        "compare",
        "-m",
        "nonsense",
        "qrels.txt",
        "good.trec",
        "bad.trec",
    ])
    .fails(2, &["--measure", "nonsense"]);
    ir(&["sweep", "qrels.txt", "good.trec"]).fails(2, &["at least 2 runs"]);
    ir(&["compare", "--common", "-c", "qrels.txt", "good.trec"]).fails(2, &["--common", "-c"]);
    ir(&["sweep", "-c", "qrels.txt", "good.trec", "bad.trec"]).fails(2, &["'-c'"]);
    ir(&[
        "sweep",
        "-m",
        "P.5,10",
        "qrels.txt",
        "good.trec",
        "bad.trec",
    ])
    .fails(2, &["one measure", "P.5,10"]);
    ir(&["buckets", "qrels.txt", "good.trec"]).fails(2, &["--counts", "--training"]);
    ir(&[
        "buckets",
        "--counts",
        "c.tsv",
        "--bucket",
        "9-1",
        "qrels.txt",
        "good.trec",
    ])
    .fails(2, &["6-20", "9-1"]);
    folder.write("c.tsv", "d1 three\n");
    ir(&["buckets", "--counts", "c.tsv", "qrels.txt", "good.trec"])
        .fails(1, &["c.tsv:1", "count", "three"]);
    folder.write("other.txt", "elsewhere 0 d1 1\n");
    ir(&[
        "buckets",
        "--training",
        "qrels.txt",
        "other.txt",
        "good.trec",
    ])
    .fails(1, &["good.trec", "other.txt"]);
}

#[test]
fn sweep_over_two_settings() {
    let folder = Folder::new();
    write_three_runs(&folder);
    let args = "sweep -q -m recip_rank qrels.txt ugly.trec good.trec";
    let out = folder.ir(args).ok().out;
    let expected = "\
setting               RR  chosen
good.trec         0.9375       8
ugly.trec         0.3750       0

leave one out     0.9375
oracle setting    0.9375  good.trec

good.trec         1.0000  q1
";
    assert!(out.starts_with(expected), "{out}");
    assert!(out.contains("\nqueries: 8\nties: "), "{out}");
    let json = "sweep --json --trec-eval -m RR qrels.txt ugly.trec good.trec";
    let json: serde_json::Value = serde_json::from_str(&folder.ir(json).ok().out).unwrap();
    assert_eq!(json["best"], "good.trec");
    assert_eq!(json["decimals"], 4);
    assert_eq!(json["choices"].as_array().unwrap().len(), 8);
    // Files of two folders are named and ordered by their paths.
    folder.write("deep/bad.trec", folder.read("bad.trec"));
    let args = ["sweep", "qrels.txt", "ugly.trec", "deep/bad.trec"];
    let out = folder.ir(&args).ok().out;
    let rows: Vec<&str> = out.lines().skip(1).take(2).collect();
    assert!(rows[0].starts_with("deep/bad.trec  "), "{out}");
    assert!(rows[1].starts_with("ugly.trec  "), "{out}");
}

#[test]
fn recall_by_training_frequency() {
    let folder = Folder::new();
    write_three_runs(&folder);
    folder.write("counts.tsv", "d1\t3\nd2\t3\nd8\t40\n");
    let args = "buckets --counts counts.tsv qrels.txt good.trec bad.trec";
    let out = folder.ir(args).ok().out;
    // R = 1: the first document in the order of the file. That of q8 is d8, although x has the
    // higher score.
    let rows = "\
counts    queries  relevant    good     bad
501-2500        0         0       -       -
101-500         0         0       -       -
51-100          0         0       -       -
21-50           1         1  1.0000  0.0000
6-20            0         0       -       -
1-5             2         2  1.0000  0.0000
";
    assert!(out.starts_with(rows), "{out}");
    let by_score = "buckets --order score --counts counts.tsv --json qrels.txt good.trec";
    let json: serde_json::Value = serde_json::from_str(&folder.ir(by_score).ok().out).unwrap();
    assert_eq!(json["buckets"][3]["recall"], 0.0);
    // Counted in judgments: every relevant document occurs once.
    let training = words("buckets --training qrels.txt --bucket 1-1 qrels.txt good.trec");
    let ran = folder.ir(&training).ok();
    assert!(
        ran.out.contains("\n1-1           8         8  1.0000\n"),
        "{}",
        ran.out
    );
    let expected = "warning: --training: the judgments that are evaluated; ";
    assert!(ran.err.starts_with(expected), "{}", ran.err);
    folder.write("other.tsv", "z\t3\n");
    let other = ["buckets", "--counts", "other.tsv", "qrels.txt", "good.trec"];
    assert_eq!(
        folder.ir(&other).ok().err,
        "warning: --counts: no document with relevant judgments in qrels.txt has a count\n"
    );
}

/// The bi-encoder run of DataFinder's replication, and training labels.
#[test]
fn datafinder_buckets() {
    let Some(data) = data("datafinder_buckets") else {
        return;
    };
    let folder = Folder::new();
    let file = |name: &str| {
        data.join("datafinder")
            .join(name)
            .to_string_lossy()
            .into_owned()
    };
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    let labeled = std::fs::read_to_string(file("train_labelled.jsonl")).unwrap(); // language: allow
    for line in labeled.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        for doc in row["positives"].as_array().unwrap() {
            let words: Vec<&str> = doc.as_str().unwrap().split_whitespace().collect();
            *counts.entry(words.join("_")).or_default() += 1;
        }
    }
    let lines: Vec<String> = counts
        .iter()
        .map(|(doc, n)| format!("{doc}\t{n}\n"))
        .collect();
    folder.write("counts.tsv", lines.concat());
    let (qrels, run) = (
        file("test_dataset_collection.qrels"),
        file("runs/tevatron_full_sentence.trec"),
    );
    let out = folder
        .ir_data(&["buckets", "--counts", "counts.tsv", &qrels, &run])
        .ok()
        .out;
    // A dozen lines of Python over the same files give 0.4118253968253968 over 210 queries, 310
    // datasets; no training dataset occurs more often than five times in this file.
    assert!(out.contains("\n1-5           210       310  "), "{out}");
    assert!(out.contains("  0.4118\n"), "{out}");
    assert!(out.contains("\n6-20            0         0  "), "{out}");
}
