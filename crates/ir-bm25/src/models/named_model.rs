//! A scoring model with a name.

use std::fmt::Write;

use super::model::Model;
use super::parameter::{self, Parameter};
use crate::{DocLengths, SearcherError};

/// Scoring model with a name, and its parameters.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NamedModel {
    /// Name, in lower case.
    pub name: &'static str,
    /// Other names, such as the names in other programs.
    pub aliases: &'static [&'static str],
    /// The model in a few words.
    pub description: &'static str,
    /// The parameters, in the order of their printing.
    pub parameters: &'static [Parameter],
    /// Precision of the document lengths by default.
    pub lengths: DocLengths,
    /// `values` are as many as the parameters.
    pub(super) build: fn(values: &[f32], lengths: DocLengths) -> Model,
}

impl NamedModel {
    /// Checks the ranges of the values of all parameters.
    pub(super) fn check(&self, values: &[f32]) -> Result<(), SearcherError> {
        parameter::check(self.parameters, values)
    }

    /// The default values of all parameters.
    pub(super) fn defaults(&self) -> Vec<f32> {
        self.parameters.iter().map(|known| known.default).collect()
    }

    /// The name with the values of all parameters, as [`Model`] parses it.
    pub(super) fn display(&self, values: &[f32], lengths: DocLengths) -> String {
        let mut text = format!("{}(", self.name);
        for (parameter, value) in self.parameters.iter().zip(values) {
            let _ = write!(text, "{}={value},", parameter.name);
        }
        text + "lengths=" + lengths.name() + ")"
    }
}
