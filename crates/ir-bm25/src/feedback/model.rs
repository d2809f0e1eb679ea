//! Feedback models by name.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::FeedbackError;
use super::term_vector::{FeedbackDocument, TermVector};
use super::{Rm3, Rm3Estimate, Rocchio};
use crate::models::{nearest, normalized};

/// Feedback model: the weights of the expanded query, given the feedback documents.
///
/// Parsed from and printed as `rm3`, `rocchio`, or with parameters: `rm3(docs=5,weight=0.7)`.
/// Missing parameters have their defaults. Names ignore case. Parameters also have the names of
/// Anserini and Indri: `fbDocs`, `fbTerms`, `originalQueryWeight` and `fbOrigWeight`, and
/// `topFbDocs`, `topFbTerms`, `bottomFbDocs` and `bottomFbTerms` of Rocchio.
///
/// | model | parameters |
/// |---|---|
/// | `rm3` | the fields of [`Rm3`]; `estimate` is `anserini` or `indri` |
/// | `rocchio` | the fields of [`Rocchio`] |
///
/// ```
/// use ir_bm25::feedback::{FeedbackModel, Rm3};
/// let model: FeedbackModel = "rm3(estimate=indri)".parse()?;
/// assert_eq!(model, FeedbackModel::Rm3(Rm3::INDRI));
/// assert_eq!(model.to_string(), "rm3(docs=10,terms=10,weight=0.5,estimate=indri)");
/// # Ok::<(), ir_bm25::feedback::FeedbackError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FeedbackModel {
    /// Relevance model, interpolated with the query.
    Rm3(Rm3),
    /// Centroid of the feedback documents, added to the query vector.
    Rocchio(Rocchio),
}

const MODELS: &[&str] = &["rm3", "rocchio"];
const RM3: &[&str] = &["docs", "terms", "weight", "estimate"];
const ROCCHIO: &[&str] = &[
    "docs",
    "terms",
    "alpha",
    "beta",
    "gamma",
    "negative_docs",
    "negative_terms",
    "depth",
];

/// Parameters as Anserini and Indri name them.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("fbdocs", "docs"),
    ("fbterms", "terms"),
    ("originalqueryweight", "weight"),
    ("fborigweight", "weight"),
    ("topfbdocs", "docs"),
    ("topfbterms", "terms"),
    ("bottomfbdocs", "negative_docs"),
    ("bottomfbterms", "negative_terms"),
];

/// The name of a parameter in lower case. Names of other programs are replaced by ours.
fn parameter_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    other.map_or(name, |(_, ours)| (*ours).to_owned())
}

impl FeedbackModel {
    /// Checks the ranges of the parameters, as [`Feedback::new`](super::Feedback::new) does.
    ///
    /// # Errors
    /// [`FeedbackError::Parameter`].
    pub fn validate(&self) -> Result<(), FeedbackError> {
        match self {
            Self::Rm3(model) => model.validate(),
            Self::Rocchio(model) => model.validate(),
        }
    }

    /// Number of feedback documents.
    #[must_use]
    pub const fn docs(&self) -> usize {
        match self {
            Self::Rm3(model) => model.docs,
            Self::Rocchio(model) => model.docs,
        }
    }

