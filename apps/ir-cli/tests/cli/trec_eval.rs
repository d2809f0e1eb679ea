//! `ir eval` as a replacement of trec_eval: its test outputs, command lines and options.
//!
//! Expected: usnistgov/trec_eval v10.0, test/ (the command lines are those of its `make
//! quicktest`), and `testdata/trec_eval`, printed by the tags trec_eval-9.0.8 and v10.0.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{BEIR_QRELS, Folder, QRELS, RUN, data, tiny, words};

/// Runs `ir eval` with these arguments, separated by blanks, in a folder of files.
fn eval(folder: &Path, args: &str) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    command.arg("eval").args(args.split_whitespace());
    let output = command.current_dir(folder).output().unwrap();
    let (out, err) = (output.stdout, output.stderr);
    let (out, err) = (
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    );
    assert!(output.status.success(), "{args}: {err}");
    (out, err)
}

#[track_caller]
fn same(found: &str, expected: &str, what: &str) {
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "{what}, line {number}");
    }
    assert_eq!(found, expected, "{what}");
}

/// The command lines of trec_eval's own test.
#[test]
fn trec_eval_quicktest() {
    let Some(folder) = data("trec_eval_quicktest").map(|data| data.join("trec_eval")) else {
        return;
    };
    let commands = "\
out.test: qrels.test results.test
out.test: qrels.test.with-comments results.test
out.comment.test: qrels.comment.test results.comment.test.gz
out.test.a: -m all_trec qrels.test results.test
out.test.aq: -m all_trec -q qrels.test results.test
out.test.aqc: -m all_trec -q -c qrels.test results.trunc
out.test.aqcM: -m all_trec -q -c -M100 qrels.test results.trunc
out.test.aql: -m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test
out.test.prefs: -m all_prefs -q -R prefs prefs.test prefs.results.test
out.test.prefs: -m all_prefs -q -R prefs prefs.comment.test prefs.results.test
out.test.qrels_prefs: -m all_prefs -q -R qrels_prefs qrels.test results.test
out.test.qrels_jg: -m qrels_jg -q -R qrels_jg qrels.123 results.test
out.test.qrels_jg: -m qrels_jg -q -R qrels_jg qrels.comments.123 results.test
out.test.meas_params: -q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20 qrels.test results.test
out.test.aqZ: -q -m all_trec -Z zscores_file qrels.test results.test";
    for command in commands.lines() {
        let (expected, args) = command.split_once(": ").unwrap();
        let (out, err) = eval(&folder, args);
        same(
            &out,
            &fs::read_to_string(folder.join(expected)).unwrap(),
            args,
        );
        assert!(
            err.lines().all(|line| line.starts_with("warning: ")),
            "{err}"
        );
    }
}

/// Every measure, both releases, the options in the file names.
#[test]
fn both_release_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trec_eval");
    let measures = include_str!("../../../../crates/ir-eval/tests/integration/mini_measures.txt");
    let mut measures: Vec<String> = (measures.lines())
        .map(|measure| format!("-m {measure}"))
        .collect();
    // The order of the options does not matter: trec_eval prints in its own.
    measures.reverse();
    let mut compared = 0;
    for release in ["9.0.8", "10.0"] {
        let generation = if release == "10.0" { "10" } else { "9" };
        for options in [
            "", ".-c", ".-J", ".-c-J", ".-M3", ".-c-M3", ".-l2", ".-c-l2",
        ] {
            let name = format!("mini.{release}{options}.expected.txt");
            let Ok(expected) = fs::read_to_string(folder.join(&name)) else {
                continue;
            };
            let unj = if release == "10.0" { "-m unj.5,10" } else { "" };
            let options = options.trim_start_matches('.').replace('-', " -");
            let args = format!(
                "-q {options} --generation {generation} {unj} {} mini.qrels mini.run",
                measures.join(" ")
            );
            same(&eval(&folder, &args).0, &expected, &name);
            compared += 1;
        }
        let args = format!(
            "-c --generation {generation} -m iprec_at_recall -m 11pt_avg iprec.qrels iprec.run"
        );
        let name = format!("iprec.{release}.expected.txt");
        let expected = fs::read_to_string(folder.join(&name)).unwrap();
        same(&eval(&folder, &args).0, &expected, &name);
    }
    assert_eq!(compared, 10);
}

fn here() -> Folder {
    let here = Folder::new();
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here
}

