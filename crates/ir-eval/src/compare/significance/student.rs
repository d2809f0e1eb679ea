//! Student's paired t test.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{
    Alternative, NullDistribution, SignificanceError, TestResult, check, deviation, mean,
    no_difference,
};

/// Student's paired t test: t = mean / (s / √n) with n − 1 degrees of freedom.
///
/// Measures are not normally distributed, and with 50 or more queries the test does not mind:
/// it agrees with the randomisation test (Smucker, Allan and Carterette, CIKM 2007; Urbano, Lima
/// and Hanjalic, SIGIR 2019, who recommend it).
///
/// When all differences are the same and not 0, t is infinite and p is 0 (or 1 on the other side).
///
/// # Source
/// Student, "The probable error of a mean", Biometrika 1908.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PairedTTest;

impl PairedTTest {
    /// Tests whether the mean of the differences is 0.
    ///
    /// # Errors
    /// When there are fewer than two differences, or one is not finite.
    pub fn test(
        self,
        differences: &[f64],
        alternative: Alternative,
    ) -> Result<TestResult, SignificanceError> {
        check(differences)?;
        if let Some(result) = no_difference(differences) {
            return Ok(result);
        }
        let n = differences.len();
        let (mean, error) = (
            mean(differences),
            deviation(differences) / (n as f64).sqrt(),
        );
        // Not left to rounding: the deviation of equal numbers need not come out as 0.
        let t = if differences.iter().all(|&d| d == differences[0]) {
            f64::INFINITY.copysign(mean)
        } else {
            mean / error
        };
        let freedom = n as u64 - 1;
        Ok(TestResult {
            statistic: t,
            p: alternative.of(upper(t, freedom), upper(-t, freedom)),
            null_distribution: NullDistribution::StudentT {
                degrees_of_freedom: freedom,
            },
        })
    }
}

/// The probability of a t of at least this.
fn upper(t: f64, freedom: u64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::NAN, |student| student.cdf(-t))
}

/// The t that a share `confidence` of all outcomes does not exceed either way.
pub(super) fn critical(confidence: f64, freedom: u64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::NAN, |student| {
        student.inverse_cdf(0.5 + confidence / 2.0)
    })
}
