//! Rank-biased precision and its residual.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, Properties, TrecNames, TrecSyntax};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use crate::decimal::Decimal;

/// Rank-biased precision: (1 − p) · Σ rel(i) · p^(i−1). Range: 0 to 1.
///
/// `RBP(p=0.8)`.
///
/// Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
/// ACM TOIS 2008.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankBiasedPrecision {
    /// Persistence p: probability that the user proceeds to the next document. Range: 0 to 1.
    /// Default: 0.8.
    pub persistence: Decimal,
}

impl Definition for RankBiasedPrecision {
    const PROPERTIES: Properties = Properties::new(&["RBP"]);
    const DEFAULT: Self = Self {
        persistence: Decimal::new(8, 1),
    };

    fn claims(parameters: &Parameters<'_>) -> bool {
        parameters.name == "RBP" && parameters.get("gain") != Some("graded")
    }

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let persistence = parameters.persistence(Self::DEFAULT.persistence)?;
        match parameters.take("gain") {
            None | Some("binary") => Ok(Self { persistence }),
            Some(other) => Err(parameters.invalid("binary or graded", other)),
        }
    }

    fn write(&self, text: &mut MeasureText) {
        text.unless_default("p", self.persistence, Self::DEFAULT.persistence);
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let gain = |state| f64::from(u8::from(state >= input.level));
        rank_biased(self.persistence, input.states(), gain)
    }
}

/// Rank-biased precision with graded gains: (1 − p) · Σ g(i) · p^(i−1). Range: 0 to 1.
///
/// g is the grade over the highest grade of the query if that exceeds 1, and the grade otherwise.
/// That is what trec_eval documents; its program searches the highest grade from uninitialized
/// memory. `RBP(gain=graded)`; trec_eval's `rbp` is `RBP(p=0.9,gain=graded)`.
///
/// Moffat and Zobel, as for [`RankBiasedPrecision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GradedRankBiasedPrecision {
    /// Persistence p: probability that the user proceeds to the next document. Range: 0 to 1.
    /// Default: 0.8 (trec_eval: 0.9).
    pub persistence: Decimal,
}

impl Definition for GradedRankBiasedPrecision {
    const PROPERTIES: Properties = Properties::new(&["RBP"]).without_level();
    const DEFAULT: Self = Self {
        persistence: Decimal::new(8, 1),
    };
    const TREC_NAMES: TrecNames<Self> = &[(
        "rbp",
        TrecSyntax::Persistence(|persistence| Self { persistence }),
    )];

    fn claims(parameters: &Parameters<'_>) -> bool {
        parameters.name == "RBP" && parameters.get("gain") == Some("graded")
    }

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        parameters.take("gain");
        let persistence = parameters.persistence(Self::DEFAULT.persistence)?;
        Ok(Self { persistence })
    }

    fn write(&self, text: &mut MeasureText) {
        text.unless_default("p", self.persistence, Self::DEFAULT.persistence);
        text.parameter("gain", "graded");
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(format!("p={}", self.persistence))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let highest = input.query.highest_grade().max(1) as f64;
        let gain = |state: Grade| state.max(0) as f64 / highest;
        rank_biased(self.persistence, input.states(), gain)
    }
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

/// Residual of [`RankBiasedPrecision`], the most that unjudged documents could add to it:
/// p^n + (1 − p) · Σ p^(i−1) over the unjudged documents, with n the number of documents retrieved.
///
/// `RBPResidual(p=0.8,full=True)`; trec_eval's `rbp_resid` is `RBPResidual(p=0.9)`.
///
/// Moffat and Zobel, as for [`RankBiasedPrecision`], section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RbpResidual {
    /// Persistence p. Range: 0 to 1. Default: 0.9.
    pub persistence: Decimal,
    /// Include p^n, the residual of the documents below the list, even if all retrieved documents
    /// are judged, as in the paper. trec_eval then returns 0. Default: false.
    pub full: bool,
}

impl Definition for RbpResidual {
    const PROPERTIES: Properties = Properties::new(&["RBPResidual"])
        .without_level()
        .without_judged_only();
    const DEFAULT: Self = Self {
        persistence: Decimal::new(9, 1),
        full: false,
    };
    const TREC_NAMES: TrecNames<Self> = &[(
        "rbp_resid",
        TrecSyntax::Persistence(|persistence| Self {
            persistence,
            full: false,
        }),
    )];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let persistence = parameters.persistence(Self::DEFAULT.persistence)?;
        let full = parameters.flag("full", false)?;
        Ok(Self { persistence, full })
    }

    fn write(&self, text: &mut MeasureText) {
        text.parameter("p", self.persistence);
        text.flag("full", self.full);
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(format!("p={}", self.persistence))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let p = self.persistence.to_f64();
        let (mut sum, mut weight, mut include_rest) = (0.0, 1.0, self.full);
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
    }
}
