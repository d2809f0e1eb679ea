//! Measures of the cascade model: expected reciprocal rank.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, Properties};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use crate::judged::Gain;

/// Expected reciprocal rank: Σ (1/i) · s(i) · Π over j < i of (1 − s(j)), where
/// s = (2^grade − 1) / 2^m is the probability that a document satisfies the user. Range: 0 to 1.
///
/// `ERR@20`, `ERR(max_rel=2)@20`; gdeval's ERR. Evaluators return an error for a judgment above m.
///
/// Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance",
/// CIKM 2009.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpectedReciprocalRank {
    /// Highest possible grade m. Range: 1 to 62. Default: 4, as in gdeval.
    pub max_grade: u8,
}

impl Definition for ExpectedReciprocalRank {
    const PROPERTIES: Properties = Properties::new(&["ERR", "err"]).without_level();
    const DEFAULT: Self = Self { max_grade: 4 };

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        const EXPECTED: &str = "an integer from 1 to 62 as highest grade";
        let Some(value) = parameters.take("max_rel") else {
            return Ok(Self::DEFAULT);
        };
        let max_grade = value.parse().ok().filter(|grade| (1..=62).contains(grade));
        let max_grade = max_grade.ok_or_else(|| parameters.invalid(EXPECTED, value))?;
        Ok(Self { max_grade })
    }

    fn write(&self, text: &mut MeasureText) {
        text.unless_default("max_rel", self.max_grade, Self::DEFAULT.max_grade);
    }

    fn highest_grade(&self) -> Option<Grade> {
        Some(Grade::from(self.max_grade))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let scale = 2.0_f64.powi(i32::from(self.max_grade));
        let (mut sum, mut unsatisfied) = (0.0, 1.0);
        for (rank, &state) in (1_u32..).zip(input.states()) {
            let satisfied = Gain::Exponential.of_grade(state) / scale;
            sum += satisfied * unsatisfied / f64::from(rank);
            unsatisfied *= 1.0 - satisfied;
        }
        sum
    }
}
