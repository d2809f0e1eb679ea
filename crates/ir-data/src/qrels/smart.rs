use std::io::BufRead;

use ir_core::{Grade, Qrels};
use serde::{Deserialize, Serialize};

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Interpretation of Cranfield's codes: 1 complete answer, 2 highly relevant, 3 useful, 4 of
/// minimum interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CranfieldGrades {
    /// Grades 4, 3, 2, 1 for codes 1, 2, 3, 4: higher is more relevant.
    #[default]
    Graded,
    /// Grade 1 for all codes.
    Binary,
    /// The code is the grade: lower is more relevant, which evaluation measures do not support.
    Raw,
}

/// Interpretation of Cranfield's code -1: the paper from which the query was taken, one per query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CranfieldSourceDocument {
    /// Judged with the lowest relevant grade, 1, or -1 with [`CranfieldGrades::Raw`].
    #[default]
    Relevant,
    /// Not part of the judgments.
    Drop,
}

/// Reads Cranfield's judgments: query, document and code, separated by white space.
///
/// # Errors
/// The source cannot be read, a line does not consist of three integers, a code is not -1, 1, 2, 3
/// or 4, or a pair is judged twice.
pub fn read_cranfield_judgments(
    reader: impl BufRead,
    source: &str,
    grades: CranfieldGrades,
    source_document: CranfieldSourceDocument,
) -> Result<Qrels, DataError> {
    read(reader, source, 3, "a code: -1, 1, 2, 3 or 4", |code| {
        let code: Grade = code.parse().ok()?;
        let grade = match (code, grades) {
            (-1, _) if source_document == CranfieldSourceDocument::Drop => return Some(None),
            (-1 | 1..=4, CranfieldGrades::Raw) => code,
            (-1, _) | (1..=4, CranfieldGrades::Binary) => 1,
            (1..=4, CranfieldGrades::Graded) => 5 - code,
            _ => return None,
        };
        Some(Some(grade))
    })
}

/// Reads judgments of CISI or CACM: query, document and two columns that are always 0, separated by
/// white space. Every listed document is relevant. Leading zeros of the query are removed, as in
/// CACM's queries.
///
/// # Errors
/// The source cannot be read, a line does not have four columns, or a pair is judged twice.
pub fn read_cisi_judgments(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    let grade = |zero: &str| (zero == "0").then_some(Some(1));
    read(reader, source, 4, "0 in the third column", grade)
}

fn read(
    reader: impl BufRead,
    source: &str,
    columns: usize,
    third_column: &'static str,
    grade: impl Fn(&str) -> Option<Option<Grade>>,
) -> Result<Qrels, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    while let Some(line) = lines.read()? {
        let at = Location::new(source, line.number);
        let parts: Vec<&str> = line.text.split_ascii_whitespace().collect();
        let (query, doc, third) = match *parts.as_slice() {
            [] => continue,
            [query, doc, third, ..] if parts.len() == columns => (query, doc, third),
            _ => return Err(at.columns(columns..=columns, parts.len())),
        };
        for number in [query, doc] {
            if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(at.syntax("an integer", number));
            }
        }
        let grade = grade(third).ok_or_else(|| at.syntax(third_column, third))?;
        let query = match query.trim_start_matches('0') {
            "" => query,
            number => number,
        };
        if let Some(first) = seen.add(&[query, doc], at.line) {
            return Err(at.repeated_judgment(query, doc, first));
        }
        if let Some(grade) = grade {
            qrels.insert(query, doc, grade);
        }
    }
    Ok(qrels)
}
