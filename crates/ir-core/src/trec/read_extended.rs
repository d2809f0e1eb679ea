//! Readers of stratified and subtopic qrels.

use std::collections::HashMap;
use std::io::BufRead;

use super::read::parse_grade;
use super::{ColumnReader, HeaderLine, Parsed, TrecReadError, TrecWarnings};
use crate::qrels::{Grade, StratifiedQrels, SubtopicQrels};

/// Reads judgments of a stratified sample in the format of sample_eval: query id, iteration
/// (ignored), document id, stratum, grade. A negative grade marks a pooled document that was not
/// sampled. `source` names the file in errors.
///
/// ```
/// use ir_core::trec::{self, HeaderLine};
/// let text = "q1 0 d1 1 2\nq1 0 d2 2 -1\n";
/// let qrels = trec::read_stratified_qrels(text.as_bytes(), "sampled.qrels", HeaderLine::AsData)?;
/// assert_eq!(qrels.data.get("q1").next(), Some(("d1", "1", 2)));
/// # Ok::<(), trec::TrecReadError>(())
/// ```
///
/// # Errors
/// [`TrecReadError`] for the first invalid line.
pub fn read_stratified_qrels(
    input: impl BufRead,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<StratifiedQrels>, TrecReadError> {
    let mut qrels = StratifiedQrels::new();
    let mut lines: HashMap<(String, String), u64> = HashMap::new();
    let each = |line: u64, [query, _, doc, stratum, _]: [&str; 5], grade| {
        if let Some(first) = lines.insert((query.to_owned(), doc.to_owned()), line) {
            return Err(TrecReadError::Repeated {
                path: source.to_owned(),
                line,
                query: query.to_owned(),
                doc: doc.to_owned(),
                first,
            });
        }
        qrels.insert(query, doc, stratum, grade);
        Ok(())
    };
    let warnings = read(input, source, header, "5", each)?;
    let data = qrels;
    Ok(Parsed { data, warnings })
}

/// Reads the judgments of a diversity task: query id, subtopic, document id, grade. `source` names
/// the file in errors.
///
/// ```
/// use ir_core::trec::{self, HeaderLine};
/// let text = "q1 1 d1 1\nq1 2 d1 0\n";
/// let qrels = trec::read_subtopic_qrels(text.as_bytes(), "diversity.qrels", HeaderLine::AsData)?;
/// assert_eq!(qrels.data.grade("q1", "1", "d1"), Some(1));
/// # Ok::<(), trec::TrecReadError>(())
/// ```
///
/// # Errors
/// [`TrecReadError`] for the first invalid line.
pub fn read_subtopic_qrels(
    input: impl BufRead,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<SubtopicQrels>, TrecReadError> {
    let mut qrels = SubtopicQrels::new();
    let mut lines: HashMap<(String, String, String), u64> = HashMap::new();
    let each = |line: u64, [query, subtopic, doc, _]: [&str; 4], grade| {
        let key = (query.to_owned(), subtopic.to_owned(), doc.to_owned());
        if let Some(first) = lines.insert(key, line) {
            return Err(TrecReadError::RepeatedSubtopic {
                path: source.to_owned(),
                line,
                query: query.to_owned(),
                subtopic: subtopic.to_owned(),
                doc: doc.to_owned(),
                first,
            });
        }
        qrels.insert(query, subtopic, doc, grade);
        Ok(())
    };
    let warnings = read(input, source, header, "4", each)?;
    let data = qrels;
    Ok(Parsed { data, warnings })
}

/// Reads lines of `N` columns, the last of which is a grade.
fn read<const N: usize>(
    input: impl BufRead,
    source: &str,
    header: HeaderLine,
    expected: &'static str,
    mut each: impl FnMut(u64, [&str; N], Grade) -> Result<(), TrecReadError>,
) -> Result<Vec<super::TrecWarning>, TrecReadError> {
    let mut rows = ColumnReader::new(input, source);
    let mut warnings = TrecWarnings::new(source);
    let mut first = true;
    while let Some((line, fields)) = rows.next_row::<N>(expected)? {
        let first = std::mem::take(&mut first);
        if let Some(grade) = parse_grade(fields[N - 1], line, first, header, &mut warnings) {
            each(line, fields, grade)?;
        }
    }
    Ok(warnings.finish())
}
