//! `ir compare --format html` and `--plots`.

use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, words};
use crate::outputs::{NOT_AN_INPUT, OTHER_RUN, contents, inputs};

const QRELS: &str = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\nq3 0 d4 1\nq4 0 d5 1\n";
const OLD: &str = "q1 Q0 d2 1 9 old\nq1 Q0 d1 2 8 old\nq2 Q0 d3 1 7 old\nq3 Q0 d1 1 6 old\n";
const NEW: &str =
    "q1 Q0 d1 1 9 <b>&\"'\nq2 Q0 d3 1 7 <b>&\"'\nq3 Q0 d1 1 6 <b>&\"'\nq3 Q0 d4 2 5 <b>&\"'\n";

fn here() -> Folder {
    let here = Folder::new();
    here.write("qrels", QRELS);
    here.write("old.trec", OLD);
    here.write("new.trec", NEW);
    here
}

/// Arguments that write the page of both runs, and `more`.
fn html<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let page = words("compare qrels old.trec new.trec --format html");
    [&page, more].concat()
}

/// Asserts that the page has no element that loads an external resource.
#[track_caller]
fn assert_self_contained(html: &str) {
    assert!(
        html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"),
        "a complete page"
    );
    for word in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "<object",
        "<base",
        " src=",
        "@import",
        "url(",
        "http-equiv",
    ] {
        assert!(!html.contains(word), "{word}");
    }
    for (at, _) in html.match_indices("href=") {
        assert!(html[at..].starts_with("href=\"#"), "{}", &html[at..at + 40]);
    }
    let addresses = html.matches("://").count();
    assert_eq!(
        addresses,
        html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
    );
}

#[test]
fn html_page_on_standard_output() {
    let here = here();
    let ran = here.ir(&html(&[])).ok();
    assert_eq!(ran.err, "");
    assert_self_contained(&ran.out);
    assert!(
        ran.out
            .contains("<h1>old and &lt;b&gt;&amp;&quot;' on qrels</h1>")
    );
    assert!(!ran.out.contains("<b>&\""));
    // Systems, queries, significance test.
    for text in [
        "<code>new.trec</code>",
        "systems: 2; baseline: old",
        "queries: 4",
        "test: paired t, two-sided",
        "Holm",
    ] {
        assert!(ran.out.contains(text), "{text}");
    }
    // q1: nDCG@10 is 1 and was 1 / log2(3); d1 went up, d2 left.
    let won = "<th scope=\"row\">q1</th><td class=\"n\">1.0000</td><td class=\"n\">0.6309</td><td class=\"n\">+0.3691</td>";
    assert!(ran.out.contains(won));
    assert!(ran.out.contains(
        "<code>d1</code> grade 2, rank 2 → 1</li><li><code>d2</code> grade 0, rank 1 → –</li>"
    ));
    assert_eq!(here.files().len(), 3, "nothing else is written");
    assert_eq!(here.ir(&html(&[])).ok().out, ran.out, "the same bytes");

    let title = ["--title", "Tea & <biscuits>", "-o", "page.html"];
    let ran = here.ir(&html(&title)).ok();
    assert_eq!(ran.out, "");
    assert!(
        here.read("page.html")
            .contains("<title>Tea &amp; &lt;biscuits&gt;</title>")
    );
}

#[test]
fn number_of_wins_and_losses() {
    let here = here();
    let ran = here.ir(&html(&["--per-topic=1", "-m", "RR"])).ok();
    assert!(ran.out.contains("Won: the first 1 of 2, 1 left out"));
}

#[test]
fn plots_in_folder() {
    let here = here();
    let args = ["compare", "-m", "P@5", "qrels", "old.trec", "new.trec"];
    let plain = here.ir(&args).ok().out;
    let ran = here
        .ir(&[&args[..], &["--plots", "deep/figures"]].concat())
        .ok();
    assert_eq!(ran.out, plain, "the same table");
    let names: Vec<PathBuf> = here.files();
    let mut names: Vec<&str> = names
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    names.retain(|name| name.ends_with(".svg") || name.ends_with(".csv"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "P-5-per-query-b-against-old.csv",
            "P-5-per-query-b-against-old.svg",
            "P-5-per-system.csv",
            "P-5-per-system.svg",
            "P-by-cut-off.csv",
            "P-by-cut-off.svg",
            "Precision-and-recall.csv",
            "Precision-and-recall.svg",
            "Scores-by-rank-b.csv",
            "Scores-by-rank-b.svg",
            "Scores-by-rank-old.csv",
            "Scores-by-rank-old.svg",
        ]
    );
    for name in names {
        let text = here.read(&format!("deep/figures/{name}"));
        if name.ends_with(".svg") {
            assert!(
                text.starts_with("<svg xmlns=") && text.trim_end().ends_with("</svg>"),
                "{name}"
            );
        } else {
            assert!(text.lines().count() > 1, "{name}");
        }
    }
    // Of four queries, old has d1 and d3, new d1, d3 and d4.
    let means = here.read("deep/figures/P-5-per-system.csv");
    let values: Vec<&str> = means
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').rev().nth(2))
        .collect();
    assert_eq!(values.len(), 2);
    for (value, expected) in values.iter().zip([0.1, 0.15]) {
        assert!(
            (value.parse::<f64>().unwrap() - expected).abs() < 1e-12,
            "{means}"
        );
    }
}

