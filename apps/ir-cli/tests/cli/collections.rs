//! The commands that build and compare test collections: pool, overlap, agree, interleave, fuse,
//! diff.

use crate::common::{Folder, data, words};
use serde_json::Value;

/// Writes the runs A = a b c d and B = c a e.
fn write_two_runs(here: &Folder) {
    here.write(
        "a.trec",
        "q1 Q0 a 1 4 A\nq1 Q0 b 2 3 A\nq1 Q0 c 3 2 A\nq1 Q0 d 4 1 A\n",
    );
    here.write("b.trec", "q1 Q0 c 1 9 B\nq1 Q0 a 2 8 B\nq1 Q0 e 3 1 B\n");
}

/// The documents of a run, in the order of its lines.
fn docs(run: &str) -> Vec<&str> {
    run.lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn help_lists_examples() {
    let here = Folder::new();
    let all = here.ir("--help").ok().out;
    for command in ["pool", "overlap", "agree", "interleave", "fuse", "diff"] {
        assert!(all.contains(&format!("\n  {command}")), "{all}");
        let help = here.ir(&[command, "--help"]).ok().out;
        let after = help.split_once("Examples:").unwrap().1;
        assert!(
            after.lines().all(|line| line.chars().count() <= 78),
            "{after}"
        );
        here.ir(&[command]).fails(2, &["error: "]);
    }
}

#[test]
fn input_is_not_overwritten() {
    let here = Folder::new();
    write_two_runs(&here);
    here.write("clicks", "q1 a\n");
    let (a, b) = (here.read("a.trec"), here.read("b.trec"));
    for args in [
        &["fuse", "a.trec", "b.trec", "-o", "./a.trec"][..],
        &["interleave", "a.trec", "b.trec", "-o", "b.trec"],
        &[
            "interleave",
            "a.trec",
            "b.trec",
            "--clicks",
            "clicks",
            "--teams",
            "clicks",
        ],
        &["pool", "--depth", "3", "a.trec", "b.trec", "-o", "a.trec"],
        &["pool", "--depth", "3", "a.trec", "--pool", "a.trec"],
    ] {
        here.ir(args)
            .fails(2, &["expected a path that is not an input, found "]);
    }
    here.ir("fuse a.trec b.trec -o c.trec").ok();
    assert_eq!((here.read("a.trec"), here.read("b.trec")), (a, b));
}

#[test]
fn runs_with_equal_tags_are_named_by_file() {
    let here = Folder::new();
    here.write("qrels", "q1 0 a 1\n");
    here.write("x.trec", "q1 Q0 a 1 2 same\n");
    here.write("y.trec", "q1 Q0 b 1 2 same\n");
    let json = here
        .ir("buckets --json --training qrels qrels x.trec y.trec")
        .ok()
        .out;
    let names: Vec<Value> = json
        .lines()
        .map(|line| self::json(line)["run"].clone())
        .collect();
    assert_eq!(names, ["x.trec", "y.trec"]);
}

#[test]
fn fusion_scores() {
    let here = Folder::new();
    write_two_runs(&here);
    let fused = here.ir("fuse a.trec b.trec").ok().out;
    assert_eq!(docs(&fused), ["a", "c", "b", "e", "d"]);
    let scores: Vec<String> = fused
        .lines()
        .map(|line| {
            let score: f64 = line.split(' ').nth(4).unwrap().parse().unwrap();
            format!("{score:.8}")
        })
        .collect();
    assert_eq!(
        scores,
        [
            "0.03252247",
            "0.03226646",
            "0.01612903",
            "0.01587302",
            "0.01562500"
        ]
    );
    // Min-max: A gives 1, 2/3, 1/3, 0 and B 1, 7/8, 0; d and e are both 0.
    let sum = here.ir("fuse --method combsum a.trec b.trec").ok().out;
    assert!(sum.starts_with("q1 Q0 a 1 1.875 ir-fuse\n"), "{sum}");
    assert_eq!(docs(&sum), ["a", "c", "b", "e", "d"]);
    let raw = "fuse --method combmnz --normalize none -k 2 a.trec b.trec";
    let raw = here.ir(raw).ok().out;
    assert_eq!(raw, "q1 Q0 a 1 24.0 ir-fuse\nq1 Q0 c 2 22.0 ir-fuse\n");
    let borda = here.ir("fuse --method borda a.trec b.trec").ok().out;
    assert!(borda.starts_with("q1 Q0 a 1 9.0 "), "{borda}");
    let turns = here
        .ir("fuse --method round-robin -k 5 a.trec b.trec")
        .ok()
        .out;
    assert_eq!(docs(&turns), ["a", "c", "b", "e", "d"]);
    // Standard input and an output file.
    let input = here.read("b.trec");
    here.ir_with("fuse a.trec - -o fused.trec", &input).ok();
    assert_eq!(here.read("fused.trec"), fused);
    for method in ["combanz", "combmax", "combmin", "combmed"] {
        assert_eq!(
            here.ir(&["fuse", "--method", method, "a.trec", "b.trec"])
                .ok()
                .out
                .lines()
                .count(),
            5
        );
    }
    here.ir("fuse --normalize sum a.trec")
        .fails(2, &["--normalize", "comb"]);
    here.ir("fuse - -")
        .fails(2, &["expected `-` at most once, found it more than once"]);
    here.ir("fuse --rrf-k -1 a.trec")
        .fails(2, &["--rrf-k", "expected a number of at least 0", "-1"]);
    here.ir("fuse a.trec none.trec").fails(1, &["none.trec"]);
}

#[test]
fn interleaving_and_click_credit() {
    let here = Folder::new();
    write_two_runs(&here);
    here.write("c.trec", "q1 Q0 a 1 2 C\nq1 Q0 f 2 1 C\n");
    let turns = "interleave --method round-robin -k 5 a.trec b.trec c.trec";
    let turns = here.ir(turns).ok().out;
    assert_eq!(docs(&turns), ["a", "c", "b", "f", "e"]);
    assert!(
        turns.starts_with("q1 Q0 a 1 5.0 ir-interleave\n"),
        "{turns}"
    );
    for (leader, expected) in [
        ("first", ["a", "c", "b", "e"]),
        ("second", ["c", "a", "b", "e"]),
    ] {
        let args = format!("interleave --method balanced --leader {leader} a.trec b.trec");
        assert_eq!(docs(&here.ir(&args).ok().out), expected);
    }
    here.write("clicks.tsv", "q1\ta\nq1\tb\n");
    let balanced =
        words("interleave --method balanced --leader first a.trec b.trec --clicks clicks.tsv");
    let credit = here.ir(&balanced).ok().out;
    let rows: Vec<Vec<&str>> = credit
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["q1", "2", "1", "A"], "{credit}");
    assert_eq!(
        rows[3],
        ["queries", "won", "1", "0", "0", "ties"],
        "{credit}"
    );

    let draft = words("interleave --seed 5 a.trec b.trec --teams teams.tsv");
    // Clicks are read before the first output is written.
    here.write("bad-clicks", "t1\n");
    let bad = [&draft[..], &["--clicks", "bad-clicks"]].concat();
    here.ir(&bad).fails(1, &["bad-clicks:1"]);
    assert!(!here.at("teams.tsv").exists());
    let first = here.ir(&draft).ok().out;
    assert_eq!(here.ir(&draft).ok().out, first);
    let teams = here.read("teams.tsv");
    let team = |doc: &str| {
        let line = teams
            .lines()
            .find(|line| line.split('\t').nth(2) == Some(doc))
            .unwrap();
        line.rsplit('\t').next().unwrap().to_owned()
    };
    let args = "interleave --seed 5 a.trec b.trec --clicks - --json";
    let credit = json(&here.ir_with(args, "q1 b\n").ok().out);
    assert_eq!(credit["winner"], team("b"));
    here.ir_with(args, "q1 zzz\n")
        .fails(1, &["standard input:1", "zzz"]);
    here.ir_with(args, "q9 a\n")
        .fails(1, &["standard input:1", "q9"]);
    here.ir_with(args, "q9\n")
        .fails(1, &["standard input:1", "columns"]);
    here.ir("interleave --method balanced a.trec")
        .fails(2, &["two runs"]);
    here.ir("interleave --leader first a.trec b.trec")
        .fails(2, &["--leader"]);
}

