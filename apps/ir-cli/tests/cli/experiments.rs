//! `ir run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, tiny, words};

pub(crate) const EXPERIMENT: &str = r#"title = "Two systems"
measures = ["nDCG@10", "AP"]
[[tasks]]
collection = "tiny"
[[systems]]
name = "BM25"
type = "bm25"
[[systems]]
name = "Lucene"
type = "bm25"
preset = "lucene"
"#;

/// Folder with a small collection and the experiment `e.toml`.
pub(crate) fn folder() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write("e.toml", EXPERIMENT);
    here
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn tables_and_cache() {
    let here = folder();
    let first = here.ir("run e.toml").ok();
    assert!(
        first
            .out
            .starts_with("Two systems\n\ntiny: 3 documents, 2 queries\n"),
        "{}",
        first.out
    );
    assert!(here.at(".ir-cache/run").is_dir());
    let plan = here.ir("run e.toml --dry-run").ok().out;
    assert_eq!(
        plan.lines()
            .filter(|line| line.starts_with("cached    run"))
            .count(),
        2
    );
    assert!(plan.ends_with("0 stages to do, 2 cached\n"), "{plan}");
    assert_eq!(here.ir("run e.toml").ok().out, first.out);
    let plan = here.ir("run e.toml --dry-run --cache other").ok().out;
    assert!(plan.starts_with("to do     index  "), "{plan}");
    assert!(plan.ends_with("3 stages to do, 0 cached\n"), "{plan}");
    assert!(!here.at("other").exists());

    // The same values as `ir search` and `ir eval`.
    here.ir("search tiny --scores exact -o x.trec").ok();
    let eval = here.ir("eval -c -m map tiny x.trec").ok().out;
    let map = eval.trim().rsplit('\t').next().unwrap();
    let json = here.ir("run e.toml --format json").ok().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let value = &json["tasks"][0]["comparison"]["systems"][0]["scores"][1]["value"];
    assert_eq!(format!("{:.4}", value.as_f64().unwrap()), map);
    for (format, start) in [
        ("markdown", "# Two systems\n"),
        ("latex", "% Two systems: tiny"),
    ] {
        let out = here.ir(&["run", "e.toml", "--format", format]).ok().out;
        assert!(out.starts_with(start), "{out}");
    }
    let one = here.ir("run e.toml --threads 1 --cache c1").ok().out;
    assert_eq!(one, here.ir("run e.toml --threads 2 --cache c2").ok().out);
    let schema = here.ir("run --schema").ok().out;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Experiment");
    here.ir("run").fails(2, &["<FILE>"]);
    here.ir("run e.toml --schema").fails(2, &["--schema"]);
    here.ir("run e.toml --dry-run -o x")
        .fails(2, &["--dry-run"]);
}

#[test]
fn damaged_entries_are_rebuilt_with_a_warning() {
    let here = folder();
    let first = here.ir("run e.toml").ok().out;
    for file in here.files() {
        if file.is_file() && file.starts_with(here.at(".ir-cache/run")) {
            fs::write(file, "damaged").unwrap();
        }
    }
    let again = here.ir("run e.toml").ok();
    assert_eq!(again.out, first);
    assert_eq!(
        again.err.matches("computed again").count(),
        2,
        "{}",
        again.err
    );
    assert_eq!(here.ir("run e.toml").ok().err, "");
}