#[test]
fn case_insensitive_file_names() {
    let here = here();
    here.write("upper.trec", OLD.replace("old", "OLD"));
    here.ir("compare -m RR qrels old.trec upper.trec --plots figures")
        .ok();
    for name in ["Scores-by-rank-old.svg", "Scores-by-rank-OLD-2.svg"] {
        assert!(here.at(&format!("figures/{name}")).exists(), "{name}");
    }
}

#[test]
fn invalid_options() {
    let here = here();
    here.ir("compare qrels old.trec new.trec --title x")
        .fails(2, &["--title", "--format html"]);
    here.ir("compare qrels old.trec new.trec --plots qrels")
        .fails(1, &["qrels", "cannot be created"]);
    here.ir(&html(&["-o", "no/such/page.html"]))
        .fails(1, &["page.html"]);
    assert_eq!(here.files().len(), 3, "nothing is left behind");
}

/// The published run of DataFinder's replication: P@5 16.48, R@5 31.63, MAP 23.55, MRR 42.39,
/// without the header line.
#[test]
fn published_run_scores() {
    let Some(data) = std::env::var_os("IR_DATA") else {
        eprintln!("skipped: IR_DATA is not set");
        return;
    };
    let folder = PathBuf::from(data).join("datafinder");
    let here = Folder::new();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (qrels, run) = (
        path("test_dataset_collection.qrels"),
        path("runs/tevatron_full_sentence.trec"),
    );
    let measures = ["-m", "P@5", "-m", "R@5", "-m", "AP", "-m", "RR"];
    let files = [qrels.as_str(), &run, &run];
    let args = [
        &["compare", "--skip-header", "--format", "html"],
        &measures[..],
        &files,
    ]
    .concat();
    let html = here.ir(&args).ok().out;
    assert_self_contained(&html);
    for score in ["0.1648", "0.3163", "0.2355", "0.4239"] {
        assert!(html.contains(&format!(">{score}<")), "{score}");
    }
}

/// A failed command leaves no folder behind.
#[test]
fn new_folder_of_a_failed_command_is_removed() {
    let here = here();
    here.write("bad.trec", "q1 Q0\n");
    fs::create_dir(here.at("empty")).unwrap();
    for folder in ["deep/figures", "empty"] {
        let before = here.files();
        let args = format!("compare qrels old.trec bad.trec --plots {folder}");
        here.ir(&args).fails(1, &["bad.trec:1"]);
        assert_eq!(here.files(), before);
    }
}

/// Names of plots are known only after the evaluation.
#[test]
fn plots_do_not_replace_inputs() {
    let here = inputs();
    let compare = |run: &str| here.ir(&["compare", "qrels", "a.trec", run, "--plots", "plots"]);
    compare("b.trec").ok();
    let plots = here
        .files()
        .into_iter()
        .map(|path| path.display().to_string());
    let plot = plots
        .into_iter()
        .find(|path| path.ends_with(".csv"))
        .unwrap();
    fs::write(&plot, OTHER_RUN).unwrap();
    compare(&plot).fails(2, &[NOT_AN_INPUT, "<RUN> reads "]);
    assert_eq!(fs::read_to_string(&plot).unwrap(), OTHER_RUN);
    fs::write(&plot, here.read("qrels")).unwrap();
    let judged = ["compare", &plot, "a.trec", "b.trec", "--plots", "plots"];
    here.ir(&judged).fails(2, &[NOT_AN_INPUT, "<QRELS> reads "]);
    assert_eq!(fs::read_to_string(&plot).unwrap(), here.read("qrels"));
    compare("b.trec").ok();
}

#[test]
fn plots_do_not_replace_the_table() {
    let here = inputs();
    let compare = words("compare -m AP qrels a.trec b.trec --plots");
    let run = |more: &[&str]| here.ir(&[&compare[..], more].concat());
    run(&["plots"]).ok();
    let before = contents(&here);
    let plot = "plots/AP-per-system.csv";
    assert!(
        before.iter().any(|(path, _)| path.ends_with(plot)),
        "{before:?}"
    );
    let expected = "--plots: expected a destination other than --output, found ";
    run(&["plots", "-o", plot]).fails(2, &[expected, plot]);
    assert!(contents(&here) == before);
    run(&["new", "-o", "new/AP-per-system.csv"]).fails(2, &[expected]);
    assert!(contents(&here) == before && !here.at("new").exists());
    // Other names in the folder of the plots.
    run(&["plots", "-o", "plots/table.txt"]).ok();
    run(&[".", "-o", "table.txt"]).ok();
    assert_eq!(here.read("table.txt"), here.read("plots/table.txt"));
}

/// After an error, no plot is left, and replaced plots are as they were.
#[test]
fn plots_are_written_all_or_none() {
    let here = here();
    let args = "compare qrels old.trec new.trec --plots figures";
    here.ir(args).ok();
    let entries = fs::read_dir(here.at("figures")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let (first, last) = (names[0].clone(), names[names.len() - 1].clone());
    for name in &names[1..] {
        fs::remove_file(here.at("figures").join(name)).unwrap();
    }
    fs::write(here.at("figures").join(&first), "old").unwrap();
    fs::create_dir(here.at("figures").join(&last)).unwrap();
    here.ir(args)
        .fails(1, &["expected a file, found a directory"]);
    assert_eq!(fs::read_dir(here.at("figures")).unwrap().count(), 2);
    assert_eq!(
        fs::read_to_string(here.at("figures").join(&first)).unwrap(),
        "old"
    );
}
