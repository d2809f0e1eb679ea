//! `ir eval` with measures beyond trec_eval, and five-column judgments.

use crate::common::{Folder, value};

const RUN: &str = "\
q1 Q0 a 1 4 me
q1 Q0 b 2 3 me
q1 Q0 c 3 2 me
q1 Q0 d 4 1 me
";

fn folder() -> Folder {
    let here = Folder::new();
    here.write("run", RUN);
    here.write("plain", "q1 0 a 1\nq1 0 b 0\nq1 0 d 2\nq2 0 a 0\n");
    // Of the stratum "deep", one document of two was judged.
    here.write(
        "strata",
        "q1 0 a top 1\nq1 0 b top 0\nq1 0 c deep -1\nq1 0 d deep 2\nq2 0 a top 1\n",
    );
    here.write(
        "subtopics",
        "q1 1 a 1\nq1 1 b 1\nq1 2 b 0\nq1 2 d 1\nq2 1 a 1\n",
    );
    here
}

#[test]
fn samples() {
    let here = folder();
    let args = "eval -R strata -m infNumRel -m iP10 -m map strata run";
    // Relevant: a, and d, which stands for two. infP@10: (1 + 2 · 1) / 10.
    assert_eq!(
        here.ir(args).ok().out,
        "map                   \tall\t0.7500\n\
         infNumRel             \tall\t3.0000\n\
         iP10                  \tall\t0.3000\n"
    );
    let plain = here.ir("eval -m infNumRel plain run").ok();
    assert_eq!(plain.out, "infNumRel             \tall\t2.0000\n");
    here.ir("eval -R strata -m xinfAP plain run")
        .fails(1, &["plain:1: expected 5 columns, found 4"]);
    here.ir("eval strata run")
        .fails(1, &["strata:1: expected 4 columns, found 5", "-R strata"]);
    here.ir("eval run plain")
        .fails(1, &["run:1: expected 4 columns, found 6", "a run?"]);

    here.write("waiting", "q1 0 a 1 -2\nq1 0 b 1 1\n");
    let waiting = here.ir("eval -R strata -m xinfAP waiting run");
    let err = waiting.ok().err;
    assert!(
        err.contains("waiting: 1 pooled documents have no judgment yet"),
        "{err}"
    );
}

#[test]
fn subtopics() {
    let here = folder();
    let args = "eval -R subtopics -m strec@2 -m alpha_nDCG@2 -m P_2 subtopics run";
    // a covers subtopic 1, b covers it again (worth a half); best is d or a, then the other.
    let gained = 1.0 + 0.5 / 3.0_f64.log2();
    let ideal = 1.0 + 1.0 / 3.0_f64.log2();
    assert_eq!(
        here.ir(args).ok().out,
        format!(
            "P_2                   \tall\t1.0000\n\
             strec@2               \tall\t0.5000\n\
             alpha_nDCG@2          \tall\t{:.4}\n",
            gained / ideal
        )
    );
    here.ir("eval -m ERR_IA@20 plain run").fails(
        1,
        &[
            "plain: ERR_IA@20: expected subtopic judgments",
            "-R subtopics",
        ],
    );
}

/// `ir compare` and `ir sweep` report the scores that `ir eval` prints.
#[test]
fn comparison_by_judgment_format() {
    let here = folder();
    here.write(
        "other",
        "q1 Q0 b 1 9 other\nq1 Q0 d 2 8 other\nq2 Q0 a 1 1 other\n",
    );
    for (form, measure) in [("strata", "xinfAP"), ("subtopics", "alpha_nDCG@2")] {
        let args = ["-R", form, "-m", measure, form, "run", "other"];
        let csv = here.ir(&[&["compare", "--format", "csv"], &args[..]].concat());
        let csv = csv.ok().out;
        let column = (csv.lines().next().unwrap().split(',')).position(|name| name == "value");
        let sweep = here.ir(&[&["sweep"], &args[..]].concat()).ok().out;
        let mut scores = Vec::new();
        for (run, tag) in [("run", "me"), ("other", "other")] {
            let eval = here.ir(&["eval", "-c", "-R", form, "-m", measure, form, run]);
            let score = value(&eval.ok().out, measure);
            let line = csv
                .lines()
                .find(|line| line.contains(&format!(",{tag},")))
                .unwrap();
            let found: f64 = line
                .split(',')
                .nth(column.unwrap())
                .unwrap()
                .parse()
                .unwrap();
            assert!((found - score).abs() < 5e-5, "{csv}");
            let line = sweep
                .lines()
                .find(|line| line.starts_with(&format!("{run} ")))
                .unwrap();
            assert!(line.contains(&format!("{score:.4}")), "{sweep}");
            scores.push(score);
        }
        assert_ne!(scores[0], scores[1]);
        let page = here.ir(&[&["compare", "--format", "html"], &args[..]].concat());
        assert!(page.ok().out.contains("<svg"));
    }
    here.ir("compare -m alpha_nDCG@2 plain run other")
        .fails(1, &["alpha_nDCG@2: expected subtopic judgments"]);
    here.ir("compare -m runid plain run other").fails(
        2,
        &["--measure: expected a measure with one value, found runid"],
    );
    here.ir("compare plain run other -o other").fails(
        2,
        &["--output: expected a path that is not an input, found other"],
    );
}