#[test]
fn overlap_tables() {
    let here = Folder::new();
    write_two_runs(&here);
    here.write("qrels", "q1 0 a 1\nq1 0 d 2\nq1 0 e 0\n");
    let out = here.ir("overlap --qrels qrels a.trec b.trec").ok().out;
    let rows: Vec<Vec<&str>> = out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // Documents, relevant, judged, only it, relevant of these.
    assert_eq!(rows[1], ["A", "4", "2", "2", "2", "1"], "{out}");
    assert_eq!(rows[2], ["B", "3", "1", "2", "1", "0"], "{out}");
    assert!(rows.contains(&vec!["A", "+", "B", "2", "1", "1"]), "{out}");
    assert_eq!(rows.last().unwrap(), &["union", "5", "2", "3"], "{out}");
    let top = json(&here.ir("overlap --json -k 1 a.trec b.trec").ok().out);
    assert_eq!(top["union"]["documents"], 2);
    assert_eq!(top["regions"].as_array().unwrap().len(), 2);
    here.ir("overlap --level 1 a.trec").fails(2, &["--qrels"]);
    let out = here.ir("overlap a.trec a.trec").ok().out;
    assert!(out.contains("\na.trec + a.trec (2) "), "{out}");
}

#[test]
fn diff_exit_codes() {
    let here = Folder::new();
    write_two_runs(&here);
    let same = here.ir("diff a.trec a.trec").ok().out;
    assert_eq!(same, "identical: 1 queries, 4 documents, scores included\n");
    let differs = here.ir("diff -q a.trec b.trec");
    assert_eq!((differs.code, differs.err.as_str()), (1, ""));
    for part in [
        "different",
        "query q1, rank 1: a against c",
        "tau ",
        "rbo (p = 0.9)",
        "overlap",
    ] {
        assert!(differs.out.contains(part), "{}", differs.out);
    }
    // The common documents, a and c, are in opposite order.
    let object = here.ir("diff --json a.trec b.trec");
    assert_eq!(object.code, 1);
    let object = json(&object.out);
    assert_eq!(
        (&object["mean"]["tau"], &object["identical"]),
        (&Value::from(-1.0), &Value::from(false))
    );
    let shifted = here.read("a.trec").replace(" 4 A", " 4.5 A");
    here.write("shifted.trec", shifted);
    let scores = here.ir("diff a.trec shifted.trec");
    assert!(
        scores.code == 1 && scores.out.contains("scores only"),
        "{}",
        scores.out
    );
    assert!(
        scores.out.contains("0.500000 (query q1, a: 4 against 4.5)"),
        "{}",
        scores.out
    );
    here.ir("diff --tolerance inf a.trec shifted.trec").ok();
    here.ir("diff --tolerance 0.5 a.trec shifted.trec").ok();
    here.write("more.trec", here.read("a.trec") + "q2 Q0 x 1 1 A\n");
    let more = here.ir("diff a.trec more.trec");
    assert!(
        more.code == 1 && more.out.contains("in the second only"),
        "{}",
        more.out
    );
    // Errors exit with 2: 1 means that the runs differ.
    here.ir("diff a.trec none.trec").fails(2, &["none.trec"]);
    here.ir("diff a.trec").fails(2, &[]);
    here.ir("diff - -").fails(2, &[]);
    here.ir("diff --rbo-p 1 a.trec b.trec")
        .fails(2, &["between 0 and 1"]);
}

