//! Analysis of runs: differences, overlap, rank correlation, curves, scores by rank, lists
//! side by side.

mod curves;
mod diff;
mod overlap;
mod rank_biased_overlap;
mod rank_changes;
mod rank_correlation;
mod scores_by_rank;
mod side_by_side;

pub use curves::{MeasureCurve, at_cutoffs, eleven_point_precision, log_spaced_cutoffs};
pub use diff::{DiffRules, QueryDiff, RankDiff, RunDiff, ScoreDiff};
pub use overlap::{OverlapCounts, OverlapError, OverlapRegion, OverlapRules, RunOverlap};
pub use rank_biased_overlap::RankBiasedOverlap;
pub use rank_changes::{RankChange, RankChanges};
pub use rank_correlation::{kendall_tau_b, tau_ap, tau_ap_b};
pub use scores_by_rank::{RankStatistics, ScoresByRank};
pub(crate) use scores_by_rank::{compared_score, evaluation_order};
pub use side_by_side::{RankedDocument, RankedList, SideBySide};
