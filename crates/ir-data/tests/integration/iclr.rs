//! Papers in Parquet files written by pyarrow (`testdata/iclr/papers.py`).

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::Document;
use ir_data::DataError;
use ir_data::iclr::{self, Paper};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/iclr")
        .join(name)
}

/// Row that the script writes.
fn paper(number: usize) -> Paper {
    const GRAPHS: &str = "messages pass along the edges of a graph";
    const RL: &str = "an agent learns by reward which steps to take";
    const TEA: &str = "leaves are steeped, and the colour of the water is predicted"; // language: allow
    let (class, keyword, text) = [
        ("graphs", "graph neural networks", GRAPHS),
        ("RL", "reinforcement learning", RL),
        ("unlabeled", "tea", TEA),
    ][number % 3];
    let unless = |is_empty: bool, text: String| if is_empty { String::new() } else { text };
    Paper {
        year: 2017 + number as i32 / 10,
        id: format!("paper-{number:02}"),
        title: format!("On {keyword}, part {number}"),
        text: format!("In part {number} {text}; größer, 图 and a \"quote\"\nover two lines."),
        authors: unless(number == 4, format!("Ann Author, Ben Author {number}")),
        author_ids: unless(number < 20, format!("~Ann{number}")),
        decision: ["Accept (poster)", "Reject"][number % 2].to_owned(),
        scores: if number == 5 {
            vec![]
        } else {
            (3..3 + number as i64 % 5).collect()
        },
        keywords: match number {
            6 => vec![],
            _ => vec![keyword.to_owned(), format!("topic {number}")],
        },
        class: if number == 6 { "unlabeled" } else { class }.to_owned(),
    }
}

/// Message of the error and its causes, without the folder.
fn message(name: &str) -> String {
    let error = iclr::read(file(name)).unwrap_err();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    let folder = file("");
    text.replace(folder.to_str().unwrap(), "")
}

#[test]
fn papers_of_valid_files() {
    let expected: Vec<Paper> = (0..24).map(paper).collect();
    assert_eq!(iclr::read(file("papers.parquet")).unwrap(), expected);
    // Null members of a list are omitted.
    let holes = iclr::read(file("third-has-a-null-keyword.parquet")).unwrap();
    assert_eq!(holes[2].keywords, ["tea"]);
    // Without author_ids, with other integer widths and another encoding.
    let found = iclr::read(file("older.parquet")).unwrap();
    for (found, mut expected) in found.into_iter().zip(expected) {
        expected.author_ids.clear();
        assert_eq!(found, expected);
    }
    let doc = Document::from(paper(12));
    assert_eq!((&*doc.id, doc.attributes.year()), ("paper-12", Some(2018)));
    assert!(doc.title.starts_with("On graph") && doc.text.contains("edges"));
}

#[test]
fn errors_name_file_column_and_row() {
    let table = r#"no-abstract:1: expected a column "abstract", found "year", "id", "title", "authors", "author_ids", "decision", "scores", "keywords", "labels"
year-is-text:1: expected an integer in "year", found a string
keywords-are-text:1: expected a list in "keywords", found a string
second-abstract-is-null:2: expected a value in "abstract", found null
year-is-far:1: expected a year in "year", found 1099511627776"#;
    for case in table.lines() {
        let (name, error) = case.split_once(':').unwrap();
        let file = format!("{name}.parquet");
        assert_eq!(message(&file), format!("{file}:{error}"));
    }
    let zstd = message("zstd.parquet");
    let expected = "expected valid Parquet, found an error (";
    assert!(zstd.starts_with(&format!("zstd.parquet: {expected}")));
    assert!(zstd.contains("zstd"), "{zstd}");
    let foreign = message("papers.py");
    let expected = "papers.py: expected a Parquet or Arrow file, found another file";
    assert!(foreign.starts_with(expected), "{foreign}");
    let missing = iclr::read(file("none.parquet")).unwrap_err();
    assert!(matches!(missing, DataError::Read { .. }));
}

/// Values of papers by column.
fn columns(papers: &[Paper]) -> [Vec<String>; 10] {
    let column =
        |value: fn(&Paper) -> String| -> Vec<String> { papers.iter().map(value).collect() };
    [
        column(|paper| paper.year.to_string()),
        column(|paper| paper.id.clone()),
        column(|paper| paper.title.clone()),
        column(|paper| paper.text.clone()),
        column(|paper| paper.authors.clone()),
        column(|paper| paper.author_ids.clone()),
        column(|paper| paper.decision.clone()),
        column(|paper| format!("{:?}", paper.scores)),
        column(|paper| paper.keywords.join("; ")),
        column(|paper| paper.class.clone()),
    ]
}

/// A truncated file is an error. So is a corrupt one, or its rows have wrong values in the column
/// of the byte: the pages of the file have no checksums.
#[test]
fn corrupt_files_never_panic() {
    let whole = fs::read(file("papers.parquet")).unwrap();
    let papers = iclr::read(file("papers.parquet")).unwrap();
    let expected = columns(&papers);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    for end in (0..whole.len()).step_by(97) {
        fs::write(&path, &whole[..end]).unwrap();
        let error = iclr::read(&path).unwrap_err();
        let is_short = matches!(error, DataError::OtherFormat { .. }) && end < 4;
        assert!(
            is_short || matches!(error, DataError::Columnar { .. }),
            "{end}: {error}"
        );
    }
    let (mut errors, mut unchanged) = (0, 0);
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        fs::write(&path, &damaged).unwrap();
        match iclr::read(&path) {
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.starts_with(path.to_str().unwrap()),
                    "{at}: {message}"
                );
                errors += 1;
            }
            Ok(found) if found.len() == papers.len() => {
                let found = columns(&found);
                let wrong = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
                assert!(wrong <= 1, "{at}: {wrong} wrong columns");
                unchanged += u32::from(wrong == 0);
            }
            // The byte is of the number of rows.
            Ok(_) => {}
        }
    }
    assert!(errors > 0 && unchanged > 0, "{errors} {unchanged}");
}
