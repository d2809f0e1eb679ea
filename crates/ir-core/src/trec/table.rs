//! Header lines of runs, and tables in place of runs.

use super::json::is_json_column;
use super::number::c_number;
use super::scan::TrecLine;
use super::{HeaderLine, TrecReadError};

/// Columns of a run, for errors.
pub(super) const RUN: &str = "a run of six columns (query, Q0, document, rank, score, tag)";

/// Names of the columns of queries, documents and scores in PyTerrier, ir_datasets, ranx and
/// others, in lower case, without `_`, `-` and spaces.
const NAMES: [&[&str]; 3] = [
    &[
        "qid", "query", "queryid", "queryno", "topic", "topicid", "topicno",
    ],
    &[
        "corpusid",
        "did",
        "doc",
        "docid",
        "docno",
        "document",
        "documentid",
        "passageid",
        "pid",
    ],
    &["score", "scores", "similarity"],
];

/// Returns the columns of a header line that names a query, a document and a score, between commas,
/// semicolons or white space. `by_space` allows white space.
fn table_columns(line: &str, by_space: bool) -> Option<String> {
    let split = [',', ';', '\t', ' '].into_iter().map(|separator| {
        let names = line.split(separator).map(|name| {
            let name = name.trim();
            name.trim_matches(['"', '\''])
        });
        (separator, names.collect::<Vec<_>>())
    });
    let is_header = |names: &[&str]| {
        let plain = |name: &&str| {
            let letters = name.chars().filter(|sign| sign.is_alphanumeric());
            letters.collect::<String>().to_ascii_lowercase()
        };
        let names: Vec<String> = names.iter().map(plain).collect();
        let mut kinds = NAMES.iter();
        kinds.all(|kind| names.iter().any(|name| kind.contains(&name.as_str())))
    };
    let mut split = split.filter(|(separator, _)| by_space || !separator.is_whitespace());
    let (_, names) = split.find(|(_, names)| is_header(names))?;
    Some(names.join(", "))
}

/// Returns `true` if the first line of a run is a header line to skip. The header of a table is an
/// error, as is the header of a run of MS MARCO that is not skipped. A header line of six columns
/// is data.
pub(super) fn is_skipped_header(
    line: &TrecLine<'_, 6>,
    source: &str,
    header: HeaderLine,
) -> Result<bool, TrecReadError> {
    let has_score = line.columns > 4 && c_number(line.field(4)).is_some();
    if !has_score && let Some(found) = table_columns(line.text(), line.columns < 6) {
        return Err(TrecReadError::Table {
            path: source.to_owned(),
            line: line.number,
            expected: RUN,
            found,
        });
    }
    let names = [line.field(0), line.field(1), line.field(2)];
    if line.columns != 3 || c_number(names[2]).is_some() || is_json_column(names[0]) {
        return Ok(false);
    }
    if header == HeaderLine::AsData && names[2].eq_ignore_ascii_case("rank") {
        return Err(TrecReadError::RankHeader {
            path: source.to_owned(),
            line: line.number,
            found: names.join(" "),
        });
    }
    Ok(header == HeaderLine::Skip)
}
