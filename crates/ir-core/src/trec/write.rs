//! Writers of runs and qrels.
//!
//! There are three score formats because evaluators sort by score again: Anserini's format
//! reproduces published scores of BM25, `Strict` preserves the ranking, `Exact` preserves the
//! scores. A score that a format cannot represent is an error.

use std::io::Write;

use super::{TrecWriteError, is_space};
use crate::qrels::{Judgments, Qrels, StratifiedQrels};
use crate::run::Run;

/// Format of the scores in a run file. Determines the order of ties, since evaluators sort by
/// score, and trec_eval breaks ties by descending document id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreFormat {
    /// Format of Anserini: rounded to 4 decimals; the i-th further member of a group of ties loses
    /// i · 1e-6, in f32; printed with 6 decimals. Preserves the order of a list while scores are
    /// small: from 16 on, f32 merges neighboring steps, and at a few hundred all ties return.
    /// Published Anserini results include this effect. Scores beyond ±214748 are an error.
    #[default]
    Anserini,
    /// Preserves the order of the list in every evaluator: a score not below its predecessor is
    /// written as the next smaller f64.
    Strict,
    /// Shortest decimal form that parses to the same f64. The order of ties is left to the
    /// evaluator.
    Exact,
}

/// Writes a run in six columns separated by spaces, queries in ascending byte order, ranks from 1.
///
/// # Errors
/// If writing fails, an id could not be read back, or a score is NaN or not representable in
/// `scores`. Earlier lines may already be written.
pub fn write_run(
    run: &Run,
    scores: ScoreFormat,
    out: &mut dyn Write,
) -> Result<(), TrecWriteError> {
    let tag = if run.tag.is_empty() { "ir" } else { &run.tag };
    check_id("tag", tag, None)?;
    for (query, list) in run.iter() {
        check_query_id(query)?;
        let mut styled = ScoreWriter::default();
        for (rank, scored) in (1..).zip(list) {
            let doc = &scored.doc;
            check_id("document id", doc, Some(query))?;
            let written = styled.next(scores, scored.score);
            let score = written.map_err(|expected| TrecWriteError::Score {
                query: query.to_owned(),
                doc: doc.clone(),
                expected,
                found: scored.score,
            })?;
            match scores {
                ScoreFormat::Anserini => {
                    writeln!(out, "{query} Q0 {doc} {rank} {score:.6} {tag}")?;
                }
                ScoreFormat::Strict | ScoreFormat::Exact => {
                    writeln!(out, "{query} Q0 {doc} {rank} {score:?} {tag}")?;
                }
            }
        }
    }
    Ok(())
}

/// Writes qrels in four columns separated by spaces, sorted by query and document id.
///
/// # Errors
/// If writing fails or an id could not be read back.
pub fn write_qrels(qrels: &Qrels, out: &mut dyn Write) -> Result<(), TrecWriteError> {
    for (query, judged) in qrels.iter() {
        check_query_id(query)?;
        for (doc, grade) in judged {
            check_id("document id", doc, Some(query))?;
            writeln!(out, "{query} 0 {doc} {grade}")?;
        }
    }
    Ok(())
}

/// Writes judgments of a stratified sample in five columns separated by spaces, sorted by query and
/// document id. Inverse of [`read_stratified_qrels`](super::read_stratified_qrels).
///
/// ```
/// use ir_core::{StratifiedQrels, trec};
/// let mut qrels = StratifiedQrels::new();
/// qrels.insert("q1", "d1", "top", 2);
/// qrels.insert("q1", "d2", "rest", -1);
/// let mut out = Vec::new();
/// trec::write_stratified_qrels(&qrels, &mut out)?;
/// assert_eq!(out, b"q1 0 d1 top 2\nq1 0 d2 rest -1\n");
/// # Ok::<(), trec::TrecWriteError>(())
/// ```
///
/// # Errors
/// If writing fails, or an id or a stratum could not be read back.
pub fn write_stratified_qrels(
    qrels: &StratifiedQrels,
    out: &mut dyn Write,
) -> Result<(), TrecWriteError> {
    for query in qrels.queries() {
        check_query_id(query)?;
        for (doc, stratum, grade) in qrels.get(query) {
            check_id("document id", doc, Some(query))?;
            check_id("stratum", stratum, Some(query))?;
            writeln!(out, "{query} 0 {doc} {stratum} {grade}")?;
        }
    }
    Ok(())
}

/// Checks that a query id can be read back. In the first column, `#` starts a comment, and a byte
/// order mark is no part of the id.
fn check_query_id(id: &str) -> Result<(), TrecWriteError> {
    let field = "query id";
    let expected = match id.chars().next() {
        Some('#') => "that does not begin with #",
        Some('\u{feff}') => "that does not begin with a byte order mark",
        _ => return check_id(field, id, Some(id)),
    };
    Err(invalid_id(field, expected, id, Some(id)))
}

/// Checks that an id of the column `field` can be read back.
fn check_id(field: &'static str, id: &str, query: Option<&str>) -> Result<(), TrecWriteError> {
    let expected = if id.is_empty() {
        "that is not empty"
    } else if id.bytes().any(is_space) {
        "without white space"
    } else if id.bytes().any(|byte| byte == 0) {
        "without NUL bytes"
    } else {
        return Ok(());
    };
    Err(invalid_id(field, expected, id, query))
}

fn invalid_id(
    field: &'static str,
    expected: &'static str,
    id: &str,
    query: Option<&str>,
) -> TrecWriteError {
    TrecWriteError::Id {
        field,
        expected,
        found: id.to_owned(),
        query: query.map(str::to_owned),
    }
}

/// Formatter of the scores of one list.
#[derive(Default)]
struct ScoreWriter {
    last: Option<f64>,
    ties: u32,
}

impl ScoreWriter {
    /// Returns the number to write for the next score, or what was expected.
    fn next(&mut self, scores: ScoreFormat, score: f64) -> Result<f64, &'static str> {
        if score.is_nan() {
            return Err("a number as score");
        }
        let written = match scores {
            ScoreFormat::Exact => score,
            ScoreFormat::Strict => match self.last {
                Some(f64::NEG_INFINITY) => {
                    return Err("at most one score of -inf, which nothing stands below");
                }
                Some(last) if score >= last => last.next_down(),
                _ => score,
            },
            ScoreFormat::Anserini => {
                let mut written = anserini_round(score as f32)
                    .ok_or("a score within ±214748 for Anserini's format (use strict or exact)")?;
                match self.last {
                    Some(last) if last as f32 - written <= 1e-4 => {
                        self.ties += 1;
                        written -= 1e-6 * self.ties as f32;
                    }
                    _ => self.ties = 0,
                }
                f64::from(written)
            }
        };
        self.last = Some(written);
        Ok(written)
    }
}

/// Rounds half up to four decimals as Java does, in f32 through an i32. `None` on overflow.
fn anserini_round(score: f32) -> Option<f32> {
    let whole = (f64::from(score * 1e4) + 0.5).floor();
    let fits = whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX);
    fits.then(|| whole as f32 / 1e4)
}
