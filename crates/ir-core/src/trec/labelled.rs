//! Qrels with one more column.

use std::collections::HashMap;
use std::io::BufRead;

use super::number::c_integer;
use super::{Header, Oddities, Parsed, Rows, TrecError};
use crate::{Grade, StratifiedQrels, SubtopicQrels};

/// Reads judgments of a stratified sample, as sample_eval reads them: five columns, query id,
/// iteration (ignored), document id, stratum, grade. A negative grade marks a document of the pool
/// that was not sampled. `source` names the file in errors.
///
/// ```
/// use ir_core::trec::{self, Header};
/// let text = "q1 0 d1 1 2\nq1 0 d2 2 -1\n";
/// let qrels = trec::read_strata(text.as_bytes(), "sampled.qrels", Header::AsData)?;
/// assert_eq!(qrels.data.of("q1").next(), Some(("d1", "1", 2)));
/// # Ok::<(), trec::TrecError>(())
/// ```
///
/// # Errors
/// See [`TrecError`].
pub fn read_strata(
    input: impl BufRead,
    source: &str,
    header: Header,
) -> Result<Parsed<StratifiedQrels>, TrecError> {
    let mut qrels = StratifiedQrels::new();
    let mut places: HashMap<(String, String), u64> = HashMap::new();
    let each = |line: u64, [query, _, doc, stratum, _]: [&str; 5], grade| {
        if let Some(first) = places.insert((query.to_owned(), doc.to_owned()), line) {
            return Err(TrecError::Repeated {
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
    let oddities = read(input, source, header, "5", each)?;
    Ok(Parsed {
        data: qrels,
        oddities,
    })
}

/// Reads the judgments of a diversity task: four columns, query id, subtopic, document id, grade.
/// `source` names the file in errors.
///
/// ```
/// use ir_core::trec::{self, Header};
/// let text = "q1 1 d1 1\nq1 2 d1 0\n";
/// let qrels = trec::read_subtopics(text.as_bytes(), "diversity.qrels", Header::AsData)?;
/// assert_eq!(qrels.data.grade("q1", "1", "d1"), Some(1));
/// # Ok::<(), trec::TrecError>(())
/// ```
///
/// # Errors
/// See [`TrecError`].
pub fn read_subtopics(
    input: impl BufRead,
    source: &str,
    header: Header,
) -> Result<Parsed<SubtopicQrels>, TrecError> {
    let mut qrels = SubtopicQrels::new();
    let mut places: HashMap<(String, String, String), u64> = HashMap::new();
    let each = |line: u64, [query, subtopic, doc, _]: [&str; 4], grade| {
        let key = (query.to_owned(), subtopic.to_owned(), doc.to_owned());
        if let Some(first) = places.insert(key, line) {
            return Err(TrecError::RepeatedSubtopic {
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
    let oddities = read(input, source, header, "4", each)?;
    Ok(Parsed {
        data: qrels,
        oddities,
    })
}

/// Lines of `N` columns, the last of which is a grade.
fn read<const N: usize>(
    input: impl BufRead,
    source: &str,
    header: Header,
    expected: &'static str,
    mut each: impl FnMut(u64, [&str; N], Grade) -> Result<(), TrecError>,
) -> Result<Vec<super::Oddity>, TrecError> {
    let mut rows = Rows::new(input, source);
    let mut odd = Oddities::new(source);
    let mut first = true;
    while let Some((line, fields)) = rows.next_row::<N>(expected)? {
        let is_first = std::mem::take(&mut first);
        let text = fields[N - 1];
        let grade = c_integer(text);
        if is_first && fields[0].starts_with('\u{feff}') {
            odd.push(
                line,
                "the byte-order mark became part of the first query id",
            );
        }
        if grade.is_none() && header == Header::Skip && is_first {
            continue;
        }
        let grade = grade.unwrap_or(0);
        each(line, fields, grade)?;
        if text.parse::<Grade>().is_err() {
            let perhaps = if is_first {
                " (a header line? it counts as data)"
            } else {
                ""
            };
            let what =
                format!("the grade {text:?} is no whole number and was read as {grade}{perhaps}");
            odd.push(line, what);
        }
    }
    Ok(odd.finish())
}
