//! Runs beside each other: differences, overlap, rank correlation, curves, scores by rank.

mod curves;
mod diff;
mod overlap;
mod rank_changes;
mod rank_correlation;
mod scores_by_rank;

pub use curves::{Curve, at_cutoffs, eleven_points, smooth_cutoffs};
pub use diff::{Diff, DiffRules, QueryDiff, RankDiff, ScoreDiff};
pub use overlap::{Count, Overlap, OverlapError, OverlapRules, Region};
pub use rank_changes::{Moved, Moves};
pub use rank_correlation::{Rbo, tau_ap, tau_ap_b, tau_b};
pub use scores_by_rank::{AtRank, ScoreByRank};
