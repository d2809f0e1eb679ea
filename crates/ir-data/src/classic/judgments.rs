//! The judgments of the two collections.

use std::io::BufRead;

use ir_core::{Grade, Qrels};
use serde::{Deserialize, Serialize};

use crate::error::excerpt;
use crate::seen::Seen;
use crate::{DataError, Lines};

/// What becomes of Cranfield's codes: 1 a complete answer, 2 highly relevant, 3 useful, 4 of
/// minimum interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Codes {
    /// Grades 4, 3, 2, 1: higher is more relevant, as everywhere else.
    #[default]
    Graded,
    /// Grade 1 for all four.
    Binary,
    /// The codes as they are, lower more relevant: not for evaluation.
    AsWritten,
}

/// What becomes of the documents with Cranfield's code -1, one for each query: the paper that the
/// question was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SourceDocument {
    /// It is relevant in the lowest degree: grade 1 (or -1 with [`Codes::AsWritten`]).
    #[default]
    Relevant,
    /// It is not in the judgments.
    Drop,
}

/// Reads Cranfield's judgments: query, document and code between blanks.
///
/// # Errors
/// When the source cannot be read, a line has not three whole numbers, a code is none of -1, 1, 2,
/// 3, 4, or a pair is judged twice.
pub fn read_cranfield_judgments(
    reader: impl BufRead,
    source: &str,
    codes: Codes,
    source_document: SourceDocument,
) -> Result<Qrels, DataError> {
    read(reader, source, 3, |code| {
        let code: Grade = code.parse().ok()?;
        let grade = match (code, codes) {
            (-1, _) if source_document == SourceDocument::Drop => return Some(None),
            (-1 | 1..=4, Codes::AsWritten) => code,
            (-1, _) | (1..=4, Codes::Binary) => 1,
            (1..=4, Codes::Graded) => 5 - code,
            _ => return None,
        };
        Some(Some(grade))
    })
}

/// Reads CISI's judgments: query, document, and two columns that are always 0, between blanks.
/// Every document listed is relevant.
///
/// # Errors
/// When the source cannot be read, a line has not four columns, or a pair is judged twice.
pub fn read_cisi_judgments(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    read(reader, source, 4, |zero| (zero == "0").then_some(Some(1)))
}

fn read(
    reader: impl BufRead,
    source: &str,
    columns: usize,
    grade: impl Fn(&str) -> Option<Option<Grade>>,
) -> Result<Qrels, DataError> {
    let mut lines = Lines::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = Seen::default();
    while let Some(line) = lines.read()? {
        let mut parts = line.text.split_ascii_whitespace();
        let (Some(query), Some(doc), Some(third)) = (parts.next(), parts.next(), parts.next())
        else {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            return Err(wrong_columns(source, line.number, columns, line.text));
        };
        if parts.count() + 3 != columns {
            return Err(wrong_columns(source, line.number, columns, line.text));
        }
        let syntax = |expected, found: &str| DataError::Syntax {
            path: source.to_owned(),
            line: line.number,
            expected,
            found: excerpt(found),
        };
        for number in [query, doc] {
            if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(syntax("a whole number", number));
            }
        }
        let grade = grade(third).ok_or_else(|| {
            let expected = match columns {
                3 => "a code: -1, 1, 2, 3 or 4",
                _ => "0 in the third column",
            };
            syntax(expected, third)
        })?;
        if let Some(first) = seen.note(&[query, doc], line.number) {
            return Err(DataError::RepeatedJudgment {
                path: source.to_owned(),
                line: line.number,
                query: query.to_owned(),
                doc: doc.to_owned(),
                first,
            });
        }
        if let Some(grade) = grade {
            qrels.insert(query, doc, grade);
        }
    }
    Ok(qrels)
}

fn wrong_columns(source: &str, line: u64, columns: usize, text: &str) -> DataError {
    DataError::Columns {
        path: source.to_owned(),
        line,
        expected: columns as u64,
        found: text.split_ascii_whitespace().count() as u64,
    }
}
