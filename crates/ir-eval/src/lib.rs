#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod assess;
mod compare;
mod compute;
mod custom;
mod decimal;
mod diversity;
mod error;
mod evaluator;
mod gain;
mod kind;
mod list;
mod measure;
mod names;
#[cfg(feature = "plots")]
mod page;
mod places;
#[cfg(feature = "plots")]
pub mod plots;
mod reading;
mod report;
mod rules;
mod runs;
mod sampled;
mod statistics;
mod text;
mod topic;
pub mod trec_eval;
mod trec_names;
mod zscores;

pub use assess::{
    ConfusionMatrix, FrequencyBucket, FrequencyBucketRecall, JudgmentGroups, KappaWeights,
    MeasurementLevel, ParseFrequencyBucketError, Pool, PoolDesign, PoolDesignError,
    PoolJudgmentError, PoolStratum, PooledDocument, RatingCategory, Ratings, ReadPoolError,
    RecallByFrequency, StratumSample, preferences,
};
pub use compare::{
    Bootstrap, BootstrapError, BootstrapEstimate, BootstrapScheme, CompareError, ComparedPairs,
    ComparedSystem, Comparison, ComparisonConfig, HeldOutChoice, HypothesisFamily,
    PairedBootstrapResult, PairwiseTest, ParameterSweep, QueryDifference, SignificanceTest,
    SweepSetting, SystemScore, significance,
};
pub use custom::{CustomMeasure, JudgedDocument, JudgedList, Name};
pub use decimal::{Decimal, ParseDecimalError};
pub use error::{EvalError, FileError};
pub use evaluator::Evaluator;
pub use gain::{Gain, GainTable, Points};
pub use kind::{Kind, RbpGain};
pub use measure::{Measure, Summary};
pub use names::ParseMeasureError;
#[cfg(feature = "plots")]
pub use page::{ComparisonPage, PageError, QueryRankChanges, WinsAndLosses};
pub use reading::Reading;
pub use report::{Judged, QueryValues, Report};
pub use rules::{Generation, Missing, NoRelevant, Rules, ScoreWidth, SelfHits, Ties, Unjudged};
pub use runs::{
    DiffRules, MeasureCurve, OverlapCounts, OverlapError, OverlapRegion, OverlapRules, QueryDiff,
    RankBiasedOverlap, RankChange, RankChanges, RankDiff, RankStatistics, RunDiff, RunOverlap,
    ScoreDiff, ScoresByRank, at_cutoffs, eleven_point_precision, kendall_tau_b, log_spaced_cutoffs,
    tau_ap, tau_ap_b,
};
pub use zscores::ZScores;

pub use ir_core::{Grade, Judgments, Qrels, Run, RunOrder, ScoredDoc, trec};
