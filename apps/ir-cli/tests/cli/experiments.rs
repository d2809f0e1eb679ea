//! `ir run` and `ir reproduce`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, tiny, words};

const EXPERIMENT: &str = r#"title = "Two systems"
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
fn folder() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write("e.toml", EXPERIMENT);
    here
}

fn repository() -> PathBuf {
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
        "all documents pass (did you mean year?)\n"
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

const EXPECTED: &str = r#"[reproduction]
source = "by hand"
[[expected]]
system = "BM25"
values = { AP = 1.0 }
tolerance = 0.0005
"#;

#[test]
fn reproduce() {
    let here = Folder::new();
    tiny(&here);
    let text = EXPERIMENT.replace("\"tiny\"", "\"../tiny\"");
    here.write("experiments/none.toml", &text);
    here.ir("reproduce").fails(
        1,
        &["expected an experiment file with a table [reproduction]"],
    );
    here.write("experiments/tea.toml", format!("{text}{EXPECTED}"));
    here.ir("reproduce --check --quiet")
        .fails(1, &["docs/reproduction/tea.md does not exist"]);
    here.write("docs/reproduction/tea.md", "");
    here.ir("reproduce --check --quiet")
        .fails(1, &["docs/reproduction/tea.md is stale"]);
    let ran = here.ir("reproduce").ok();
    assert!(
        ran.err.contains("tea: 1 of 1 values reproduced"),
        "{}",
        ran.err
    );
    let page = here.read("docs/reproduction/tea.md");
    assert!(
        page.contains("| BM25 | AP | 1.00 | 1.00 | 0.000 | 0.0005 |"),
        "{page}"
    );
    // The wall time alone makes no page stale, and no page is written for it.
    let time = page.lines().nth(4).unwrap();
    assert!(
        time.starts_with("Wall time: ") && time.contains(" s, "),
        "{page}"
    );
    let other = page.replace(time, "Wall time: 1234.5 s, 9 threads, another CPU.");
    here.write("docs/reproduction/tea.md", &other);
    here.ir("reproduce").ok();
    assert_eq!(here.read("docs/reproduction/tea.md"), other);
    // A page without one gets it, unless stages may come from a cache.
    let without = page.replace(&format!("{time}\n\n"), "");
    here.write("docs/reproduction/tea.md", &without);
    here.ir("reproduce --check").ok();
    here.ir("reproduce --cache cache").ok();
    assert_eq!(here.read("docs/reproduction/tea.md"), without);
    here.ir("reproduce --threads 3").ok();
    let page = here.read("docs/reproduction/tea.md");
    assert!(page.contains(" s, 3 threads, "), "{page}");
    here.ir("reproduce --check").ok();
    for name in ["tea", "tea.toml", "experiments/tea.toml"] {
        let ran = here.ir(&["reproduce", name, "--check"]).ok();
        assert!(
            ran.err.contains("tea: 1 of 1 values"),
            "{name}: {}",
            ran.err
        );
    }
    here.ir("reproduce elsewhere/tea.toml")
        .fails(2, &["elsewhere/tea"]);
    here.ir("reproduce tae").fails(
        2,
        &["(none, tea)", "did you mean tea?", "--experiments DIR"],
    );
    here.ir("reproduce none").fails(2, &["[reproduction]"]);
    // A value outside of its tolerance, and a stale page.
    here.write(
        "experiments/tea.toml",
        format!("{text}{EXPECTED}").replace("1.0 ", "0.9 "),
    );
    let error = "tea, ../tiny, BM25, AP: expected 0.9 ± 0.0005, found 1.000";
    here.ir("reproduce --check --quiet")
        .fails(1, &["tea.md is stale", error]);
    // Missing data are skipped, unless they are asked for.
    let missing = format!("{text}{EXPECTED}").replace("../tiny", "beir/nfcorpus");
    here.write("experiments/tea.toml", missing);
    let ran = here.ir("reproduce --check").ok();
    assert!(
        ran.err.contains("warning: skipped: ") && ran.err.contains("IR_DATA"),
        "{}",
        ran.err
    );
    let summary = "0 experiments run, 1 skipped because their data do not exist\n";
    assert!(ran.err.ends_with(summary), "{}", ran.err);
    here.ir("reproduce tea")
        .fails(1, &["tasks[0].collection", "IR_DATA"]);
    // A slow experiment runs by name and with --all.
    let slow = format!("{text}{EXPECTED}").replace("[[expected]]", "slow = true\n[[expected]]");
    here.write("experiments/tea.toml", slow);
    here.ir("reproduce").fails(1, &["found none"]);
    here.ir("reproduce --all").ok();
}

/// Paths name experiments of any folder, and their pages link to them.
#[test]
fn reproduce_paths() {
    let here = Folder::new();
    tiny(&here);
    let text = format!("{EXPERIMENT}{EXPECTED}").replace("\"tiny\"", "\"../tiny\"");
    let absolute = here.write("my/mine.toml", &text);
    here.write("other/mine.toml", &text);
    here.write("tea.toml", text.replace("../tiny", "tiny"));
    // There is no folder `experiments`.
    let ends = |page: &str, path: &str, link: &str| {
        let page = here.read(page);
        let end = format!("[`{path}`]({link}); `ir run {path}` prints its table.\n");
        assert!(page.ends_with(&end), "{page}");
    };
    here.ir("reproduce my/mine.toml --pages my/pages").ok();
    ends("my/pages/mine.md", "mine.toml", "../mine.toml");
    let same = ["--experiments", "my", "--pages", "my/pages", "--check"];
    here.ir(&[&["reproduce"], &same[..]].concat()).ok();
    let absolute = absolute.to_str().unwrap();
    here.ir(&["reproduce", absolute, "my/mine", "--pages", "pages"])
        .ok();
    ends("pages/mine.md", "my/mine.toml", "../my/mine.toml");
    here.ir("reproduce tea.toml").ok();
    ends("docs/reproduction/tea.md", "tea.toml", "../../tea.toml");
    here.write("my/two words.toml", &text);
    here.ir("reproduce 'my/two words' --pages pages").ok();
    let page = here.read("pages/two words.md");
    assert!(page.contains("](../my/two%20words.toml); `ir run 'my/two words.toml'`"));
    here.ir("reproduce my/mine.toml other/mine.toml")
        .fails(2, &["different names, found my/mine.toml and other/mine"]);
    here.ir("reproduce my/mien.toml").fails(
        2,
        &["my/mien.toml: expected an experiment file, found none"],
    );
}

/// An expected value of a measure that the file does not have.
#[test]
fn expected_values_of_other_measures() {
    let here = folder();
    let text = format!("{EXPERIMENT}{EXPECTED}").replace("AP = 1.0", "RR = 1.0");
    here.write("e.toml", text);
    here.ir("run e.toml").ok();
    let expected = "e.toml:16: expected[0].values.RR: expected a measure of the experiment";
    here.ir("reproduce e.toml").fails(1, &[expected]);
    // Entries of the catalog that are not collections are not suggested.
    here.write("e.toml", EXPERIMENT.replace("\"tiny\"", "\"tny\""));
    let ran = here.ir("run e.toml").fails(1, &["squad/sentences) or"]);
    assert!(!ran.err.contains("trec_eval"), "{}", ran.err);
}

/// The pages of this repository are up to date, and every value is within its tolerance. Without
/// `IR_DATA`, the experiments on real collections are skipped with a notice.
#[test]
fn pages_of_the_repository_are_up_to_date() {
    let here = Folder::new();
    let root = repository();
    let (experiments, pages) = (root.join("experiments"), root.join("docs/reproduction"));
    let ran = here.ir_data(&[
        "reproduce",
        "--check",
        "--experiments",
        experiments.to_str().unwrap(),
        "--pages",
        pages.to_str().unwrap(),
    ]);
    eprintln!("{}", ran.err);
    ran.ok();
}

/// The gate does not run slow experiments. Their pages have the expected values of their files, and
/// obtained ones within the tolerance.
#[test]
fn pages_of_slow_experiments() {
    let root = repository();
    let mut pages = 0;
    for entry in fs::read_dir(root.join("experiments")).unwrap() {
        let path = entry.unwrap().path();
        // The cache of `ir run` is there, too.
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let experiment = ir_experiment::Experiment::open(&path).unwrap();
        let is_slow = experiment.reproduction.as_ref().map(|it| it.slow);
        if is_slow != Some(true) {
            continue;
        }
        pages += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let page = root.join(format!("docs/reproduction/{name}.md"));
        let page = fs::read_to_string(page).unwrap_or_else(|error| panic!("{name}: {error}"));
        for text in [
            &experiment.title(),
            experiment.description.as_deref().unwrap(),
        ] {
            assert!(page.contains(text.trim()), "{name}: {text}");
        }
        // The first table; those of a comparison follow.
        let rows = page.lines().skip_while(|line| !line.starts_with("| "));
        let rows = rows.take_while(|line| line.starts_with('|'));
        let rows = rows.filter(|line| line.starts_with("| "));
        let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect();
        let rows: Vec<Vec<String>> = rows.map(cells).collect();
        let mut values = 0;
        for expected in &experiment.expected {
            for (measure, value) in &expected.values {
                let mut names = vec![&expected.system, measure];
                names.extend(expected.task.as_ref());
                let mut rows = rows.iter();
                let row = rows.find(|row| names.iter().all(|&name| row.contains(name)));
                let row = row.unwrap_or_else(|| panic!("{name}: {names:?}"));
                let numbers: Vec<f64> = row.iter().filter_map(|it| it.parse().ok()).collect();
                let [of_page, obtained, _, tolerance] = numbers[..] else {
                    panic!("{name}: {row:?}");
                };
                assert_eq!(
                    (of_page, tolerance),
                    (*value, expected.tolerance),
                    "{row:?}"
                );
                // The obtained value is rounded to four decimals before it is scaled.
                let rounding = 0.00005 * expected.scale;
                assert!((obtained - value).abs() <= tolerance + rounding, "{row:?}");
                values += 1;
            }
        }
        assert_eq!(rows.len(), values + 1, "{name}");
    }
    assert!(pages >= 4);
}

/// The documented file of a BEIR collection writes a page. Values of another collection differ.
#[test]
fn documented_page_of_a_beir_collection() {
    let docs = fs::read_to_string(repository().join("docs/experiments.md")).unwrap();
    let (_, section) = docs
        .split_once("### A page for another BEIR collection")
        .unwrap();
    let (_, file) = section.split_once("```toml\n").unwrap();
    let (file, rest) = file.split_once("```\n").unwrap();
    let (_, command) = rest.split_once("ir ").unwrap();
    let command = command.split_once("  ").unwrap().0;
    let here = Folder::new();
    tiny(&here);
    here.write("my/anserini-scifact.toml", file);
    let args: Vec<&str> = command.split(' ').collect();
    let mut command = here.command(&args);
    let ran = command.env("BEIR", here.at("tiny")).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(
        err.contains("scifact, BM25, nDCG@10: expected 0.6789 ± 0.0005"),
        "{err}"
    );
    let page = here.read("my/pages/anserini-scifact.md");
    assert!(
        page.starts_with("# SciFact, BM25, as in Anserini\n"),
        "{page}"
    );
    for expected in ["nDCG@10 | 0.6789", "R@100 | 0.9253", "R@1000 | 0.9767"] {
        assert!(page.contains(expected), "{page}");
    }
}

/// A wrong constant changes a value by more than its tolerance.
#[test]
fn wrong_parameters_are_found() {
    let Some(_) = crate::common::data("wrong_parameters_are_found") else {
        return;
    };
    let here = Folder::new();
    let file = repository().join("experiments/anserini-nfcorpus.toml");
    let text = fs::read_to_string(file).unwrap();
    for (wrong, outside) in [("k1 = 1.0\n", 1), ("b = 0.5\n", 2), ("k1 = 0.9\n", 0)] {
        let changed = text.replace("preset = \"anserini\"\n", wrong);
        assert_ne!(changed, text);
        here.write("experiments/bm25.toml", changed);
        let ran = here.ir_data("reproduce");
        let found = ran.err.matches("expected 0.").count();
        assert!((found > 0) == (outside > 0), "{wrong}: {}", ran.err);
    }
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
