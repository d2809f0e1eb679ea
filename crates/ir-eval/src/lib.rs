#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod agreement;
mod bootstrap;
mod buckets;
mod by_rank;
mod comparison;
mod compute;
mod correlation;
mod curve;
mod custom;
mod decimal;
mod diff;
mod diversity;
mod error;
mod evaluator;
mod gain;
mod groups;
mod kind;
mod list;
mod measure;
mod names;
mod overlap;
#[cfg(feature = "pictures")]
mod page;
#[cfg(feature = "pictures")]
pub mod picture;
mod places;
mod pool;
pub mod preferences;
mod reading;
mod report;
mod rules;
mod sampled;
pub mod significance;
mod sweep;
mod text;
mod topic;
pub mod trec_eval;
mod trec_names;
mod zscores;

pub use agreement::{Confusion, Label, Level, Ratings, Weights};
pub use bootstrap::{Bootstrap, BootstrapError, Paired, Sampling, Spread};
pub use buckets::{Bucket, BucketRecall, FrequencyRecall, ParseBucketError};
pub use by_rank::{AtRank, ScoreByRank};
pub use comparison::{
    Against, CompareError, Comparison, Contrast, Family, Figure, Moved, Moves, Plan, System, Test,
    TopicDifference,
};
pub use correlation::{Rbo, tau_ap, tau_ap_b, tau_b};
pub use curve::{Curve, at_cutoffs, eleven_points, smooth_cutoffs};
pub use custom::{CustomMeasure, JudgedDocument, JudgedList, Name};
pub use decimal::{Decimal, ParseDecimalError};
pub use diff::{Diff, DiffRules, QueryDiff, RankDiff, ScoreDiff};
pub use error::{EvalError, FileError};
pub use evaluator::Evaluator;
pub use gain::{Gain, GainTable, Points};
pub use groups::JudgmentGroups;
pub use kind::{Kind, RbpGain};
pub use measure::{Measure, Summary};
pub use names::ParseMeasureError;
pub use overlap::{Count, Overlap, OverlapError, OverlapRules, Region};
#[cfg(feature = "pictures")]
pub use page::{Page, PageError, TopicMoves, WinsAndLosses};
pub use pool::{JudgeError, Pool, PoolError, PoolFileError, Pooled, Pooling, Stratum, Take};
pub use reading::Reading;
pub use report::{Judged, QueryValues, Report};
pub use rules::{Generation, Missing, NoRelevant, Rules, ScoreWidth, SelfHits, Ties, Unjudged};
pub use sweep::{Choice, Setting, Sweep};
pub use zscores::ZScores;

pub use ir_core::{Grade, Judgments, ListOrder, Qrels, Run, Scored, trec};
