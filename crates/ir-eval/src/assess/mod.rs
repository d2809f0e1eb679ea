//! Relevance assessment: pooling, inter-assessor agreement, judgment groups, preference judgments,
//! recall by training frequency.

mod agreement;
mod judgment_groups;
mod pool;
pub mod preferences;
mod set_agreement;
mod training_frequency;

pub use agreement::{ConfusionMatrix, KappaWeights, MeasurementLevel, RatingCategory, Ratings};
pub use judgment_groups::JudgmentGroups;
pub use pool::{
    Pool, PoolDesign, PoolDesignError, PoolJudgmentError, PoolStratum, ReadPoolError, StratumSample,
};
pub use set_agreement::{SetDistance, SetRatings};
pub use training_frequency::{
    FrequencyBucket, FrequencyBucketRecall, ParseFrequencyBucketError, RecallByFrequency,
};
