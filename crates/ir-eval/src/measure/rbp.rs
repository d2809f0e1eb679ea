//! Rank-biased precision and its residual.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, Properties, measures};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use super::trec_syntax::TrecSyntax;
use crate::decimal::Decimal;

const DEFAULT_PERSISTENCE: Decimal = Decimal::new(8, 1);

measures! {
    /// Rank-biased precision: (1 − p) · Σ rel(i) · p^(i−1). Range: 0 to 1.
    ///
    /// `RBP(p=0.8)`.
    ///
    /// Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
    /// ACM TOIS 2008.
    RankBiasedPrecision {
        /// Persistence p: probability that the user proceeds to the next document. Range: 0 to 1.
        /// Default: 0.8.
        persistence: Decimal = DEFAULT_PERSISTENCE => binary_persistence(),
    } = Properties::new(&["RBP"]);
    impl {
        fn claims(&self, text: &MeasureText<'_>) -> bool {
            text.name == "RBP" && text.get("gain") != Some("graded")
        }
    }
    value |formula, input| {
        let gain = |state| f64::from(u8::from(state >= input.level));
        rank_biased(formula.persistence, input.states(), gain)
    };

    /// Rank-biased precision with graded gains: (1 − p) · Σ g(i) · p^(i−1). Range: 0 to 1.
    ///
    /// g is the grade over the highest grade of the query if that exceeds 1, and the grade
    /// otherwise. That is what trec_eval documents; its program searches the highest grade from
    /// uninitialized memory. `RBP(gain=graded)`; trec_eval's `rbp` is `RBP(p=0.9,gain=graded)`.
    ///
    /// Moffat and Zobel, as for [`RankBiasedPrecision`].
    GradedRankBiasedPrecision {
        /// Persistence p: probability that the user proceeds to the next document. Range: 0 to 1.
        /// Default: 0.8 (trec_eval: 0.9).
        persistence: Decimal = DEFAULT_PERSISTENCE => graded_persistence(),
    } = Properties::new(&["RBP"])
        .without_level()
        .with_trec_names(&[("rbp", "RBP(p={},gain=graded)", TrecSyntax::Persistence)]);
    impl {
        fn claims(&self, text: &MeasureText<'_>) -> bool {
            text.name == "RBP" && text.get("gain") == Some("graded")
        }
    }
    value |formula, input| {
        let highest = input.query.highest_grade().max(1) as f64;
        let gain = |state: Grade| state.max(0) as f64 / highest;
        rank_biased(formula.persistence, input.states(), gain)
    };

    /// Residual of [`RankBiasedPrecision`], the most that unjudged documents could add to it:
    /// p^n + (1 − p) · Σ p^(i−1) over the unjudged documents, with n the number of documents
    /// retrieved.
    ///
    /// `RBPResidual(p=0.8,full=True)`; trec_eval's `rbp_resid` is `RBPResidual(p=0.9)`.
    ///
    /// Moffat and Zobel, as for [`RankBiasedPrecision`], section 4.
    RbpResidual {
        /// Persistence p. Range: 0 to 1. Default: 0.9.
        persistence: Decimal = Decimal::new(9, 1) => persistence(None),
        /// Include p^n, the residual of the documents below the list, even if all retrieved
        /// documents are judged, as in the paper. trec_eval then returns 0. Default: false.
        full: bool = false => flag("full"),
    } = Properties::new(&["RBPResidual"])
        .without_level()
        .without_judged_only()
        .with_trec_names(&[("rbp_resid", "RBPResidual(p={})", TrecSyntax::Persistence)]);
    value |formula, input| {
        let p = formula.persistence.to_f64();
        let (mut sum, mut weight, mut include_rest) = (0.0, 1.0, formula.full);
        for &state in input.states() {
            if state < 0 {
                sum += weight;
                include_rest = true;
            }
            weight *= p;
        }
        if include_rest {
            weight + (1.0 - p) * sum
        } else {
            0.0
        }
    };
}

/// (1 − p) · Σ g(i) · p^(i−1).
fn rank_biased(persistence: Decimal, states: &[Grade], gain: impl Fn(Grade) -> f64) -> f64 {
    let p = persistence.to_f64();
    let (mut sum, mut weight) = (0.0, 1.0);
    for &state in states {
        let gain = gain(state);
        if gain > 0.0 {
            sum += gain * weight;
        }
        weight *= p;
    }
    (1.0 - p) * sum
}

impl Parameters<'_> {
    /// Persistence of `RBP` and `RBP(gain=binary)`.
    fn binary_persistence(&mut self, p: &mut Decimal) -> Result<(), ParseMeasureError> {
        self.persistence(p, Some(DEFAULT_PERSISTENCE))?;
        self.rank_biased_gain("binary", false)
    }

    /// Persistence of `RBP(gain=graded)`.
    fn graded_persistence(&mut self, p: &mut Decimal) -> Result<(), ParseMeasureError> {
        self.persistence(p, Some(DEFAULT_PERSISTENCE))?;
        self.rank_biased_gain("graded", true)
    }

    /// The parameter `gain`, which [`Definition::claims`] has already evaluated.
    fn rank_biased_gain(&mut self, gain: &str, is_shown: bool) -> Result<(), ParseMeasureError> {
        self.documentation = &["Gain of a document: binary, rel(i), or graded. Default: binary."];
        self.parameter(&mut (), "gain", (gain, is_shown), |found| match found {
            "binary" | "graded" => Ok(()),
            _ => Err("binary or graded"),
        })
    }
}
