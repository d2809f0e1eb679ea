//! Measures of the cascade model: expected reciprocal rank.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, Properties, measures};
use super::parameters::{Parameters, ParseMeasureError};
use crate::judged::Gain;

measures! {
    /// Expected reciprocal rank: Σ (1/i) · s(i) · Π over j < i of (1 − s(j)), where
    /// s = (2^grade − 1) / 2^m is the probability that a document satisfies the user. Range: 0 to
    /// 1.
    ///
    /// `ERR@20`, `ERR(max_rel=2)@20`; gdeval's ERR. Evaluators return an error for a judgment
    /// above m.
    ///
    /// Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance",
    /// CIKM 2009.
    ExpectedReciprocalRank {
        /// Highest possible grade m. Range: 1 to 62. Default: 4, as in gdeval.
        max_grade: u8 = 4 => max_grade(),
    } = Properties::new(&["ERR", "err"]).without_level();
    impl {
        fn highest_grade(&self) -> Option<Grade> {
            Some(Grade::from(self.max_grade))
        }
    }
    value |formula, input| {
        let scale = 2.0_f64.powi(i32::from(formula.max_grade));
        let (mut sum, mut unsatisfied) = (0.0, 1.0);
        for (rank, &state) in (1_u32..).zip(input.states()) {
            let satisfied = Gain::Exponential.of_grade(state) / scale;
            sum += satisfied * unsatisfied / f64::from(rank);
            unsatisfied *= 1.0 - satisfied;
        }
        sum
    };
}

impl Parameters<'_> {
    /// [`ExpectedReciprocalRank::max_grade`].
    fn max_grade(&mut self, grade: &mut u8) -> Result<(), ParseMeasureError> {
        let printed = (*grade, *grade != ExpectedReciprocalRank::DEFAULT.max_grade);
        self.parameter(grade, "max_rel", printed, |found| {
            let grade = found.parse().ok().filter(|grade| (1..=62).contains(grade));
            grade.ok_or("an integer from 1 to 62 as highest grade")
        })
    }
}
