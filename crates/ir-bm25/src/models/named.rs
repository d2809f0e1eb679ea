//! Scoring models by name.

use std::fmt::Write;

use super::model::Model;
use super::{
    atire, bm25_f, bm25_l, bm25_plus, classic_tf_idf, dfr, dirichlet, indri_dirichlet,
    indri_jelinek_mercer, indri_tf_idf, jelinek_mercer, pivoted_length, robertson, terrier_tf_idf,
    two_stage,
};
use crate::{Bm25, DocLengths, SearcherError};

/// All models by name.
pub static NAMED_MODELS: &[NamedModel] = &[
    BM25,
    atire::NAMED,
    robertson::NAMED,
    bm25_plus::NAMED,
    bm25_l::NAMED,
    bm25_f::NAMED,
    dirichlet::NAMED,
    jelinek_mercer::NAMED,
    indri_dirichlet::NAMED,
    indri_jelinek_mercer::NAMED,
    two_stage::NAMED,
    dfr::pl2::NAMED,
    dfr::in_l2::NAMED,
    dfr::in_exp_b2::NAMED,
    dfr::bb2::NAMED,
    dfr::dph::NAMED,
    dfr::dlh13::NAMED,
    dfr::df_ree::NAMED,
    classic_tf_idf::NAMED,
    terrier_tf_idf::NAMED,
    indri_tf_idf::NAMED,
    pivoted_length::NAMED,
];

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

const BM25: NamedModel = NamedModel {
    name: "bm25",
    aliases: &["lucene"],
    description: "BM25 as Lucene computes it",
    parameters: &[K1, B],
    lengths: DocLengths::OneByte,
    build: |values, lengths| Bm25::new(values[0], values[1]).with_lengths(lengths).into(),
};

/// Scoring model with a name, and its parameters.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NamedModel {
    /// Name, in lower case.
    pub name: &'static str,
    /// Other names, such as those of other programs.
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

/// Parameter of a [`NamedModel`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name in texts of a [`Model`].
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

impl NamedModel {
    /// Returns the model of a name or alias. Ignores case, hyphens and underscores.
    ///
    /// # Errors
    /// [`SearcherError::UnknownModel`] suggests the nearest name; [`SearcherError::AmbiguousModel`]
    /// is the error of `TF_IDF`, which is Terrier's name of another model than `tfidf`.
    pub fn find(name: &str) -> Result<&'static Self, SearcherError> {
        if name.eq_ignore_ascii_case("TF_IDF") {
            return Err(SearcherError::AmbiguousModel {
                models: [terrier_tf_idf::NAMED, classic_tf_idf::NAMED]
                    .map(|model| (model.name, model.description))
                    .into(),
                found: name.to_owned(),
            });
        }
        let wanted = normalized(name);
        let found = NAMED_MODELS
            .iter()
            .find(|model| model.names().any(|name| normalized(name) == wanted));
        found.ok_or_else(|| {
            let names = || NAMED_MODELS.iter().flat_map(Self::names);
            SearcherError::UnknownModel {
                expected: NAMED_MODELS.iter().map(|model| model.name).collect(),
                nearest: nearest(&wanted, names()),
                found: name.to_owned(),
            }
        })
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Creates the model with parameters in place of the defaults. [`Bm25F`](super::Bm25F) also has
    /// `weight.FIELD` and `b.FIELD` of each field.
    ///
    /// # Errors
    /// When a parameter is unknown or out of range.
    pub fn with_parameters(
        &self,
        parameters: &[(&str, f32)],
        lengths: Option<DocLengths>,
    ) -> Result<Model, SearcherError> {
        let mut values = self.defaults();
        let mut of_fields = Vec::new();
        for &(name, value) in parameters {
            match self.parameters.iter().position(|known| known.name == name) {
                Some(at) => values[at] = value,
                None => of_fields.push((name, value)),
            }
        }
        self.check(&values)?;
        let mut model = (self.build)(&values, lengths.unwrap_or(self.lengths));
        for (name, value) in of_fields {
            if !model.set_field_parameter(name, value) {
                let known = self.parameters.iter().map(|known| known.name);
                let of_fields = model.field_parameters().iter().copied();
                return Err(self.unknown_parameter(name, known.chain(of_fields).collect()));
            }
        }
        model.validate()?;
        Ok(model)
    }

    /// The error of a parameter that is not among the `expected` ones, with the nearest of them.
    fn unknown_parameter(&self, found: &str, expected: Vec<&'static str>) -> SearcherError {
        let wanted = normalized(found);
        let near = nearest(&wanted, expected.iter().copied());
        // Names of one letter are all near to each other: a hint shares a letter with the text.
        let shares = |name: &&'static str| name.chars().any(|c| wanted.contains(c));
        SearcherError::UnknownModelParameter {
            model: self.name,
            nearest: near.filter(shares),
            expected,
            found: found.to_owned(),
        }
    }

    /// Checks the ranges of the values of all parameters.
    pub(super) fn check(&self, values: &[f32]) -> Result<(), SearcherError> {
        for (parameter, &found) in self.parameters.iter().zip(values) {
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

    /// The default values of all parameters.
    pub(super) fn defaults(&self) -> Vec<f32> {
        self.parameters.iter().map(|known| known.default).collect()
    }

    /// The default value of a parameter.
    pub(super) const fn default(&self, at: usize) -> f32 {
        self.parameters[at].default
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

pub(super) fn parse_lengths(text: &str) -> Option<DocLengths> {
    let all = [DocLengths::OneByte, DocLengths::Exact];
    all.into_iter().find(|lengths| lengths.name() == text)
}

pub(crate) fn normalized(name: &str) -> String {
    let kept = name.chars().filter(|c| !['-', '_'].contains(c));
    kept.flat_map(char::to_lowercase).collect()
}

/// The known name with the smallest edit distance from a normalized one, if that is small.
pub(crate) fn nearest(
    found: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    const LONGEST: usize = 100;
    if found.len() > LONGEST {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(found, &normalized(name));
    let near = known.map(|name| (distance(name), name));
    let (distance, name) = near.min_by_key(|near| near.0)?;
    (3 * distance <= found.chars().count().max(3)).then_some(name)
}