/// Option syntaxes of C's getopt_long; all have the same effect.
#[test]
fn getopt_option_syntax() {
    let here = here();
    let reference = eval(here.path(), "-q -c -m map -l 1 -M 5 qrels run").0;
    assert_eq!(reference.lines().count(), 3);
    for args in [
        "-qcmmap -l1 -M5 qrels run",
        "-qc -mmap -l1 -M5 qrels run",
        "-cqM5 -l1 -m map qrels run",
        "qrels run -q -c -m map",
        "qrels -q run -c -m map",
        "-q -c -m map -- qrels run",
        "-q -q -c -c -m map -m map qrels run",
        "-l 3 -l 1 -q -c -m map qrels run",
        "--query_eval_wanted --complete_rel_info_wanted --measure map qrels run",
        "--query_eval_wanted --complete_rel_info_wanted --measure=map --level_for_rel=1 qrels run",
        "--query_eval --complete_rel --meas map --level_for 1 --Max_ret 5 qrels run",
        "-q -c -m map -R qrels -T trec_results qrels run",
        "-q -c -m map --Rel_info_format qrels --Results_format trec_results qrels run",
        "-q -c -m map -D 0 -D3 --Debug_level 1 -o qrels run",
        "-q -c -m map -N 100 --Number_docs_in_coll 100 qrels run",
    ] {
        assert_eq!(eval(here.path(), args).0, reference, "{args}");
    }
    let judged = eval(here.path(), "-J -m map qrels run").0;
    assert_eq!(
        eval(here.path(), "--Judged_docs_only -m map qrels run").0,
        judged
    );
    assert_eq!(
        eval(here.path(), "--nosummary -q -m map qrels run")
            .0
            .lines()
            .count(),
        2
    );
    let (version, _) = eval(here.path(), "-v");
    assert!(version.starts_with("ir"), "{version}");
    let (help, _) = eval(here.path(), "-h");
    for option in [
        "-R, --judgments",
        "-Z, --zscores",
        "-D, --debug",
        "-T, --run-form",
    ] {
        assert!(help.contains(option), "{option} in {help}");
    }
}

/// Each query's lines, then the totals; measures in trec_eval's order, cut-offs ascending, measures
/// that are undefined for one query only in the totals.
#[test]
fn output_order() {
    let here = here();
    let names = |args: &str| -> Vec<String> {
        let (out, _) = eval(here.path(), args);
        let name = |line: &str| {
            let mut fields = line.split('\t');
            let name = fields.next().unwrap().trim_end();
            format!("{} {name}", fields.next().unwrap())
        };
        out.lines().map(name).collect()
    };
    let chosen = "-m P.2,1 -m success.1 -m gm_map -m relstring -m num_q -m runid -m map -m P.3";
    let query = ["map", "P_1", "P_2", "P_3", "relstring", "success_1"];
    let totals = words("runid num_q map gm_map P_1 P_2 P_3 success_1");
    let lines = |query: &str, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{query} {name}")).collect()
    };
    let queries = [lines("q1", &query), lines("q2", &query)].concat();
    let all = lines("all", &totals);
    assert_eq!(names(&format!("{chosen} qrels run")), all);
    assert_eq!(names(&format!("-q -n {chosen} qrels run")), queries);
    assert_eq!(
        names(&format!("-q {chosen} qrels run")),
        [queries, all].concat()
    );
    assert!(names(&format!("-n {chosen} qrels run")).is_empty());
    // Measures of ir_measures' spelling come last.
    assert_eq!(
        names("-m nDCG@10 -m P_2 -m AP(rel=2) -m map qrels run"),
        lines("all", &["map", "P_2", "nDCG@10", "AP(rel=2)"])
    );
}

