//! Lists of measures, several runs in `ir eval`, weighted fusion, `ir help`, `ir completions`.

use crate::common::{Folder, QRELS, RUN, data, words};

fn here() -> Folder {
    let here = Folder::new();
    here.write("qrels", QRELS);
    here.write("a.run", RUN);
    here.write("b.run", "q1 Q0 d1 1 2.5 better\nq2 Q0 d3 2 1.0 better\n");
    here.write("part.run", "q1 Q0 d1 1 2.5 part\n");
    here
}

#[test]
fn several_measures_in_one_option() {
    let here = here();
    let repeated = "eval -m P.5,10 -m AP -m nDCG@10 qrels a.run";
    let expected = here.ir(repeated).ok().out;
    assert_eq!(expected.lines().count(), 4);
    for list in [
        "P.5,10,AP,nDCG@10",
        "P.5,10 AP nDCG@10",
        "P.5,10, AP, nDCG@10",
    ] {
        let ran = here.ir(&["eval", "-m", list, "qrels", "a.run"]).ok();
        assert_eq!(ran.out, expected, "{list}");
    }
    let compared = |list: &[&str]| {
        let runs = ["qrels", "a.run", "b.run", "--format", "csv"];
        here.ir(&[&["compare"], list, &runs].concat()).ok().out
    };
    assert_eq!(
        compared(&["-m", "RR,AP"]),
        compared(&["-m", "RR", "-m", "AP"])
    );
    let sweep = ["sweep", "-m", "RR,AP", "qrels", "a.run", "b.run"];
    here.ir(&sweep)
        .fails(2, &["--measure: expected one measure"]);
    let agree = "agree qrels --run a.run --run b.run --run part.run -m AP,P@5";
    assert!(here.ir(agree).ok().out.contains("AP / P@5"));
}

#[test]
fn measures_after_the_runs() {
    let here = here();
    let run = |args: &str| here.ir(&format!("eval -c {args}")[..]).ok().out;
    let named = run("-m P.5,10 -m AP qrels a.run b.run");
    assert_eq!(run("qrels a.run P.5,10 b.run AP"), named);
    assert_eq!(run("-m P.5,10 qrels a.run b.run AP"), named);
    // A file is a run, also with the name of a measure; a name that is neither is no file.
    std::fs::copy(here.at("b.run"), here.at("AP")).unwrap();
    assert_eq!(run("-m RR qrels a.run AP"), run("-m RR qrels a.run b.run"));
    here.ir("eval qrels a.run nDGC@10")
        .fails(2, &["nDGC@10", "did you mean nDCG@10?"]);
    here.ir("eval qrels RR").fails(1, &["RR"]);
}

#[test]
fn a_column_per_run() {
    let here = here();
    let args = "eval -c -m RR,P_5,num_ret qrels a.run b.run part.run";
    assert_eq!(
        here.ir(args).ok().out,
        "measure               \tquery\tme\tbetter\tpart\n\
         num_ret               \tall\t3\t2\t1\n\
         P_5                   \tall\t0.2000\t0.2000\t0.1000\n\
         RR                    \tall\t0.7500\t1.0000\t0.5000\n"
    );
    let args = "eval -q -m runid -m RR qrels a.run part.run";
    let ran = here.ir(args).ok();
    assert_eq!(
        ran.out,
        "measure               \tquery\tme\tpart\n\
         RR                    \tq1\t0.5000\t1.0000\n\
         RR                    \tq2\t1.0000\t-\n\
         RR                    \tall\t0.7500\t1.0000\n"
    );
    assert!(
        ran.err.starts_with("warning: part.run: 1 judged queries"),
        "{}",
        ran.err
    );
    // Equal tags: files are the names.
    let ran = here.ir("eval -m RR qrels a.run a.run").ok();
    assert!(
        ran.out
            .starts_with("measure               \tquery\ta.run\ta.run (2)\n")
    );

    let json = ["eval", "--json", "-m", "RR", "qrels", "a.run", "b.run"];
    let lines: Vec<serde_json::Value> = here
        .ir(&json)
        .ok()
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let values: Vec<_> = lines
        .iter()
        .map(|line| (&line["run"], &line["value"]))
        .collect();
    assert_eq!(
        values[..2],
        [
            (&"me".into(), &0.75.into()),
            (&"better".into(), &1.0.into())
        ]
    );
    assert!(lines[2]["rules"].is_object() && lines.len() == 3);
    let alone = here.ir("eval --json -m RR qrels a.run").ok();
    assert!(!alone.out.contains("\"run\""), "{}", alone.out);

    here.write("prefs", "q1 ann 0 d1 2\nq1 ann 0 d2 1\nq2 ann 0 d3 1\n");
    let prefs = "eval -R prefs -m prefs_simp prefs a.run b.run";
    assert_eq!(
        here.ir(prefs).ok().out,
        "measure               \tquery\tme\tbetter\n\
         prefs_simp            \tall\t0.0000\t0.5000\n"
    );
    here.ir("eval qrels - -")
        .fails(2, &["expected `-` at most once"]);
}

