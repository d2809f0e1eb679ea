//! Small inputs for the properties of every format: the parsed data or the error.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod beir;
mod biocaddie;
mod biocaddie_records;
mod catalog;
mod datafinder;
mod indri;
mod json;
mod runs;
mod sgml;
mod smart;
mod squad;
mod tsv;

/// Cases of a table with a line for each: an input with the escapes `\n`, `\r` and `\t`, and the
/// expected result.
fn cases(table: &'static str) -> impl Iterator<Item = (String, &'static str)> {
    table.lines().map(|case| {
        let (input, expected) = case.split_once(" => ").unwrap();
        let lines = input.replace("\\n", "\n").replace("\\r", "\r");
        (lines.replace("\\t", "\t"), expected)
    })
}

/// Asserts the result of every case of a table.
#[track_caller]
fn assert_cases(table: &'static str, result: impl Fn(&str) -> String) {
    for (text, expected) in cases(table) {
        assert_eq!(result(&text), expected, "{text}");
    }
}
