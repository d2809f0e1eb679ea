#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod assess;
mod collection;
pub mod compare;
mod decimal;
mod evaluate;
mod judged;
pub mod measure;
#[cfg(feature = "plots")]
mod page;
#[cfg(feature = "plots")]
pub mod plots;
mod rules;
pub mod runs;
mod statistics;
pub mod trec_eval;

pub use collection::{
    AttributeCounts, CorpusStatistics, Histogram, HistogramSummary, JudgmentStatistics,
};
pub use decimal::{Decimal, ParseDecimalError};
pub use evaluate::{
    EvalError, Evaluator, QueryValues, Report, ReportMeasure, RunFileError, RunFileOptions,
};
pub use judged::{Gain, GainTable, JudgmentStatus};
pub use measure::{
    CustomMeasure, Formula, JudgedDocument, JudgedList, Measure, ParseMeasureError, RecallPoints,
    Summary,
};
#[cfg(feature = "plots")]
pub use page::{ComparisonPage, PageError, QueryRankChanges, SystemPage, WinsAndLosses};
pub use rules::{
    MissingQueries, QueriesWithoutRelevant, Rules, ScorePrecision, SelfHits, TieBreak,
    TrecEvalVersion, UnjudgedDocuments,
};
pub use trec_eval::ZScores;

pub use ir_core::{Grade, Judgments, Qrels, Run, RunOrder, ScoredDoc, trec};