#[test]
fn agreement_and_rank_correlation() {
    let here = Folder::new();
    let mut table = "item\tann\tben\n".to_owned();
    for (ann, ben, times) in [
        ("yes", "yes", 20),
        ("yes", "no", 5),
        ("no", "yes", 10),
        ("no", "no", 15),
    ] {
        for n in 0..times {
            table += &format!("{ann}{ben}{n}\t{ann}\t{ben}\n");
        }
    }
    here.write("labels.tsv", &table);
    let out = here.ir("agree --table labels.tsv").ok().out;
    let coefficient = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    for (name, expected) in [
        ("observed", "0.7000"),
        ("Cohen  ", "0.4000"),
        ("Davies", "0.4000"),
        ("Fleiss", "0.3939"),
        ("Krippendorff  ", "0.4000"),
    ] {
        assert_eq!(coefficient(name), expected, "{out}");
    }
    here.write("labels.csv", table.replace('\t', ","));
    assert_eq!(here.ir("agree --table labels.csv").ok().out, out);

    // Three assessors, seven items.
    for (name, labels) in [("A", "1123321"), ("B", "1122322"), ("C", "1223311")] {
        let lines = labels
            .chars()
            .enumerate()
            .map(|(n, grade)| format!("q 0 d{n} {grade}\n"));
        here.write(name, lines.collect::<String>());
    }
    let three = json(&here.ir("agree --json A B C").ok().out);
    let close =
        |found: &Value, expected: f64| assert!((found.as_f64().unwrap() - expected).abs() < 5e-7);
    close(&three["agreement"]["davies_fleiss"], 0.428_571);
    close(&three["agreement"]["fleiss"], 0.416_667);
    close(&three["agreement"]["krippendorff"]["nominal"], 0.444_444);
    let pairs = here.ir("agree A B C").ok().out;
    assert!(pairs.contains("A + B  0.5758"), "{pairs}");

    // Three systems, ranked by one measure under two sets of judgments.
    for (name, docs) in [
        ("r1", ["d0", "d1"]),
        ("r2", ["d1", "d2"]),
        ("r3", ["d3", "d0"]),
    ] {
        let lines = docs
            .iter()
            .enumerate()
            .map(|(n, doc)| format!("q Q0 {doc} {n} {} {name}\n", 9 - n));
        here.write(name, lines.collect::<String>());
    }
    here.write("x.qrels", "q 0 d0 1\nq 0 d1 0\nq 0 d2 0\nq 0 d3 0\n");
    here.write("y.qrels", "q 0 d0 1\nq 0 d1 1\nq 0 d2 0\nq 0 d3 0\n");
    let runs = ["--run", "r1", "--run", "r2", "--run", "r3"];
    let args = [
        &["agree", "x.qrels", "y.qrels", "-m", "RR", "--json"][..],
        &runs,
    ]
    .concat();
    let object = json(&here.ir(&args).ok().out);
    // By x 1, 0, .5; by y 1, 1, .5: one pair is concordant, one tied, one discordant.
    assert_eq!(object["rankings"][0]["tau_b"], 0.0);
    assert_eq!(object["rules"]["missing"], "zero");
    let args = [&["agree", "x.qrels", "-m", "RR", "-m", "P@1"][..], &runs].concat();
    let out = here.ir(&args).ok().out;
    assert!(
        out.contains("order of 3 systems")
            && out.contains("RR / P@1")
            && out.contains("missing queries"),
        "{out}"
    );
    here.ir("agree x.qrels").fails(2, &["two assessors"]);
    here.ir("agree x.qrels y.qrels --run r1")
        .fails(2, &["three"]);
    here.write("z.qrels", "q 0 other 1\n");
    here.errors("
        agree x.qrels z.qrels
          1: expected a document of a query that two assessors judge, found none | x.qrels judges document | z.qrels judges document
    ");
    here.write("bad.tsv", "item\tann\nx\t1\n");
    here.ir("agree --table bad.tsv")
        .fails(1, &["bad.tsv:1", "at least three columns", "found 2"]);
    here.ir("agree --table z.qrels")
        .fails(1, &["z.qrels:1", "found 1 (qrels? they are arguments"]);
    here.write("apart.tsv", "item\tann\tben\nx\t1\t-\ny\t-\t1\n");
    here.ir("agree --table apart.tsv").fails(
        1,
        &["expected an item with labels of every pair of assessors"],
    );
    // A file that an assessor fills in, with a grade missing.
    here.write("ann.tsv", "q\td0\t1\nq\td1\n");
    here.ir("agree ann.tsv x.qrels").fails(
        1,
        &[
            "ann.tsv:1: expected the tab-separated header line `query-id corpus-id score`",
            "(query, document and grade? add the header line; judgments of a pool? convert them with ir pool --merge POOL --form plain ann.tsv -o",
        ],
    );
    here.write("short.tsv", "item\tann\tben\nx\t1\t1\ny\t1\n");
    here.ir("agree --table short.tsv")
        .fails(1, &["short.tsv:3", "3 columns", "found 2"]);
    here.write("again.tsv", "item\tann\tben\nx\t1\t1\nx\t1\t2\n");
    here.ir("agree --table again.tsv")
        .fails(1, &["again.tsv:3", "\"x\" again"]);
}

#[test]
fn real_collection() {
    let Some(data) = data("real_collection") else {
        return;
    };
    let here = Folder::new();
    let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
    // bioCADDIE's judgments with themselves.
    let qrels = path("biocaddie/qrels/biocaddie.qrels.test");
    let agree = json(&here.ir_data(&["agree", "--json", &qrels, &qrels]).ok().out);
    assert_eq!(agree["agreement"]["items"], 20_184);
    assert_eq!(agree["agreement"]["davies_fleiss"], 1.0);
    assert_eq!(
        agree["agreement"]["pairs"][0]["confusion"]["counts"][2][2],
        812
    );

    // The published run of the bi-encoder, and BM25 on the same queries.
    let dense = path("datafinder/runs/tevatron_full_sentence.trec");
    let same = here
        .ir_data(&["diff", "--skip-header", &dense, &dense])
        .ok()
        .out;
    assert!(
        same.starts_with("identical: 406 queries, 2030 documents"),
        "{same}"
    );
    let judgments = path("datafinder/test_dataset_collection.qrels");
    let args = format!("overlap --skip-header --json --qrels {judgments} {dense}");
    let overlap = json(&here.ir_data(&args).ok().out);
    assert_eq!(overlap["union"]["documents"], 2030);
    // P@5 .1648 over 392 queries, as published: 323 relevant documents.
    assert_eq!(overlap["union"]["relevant"], 323);
    let fused = here.ir_data(&["fuse", "--skip-header", &dense, "-o", "fused.trec"]);
    fused.ok();
    let order = here.ir_data(&format!(
        "diff --skip-header --tolerance inf {dense} fused.trec"
    ));
    order.ok();
}

/// Sets of datasets, in any order; two of ten papers have different ones.
#[test]
fn agreement_on_sets() {
    let here = Folder::new();
    let mut table = "paper\tAnn\tBen\n".to_owned();
    for n in 0..8 {
        table += &format!("p{n}\tSQuAD; CoQA\tCoQA ;SQuAD\n");
    }
    table += "p8\tSQuAD\tSQuAD;CoQA\np9\t{}\tCoQA\n";
    here.write("sets.tsv", &table);
    let out = here.ir("agree --table sets.tsv --sets").ok().out;
    let value = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(value("observed"), "0.8000", "{out}");
    assert_eq!(value("Jaccard"), "0.8500", "{out}");
    assert!(!out.contains("ordinal") && !out.contains("linear"), "{out}");
    let object = here.ir("agree --table sets.tsv --sets --json").ok().out;
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    let sets = &object["agreement"]["sets"];
    assert_eq!(sets["jaccard"], 0.85);
    assert!(sets["krippendorff_masi"].is_number(), "{object}");
    // Sets have no order.
    let alphas = object["agreement"]["krippendorff"].as_object().unwrap();
    assert_eq!(alphas.keys().collect::<Vec<_>>(), ["nominal"]);
    assert!(
        object["agreement"]["pairs"][0].get("linear").is_none(),
        "{object}"
    );
    // 17 sets of both, one of each alone, one empty: 1 - .15 / (74 / 380) and
    // 1 - .1665 / (85.22 / 380).
    assert_eq!(value("Krippendorff, Jaccard"), "0.2297", "{out}");
    assert_eq!(value("Krippendorff, MASI"), "0.2576", "{out}");
    // Several names are one set; sets contain spaces.
    assert!(out.contains(" CoQA, CoQA; SQuAD, SQuAD, {}"), "{out}");
    here.write("a.qrels", "q 0 d 1\n");
    here.ir("agree a.qrels a.qrels --sets")
        .fails(2, &["--sets: expected --table, found judgments"]);
}