#[test]
fn exit_codes() {
    let here = here();
    here.write("prefs", "q1 ann 0 d1 2\nq1 ann 0 d2 1\nq2 ann 0 d3 1\n");
    here.errors(
        "
        eval -R nonsense qrels run
          2: --judgments | qrels_jg | prefs
        eval -T nonsense qrels run
          2: trec_results
        eval -m nonsense qrels run
          2: nonsense | no such measure
        eval -m all_prefs qrels run
          2: preferences (-R prefs
        eval -R prefs -m map prefs run
          2: grades (-R qrels)
        eval -R prefs --skip-header prefs run
          2: --skip-header
        eval -D 3.q1 qrels run
          2: --debug
        eval -R prefs qrels run
          1: qrels:1: expected 5 columns, found 4
        eval -R qrels_jg prefs run
          1: prefs:1: expected 4 columns, found 5
        eval -R prefs nowhere run
          1: nowhere
        eval -Z nowhere qrels run
          1: nowhere
        eval -Z qrels -R prefs prefs nowhere
          1: nowhere
    ",
    );
}

/// A judged topic missing from the run is excluded with a warning, as in trec_eval 9; release 10.0
/// fails without -c. The help documents the difference.
#[test]
fn missing_topic_warning() {
    let here = here();
    here.write("some", "q2 Q0 d3 1 1.0 me\n");
    let (out, err) = eval(here.path(), "-m num_q -m map qrels some");
    assert_eq!(
        out,
        "num_q                 \tall\t1\nmap                   \tall\t1.0000\n"
    );
    assert!(
        err.starts_with("warning: 1 judged queries have no results"),
        "{err}"
    );
    let (out, err) = eval(here.path(), "-c -m num_q -m map qrels some");
    assert_eq!(
        out,
        "num_q                 \tall\t2\nmap                   \tall\t0.5000\n"
    );
    assert_eq!(err, "");
    let (help, _) = eval(here.path(), "--help");
    assert!(help.contains("10.0 fails"), "{help}");
}

#[test]
fn preferences_and_judgment_groups_as_json() {
    let here = here();
    here.write("prefs", "q1 ann 0 d1 2\nq1 ann 0 d2 1\nq9 ann 0 d3 1\n");
    let (out, err) = eval(here.path(), "-R prefs --json -q prefs run");
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let value = |name: &str, query: &str| {
        let line = lines
            .iter()
            .find(|line| line["measure"] == name && line["query"] == query);
        line.map(|line| line["value"].clone()).unwrap_or_default()
    };
    assert_eq!(value("prefs_num_prefs_poss", "q1"), 1);
    assert_eq!(value("prefs_simp", "all"), 0.0);
    assert_eq!(value("runid", "all"), "me");
    assert_eq!(value("num_q", "all"), 1);
    assert_eq!(err.lines().count(), 2, "{err}");

    here.write("judges", "q1 ann d1 1\nq1 bob d2 1\n");
    let (out, _) = eval(here.path(), "-R qrels_jg -m map_avgjg judges run");
    assert_eq!(out, "map_avgjg             \tall\t0.7500\n");
    assert_eq!(
        here.ir_with("eval -R qrels_jg -m map_avgjg - run", "q1 ann d1 1\n")
            .ok()
            .out,
        "map_avgjg             \tall\t0.5000\n"
    );

    here.write("means", "q1 map 0.25 0.125\nq2 map 1 1\n");
    let (out, _) = eval(here.path(), "-Z means --json -m map qrels run");
    let mut lines = out.lines();
    let mut next = || -> serde_json::Value { serde_json::from_str(lines.next().unwrap()).unwrap() };
    let line = next();
    assert_eq!(
        (&line["measure"], &line["value"]),
        (&"Zmap".into(), &1.0.into())
    );
    assert_eq!(next()["rules"]["generation"], "10");
}

/// `ir eval` accepts a BEIR folder in place of a qrels file.
#[test]
fn beir_folder() {
    let here = Folder::new();
    tiny(&here);
    here.write(
        "tiny/qrels/dev.tsv",
        BEIR_QRELS.lines().take(2).collect::<Vec<_>>().join("\n"),
    );
    here.ir("search tiny --output run").ok();
    let file = eval(here.path(), "-c tiny/qrels/test.tsv run").0;
    assert_eq!(eval(here.path(), "-c tiny run").0, file);
    assert_eq!(eval(here.path(), "-c tiny/ run").0, file);
    assert_eq!(eval(here.path(), "-c tiny:test run").0, file);
    let dev = eval(here.path(), "-c tiny/qrels/dev.tsv run").0;
    assert_eq!(eval(here.path(), "-c tiny:dev run").0, dev);
    assert_ne!(dev, file);
    here.ir("eval tiny:train run")
        .fails(1, &["tiny", "train", "dev, test"]);
    here.write("notes/a.md", "# A\n");
    here.ir("eval notes run")
        .fails(1, &["notes", "qrels/test.tsv"]);
}

/// trec_eval's `-o` has no value.
#[test]
fn file_after_old_format() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.write("old", "scores of an earlier evaluation\n");
    let hint = "-o is trec_eval's option without a value; redirect standard output";
    for args in [
        &["eval", "qrels", "run", "-o", "new"][..],
        &["eval", "-o", "new", "qrels", "run"],
        &["eval", "qrels", "run", "-o", "old"],
    ] {
        here.ir(args).fails(1, &[hint]);
    }
    let expected = here.ir("eval qrels run").ok().out;
    assert_eq!(here.ir("eval -o qrels run").ok().out, expected);
    let ran = here.ir("eval qrels none -o");
    assert!(!ran.fails(1, &["none"]).err.contains("redirect"));
}
