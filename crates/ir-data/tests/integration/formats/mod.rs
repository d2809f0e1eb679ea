//! Small inputs for the properties of every format: the parsed data or the error.

#[cfg(feature = "arrow")]
mod arrow;
mod beir;
mod biocaddie;
mod biocaddie_records;
mod catalog;
#[cfg(all(feature = "arrow", feature = "parquet"))]
mod columnar;
mod csv;
mod datafinder;
mod indri;
mod json;
mod line_ends;
#[cfg(feature = "parquet")]
mod parquet;
mod questions;
mod runs;
mod same_content;
mod sgml;
mod sgml_topics;
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

/// Documents of a file, or the error.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn read_documents(
    path: &std::path::Path,
    names: ir_data::GivenNames,
) -> Result<Vec<ir_core::Document>, String> {
    use ir_core::Corpus as _;
    let options = ir_data::ReadOptions {
        names,
        ..Default::default()
    };
    let docs = ir_data::DocumentFile::open(path, &options).map_err(|error| error.to_string())?;
    let docs: Result<Vec<_>, _> = docs.docs().map_err(|error| error.to_string())?.collect();
    docs.map_err(|error| error.reason().to_string())
}

/// The table of the README is [`ir_data::FORMATS`]; `UPDATE_DOCS=1` writes it.
#[test]
fn table_of_formats() {
    let mut table = String::from(
        "\n| content | format | recognized by | fields | encodings | skipped |\n|---|---|---|---|---|---|\n",
    );
    for format in ir_data::FORMATS {
        let cells = [
            format.content,
            format.name,
            format.recognized_by,
            format.fields,
            format.encodings,
            format.skipped,
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|").replace('<', "&lt;"));
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (start, end) = ("<!-- formats -->\n", "\n<!-- end of formats -->");
    let (before, rest) = readme.split_once(start).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{start}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "UPDATE_DOCS=1 writes the table");
    }
}

/// Every detected format has a row of the table.
#[test]
fn detected_formats_are_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let options = ir_data::ReadOptions::default();
    for text in [
        "{\"id\": 1, \"text\": \"\"}",
        "[]",
        "id,text\n",
        "id\ttext\n",
        "a\tb\n",
        "a\thttp://b\tc\td\n",
        ".I 1\n.W\n",
        "<DOC>\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let found = ir_data::DocumentFile::open(&path, &options).unwrap();
        let name = found.format().name();
        let mut names = ir_data::FORMATS.iter().map(|format| format.name);
        assert!(
            names.any(|known| known.contains(name) || name.contains("with a header line")),
            "{name}"
        );
    }
}
