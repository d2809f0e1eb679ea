//! How large a difference is.

use serde::{Deserialize, Serialize};

use super::{SignificanceError, check, deviation, mean};

/// The size of a difference between two systems on one measure.
///
/// ```
/// use ir_eval::significance::EffectSize;
/// let effect = EffectSize::from_differences(&[0.1, -0.1, 0.1, 0.0])?;
/// assert_eq!((effect.wins, effect.ties, effect.losses), (2, 1, 1));
/// assert!((effect.mean - 0.025).abs() < 1e-15);
/// # Ok::<(), ir_eval::significance::SignificanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EffectSize {
    /// The mean difference over queries.
    pub mean: f64,
    /// Cohen's d of paired differences: their mean in units of their standard deviation (Cohen,
    /// *Statistical Power Analysis for the Behavioral Sciences*, 1988, as d_z). `None` where all
    /// differences are the same and not 0.
    pub cohens_d: Option<f64>,
    /// Queries on which the system is better.
    pub wins: usize,
    /// Queries on which there is no difference: not more than 10⁻¹².
    pub ties: usize,
    /// Queries on which the system is worse.
    pub losses: usize,
}

impl EffectSize {
    /// The effect that these differences show.
    ///
    /// # Errors
    /// When there are fewer than two differences, or one is not finite.
    pub fn from_differences(differences: &[f64]) -> Result<Self, SignificanceError> {
        check(differences)?;
        let slack = 1e-12;
        let wins = differences.iter().filter(|&&d| d > slack).count();
        let losses = differences.iter().filter(|&&d| d < -slack).count();
        let mean = mean(differences);
        let constant = differences.iter().all(|&d| d == differences[0]);
        let cohens_d = match (constant, mean) {
            (true, 0.0) => Some(0.0),
            (true, _) => None,
            (false, mean) => Some(mean / deviation(differences)),
        };
        Ok(Self {
            mean,
            cohens_d,
            wins,
            ties: differences.len() - wins - losses,
            losses,
        })
    }
}