    /// Returns `true` if the parameters disable feedback: an RM3 weight of 1, Rocchio's β and γ of
    /// 0.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        match self {
            Self::Rm3(model) => model.weight == 1.0,
            Self::Rocchio(model) => model.beta == 0.0 && model.gamma == 0.0,
        }
    }

    /// Number of hits that the model needs.
    pub(super) fn hits(&self) -> usize {
        match self {
            Self::Rocchio(model) if model.gamma > 0.0 => model.depth.max(model.docs),
            _ => self.docs(),
        }
    }

    /// The last hits that are negative documents.
    pub(super) const fn negative_docs(&self) -> usize {
        match self {
            Self::Rocchio(model) if model.gamma > 0.0 => model.negative_docs,
            _ => 0,
        }
    }

    /// Returns `true` if a term of a feedback document is a candidate.
    pub(super) fn accepts(&self, term: &str) -> bool {
        let has_length = || (2..=20).contains(&term.encode_utf16().count());
        match self {
            Self::Rm3(Rm3 {
                estimate: Rm3Estimate::Indri,
                ..
            }) => true,
            Self::Rm3(_) => {
                let mut bytes = term.bytes();
                has_length() && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
            }
            Self::Rocchio(_) => has_length(),
        }
    }

    /// Maximum document frequency of candidates, relative to the number of documents.
    pub(super) const fn max_df(&self) -> f32 {
        match self {
            Self::Rm3(Rm3 {
                estimate: Rm3Estimate::Indri,
                ..
            }) => 1.0,
            _ => 0.1,
        }
    }

    pub(super) fn expand(
        &self,
        query: TermVector,
        positive: &[FeedbackDocument],
        negative: &[FeedbackDocument],
    ) -> Result<Option<TermVector>, FeedbackError> {
        match self {
            Self::Rm3(model) => model.expand(query, positive),
            Self::Rocchio(model) => Ok(model.expand(query, positive, negative)),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), FeedbackError> {
        match (self, name) {
            (Self::Rm3(model), "docs") => model.docs = integer(value)?,
            (Self::Rm3(model), "terms") => model.terms = integer(value)?,
            (Self::Rm3(model), "weight") => model.weight = number(value)?,
            (Self::Rm3(model), "estimate") => {
                model.estimate = match value {
                    "anserini" => Rm3Estimate::Anserini,
                    "indri" => Rm3Estimate::Indri,
                    _ => return Err(syntax("an estimate (anserini, indri)", value)),
                };
            }
            (Self::Rocchio(model), "docs") => model.docs = integer(value)?,
            (Self::Rocchio(model), "terms") => model.terms = integer(value)?,
            (Self::Rocchio(model), "alpha") => model.alpha = number(value)?,
            (Self::Rocchio(model), "beta") => model.beta = number(value)?,
            (Self::Rocchio(model), "gamma") => model.gamma = number(value)?,
            (Self::Rocchio(model), "negative_docs") => model.negative_docs = integer(value)?,
            (Self::Rocchio(model), "negative_terms") => model.negative_terms = integer(value)?,
            (Self::Rocchio(model), "depth") => model.depth = integer(value)?,
            (model, _) => {
                let (model, known) = match model {
                    Self::Rm3(_) => ("rm3", RM3),
                    Self::Rocchio(_) => ("rocchio", ROCCHIO),
                };
                return Err(FeedbackError::UnknownParameter {
                    model,
                    known,
                    nearest: nearest(&normalized(name), known.iter().copied()),
                    found: name.to_owned(),
                });
            }
        }
        Ok(())
    }
}

impl FromStr for FeedbackModel {
    type Err = FeedbackError;

    fn from_str(text: &str) -> Result<Self, FeedbackError> {
        let (name, parameters) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => {
                let parameters = rest.strip_suffix(')');
                (
                    name,
                    parameters.ok_or_else(|| syntax("model(parameter=value,...)", text))?,
                )
            }
        };
        let name = name.trim();
        let mut model = match name.to_ascii_lowercase().as_str() {
            "rm3" => Self::Rm3(Rm3::ANSERINI),
            "rocchio" => Self::Rocchio(Rocchio::ANSERINI),
            _ => {
                return Err(FeedbackError::UnknownModel {
                    known: MODELS,
                    nearest: nearest(&normalized(name), MODELS.iter().copied()),
                    found: name.to_owned(),
                });
            }
        };
        let mut seen = HashSet::new();
        let parameters = parameters.split(',').map(str::trim);
        for parameter in parameters.filter(|parameter| !parameter.is_empty()) {
            let (name, value) =
                (parameter.split_once('=')).ok_or_else(|| syntax("parameter=value", parameter))?;
            let name = parameter_name(name.trim());
            model.set(&name, value.trim())?;
            if !seen.insert(name.clone()) {
                return Err(FeedbackError::RepeatedParameter {
                    model: if matches!(model, Self::Rm3(_)) {
                        "rm3"
                    } else {
                        "rocchio"
                    },
                    name,
                });
            }
        }
        model.validate()?;
        Ok(model)
    }
}

impl fmt::Display for FeedbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rm3(Rm3 {
                docs,
                terms,
                weight,
                estimate,
            }) => {
                write!(f, "rm3(docs={docs},terms={terms},weight={weight}")?;
                match estimate {
                    Rm3Estimate::Anserini => f.write_str(")"),
                    Rm3Estimate::Indri => f.write_str(",estimate=indri)"),
                }
            }
            Self::Rocchio(model) => {
                let Rocchio {
                    docs,
                    terms,
                    alpha,
                    beta,
                    gamma,
                    negative_docs,
                    negative_terms,
                    depth,
                } = model;
                write!(
                    f,
                    "rocchio(docs={docs},terms={terms},alpha={alpha},beta={beta}"
                )?;
                if *gamma != 0.0 {
                    write!(f, ",gamma={gamma},negative_docs={negative_docs}")?;
                    write!(f, ",negative_terms={negative_terms},depth={depth}")?;
                }
                f.write_str(")")
            }
        }
    }
}