#[test]
fn errors_name_file_line_and_key() {
    let here = folder();
    let bad = |from: &str, to: &str, parts: &[&str]| {
        here.write("bad.toml", EXPERIMENT.replacen(from, to, 1));
        here.ir("run bad.toml").fails(1, parts);
    };
    bad(
        "AP",
        "APP",
        &[
            "bad.toml:2: measures: \"APP\": no such measure",
            "did you mean",
        ],
    );
    bad(
        "\"bm25\"",
        "\"mb25\"",
        &["bad.toml:7: systems[0].type", "did you mean bm25?"],
    );
    bad(
        "lucene",
        "lucen",
        &["bad.toml:11: systems[1].preset", "did you mean lucene?"],
    );
    bad(
        "\"tiny\"",
        "\"tiyn\"",
        &["bad.toml:4: tasks[0].collection", "tiyn"],
    );
    bad(
        "\"tiny\"",
        "\"beir/nfcorpus\"",
        &["bad.toml:4: tasks[0].collection", "IR_DATA"],
    );
    here.ir("run none.toml")
        .fails(1, &["none.toml: cannot be read", "No such file"]);
    let cycle = "type = \"hybrid\"\nof = [\"Lucene\", \"BM25\"]";
    bad(
        "type = \"bm25\"",
        cycle,
        &["bad.toml:8: systems[0].of[1]", "the cycle BM25 -> BM25"],
    );
}

/// A condition without effect is a warning, and stages that tasks share are planned once.
#[test]
fn warnings_and_shared_stages() {
    let here = folder();
    let search = "[search]\nwhere = { at_most = { name = \"yaer\", limit = 2015 } }\n";
    here.write("e.toml", format!("{EXPERIMENT}{search}"));
    let warning = concat!(
        "warning: search.where: tiny: no document has an attribute \"yaer\"; ",
        "all pass (did you mean year?)\n"
    );
    assert_eq!(here.ir("run e.toml").ok().err, warning);
    let second = "[[tasks]]\nname = \"again\"\ncollection = \"tiny\"\n[[systems]]";
    here.write("e.toml", EXPERIMENT.replacen("[[systems]]", second, 1));
    let plan = here.ir("run e.toml --dry-run --cache c").ok().out;
    assert!(plan.ends_with("3 stages to do, 0 cached\n"), "{plan}");
    here.ir("run e.toml --cache c").ok();
    let plan = here.ir("run e.toml --dry-run --cache c").ok().out;
    assert!(plan.ends_with("0 stages to do, 2 cached\n"), "{plan}");
}

#[test]
fn outputs() {
    let here = folder();
    here.write(
        "f.toml",
        format!("{EXPERIMENT}[output]\nfolder = \"out\"\n"),
    );
    let out = here.ir("run f.toml").ok().out;
    let names = words("table.txt table.md table.tex results.json tiny.html");
    for name in names {
        assert!(here.at("out").join(name).is_file(), "{name}");
    }
    assert_eq!(here.read("out/table.txt"), out);
    let scores = here.ir("eval -c -m map tiny out/runs/tiny/bm25.trec").ok();
    assert!(scores.out.contains("map"), "{}", scores.out);
    let formats = format!("{EXPERIMENT}[output]\nformats = [\"markdown\"]\n");
    here.write("g.toml", formats);
    here.ir("run g.toml -o only").ok();
    assert_eq!(fs::read_dir(here.at("only")).unwrap().count(), 1);
}

