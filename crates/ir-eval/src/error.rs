//! What can go wrong.

use std::io;

use ir_core::Grade;
use ir_core::trec::TrecError;

use crate::Measure;

/// Why a run could not be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A score that is not a number, so that the list has no order.
    #[error("query {query:?}, document {doc:?}: expected a score, found NaN")]
    NanScore {
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// A document that stands twice in the list of a query.
    #[error("query {query:?}: document {doc:?} is listed twice")]
    Repeated {
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// Equal scores, under [`Ties::Reject`](crate::Ties::Reject).
    #[error("query {query:?}: documents {first:?} and {second:?} have the same score {score}")]
    Tie {
        /// The query.
        query: String,
        /// One document.
        first: String,
        /// The other one.
        second: String,
        /// Their score.
        score: f64,
    },
    /// Run and qrels have no query in common: most likely they belong to different collections, or
    /// spell the ids differently.
    #[error(
        "expected a query that has both judgments and results, found none (the qrels have {qrels} \
         queries{}, the run has {run}{})", example(.qrels_example), example(.run_example)
    )]
    NothingInCommon {
        /// How many queries the qrels have.
        qrels: usize,
        /// How many the run has.
        run: usize,
        /// One of the qrels.
        qrels_example: Option<String>,
        /// One of the run.
        run_example: Option<String>,
    },
    /// A relevance level below 0.
    #[error("expected a relevance level from 0, found {found}")]
    Level {
        /// The level.
        found: Grade,
    },
    /// A grade for which no exponential gain can be computed.
    #[error(
        "query {query:?}, document {doc:?}: expected a grade of at most {most} for {measure}, found {found}"
    )]
    Grade {
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The grade.
        found: Grade,
        /// The highest one possible.
        most: Grade,
        /// The measure that cannot be computed.
        measure: Box<Measure>,
    },
}

/// Why a run file could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file, or it may not be read.
    #[error("{path}: could not be opened")]
    Open {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A line is no line of a run, or the file cannot be read to its end.
    #[error(transparent)]
    Read(#[from] TrecError),
    /// It was read, and has no figures.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

fn example(id: &Option<String>) -> String {
    id.as_ref()
        .map_or_else(String::new, |id| format!(", such as {id:?}"))
}
