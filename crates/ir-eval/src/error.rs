//! What can go wrong.

use std::io;

use ir_core::Grade;
use ir_core::trec::{Oddity, TrecError};

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
    /// A measure of the user's own that gave something other than a finite number.
    #[error("query {query:?}: expected a finite number from {measure}, found {found}")]
    Value {
        /// The query.
        query: String,
        /// The measure.
        measure: Box<Measure>,
        /// What it gave.
        found: f64,
    },
    /// A relevance level below 0.
    #[error("expected a relevance level from 0, found {found}")]
    Level {
        /// The level.
        found: Grade,
    },
    /// A measure of diversity and judgments that name no subtopics.
    #[error("{measure}: expected judgments of subtopics, found judgments of whole queries")]
    NoSubtopics {
        /// The measure.
        measure: Box<Measure>,
    },
    /// No query that counts, because those without a relevant document are left out.
    #[error(
        "expected a query with a document of grade {level} or higher, found none \
         ({common} queries have both judgments and results)"
    )]
    NothingRelevant {
        /// How many queries have both judgments and results.
        common: usize,
        /// The relevance level.
        level: Grade,
    },
    /// A measure of the user's own that was not registered with the evaluator.
    #[error("measure {name}: expected a measure that is known here, found a name alone")]
    Unregistered {
        /// Its name.
        name: String,
    },
    /// A measure of the user's own that cannot be called that.
    #[error(
        "expected a name of up to {} letters, digits and _-.@+% that no other measure has, found {found:?}",
        crate::Name::MOST
    )]
    Name {
        /// The name.
        found: String,
    },
    /// A grade that is too high for a measure: an exponential gain, or ERR's scale.
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
    #[error("{error}")]
    Eval {
        /// Why.
        error: EvalError,
        /// What is odd about the file, and may be the reason.
        oddities: Vec<Oddity>,
    },
}

fn example(id: &Option<String>) -> String {
    id.as_ref()
        .map_or_else(String::new, |id| format!(", such as {id:?}"))
}
