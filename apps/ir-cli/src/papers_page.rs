//! Test of the command lines of `docs/papers.md`.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::{Cli, with_negative_values};

const PAGE: &str = include_str!("../../../docs/papers.md");

/// Tables and figures of the papers, by the title of their section: those that the page must have.
const PARTS: [(&str, &[&str]); 4] = [
    (
        "DataFinder",
        &[
            "Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2", "Figure 3",
            "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Figure 8",
        ],
    ),
    ("ICLR dataset", &["kNN accuracy", "t-SNE map"]),
    (
        "bioCADDIE",
        &[
            "Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Figure 1", "Figure 2",
        ],
    ),
    ("Talk to Papers", &["Table 1", "Table 2", "Table 3"]),
];

/// Row of a table of the page.
struct Row<'a> {
    line: usize,
    section: &'a str,
    part: &'a str,
    commands: Vec<&'a str>,
    missing: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let mut section = "";
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(PAGE.lines()) {
        if let Some(title) = text.strip_prefix("## ") {
            section = title;
        }
        let Some(cells) = text.strip_prefix("| ").and_then(|it| it.strip_suffix(" |")) else {
            continue;
        };
        let cells: Vec<&str> = cells.split(" | ").map(str::trim).collect();
        let [part, commands, _, missing] = cells[..] else {
            panic!(
                "docs/papers.md:{line}: expected 4 cells, found {}",
                cells.len()
            );
        };
        if part != "part" {
            let commands = commands.split("<br>").filter(|it| !it.is_empty());
            let commands = commands.map(|it| it.trim_matches('`')).collect();
            rows.push(Row {
                line,
                section,
                part,
                commands,
                missing,
            });
        }
    }
    rows
}

/// Words of a command line; quotation marks enclose words with spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (n, piece) in command.split('"').enumerate() {
        // Odd pieces are between quotation marks.
        let mut parts = piece.split(|c: char| n % 2 == 0 && c == ' ');
        if let (Some(last), Some(first)) = (words.last_mut(), parts.next()) {
            last.push_str(first);
        }
        words.extend(parts.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the words after `NAME=VALUE`.
fn without_variables(command: &str) -> Vec<String> {
    let is_variable = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
    };
    let mut words = words(command);
    let first = words.iter().position(|word| !is_variable(word));
    words.drain(..first.unwrap_or_default());
    words
}

/// Returns `true` for subcommands of cargo features that are not compiled.
fn is_of_another_feature(subcommand: &str) -> bool {
    ["serve", "encode"].contains(&subcommand)
        && Cli::command().find_subcommand(subcommand).is_none()
}

#[test]
fn every_row_has_a_command_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut checked = 0;
    for Row {
        line,
        part,
        commands,
        missing,
        ..
    } in rows()
    {
        let at = format!("docs/papers.md:{line}: {part}");
        assert!(
            !missing.is_empty(),
            "{at}: expected what is missing, or nothing"
        );
        assert!(
            !commands.is_empty() || missing != "nothing",
            "{at}: expected a command or a reason"
        );
        for command in commands {
            let words = without_variables(command);
            let files = words.iter().filter(|word| word.starts_with("experiments/"));
            for file in files {
                assert!(root.join(file).is_file(), "{at}: {file} does not exist");
            }
            checked += 1;
            match words[0].as_str() {
                "ir" if is_of_another_feature(&words[1]) => {}
                "ir" => {
                    let known = with_negative_values(Cli::command());
                    let parsed = known.try_get_matches_from(&words);
                    parsed.unwrap_or_else(|error| panic!("{at}: {command}: {error}"));
                }
                "cargo" => {
                    assert_eq!(words[1..4], ["run", "--release", "-p"], "{at}: {command}");
                    let example = root.join("examples").join(&words[4]).join("Cargo.toml");
                    assert!(example.is_file(), "{at}: {command}");
                }
                other => panic!("{at}: expected ir or cargo, found {other}"),
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn every_table_and_figure_has_a_row() {
    let rows = rows();
    for (section, parts) in PARTS {
        for part in parts {
            // "Figure 1" may share a row: "Table 4, Figure 1".
            let is_row = |row: &&Row<'_>| row.section == section && row.part.contains(part);
            assert!(rows.iter().any(|row| is_row(&row)), "{section}: {part}");
        }
    }
}

#[test]
fn words_between_quotation_marks() {
    let command = r#"IR_MODEL=$(.ci/model) ir ask papers "What is it?" -k 3"#;
    let expected = ["ir", "ask", "papers", "What is it?", "-k", "3"];
    assert_eq!(without_variables(command), expected);
}
