#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod assess;
mod compare;
mod runs;
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
#[cfg(feature = "plots")]
pub mod plots;
mod places;
mod reading;
mod report;
mod rules;
mod sampled;
mod text;
mod topic;
pub mod trec_eval;
mod trec_names;
mod zscores;

pub use assess::{
    Bucket, BucketRecall, Confusion, FrequencyRecall, JudgeError, JudgmentGroups, Label, Level,
    ParseBucketError, Pool, PoolError, PoolFileError, Pooled, Pooling, Ratings, Stratum, Take,
    Weights, preferences,
};
pub use compare::{
    Against, Bootstrap, BootstrapError, Choice, CompareError, Comparison, Contrast, Family, Figure,
    Paired, Plan, Sampling, Setting, Spread, Sweep, System, Test, TopicDifference, significance,
};
pub use runs::{
    AtRank, Count, Curve, Diff, DiffRules, Moved, Moves, Overlap, OverlapError, OverlapRules,
    QueryDiff, RankDiff, Rbo, Region, ScoreByRank, ScoreDiff, at_cutoffs, eleven_points,
    smooth_cutoffs, tau_ap, tau_ap_b, tau_b,
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
pub use page::{Page, PageError, TopicMoves, WinsAndLosses};
pub use reading::Reading;
pub use report::{Judged, QueryValues, Report};
pub use rules::{Generation, Missing, NoRelevant, Rules, ScoreWidth, SelfHits, Ties, Unjudged};
pub use zscores::ZScores;

pub use ir_core::{Grade, Judgments, ListOrder, Qrels, Run, Scored, trec};
