//! Errors of evaluating runs and run files.

use std::io;

use ir_core::Grade;
use ir_core::trec::{TrecReadError, TrecWarning};

use crate::measure::{CustomName, Measure};

/// Error evaluating a run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum EvalError {
    /// A score is NaN, so that the list has no order.
    #[error("query {query:?}, document {doc:?}: expected a score, found NaN")]
    NanScore { query: String, doc: String },
    /// A query's list contains a document twice.
    #[error("query {query:?}: document {doc:?} is listed twice")]
    Repeated { query: String, doc: String },
    /// A query has two lists.
    #[error("query {query:?}: expected one list, found two")]
    RepeatedQuery { query: String },
    /// Two documents have equal scores under [`TieBreak::Reject`](crate::TieBreak::Reject).
    #[error("query {query:?}: documents {first:?} and {second:?} have the same score {score}")]
    Tie {
        query: String,
        first: String,
        second: String,
        score: f64,
    },
    /// Run and qrels have no query in common. Most likely they belong to different collections or
    /// spell query ids differently.
    #[error(
        "expected a query that has both judgments and results, found none (the qrels have {qrels} \
         queries{}, the run has {run}{})", example(.qrels_example), example(.run_example)
    )]
    NothingInCommon {
        qrels: usize,
        run: usize,
        qrels_example: Option<String>,
        run_example: Option<String>,
    },
    /// A custom measure returned a value that is not finite.
    #[error("query {query:?}: expected a finite number from {measure}, found {found}")]
    Value {
        query: String,
        measure: Box<Measure>,
        found: f64,
    },
    /// The relevance level is negative.
    #[error("expected a relevance level >= 0, found {found}")]
    Level { found: Grade },
    /// A diversity measure needs subtopic judgments.
    #[error("{measure}: expected subtopic judgments, found judgments without subtopics")]
    NoSubtopics { measure: Box<Measure> },
    /// Queries without relevant documents are skipped, and no other query is left.
    #[error(
        "expected a query with a document of grade {level} or higher, found none \
         ({common} queries have both judgments and results)"
    )]
    NothingRelevant { common: usize, level: Grade },
    /// A custom measure was requested that is not registered with the evaluator.
    #[error(
        "measure {name}: expected a measure registered with the evaluator, found an unregistered name"
    )]
    Unregistered { name: String },
    /// A custom measure has an invalid name, or the name of another measure.
    #[error(
        "expected an unused name of up to {} letters, digits and _-.@+%, found {found:?}",
        CustomName::MAX_LEN
    )]
    Name { found: String },
    /// A grade exceeds the highest one for which a measure is defined, by exponential gain or ERR's
    /// scale.
    #[error(
        "query {query:?}, document {doc:?}: expected a grade of at most {highest} for {measure}, found {found}"
    )]
    Grade {
        query: String,
        doc: String,
        found: Grade,
        highest: Grade,
        measure: Box<Measure>,
    },
}

/// Error evaluating a run file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum RunFileError {
    /// The file does not exist or is not readable.
    #[error("{path}: cannot open")]
    Open {
        path: String,
        #[source]
        cause: io::Error,
    },
    /// A line is malformed, or reading failed.
    #[error(transparent)]
    Read(#[from] TrecReadError),
    /// The file was read, but could not be evaluated. The warnings may be the reason.
    #[error("{error}")]
    Eval {
        error: EvalError,
        warnings: Vec<TrecWarning>,
    },
}

fn example(id: &Option<String>) -> String {
    id.as_ref()
        .map_or_else(String::new, |id| format!(", such as {id:?}"))
}
