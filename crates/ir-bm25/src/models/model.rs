//! Any scoring model as a value.

use std::fmt;
use std::sync::Arc;

use super::bm25_f::Bm25F;
use super::scoring_model::{ScoringModel, TermStatistics};
use crate::{Bm25, DocLengths, SearcherError};

/// Any scoring model. Cheap to clone. Made from [`Bm25`], from [`Bm25F`], from a [`ScoringModel`],
/// or from text.
///
/// The text is a name of [`NAMED_MODELS`](super::NAMED_MODELS), ignoring case, hyphens and
/// underscores, and the parameters that differ from the defaults. [`fmt::Display`] prints all.
///
/// ```
/// use ir_bm25::Model;
/// use ir_bm25::models::Dirichlet;
///
/// let model: Model = "QLD(mu=2500)".parse()?;
/// assert_eq!(model.to_string(), "qld(mu=2500,lengths=one-byte)");
/// assert_eq!(model.to_string(), Model::from(Dirichlet::new(2500.0)).to_string());
/// assert_eq!("bm25".parse::<Model>()?.to_string(), "bm25(k1=0.9,b=0.4,lengths=one-byte)");
///
/// let unknown = "qlb".parse::<Model>().unwrap_err();
/// assert!(unknown.to_string().contains("did you mean qld?"));
/// let out_of_range = "qld(mu=-1)".parse::<Model>().unwrap_err();
/// assert_eq!(out_of_range.to_string(), "mu: expected a finite number > 0, found -1");
/// # Ok::<(), ir_bm25::SearcherError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model(ModelKind);

#[derive(Debug, Clone)]
pub(crate) enum ModelKind {
    Bm25(Bm25),
    Bm25F(Arc<Bm25F>),
    Other(Arc<dyn ScoringModel>),
}

impl Model {
    /// The parameters, if the model is [`Bm25`].
    #[must_use]
    pub const fn bm25(&self) -> Option<Bm25> {
        match self.0 {
            ModelKind::Bm25(bm25) => Some(bm25),
            ModelKind::Bm25F(_) | ModelKind::Other(_) => None,
        }
    }

    /// Precision of the document lengths.
    #[must_use]
    pub fn lengths(&self) -> DocLengths {
        match &self.0 {
            ModelKind::Bm25(bm25) => bm25.lengths,
            ModelKind::Bm25F(bm25f) => bm25f.lengths,
            ModelKind::Other(model) => model.lengths(),
        }
    }

    /// Returns `true` if a document adds a score of its own to the sum of its term scores, by a
    /// [`DocumentScorer`](super::DocumentScorer). Scores of the models of Indri are then
    /// log-likelihoods, below 0.
    ///
    /// ```
    /// use ir_bm25::Model;
    /// assert!("indri-dirichlet".parse::<Model>()?.has_document_scores());
    /// assert!(!"qld".parse::<Model>()?.has_document_scores());
    /// # Ok::<(), ir_bm25::SearcherError>(())
    /// ```
    #[must_use]
    pub fn has_document_scores(&self) -> bool {
        match &self.0 {
            ModelKind::Bm25(_) | ModelKind::Bm25F(_) => false,
            ModelKind::Other(model) => {
                let term = TermStatistics::new(1, 1, 1, 1);
                model.document_scorer(&[term]).is_some()
            }
        }
    }

    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// [`SearcherError::Parameter`].
    pub fn validate(&self) -> Result<(), SearcherError> {
        match &self.0 {
            ModelKind::Bm25(bm25) => bm25.validate(),
            ModelKind::Bm25F(bm25f) => bm25f.validate(),
            ModelKind::Other(model) => model.validate(),
        }
    }

    /// Sets a parameter of a field; returns whether the model has one of this name.
    pub(super) fn set_field_parameter(&mut self, name: &str, value: f32) -> bool {
        match &mut self.0 {
            ModelKind::Bm25F(bm25f) => Arc::make_mut(bm25f).set(name, value),
            ModelKind::Bm25(_) | ModelKind::Other(_) => false,
        }
    }

    /// Sets the weight of a field if the model has one, so that it names the weights of a searcher.
    pub(crate) fn set_field_weight(&mut self, field: &str, weight: f32) {
        self.set_field_parameter(&format!("weight.{field}"), weight);
    }

    /// Names of the parameters of a field, with a placeholder for its name.
    pub(super) const fn field_parameters(&self) -> &'static [&'static str] {
        match &self.0 {
            ModelKind::Bm25F(_) => &["weight.FIELD", "b.FIELD"],
            ModelKind::Bm25(_) | ModelKind::Other(_) => &[],
        }
    }

    pub(crate) const fn kind(&self) -> &ModelKind {
        &self.0
    }
}

impl Default for Model {
    /// [`Bm25::ANSERINI`].
    fn default() -> Self {
        Bm25::default().into()
    }
}

impl From<Bm25> for Model {
    fn from(bm25: Bm25) -> Self {
        Self(ModelKind::Bm25(bm25))
    }
}

impl From<Bm25F> for Model {
    fn from(bm25f: Bm25F) -> Self {
        Self(ModelKind::Bm25F(Arc::new(bm25f)))
    }
}

impl<M: ScoringModel> From<M> for Model {
    fn from(model: M) -> Self {
        Self(ModelKind::Other(Arc::new(model)))
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ModelKind::Bm25(bm25) => write!(f, "{bm25}"),
            ModelKind::Bm25F(bm25f) => f.write_str(&bm25f.name()),
            ModelKind::Other(model) => f.write_str(&model.name()),
        }
    }
}
