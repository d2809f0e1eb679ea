//! `ir reproduce`: expected values of experiments, and their pages.

use std::fs;

use crate::common::{Folder, tiny};
use crate::experiments::{EXPERIMENT, folder, repository};

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
        // The first table; tables of comparisons follow.
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

/// Number of expected values by their origin, as `docs/numbers.md` states them.
#[test]
fn values_by_origin() {
    let mut counts = [
        ("published", "published (", 0),
        ("peer, run by us", "that we ran (", 0),
        ("first run of ours", "our first run's (", 0),
    ];
    for page in fs::read_dir(repository().join("docs/reproduction")).unwrap() {
        let page = fs::read_to_string(page.unwrap().path()).unwrap();
        let compared = page.split("\nOther values, not compared:").next();
        for row in compared
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("| "))
        {
            for (origin, _, count) in &mut counts {
                *count += u32::from(row.contains(&format!(" | {origin} | ")));
            }
        }
    }
    let numbers = fs::read_to_string(repository().join("docs/numbers.md")).unwrap();
    for (origin, before, count) in counts {
        let stated = numbers
            .split_once(before)
            .unwrap_or_else(|| panic!("{before}"))
            .1;
        let stated = stated.split([' ', ')']).next().unwrap();
        assert_eq!(stated, count.to_string(), "{origin}");
    }
}