#[test]
fn gdeval() {
    let here = folder();
    let err = 1.0 / 16.0 + 3.0 / 16.0 * (15.0 / 16.0) / 4.0;
    let with = |options: &[&str]| {
        let args = [&["eval", "-c", "-m", "ERR@20"], options, &["plain", "run"]].concat();
        here.ir(&args).ok().out
    };
    assert_eq!(
        with(&[]),
        format!("ERR@20                \tall\t{:.4}\n", err / 2.0)
    );
    assert_eq!(
        with(&["--skip-no-relevant"]),
        format!("ERR@20                \tall\t{err:.4}\n")
    );
    here.write("high", "q1 0 a 5\n");
    here.ir("eval -m ERR@20 high run").fails(
        1,
        &["query \"q1\", document \"a\": expected a grade of at most 4 for ERR@20, found 5"],
    );
}

/// `ir help eval` lists the parameters of every measure, each measure once, in lines of at most 100
/// characters.
#[test]
fn help_of_measures() {
    let help = Folder::new().ir("help eval").ok().out;
    let (_, list) = help.split_once("All measures:").unwrap();
    let entry = |name: &str| {
        let mut entries = list.split("\n\n  ");
        let entry = entries.find(|entry| entry.starts_with(name));
        let words = entry.unwrap_or_else(|| panic!("{name}")).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    for (name, parts) in [
        (
            "P[@K]",
            &["relative: ", "Default: false", "trec_eval: P, set_P"][..],
        ),
        ("F[@K]", &["SetF", "beta: ", "Range: ≥ 0. Default: 1"]),
        ("Utility", &["a, b, c, d: "]),
        ("Rprec", &["mult: "]),
        ("IPrec", &["@: Recall"]),
        ("IPrecAvg", &["points: ", "points={0.25,0.5,0.75}"]),
        (
            "nDCG",
            &[
                "dcg, gains: ",
                "dcg='exp-log2'",
                "gains={1:3.5,2:9}",
                "trec_eval: ndcg, ndcg_cut",
            ],
        ),
        ("RBP[@K]", &["p: ", "gain: ", "Default: 0.8"]),
        ("RBP(gain=graded)[@K]", &["trec_eval: rbp"]),
        ("RBPResidual", &["p: ", "full: "]),
        ("ERR[@K]", &["max_rel: ", "Default: 4"]),
        ("alpha_nDCG", &["alpha: α as in ERR_IA. Default: 0.5"]),
        ("NRBP", &["alpha: ", "beta: "]),
    ] {
        for part in parts {
            assert!(
                entry(name).contains(part),
                "{name}, {part}: {}",
                entry(name)
            );
        }
    }
    assert_eq!(list.matches("\n\n  RBP[@K]\n").count(), 1);
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// A missing file with the name of a measure with a mistake is that measure.
#[test]
fn positional_measures_with_mistakes() {
    let here = folder();
    for (text, expected) in [
        ("nDGC@10", "\"nDGC@10\": no such measure"),
        ("nDGC@10", "(did you mean nDCG@10?)"),
        (
            "P@0",
            "\"P@0\": expected an integer >= 1 as cutoff, found \"0\"",
        ),
        (
            "NDCG@10,",
            "\"NDCG@10,\": expected an integer >= 1 as cutoff",
        ),
        (
            "ndcg-l2@10",
            "\"ndcg-l2@10\": this measure has no parameter \"-l2\"",
        ),
        ("P(rel=2", "\"P(rel=2\": expected NAME"),
        ("map2", "(did you mean map@2?)"),
    ] {
        let ran = here.ir(&["eval", "plain", "run", text]);
        let ran = ran.fails(2, &[expected, "; no file has this name, either"]);
        assert!(!ran.err.contains("--measure"), "{}", ran.err);
    }
    // Files: the first run, paths and other names.
    for args in [
        "eval plain nDGC@10",
        "eval plain run runs/nDGC@10",
        "eval plain run map.trec",
        "eval plain run nothing",
    ] {
        here.ir(args).fails(1, &["cannot read"]);
    }
    here.write("nDGC@10", RUN);
    here.ir("eval plain run nDGC@10").ok();
}
