//! Relevance assessments: pools, agreement between assessors, groups of judgments, preferences,
//! recall by training frequency.

mod agreement;
mod judgment_groups;
mod pool;
pub mod preferences;
mod training_frequency;

pub use agreement::{Confusion, Label, Level, Ratings, Weights};
pub use judgment_groups::JudgmentGroups;
pub use pool::{JudgeError, Pool, PoolError, PoolFileError, Pooled, Pooling, Stratum, Take};
pub use training_frequency::{Bucket, BucketRecall, FrequencyRecall, ParseBucketError};
