//! Parameters of scoring models.

use crate::SearcherError;

/// Parameter of a [`NamedModel`](super::NamedModel).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name in texts of a [`Model`](super::Model).
    pub name: &'static str,
    /// Effect, as a noun phrase.
    pub description: &'static str,
    /// Range of valid values.
    pub range: ParameterRange,
    /// Value of a parameter that is not given.
    pub default: f32,
}

/// Range of a [`Parameter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterRange {
    /// Finite, at least 0.
    NonNegative,
    /// At least 0, or infinite.
    NonNegativeOrInfinite,
    /// Finite and above 0.
    Positive,
    /// From 0 to 1.
    Fraction,
    /// Above 0, at most 1.
    PositiveFraction,
    /// Weight of a field: 0, or from 1e-9 to 1e9.
    Weight,
}

impl ParameterRange {
    /// Returns whether a value is valid.
    #[must_use]
    pub fn contains(self, value: f32) -> bool {
        match self {
            Self::NonNegative => value >= 0.0 && value.is_finite(),
            Self::NonNegativeOrInfinite => value >= 0.0,
            Self::Positive => value > 0.0 && value.is_finite(),
            Self::Fraction => (0.0..=1.0).contains(&value),
            Self::PositiveFraction => value > 0.0 && value <= 1.0,
            Self::Weight => value == 0.0 || (1e-9..=1e9).contains(&value),
        }
    }

    /// The range in words, for messages: `a number from 0 to 1`.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::NonNegative => "a finite number >= 0",
            Self::NonNegativeOrInfinite => "a number >= 0 or inf",
            Self::Positive => "a finite number > 0",
            Self::Fraction => "a number from 0 to 1",
            Self::PositiveFraction => "a number > 0, at most 1",
            Self::Weight => "0 or a number from 1e-9 to 1e9",
        }
    }
}

/// Term-frequency saturation of BM25 and its variants.
pub(super) const K1: Parameter = Parameter {
    name: "k1",
    description: "Term-frequency saturation; 0 ignores repeated occurrences",
    range: ParameterRange::NonNegative,
    default: 0.9,
};
/// Length normalization of BM25 and its variants.
pub(super) const B: Parameter = Parameter {
    name: "b",
    description: "Length normalization; 0 disables it, 1 normalizes fully",
    range: ParameterRange::Fraction,
    default: 0.4,
};

/// Parameters of BM25 and BM25F.
pub(super) const PARAMETERS: &[Parameter] = &[K1, B];

/// Checks the ranges of the values of all parameters.
pub(super) fn check(parameters: &[Parameter], values: &[f32]) -> Result<(), SearcherError> {
    for (parameter, &found) in parameters.iter().zip(values) {
        if !parameter.range.contains(found) {
            return Err(SearcherError::Parameter {
                name: parameter.name,
                expected: parameter.range.expected(),
                found,
            });
        }
    }
    Ok(())
}