fn syntax(expected: &'static str, found: &str) -> FeedbackError {
    FeedbackError::Syntax {
        expected,
        found: found.to_owned(),
    }
}

fn integer(value: &str) -> Result<usize, FeedbackError> {
    let integer = value.parse();
    integer.map_err(|_| syntax("an integer", value))
}

fn number(value: &str) -> Result<f32, FeedbackError> {
    let number = value.parse();
    number.map_err(|_| syntax("a number", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters() {
        for text in [
            "rm3(docs=3,terms=7,weight=0.25)",
            "rm3(docs=10,terms=10,weight=0.5,estimate=indri)",
            "rocchio(docs=10,terms=10,alpha=1,beta=0.75)",
            "rocchio(docs=1,terms=2,alpha=0,beta=1,gamma=0.15,negative_docs=3,negative_terms=4,depth=50)",
        ] {
            let model: FeedbackModel = text.parse().unwrap();
            assert_eq!(model.to_string(), text);
        }
        let model: FeedbackModel = " rm3 ( docs = 5 ) ".trim().parse().unwrap();
        assert_eq!(model.docs(), 5);
        // Names of Anserini and Indri.
        for (other, text) in [
            (
                "RM3(fbDocs=3,fbTerms=7,originalQueryWeight=0.25)",
                "rm3(docs=3,terms=7,weight=0.25)",
            ),
            ("rm3(fbOrigWeight=0.25)", "rm3(weight=0.25)"),
            (
                "Rocchio(topFbDocs=1,topFbTerms=2,bottomFbDocs=3,bottomFbTerms=4,gamma=0.15)",
                "rocchio(docs=1,terms=2,negative_docs=3,negative_terms=4,gamma=0.15)",
            ),
        ] {
            assert_eq!(other.parse::<FeedbackModel>(), text.parse());
        }
        assert_eq!(
            "rocchio".parse(),
            Ok(FeedbackModel::Rocchio(Rocchio::ANSERINI))
        );
    }

    #[test]
    fn invalid_models() {
        for (text, expected) in [
            (
                "rm4",
                "expected a feedback model (rm3, rocchio), found \"rm4\" (did you mean rm3?)",
            ),
            (
                "bo1",
                "expected a feedback model (rm3, rocchio), found \"bo1\"",
            ),
            (
                "rm3(doc=5)",
                "expected a parameter of rm3 (docs, terms, weight, estimate), found \"doc\" (did \
                 you mean docs?)",
            ),
            (
                "rm3(fbDocs=1,docs=2)",
                "expected the parameter docs of rm3 once, found it twice",
            ),
            (
                "rm3(mu=5)",
                "expected a parameter of rm3 (docs, terms, weight, estimate), found \"mu\"",
            ),
            ("rm3(docs=0)", "docs: expected an integer >= 1, found 0"),
            ("rm3(docs=-1)", "expected an integer, found \"-1\""),
            (
                "rm3(weight=1.5)",
                "weight: expected a number from 0 to 1, found 1.5",
            ),
            (
                "rm3(weight=NaN)",
                "weight: expected a number from 0 to 1, found NaN",
            ),
            ("rm3(weight)", "expected parameter=value, found \"weight\""),
            (
                "rm3(",
                "expected model(parameter=value,...), found \"rm3(\"",
            ),
            (
                "rm3(docs=1,docs=2)",
                "expected the parameter docs of rm3 once, found it twice",
            ),
            (
                "rocchio(beta=inf)",
                "beta: expected a finite number >= 0, found inf",
            ),
            (
                "rocchio(alpha=0,beta=0)",
                "alpha: expected alpha or beta above 0, found 0",
            ),
            (
                "rm3(estimate=x)",
                "expected an estimate (anserini, indri), found \"x\"",
            ),
        ] {
            let error = text.parse::<FeedbackModel>().unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn candidates() {
        let rm3 = FeedbackModel::Rm3(Rm3::ANSERINI);
        let rocchio = FeedbackModel::Rocchio(Rocchio::ANSERINI);
        let indri = FeedbackModel::Rm3(Rm3::INDRI);
        let twenty = "a".repeat(20);
        for (term, expected) in [
            ("a", [false, false, true]),
            ("ab", [true, true, true]),
            ("b2", [true, true, true]),
            ("β2", [false, true, true]),
            ("2.5", [false, true, true]),
            (twenty.as_str(), [true, true, true]),
            (&format!("{twenty}a"), [false, false, true]),
        ] {
            let found = [rm3, rocchio, indri].map(|model| model.accepts(term));
            assert_eq!(found, expected, "{term}");
        }
    }
}
