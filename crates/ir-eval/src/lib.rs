#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod assess;
mod collection;
mod compare;
mod decimal;
mod evaluate;
mod judged;
pub mod measure;
#[cfg(feature = "plots")]
mod page;
#[cfg(feature = "plots")]
pub mod plots;
mod rules;
mod runs;
mod statistics;
pub mod trec_eval;

pub use assess::{
    ConfusionMatrix, FrequencyBucket, FrequencyBucketRecall, JudgmentGroups, KappaWeights,
    MeasurementLevel, ParseFrequencyBucketError, Pool, PoolDesign, PoolDesignError,
    PoolJudgmentError, PoolStratum, RatingCategory, Ratings, ReadPoolError, RecallByFrequency,
    StratumSample, preferences,
};
pub use collection::{CorpusStatistics, Histogram, HistogramSummary, JudgmentStatistics};
pub use compare::{
    Bootstrap, BootstrapEstimate, BootstrapScheme, CompareError, ComparedPairs, ComparedSystem,
    Comparison, ComparisonConfig, HeldOutChoice, HypothesisFamily, PairedBootstrapResult,
    PairwiseTest, ParameterSweep, QueryDifference, SignificanceTest, SweepSetting, SystemScore,
    escape_latex, escape_markdown, significance,
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
pub use runs::{
    DiffRules, MeasureCurve, OverlapCounts, OverlapError, OverlapRegion, OverlapRules, QueryDiff,
    RankBiasedOverlap, RankChange, RankChanges, RankDiff, RankStatistics, RunDiff, RunOverlap,
    ScoreDiff, ScoresByRank, at_cutoffs, eleven_point_precision, kendall_tau_b, log_spaced_cutoffs,
    tau_ap, tau_ap_b,
};
pub use trec_eval::ZScores;

pub use ir_core::{Grade, Judgments, Qrels, Run, RunOrder, ScoredDoc, trec};
