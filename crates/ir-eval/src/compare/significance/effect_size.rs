//! Effect size of paired differences.

use serde::{Deserialize, Serialize};

use super::{SignificanceError, validate};
use crate::statistics::{mean, standard_deviation};

/// Effect size of the difference between two systems on one measure.
///
/// ```
/// use ir_eval::compare::significance::EffectSize;
/// let effect = EffectSize::from_differences(&[0.1, -0.1, 0.1, 0.0])?;
/// assert_eq!((effect.wins, effect.ties, effect.losses), (2, 1, 1));
/// assert!((effect.mean - 0.025).abs() < 1e-15);
/// # Ok::<(), ir_eval::compare::significance::SignificanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EffectSize {
    /// Mean difference over queries.
    pub mean: f64,
    /// Cohen's d of paired differences, d_z: mean difference divided by the standard deviation of
    /// the differences (Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 1988).
    /// `None` if all differences are equal up to rounding and not 0.
    pub cohens_d: Option<f64>,
    /// Number of queries with a positive difference.
    pub wins: usize,
    /// Number of queries with an absolute difference of at most 10⁻¹².
    pub ties: usize,
    /// Number of queries with a negative difference.
    pub losses: usize,
}

impl EffectSize {
    /// Computes the effect size of paired differences.
    ///
    /// # Errors
    /// When there are fewer than two differences, or one is not finite.
    pub fn from_differences(differences: &[f64]) -> Result<Self, SignificanceError> {
        validate(differences)?;
        let [wins, ties, losses] = count_wins_ties_losses(differences);
        let mean = mean(differences);
        let cohens_d = if differences.iter().all(|&d| d == 0.0) {
            Some(0.0)
        } else {
            standard_deviation(differences).map(|deviation| mean / deviation)
        };
        Ok(Self {
            mean,
            cohens_d,
            wins,
            ties,
            losses,
        })
    }
}

/// Numbers of positive differences, of ties and of negative differences.
pub(in crate::compare) fn count_wins_ties_losses(differences: &[f64]) -> [usize; 3] {
    const TIE_TOLERANCE: f64 = 1e-12;
    let wins = differences.iter().filter(|&&d| d > TIE_TOLERANCE).count();
    let losses = differences.iter().filter(|&&d| d < -TIE_TOLERANCE).count();
    [wins, differences.len() - wins - losses, losses]
}