#[test]
fn weighted_fusion() {
    let here = here();
    let fuse = |more: &[&str]| here.ir(&[&["fuse", "a.run", "b.run"], more].concat());
    assert_eq!(fuse(&["--weights", "1,1"]).ok().out, fuse(&[]).ok().out);
    let raw = words("--method combsum --normalize none --weights 0.5,2");
    assert_eq!(
        fuse(&raw).ok().out,
        "q1 Q0 d1 1 5.75 ir-fuse\nq1 Q0 d2 2 1.25 ir-fuse\nq2 Q0 d3 1 2.5 ir-fuse\n"
    );
    fuse(&["--weights", "1"]).fails(
        2,
        &["--weights: expected one for each of 2 runs", "found 1"],
    );
    // The second weight is read as a run.
    fuse(&["--weights", "1", "1"]).fails(2, &["separated by commas (--weights 0.3,0.7)"]);
    fuse(&["--weights", "1,-1"]).fails(2, &["'-1'", "--weights", "at least 0"]);
    fuse(&["--weights", "1,inf"]).fails(2, &["'inf'", "--weights"]);
    fuse(&["--weights", "1,1", "--method", "round-robin"])
        .fails(2, &["--weights: expected a method with scores"]);
}

/// `ir fuse` reports progress after reading: the first line 5 s after the start.
#[cfg(target_os = "linux")]
#[test]
fn fusion_reports_progress() {
    use std::io::Write;
    use std::process::Stdio;

    let here = here();
    let line = "fuse - b.run";
    let mut child = here
        .command(line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Not a wait for a condition: the command counts these 5 s, from before it waits for its input.
    crate::waiting::wait_until_blocked(&mut child, 2, line);
    std::thread::sleep(std::time::Duration::from_secs(5));
    let mut input = child.stdin.take().unwrap();
    input.write_all(RUN.as_bytes()).unwrap();
    drop(input);
    let ran = child.wait_with_output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(
        err.starts_with("fusing: ") && err.contains(" of 5"),
        "{err}"
    );
}

#[test]
fn repeated_runs() {
    let here = here();
    here.write("copy.run", RUN);
    for args in [
        "eval qrels a.run b.run",
        "compare qrels a.run b.run",
        "sweep qrels a.run b.run",
        "buckets --training qrels qrels a.run b.run",
        "fuse a.run b.run",
        "interleave a.run b.run",
        "overlap a.run b.run",
        "pool a.run b.run",
    ] {
        let warned = |again: &str, expected: &str| {
            let args: Vec<&str> = args.split(' ').chain([again]).collect();
            let err = here.ir(&args).ok().err;
            assert!(err.contains(expected), "{args:?}: {err}");
        };
        warned("a.run", "warning: a.run: the run is given twice\n");
        let copy = "warning: copy.run: the same contents as a.run, the run is given twice\n";
        warned("copy.run", copy);
        let err = here.ir(args).ok().err;
        assert!(!err.contains("given twice"), "{err}");
    }
    // The purpose of `ir diff` is to find equal runs.
    let diff = |other: &str| here.ir(&["diff", "a.run", other]).ok().err;
    assert_eq!(diff("copy.run"), "");
    assert_eq!(diff("a.run"), "warning: a.run: the run is given twice\n");
}

#[test]
fn single_runs() {
    let here = here();
    for command in ["fuse", "interleave", "overlap"] {
        let err = here.ir(&[command, "a.run"]).ok().err;
        let expected = "warning: a.run: the only run; ";
        assert!(err.starts_with(expected), "{command}: {err}");
        assert_eq!(err.lines().count(), 1, "{command}: {err}");
    }
}

#[test]
fn runs_without_common_queries() {
    let here = here();
    here.write("other.run", "x1 Q0 d1 1 2.5 other\n");
    here.write("wide.qrels", format!("{QRELS}x1 0 d1 1\n"));
    let expected = "other: no query in common with another run (it has queries such as \"x1\", me such as \"q1\")";
    for command in ["fuse", "overlap", "interleave", "diff"] {
        let ran = here.ir(&[command, "a.run", "other.run"]);
        assert!(ran.err.contains(expected), "{command}: {}", ran.err);
        let ran = here.ir(&[command, "a.run", "b.run"]);
        assert!(!ran.err.contains("in common"), "{command}: {}", ran.err);
    }
    let judged = here.ir("overlap --qrels qrels a.run other.run").ok().err;
    let expected = "other: no judged query (the judgments have 2 queries, such as \"q1\", the run has 1, such as \"x1\")";
    assert!(judged.contains(expected), "{judged}");
    here.write("other.qrels", "x1 0 d1 1\n");
    for (judged, warns) in [("other.qrels", true), ("wide.qrels", false)] {
        let err = here.ir(&["pool", "--judged", judged, "a.run"]).ok().err;
        assert_eq!(
            err.contains("--judged: no query of the runs"),
            warns,
            "{err}"
        );
    }
    let both = ["\"x1\"", "\"q1\""];
    here.ir("buckets --training qrels qrels other.run")
        .fails(1, &both);
    here.ir("eval qrels other.run").fails(1, &both);
    for command in ["compare", "sweep"] {
        let args = [command, "wide.qrels", "a.run", "other.run"];
        here.ir(&[&args[..], &["--common"]].concat()).fails(
            1,
            &[
                "--common: expected a query that every run answers",
                both[0],
                both[1],
            ],
        );
        here.ir(&args).ok();
    }
}

/// Topics of DataFinder's published runs are the texts of the queries.
#[test]
fn published_judgments_of_datafinder() {
    let Some(root) = data("published_judgments_of_datafinder") else {
        return;
    };
    let here = Folder::new();
    let path = |name: &str| root.join("datafinder").join(name).display().to_string();
    let run = path("runs/tevatron_full_sentence.trec");
    let judgments = path("test_dataset_collection.qrels");
    for command in [
        &["eval", "datafinder", &run][..],
        &["compare", "datafinder", &run, &run],
    ] {
        here.ir_data(command)
            .fails(1, &["such as \"t000\"", "query texts: ", &judgments]);
    }
    here.ir_data(&["eval", "--skip-header", &judgments, &run])
        .ok();
}

#[test]
fn help_command() {
    let here = Folder::new();
    assert_eq!(here.ir("help").ok().out, here.ir("--help").ok().out);
    let fuse = here.ir("help fuse").ok().out;
    assert_eq!(fuse, here.ir("fuse --help").ok().out);
    assert!(here.ir("help datasets fetch").ok().out.contains("Download"));
    let eval = here.ir("help eval").ok().out;
    assert!(eval.starts_with(&here.ir("eval --help").ok().out));
    for formula in ir_eval::Formula::all() {
        for name in formula.names().chain(formula.trec_eval_names()) {
            let is_word = |line: &str| {
                let mut words = line.split([' ', ',', '[']);
                words.any(|word| word == name)
            };
            assert!(eval.lines().any(is_word), "{name}");
        }
    }
    for known in ["prefs_simp", "all_trec", "map_avgjg", "relstring"] {
        assert!(eval.contains(known), "{known}");
    }
}

#[test]
fn completions() {
    let here = Folder::new();
    for (shell, start) in [
        ("bash", "_ir()"),
        ("zsh", "#compdef ir"),
        ("fish", "complete -c ir"),
    ] {
        let script = here.ir(&["completions", shell]).ok().out;
        assert!(script.contains(start), "{shell}");
        for word in ["knn-accuracy", "skip-header", "combsum"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
    }
    here.ir("completions cmd")
        .fails(2, &["'cmd'", "bash", "zsh", "fish"]);
}
