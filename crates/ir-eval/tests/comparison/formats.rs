//! Output formats of a comparison: text, Markdown, LaTeX, CSV, JSON.

use ir_core::Run;
use ir_eval::compare::{ComparedPairs, Comparison, ComparisonConfig};
use ir_eval::{Measure, Rules};

use crate::{compared, reports, run, three};

#[test]
fn json_round_trip() {
    for comparison in [compared(&three()), constant()] {
        let json = serde_json::to_string(&comparison).unwrap();
        assert_eq!(comparison, serde_json::from_str(&json).unwrap());
    }
}

/// Comparison of two systems that differ by 1/2 in every query.
fn constant() -> Comparison {
    let runs = [run("a", &[1; 8]), run("b", &[2; 8])];
    compared(&reports(Rules::default(), &[Measure::RR], &runs))
}

#[test]
fn equal_differences_have_a_note_and_no_t_p_or_mark() {
    let comparison = constant();
    let pairwise = &comparison.pairwise_tests[0];
    assert!(!pairwise.significant);
    assert_eq!((pairwise.adjusted_p, pairwise.result.p), (None, None));
    // By hand: 1/2 - 1/3 and 1/3 - 1/6 are 1/6, with different rounding errors.
    let runs = [
        run("a", &[3, 6, 3, 6, 3, 6, 3, 6]),
        run("b", &[2, 3, 2, 3, 2, 3, 2, 3]),
    ];
    let rounded = compared(&reports(Rules::default(), &[Measure::RR], &runs));
    assert_eq!(rounded.pairwise_tests[0].result, pairwise.result);
    assert_ne!(1.0 / 2.0 - 1.0 / 3.0, 1.0 / 3.0 - 1.0 / 6.0);
    let note = "no Cohen's d, t and p, because all differences are equal up to rounding: \
                RR of b against a";
    let text = comparison.to_text();
    assert!(text.contains(note), "{text}");
    let row = text.lines().find(|line| line.starts_with("RR ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[8], &cells[12..]), ("-", &["-", "-"][..]), "{row}");
    let json = serde_json::to_value(&comparison).unwrap();
    let result = &json["pairwise_tests"][0]["result"];
    assert!(
        result["p"].is_null() && result["statistic"].is_null(),
        "{json}"
    );
    assert_eq!(result["null_distribution"], "equal-differences");
}

fn pairs() -> Comparison {
    let config = ComparisonConfig {
        pairs: ComparedPairs::AllPairs,
        ..ComparisonConfig::default()
    };
    Comparison::new(&three(), &config).unwrap()
}

#[test]
fn text() {
    let text = compared(&three()).to_text();
    let scores = "\
Scores

system            RR      P@5
-------------------------------
low_1        0.2234    0.1500
high         0.8750†   0.2000
none & nil   0.1743    0.1250
";
    assert!(text.starts_with(scores), "{text}");
    assert!(!text.contains(" \n"), "{text}");
    let notes = "
systems: 3; baseline: low_1
queries: 8; judged without results: none & nil 2 (count as 0)
ties: score then id descending; missing queries: count as 0; unjudged: not relevant; self-hits: kept; relevant from: 1; depth: all; scores: 64 bit; generation: 10
test: paired t, two-sided; correction: Holm, over the tests of a measure; level: 0.05; intervals: Student's t, confidence 0.95
†, ‡: significantly higher, lower than low_1
";
    assert!(text.ends_with(notes), "{text}");
    let text = pairs().to_text();
    for part in ["\nb high         0.8750 ac   0.2000\n", "0.0009‡\n"] {
        assert!(text.contains(part), "{text}");
    }
    let key = "
a letter: significantly higher than the system of that letter; †, ‡: significantly higher, lower than the other one
";
    assert!(text.ends_with(key), "{text}");
}

#[test]
fn notes_name_columns_on_a_logarithmic_scale() {
    let runs = [run("old", &[1, 2, 3, 4]), run("new", &[1, 1, 2, 2])];
    let notes = |measures: &[Measure]| {
        let reports = reports(Rules::default(), measures, &runs);
        compared(&reports).notes().join("\n")
    };
    assert!(!notes(&[Measure::AP]).contains("logarithms"));
    let both = notes(&[Measure::AP, "GMAP".parse().unwrap()]);
    let note = "\nGMAP: differences are those of the scores";
    assert!(both.contains(note), "{both}");
}

#[test]
fn no_relative_difference_to_a_negative_score() {
    // Utility: relevant less other documents, 1 - 1 against 1 - 3.
    let runs = [run("long", &[4, 4, 4]), run("short", &[2, 2, 2])];
    let utility: Measure = "utility".parse().unwrap();
    let reports = reports(Rules::default(), &[utility], &runs);
    let comparison = compared(&reports);
    let pairwise = &comparison.pairwise_tests[0];
    assert!(pairwise.difference > 0.0, "{pairwise:?}");
    assert_eq!(pairwise.relative, None);
}

#[test]
fn markdown_and_latex_are_escaped() {
    let comparison = compared(&three());
    let markdown = comparison.to_markdown();
    for part in [
        "\n| low\\_1 | 0.2234 | 0.1500 |\n",
        "\n| high | **0.8750**† | **0.2000** |\n",
        "\n| none &amp; nil | ",
    ] {
        assert!(markdown.contains(part), "{markdown}");
    }
    assert!(pairs().to_markdown().contains("**0.8750**<sup>ac</sup>"));
    let latex = comparison.to_latex();
    for part in [
        "\nlow\\_1 & 0.2234 & 0.1500 \\\\\n",
        "\\textbf{0.8750}\\rlap{$^{\\dagger}$} & \\textbf{0.2000} \\\\\n",
        "\nnone \\& nil & ",
    ] {
        assert!(latex.contains(part), "{latex}");
    }
    assert!(pairs().to_latex().contains("\\rlap{$^{ac}$}"));
    // Environments are balanced.
    let count = |pattern: &str| latex.matches(pattern).count();
    assert_eq!(count("\\begin{"), count("\\end{"));
    assert_eq!(count("\\toprule"), 1);
}

#[test]
fn latex_caption_names_test_and_marks() {
    let comparison = compared(&three());
    let latex = comparison.to_latex();
    for part in [
        "% systems: 3; baseline: low_1\n",
        "\\caption{RR and P@5 of 3 systems over 8 queries. Bold: the highest score of a measure. \
         $\\dagger$, $\\ddagger$: significantly higher, lower than low\\_1 (test: paired t, two-sided; \
         correction: Holm, over the tests of a measure; level: 0.05).}\n\\label{tab:comparison}\n",
    ] {
        assert!(latex.contains(part), "expected {part:?} in {latex}");
    }
    assert!(!latex.contains("resizebox"), "{latex}");
    // Tables wider than a line are shrunk.
    let name = "a system with a name that is longer than it should be";
    let runs = [run("short", &[1, 2]), run(name, &[1, 3])];
    let wide = reports(Rules::default(), &[Measure::RR, Measure::P.at(5)], &runs);
    let wide = compared(&wide).to_latex();
    for part in ["\\resizebox", "{booktabs,graphicx}"] {
        assert!(wide.contains(part), "{wide}");
    }
    let pairs = pairs().to_latex();
    assert!(pairs.contains("A letter: significantly higher than"));
}

#[test]
fn latex_details() {
    let comparison = compared(&three());
    let details = comparison.to_latex_details();
    for part in [
        "\\caption{Confidence intervals (0.95) of scores over 8 queries.}\n\\label{tab:comparison-intervals}\n",
        "\nmeasure & system & score & interval \\\\\n",
        "\nRR & low\\_1 & 0.2234 & {[}",
        "\\caption{Differences to low\\_1 over 8 queries, with 95 \\% intervals. $\\dagger$",
        "\\label{tab:comparison-differences}\n",
        "\nmeasure & system & difference & interval & Cohen's d & adjusted p \\\\\n",
        "] & $-$0.52 & ",
    ] {
        assert!(details.contains(part), "expected {part:?} in {details}");
    }
    let count = |pattern: &str| details.matches(pattern).count();
    assert_eq!(count("\\begin{"), count("\\end{"));
    assert_eq!((count("\\toprule"), count("\\resizebox")), (2, 2));
    // Six scores and four tests.
    assert_eq!(count(" \\\\\n"), 2 + 6 + 4);
    let pairs = pairs().to_latex_details();
    for part in [
        "\nmeasure & system & against & difference & ",
        "lower than the other one (test: ",
    ] {
        assert!(pairs.contains(part), "{pairs}");
    }
}

#[test]
fn long_latex_tables_are_split() {
    let runs: Vec<Run> = (0..41)
        .map(|n| run(&format!("s{n:02}"), &[n % 5 + 1, 1, n]))
        .collect();
    let reports = reports(Rules::default(), &[Measure::RR], &runs);
    let details = compared(&reports).to_latex_details();
    for part in ["\\label{tab:comparison-intervals-2}\n", " (continued).}\n"] {
        assert!(details.contains(part), "{details}");
    }
    assert!(!details.contains("differences-2"), "{details}");
    let count = |pattern: &str| details.matches(pattern).count();
    assert_eq!(count("\ns40 & ") + count("& s40 & "), 2);
}

#[test]
fn display_equals_to_text() {
    let comparison = compared(&three());
    assert_eq!(format!("{comparison}\n"), comparison.to_text());
}

#[test]
fn csv_has_one_row_per_score_and_test() {
    let mut out = Vec::new();
    let comparison = compared(&three());
    comparison.write_csv(&mut out).unwrap();
    let mut reader = csv::Reader::from_reader(out.as_slice());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|other| other == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    // Three scores and two tests for each of two measures.
    assert_eq!(rows.len(), 10);
    let pairwise = &comparison.pairwise_tests[1];
    let row = rows
        .iter()
        .find(|row| &row[at("system")] == "none & nil" && &row[at("against")] == "low_1")
        .unwrap();
    assert_eq!(row[at("p")].parse().ok(), pairwise.result.p);
    assert_eq!(row[at("difference")].parse(), Ok(pairwise.difference));
    assert_eq!(&row[at("p_by")], "Student's t, 7 degrees of freedom");
    assert_eq!(&row[at("missing")], "2");
    assert_eq!(row[at("rules")], comparison.rules.to_string());
}
