//! Writing.

use std::io::Write;

use super::{IdField, IdFault, TrecWriteError, is_space};
use crate::{Judgments, Qrels, Run, StratifiedQrels};

/// How scores are written, and with them the fate of equal ones: whoever evaluates the file sorts
/// it again by score, and trec_eval puts the larger document id first among equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreFormat {
    /// As Anserini writes them: rounded to 4 decimals; within a group of equals the i-th further
    /// one loses i · 1e-6, in 32-bit floats; printed with 6 decimals. The order of a list survives
    /// while its scores are small. From 16 on a 32-bit float merges neighbouring steps, and at a
    /// few hundred it holds none: the ties come back and the evaluator turns them round. Figures
    /// published for Anserini contain that. Scores beyond ±214748 do not fit and are an error.
    #[default]
    Anserini,
    /// So that every evaluator keeps the order of the list: a score that is not below the one
    /// before it is written as the next smaller 64-bit number.
    Strict,
    /// The scores as they are, in the shortest form that reads back to the same 64 bits. Equal
    /// scores are left to the evaluator.
    Exact,
}

/// Writes a run, queries in ascending byte order, six columns separated by blanks, rank from 1.
///
/// # Errors
/// When `out` cannot be written, an id could not be read back, a score is NaN, or `scores` cannot
/// hold one. Lines before the fault may be written already.
pub fn write_run(run: &Run, scores: ScoreFormat, out: &mut dyn Write) -> Result<(), TrecWriteError> {
    let tag = if run.tag.is_empty() { "ir" } else { &run.tag };
    writable(IdField::Tag, tag, None)?;
    for (query, list) in run.iter() {
        begins_line(query)?;
        let mut styled = ScoreWriter::default();
        for (rank, scored) in (1..).zip(list) {
            let doc = &scored.doc;
            writable(IdField::Document, doc, Some(query))?;
            let score =
                styled
                    .next(scores, scored.score)
                    .map_err(|expected| TrecWriteError::Score {
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

/// Writes qrels in four columns separated by blanks, by query and document id.
///
/// # Errors
/// When `out` cannot be written or an id could not be read back.
pub fn write_qrels(qrels: &Qrels, out: &mut dyn Write) -> Result<(), TrecWriteError> {
    for (query, judged) in qrels.iter() {
        begins_line(query)?;
        for (doc, grade) in judged {
            writable(IdField::Document, doc, Some(query))?;
            writeln!(out, "{query} 0 {doc} {grade}")?;
        }
    }
    Ok(())
}

/// Writes judgments of a stratified sample in five columns separated by blanks, by query and document
/// id, as [`read_stratified_qrels`](super::read_stratified_qrels) reads them.
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
/// When `out` cannot be written, or an id or a stratum could not be read back.
pub fn write_stratified_qrels(qrels: &StratifiedQrels, out: &mut dyn Write) -> Result<(), TrecWriteError> {
    for query in qrels.queries() {
        begins_line(query)?;
        for (doc, stratum, grade) in qrels.get(query) {
            writable(IdField::Document, doc, Some(query))?;
            writable(IdField::Stratum, stratum, Some(query))?;
            writeln!(out, "{query} 0 {doc} {stratum} {grade}")?;
        }
    }
    Ok(())
}

/// A query's id stands at the beginning of a line, where `#` would make it a comment.
fn begins_line(id: &str) -> Result<(), TrecWriteError> {
    if id.starts_with('#') {
        return Err(unwritable(IdField::Query, IdFault::Comment, id, Some(id)));
    }
    writable(IdField::Query, id, Some(id))
}

fn writable(field: IdField, id: &str, query: Option<&str>) -> Result<(), TrecWriteError> {
    let fault = if id.is_empty() {
        IdFault::Empty
    } else if id.bytes().any(is_space) {
        IdFault::WhiteSpace
    } else if id.bytes().any(|byte| byte == 0) {
        IdFault::Nul
    } else {
        return Ok(());
    };
    Err(unwritable(field, fault, id, query))
}

fn unwritable(field: IdField, fault: IdFault, id: &str, query: Option<&str>) -> TrecWriteError {
    TrecWriteError::Id {
        field,
        fault,
        found: id.to_owned(),
        query: query.map(str::to_owned),
    }
}

/// What has been written of one query's list so far.
#[derive(Default)]
struct ScoreWriter {
    last: Option<f64>,
    ties: u32,
}

impl ScoreWriter {
    /// The number to write for the next score of the list, or what was expected of it.
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
                    .ok_or("a score within ±214748 for Anserini's form (use strict or exact)")?;
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

/// Four decimals as Java rounds them: in 32-bit floats by way of a 32-bit whole number, halves up.
/// `None` beyond what that holds.
fn anserini_round(score: f32) -> Option<f32> {
    let whole = (f64::from(score * 1e4) + 0.5).floor();
    let fits = whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX);
    fits.then(|| whole as f32 / 1e4)
}
