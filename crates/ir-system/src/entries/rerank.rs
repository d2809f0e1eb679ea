//! Parameters of the type `rerank`.

use ir_data::DocTemplate;
#[cfg(feature = "dense")]
use ir_dense::CrossEncoderConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PrecisionName, RerankerTrainingEntry};
use crate::error::SystemError;

/// First hits of one system, ranked by a cross-encoder or a late-interaction model, or by the
/// scores of another system.
///
/// Models read the texts of the candidates: of the collection, or of an index that stores them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RerankSystem {
    /// Name of the system that finds the candidates. With `model`, which reads the queries
    /// unchanged, neither it nor its parts have `cleaning`.
    pub first: String,
    /// Name of the system that ranks the candidates, in place of `model`. Candidates that it does
    /// not return are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Cross-encoder or late-interaction model (ColBERT) that ranks the candidates: model folder in
    /// Hugging Face layout, or the name of a downloaded model (`ir models`). A path may start with
    /// an environment variable: `$IR_MODEL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Token store with the vectors of the documents, for a late-interaction model, in place of
    /// their texts: a file of `ir encode` with this model, precision and maximum length, or a
    /// folder. A candidate that is not in the store is an error. Default: none, the model encodes
    /// the candidates of each query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// Number of candidates. A search for more hits has as many candidates as hits. Range: ≥ 1.
    /// Default: 100.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1))]
    pub depth: usize,
    /// Number format of the linear layers of the model. Default: `f32`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionName>,
    /// Maximum sequence length in tokens: of query and document together for a cross-encoder, of
    /// the document for a late-interaction model. Range: ≥ 1. Default: from the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<usize>,
    /// Windows of a document that exceeds the sequence length, and its score. A late-interaction
    /// model encodes the `first` window. Default: `first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowsName>,
    /// Number of tokens that consecutive windows of a long document share, for `maximum` and
    /// `mean`. Range: ≥ 0. Default: a third of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub stride: Option<usize>,
    /// Number of tokens of the texts, or pairs of query and document, of a batch. Does not change
    /// scores. Range: ≥ 1. Default: 2048.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = CrossEncoderConfig::default().batch_tokens)))]
    pub batch: Option<usize>,
    /// Template of the document texts. With `tokens`, the template of the store, for explanations.
    /// Default: `{title} {text}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Training of the model on labeled queries, from the weights of `model`. The trained model is
    /// cached; systems with the same model and the same training share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<RerankerTrainingEntry>,
}

/// Windows of a document that exceeds the sequence length of a cross-encoder, and its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsName {
    /// Score of the start of the document.
    First,
    /// Maximum of the scores of all windows.
    Maximum,
    /// Mean of the scores of all windows.
    Mean,
}

fn default_depth() -> usize {
    100
}

impl RerankSystem {
    /// Reranking of all candidates by a model, without a system that finds them.
    #[cfg(feature = "dense")]
    pub(crate) fn with_model(model: &str) -> Self {
        Self {
            first: String::new(),
            second: None,
            model: Some(model.to_owned()),
            tokens: None,
            depth: default_depth(),
            precision: None,
            max_tokens: None,
            windows: None,
            stride: None,
            batch: None,
            template: None,
            training: None,
        }
    }

    /// Keys of the parameters of the model that are given.
    pub(crate) fn of_the_model(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("tokens", self.tokens.is_some()),
            ("precision", self.precision.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("windows", self.windows.is_some()),
            ("stride", self.stride.is_some()),
            ("batch", self.batch.is_some()),
            ("template", self.template.is_some()),
            ("training", self.training.is_some()),
        ];
        let given = given.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| key)
    }

    /// Template of the document texts.
    pub(crate) fn template(&self) -> Result<DocTemplate, SystemError> {
        crate::entries::template(self.template.as_deref().unwrap_or("{title} {text}"))
    }
}
