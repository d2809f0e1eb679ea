//! Helpers of the tests on real files.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_core::{Qrels, Run};
use ir_eval::Rules;
use ir_eval::trec_eval::{MeasureSelection, OutputDetail};

/// A file or folder of the folder `IR_DATA`. If it is missing, prints which one, and the test is
/// skipped.
pub(crate) fn data(part: &str) -> Option<PathBuf> {
    let found = std::env::var_os("IR_DATA").map(|root| PathBuf::from(root).join(part));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: {part} is not in IR_DATA");
    }
    found
}

/// Folder with small inputs and the outputs of reference programs; its README has the provenance.
pub(crate) fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trec_eval")
}

pub(crate) fn qrels(path: &Path, header: HeaderLine) -> Qrels {
    let file = BufReader::new(File::open(path).unwrap());
    trec::read_qrels(file, &path.to_string_lossy(), header)
        .unwrap()
        .data
}

pub(crate) fn run(path: &Path, header: HeaderLine) -> Run {
    let file = BufReader::new(File::open(path).unwrap());
    trec::read_run(file, &path.to_string_lossy(), header)
        .unwrap()
        .data
}

/// Output of a selection for a report.
pub(crate) fn printed(
    selection: &MeasureSelection,
    rules: Rules,
    detail: OutputDetail,
    qrels: &Qrels,
    run: &Run,
) -> String {
    let report = selection
        .evaluator(qrels, rules)
        .unwrap()
        .evaluate(run)
        .unwrap();
    let mut out = Vec::new();
    selection.write(&report, detail, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that texts are equal; otherwise shows the first line that differs.
#[track_caller]
pub(crate) fn same(found: &str, expected: &str, name: &str) {
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "{name}, line {number}");
    }
    assert_eq!(
        found.lines().count(),
        expected.lines().count(),
        "{name}: number of lines"
    );
    assert_eq!(found, expected, "{name}");
}

/// Judgments of the bioCADDIE challenge, and a synthetic run: the first hundred judged documents of
/// each topic in file order.
pub(crate) fn biocaddie() -> Option<(Qrels, Run)> {
    let path = data("biocaddie/qrels")?.join("biocaddie.qrels.test");
    let judgments = qrels(&path, HeaderLine::AsData);
    let mut made = Run::new("first-hundred");
    for line in fs::read_to_string(&path).unwrap().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let length = made.get(fields[0]).map_or(0, <[_]>::len);
        if length < 100 {
            made.push(fields[0], fields[2], (1000 - length) as f64);
        }
    }
    Some((judgments, made))
}
