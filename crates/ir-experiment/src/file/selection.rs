//! Selection of the best point of a grid.

use ir_core::training::HeldOut;
use ir_eval::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::measure::parse_measure;

/// Selection of the best point of every grid, on queries other than those it is tested on.
///
/// The first of equally good points is selected, in the order of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectionEntry {
    /// Method that selects the best point of a grid.
    pub by: SelectionMethod,
    /// Measure that is maximized. Default: the first measure of the experiment.
    #[serde(
        default,
        deserialize_with = "optional_measure",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub measure: Option<Measure>,
    /// Split of the validation queries, for `validation`. It must not be the test split. Queries
    /// with the text of a test query are left out, and validation queries are not used as training
    /// queries during the selection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Fraction of the split that validates, chosen at random by query text. Range: above 0, at
    /// most 1. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub fraction: Option<f64>,
    /// Number of folds, for `cross-validation`. Range: ≥ 2. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub folds: Option<usize>,
    /// Seed of the random fraction or folds. Default: 0.
    #[serde(default)]
    pub seed: u64,
}

/// Method that selects the best point of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectionMethod {
    /// Best point on the validation queries.
    Validation,
    /// For each test query, the point that is best over all other test queries.
    LeaveOneOut,
    /// Test queries are split into folds; for each fold, the point that is best over the other
    /// folds.
    CrossValidation,
}

impl SelectionEntry {
    /// Creates a selection on the queries of a validation split.
    pub fn on_split(split: impl Into<String>) -> Self {
        Self {
            split: Some(split.into()),
            ..Self::new(SelectionMethod::Validation)
        }
    }

    /// Creates a selection with default parameters.
    #[must_use]
    pub const fn new(by: SelectionMethod) -> Self {
        Self {
            by,
            measure: None,
            split: None,
            fraction: None,
            folds: None,
            seed: 0,
        }
    }

    /// Validation queries of the split.
    pub(crate) fn held_out(&self) -> HeldOut {
        HeldOut {
            fraction: self.fraction.unwrap_or(1.0),
            seed: self.seed,
        }
    }

    pub(crate) fn folds(&self) -> usize {
        self.folds.unwrap_or(5)
    }

    /// Checks the parameters. The error is a key and a message.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let validation = self.by == SelectionMethod::Validation;
        if validation && self.split.is_none() {
            return Err(("by", "expected the key split, found none".to_owned()));
        }
        for (key, set) in [
            ("split", self.split.is_some()),
            ("fraction", self.fraction.is_some()),
        ] {
            if set && !validation {
                return Err((key, "expected by = \"validation\"".to_owned()));
            }
        }
        if self.folds.is_some() && self.by != SelectionMethod::CrossValidation {
            return Err(("folds", "expected by = \"cross-validation\"".to_owned()));
        }
        Ok(())
    }
}

fn optional_measure<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Measure>, D::Error> {
    let name = String::deserialize(input)?;
    let measure = parse_measure(&name).map_err(serde::de::Error::custom)?;
    Ok(Some(measure))
}
