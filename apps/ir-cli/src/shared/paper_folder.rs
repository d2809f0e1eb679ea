//! Papers in folders and files, and the errors of files that cannot be read.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use anyhow::Result;
use ir_qa::documents::{
    DocumentError, DocumentReader, FileOutcome, FileReport, FolderReport, MissingPart, Paper,
    SeenPapers,
};

use super::console::Console;
use super::format::counted;
use super::signals::Interrupted;

/// Number of errors of files that are printed.
const MAX_WARNINGS: usize = 10;

/// Returns `true` if an argument names the bundled papers.
pub(crate) fn is_bundled(papers: &Path) -> bool {
    papers == Path::new("bundled") && !papers.exists()
}

/// Calls `visit` for the papers of a folder, of a file, or of `bundled`, which has no report.
pub(crate) fn read_papers(
    papers: &Path,
    reader: &DocumentReader,
    console: &Console,
    visit: &mut dyn FnMut(Paper) -> Result<()>,
) -> Result<Option<FolderReport>> {
    if is_bundled(papers) {
        ir_qa::bundled_papers()?.into_iter().try_for_each(visit)?;
        return Ok(None);
    }
    let report = reader.read_folder(papers, &mut console.bar(), visit);
    let report = report.map_err(|error: anyhow::Error| match error.downcast_ref() {
        Some(DocumentError::Canceled) => Interrupted.into(),
        _ => error,
    });
    Ok(Some(report?))
}

/// Returns `true`, with a warning, for a paper with the DOI or the arXiv id of an earlier one.
pub(crate) fn is_duplicate(paper: &Paper, seen: &mut SeenPapers, console: &Console) -> bool {
    let Some(first) = seen.duplicate_of(&paper.id, &paper.metadata) else {
        return false;
    };
    let id = &paper.id;
    console.warn(format_args!(
        "{id}: left out, because {first} has its DOI or arXiv id"
    ));
    true
}

/// Prints the first errors of files, and the numbers of skipped files by reason and of files with
/// long tables, each with `advice` on where all of them are listed.
pub(crate) fn warn(report: &FolderReport, advice: &str, console: &Console) {
    let errors = report.files.iter().filter_map(|file| match &file.outcome {
        FileOutcome::Failed(error) => Some(error),
        _ => None,
    });
    for error in errors.take(MAX_WARNINGS) {
        console.warn(causes(error));
    }
    if report.failed() > MAX_WARNINGS {
        let more = counted((report.failed() - MAX_WARNINGS) as u64, "more file");
        console.warn(format_args!("{more} cannot be read{advice}"));
    }
    let skipped = report.files.iter().filter_map(|file| match &file.outcome {
        FileOutcome::Skipped(reason) => Some((reason.to_string(), &file.path)),
        _ => None,
    });
    let mut reasons: BTreeMap<String, (u64, &str)> = BTreeMap::new();
    for (reason, path) in skipped {
        reasons.entry(reason).or_insert((0, path)).0 += 1;
    }
    for (reason, (count, path)) in reasons {
        let files = counted(count, "file");
        console.warn(format_args!(
            "{files} skipped, such as {path:?}: {reason}{advice}"
        ));
    }
    let has_long_tables = |file: &&FileReport| match &file.outcome {
        FileOutcome::Read { missing, .. } => missing.contains(&MissingPart::TableRows),
        _ => false,
    };
    let mut long = report.files.iter().filter(has_long_tables);
    if let Some(first) = long.next() {
        let files = counted(1 + long.count() as u64, "file");
        let (path, rows) = (&first.path, MissingPart::TableRows);
        console.warn(format_args!(
            "{files} with {rows}, such as {path:?}: left out{advice}"
        ));
    }
}

/// An error with its causes.
pub(crate) fn causes(error: &DocumentError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