/// Results are not written among files of others.
#[test]
fn folders_of_others_are_not_outputs() {
    let here = folder();
    here.write("notes/a.md", "a");
    here.write("notes/.hidden", "");
    here.write("f.toml", format!("{EXPERIMENT}[output]\nfolder = \".\"\n"));
    here.errors(
        "
        run e.toml -o notes
          2: --results: expected a new or empty folder | found notes with 1 other file (a.md)
        run e.toml -o .
          2: --results: expected a new or empty folder | (e.toml, f.toml, notes
        run f.toml
          2: output.folder: expected a new or empty folder
        ",
    );
    let formats = format!("{EXPERIMENT}[output]\nformats = [\"html\", \"runs\"]\n");
    here.write("g.toml", formats);
    fs::remove_file(here.at("notes/a.md")).unwrap();
    for _ in 0..2 {
        here.ir("run g.toml -o notes").ok();
        here.ir("run e.toml -o out").ok();
    }
    here.write("out/README.md", "beside results");
    here.ir("run e.toml -o out").ok();
}

/// No output replaces the experiment file or the collection.
#[test]
fn inputs_are_not_outputs() {
    let here = folder();
    // The corpus by another name: a link in the output folder.
    fs::create_dir_all(here.at("out")).unwrap();
    #[cfg(unix)]
    for (target, name) in [("tiny/corpus.jsonl", "table.md"), ("e.toml", "table.txt")] {
        let link = here.at("out").join(name);
        std::os::unix::fs::symlink(here.at(target), &link).unwrap();
        let before = here.read(target);
        let run = here.ir("run e.toml -o out");
        run.fails(
            2,
            &["--results: expected a path that is not an input", name],
        );
        assert_eq!(here.read(target), before);
        fs::remove_file(link).unwrap();
    }
    assert_eq!(fs::read_dir(here.at("out")).unwrap().count(), 0);
}

/// An output folder is not a folder from which the experiment reads, and has a name.
#[test]
fn folders_of_inputs_are_not_outputs() {
    let here = folder();
    let before = here.files();
    here.write(
        "in-file.toml",
        format!("{EXPERIMENT}[output]\nfolder = \"./tiny\"\n"),
    );
    here.write(
        "empty.toml",
        format!("{EXPERIMENT}[output]\nfolder = \"\"\n"),
    );
    here.errors(
        "
        run e.toml -o tiny
          2: --results: expected a folder that is not an input, found tiny | tasks[0].collection reads ./tiny
        run e.toml -o tiny/qrels
          2: --results: expected a folder that is not an input, found tiny/qrels | tasks[0].collection reads ./tiny/qrels/test.tsv
        run e.toml --cache tiny/../tiny
          2: --cache: expected a folder that is not an input
        run in-file.toml
          2: output.folder: expected a folder that is not an input
        run empty.toml
          1: empty.toml:13: output.folder: expected a path, found an empty string
        ",
    );
    for option in ["--results", "--cache"] {
        let expected = format!("{option}: expected a path, found an empty string");
        here.ir(&["run", "e.toml", option, ""])
            .fails(2, &[&expected]);
    }
    fs::remove_file(here.at("in-file.toml")).unwrap();
    fs::remove_file(here.at("empty.toml")).unwrap();
    assert_eq!(here.files(), before);
}

/// Files of classifications are read more than once: a device, a pipe or a folder is an error, and
/// no command waits for it.
#[test]
#[cfg(unix)]
fn files_of_classifications_are_files() {
    let here = Folder::new();
    let made = Command::new("mkfifo")
        .arg(here.at("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    here.write("labels.txt", "a\nb\n");
    for (path, found) in [
        ("/dev/zero", "a device, pipe or socket"),
        ("pipe", "a device, pipe or socket"),
        (".", "a folder"),
    ] {
        for (key, files) in [
            (
                "vectors",
                format!("vectors = \"{path}\"\nlabels = \"labels.txt\""),
            ),
            (
                "labels",
                format!("texts = \"labels.txt\"\nlabels = \"{path}\""),
            ),
            (
                "texts",
                format!("texts = \"{path}\"\nlabels = \"labels.txt\""),
            ),
        ] {
            here.write(
                "c.toml",
                format!("[[classifications]]\nname = \"c\"\n{files}\n"),
            );
            let expected = format!("classifications[0].{key}: ");
            let found = format!("expected a file, found {found}");
            for arguments in ["run c.toml", "run c.toml --dry-run"] {
                here.ir(arguments).fails(1, &[&expected, &found]);
            }
        }
    }
}

/// A grid of any size is counted before it is expanded, and errors name its keys.
#[test]
fn grids() {
    let here = folder();
    let grid = |keys: &str| {
        let selection = "[selection]\nby = \"leave-one-out\"\n";
        format!("{EXPERIMENT}[systems.grid]\n{keys}\n{selection}")
    };
    let values: Vec<String> = (1..=1000).map(|n| format!("{n}")).collect();
    let values = values.join(", ");
    let names = ["k1", "k3", "mu", "delta", "s", "c", "title_weight"];
    let keys = names.map(|name| format!("{name} = [{values}]"));
    here.write("large.toml", grid(&keys.join("\n")));
    here.write(
        "missing.toml",
        grid("k1 = [0.9]\nsynonyms = [\"none.txt\"]"),
    );
    here.write("both.toml", grid("model = [\"qld\"]\nk1 = [0.9]"));
    here.errors(
        "
        run large.toml
          1: large.toml:12: systems[1].grid: expected at most 100000 points in all grids, found 1000000000000000000000
        run both.toml
          1: both.toml:14: systems[1].grid.k1
        ",
    );
    // Points are opened when they are searched, after the other systems.
    let found = ["missing.toml:14: systems[1].grid.synonyms: ", "none.txt"];
    here.ir("run missing.toml").fails(1, &found);
    // A plan lists the points without computing them.
    let values: Vec<String> = (1..=40)
        .map(|n| format!("{}", f64::from(n) / 41.0))
        .collect();
    let values = values.join(", ");
    here.write(
        "plan.toml",
        grid(&format!("k1 = [{values}]\nb = [{values}]")).replace("preset = \"lucene\"\n", ""),
    );
    let plan = here.ir("run plan.toml --dry-run --cache c").ok().out;
    // The index, the run of the other system, a run of each point, and the selected run.
    let expected = format!("{} stages to do, 0 cached\n", 2 + 40 * 40 + 1);
    assert!(plan.ends_with(&expected), "{}", &plan[plan.len() - 300..]);
}

/// CPU time of a command in seconds: unlike its wall time, hardly affected by other tests.
#[cfg(unix)]
fn cpu_time(command: Command) -> f64 {
    // The second line of `times` has the user and system time of the shell's children.
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\" >/dev/null 2>&1 && times", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let times = String::from_utf8(output.stdout).unwrap();
    let children = times.lines().nth(1).unwrap();
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    children.split_whitespace().map(seconds).sum()
}

/// Rows of DataFinder's Table 1 without encoders: a second start, or another measure, computes no
/// stage and takes less than two seconds; the output does not depend on the number of threads.
/// Systems with encoders are in `second_start_with_encoder_systems` (tests/encoders).
#[test]
fn second_start_of_datafinder_without_encoders() {
    let Some(_) = crate::common::data("second_start_of_datafinder_without_encoders") else {
        return;
    };
    let here = Folder::new();
    let file = repository().join("experiments/datafinder.toml");
    let text = fs::read_to_string(file).unwrap();
    here.write("table1.toml", &text);
    let run = |file: &str, more: &[&str]| here.ir_data(&[&["run", file], more].concat()).ok();
    let is_cached = |file: &str| {
        let plan = run(file, &["--dry-run"]).out;
        assert!(plan.contains("\n0 stages to do, "), "{plan}");
    };
    let first = run("table1.toml", &["--threads", "2"]);
    is_cached("table1.toml");
    let started = std::time::Instant::now();
    let second = run("table1.toml", &["--threads", "1"]);
    eprintln!("second start: {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!(second.out, first.out);
    #[cfg(unix)]
    {
        let seconds = cpu_time(here.command(&["run", "table1.toml", "--threads", "1"]));
        eprintln!("second start: {seconds:.1} s of CPU time");
        assert!(seconds < 2.0, "{seconds} s of CPU time");
    }
    let other = text.replace("\"RR\"]", "\"nDCG@5\"]");
    assert_ne!(other, text);
    here.write("other.toml", other.split("[reproduction]").next().unwrap());
    is_cached("other.toml");
    let other = run("other.toml", &[]).out;
    assert!(other.contains("nDCG@5"), "{other}");
    let one = run("table1.toml", &["--threads", "1", "--cache", "one"]);
    assert_eq!(one.out, first.out);
}
