//! kNN classification of an experiment file.

use ir_system::systems::MetricName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// kNN classification accuracy of vectors or texts, by the protocol of `ir knn-accuracy`:
/// stratified folds in item order, majority vote of the nearest neighbors outside the fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassificationEntry {
    /// Name, different from the names of tasks and other classifications.
    pub name: String,
    /// Vectors, one row per item: a `.npy` file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
    /// Texts instead of vectors: a file of JSON lines, or a Parquet or Arrow file of the ICLR
    /// dataset (abstracts, or titles with `text_field = "title"`). They are vectorized with TF-IDF,
    /// which is fitted on all texts, those without class included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<String>,
    /// JSON field of the text. Default: `text`.
    #[serde(default = "text_field")]
    pub text_field: String,
    /// JSON field of the class, for texts without `labels`. Default: `label`.
    #[serde(default = "label_field")]
    pub label_field: String,
    /// Classes, one per line, in the order of the items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Class of items that are not classified. Default: `unlabeled`.
    #[serde(default = "unlabeled")]
    pub unlabeled: String,
    /// Sublinear term frequency of TF-IDF: 1 + ln tf. Default: false.
    #[serde(default)]
    pub sublinear: bool,
    /// Number of dimensions of latent semantic indexing. Range: ≥ 1. Default: TF-IDF itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub components: Option<usize>,
    /// Normalizes vectors to unit length. Default: false.
    #[serde(default)]
    pub normalize: bool,
    /// Distance. Default: `euclidean`.
    #[serde(default = "euclidean")]
    pub metric: MetricName,
    /// Number of neighbors. Range: ≥ 1. Default: 10.
    #[serde(default = "ten")]
    #[schemars(range(min = 1))]
    pub k: usize,
    /// Number of folds of the cross-validation. Range: ≥ 2. Default: 10.
    #[serde(default = "ten")]
    #[schemars(range(min = 2))]
    pub folds: usize,
}

fn text_field() -> String {
    "text".to_owned()
}

fn label_field() -> String {
    "label".to_owned()
}

fn unlabeled() -> String {
    "unlabeled".to_owned()
}

const fn euclidean() -> MetricName {
    MetricName::Euclidean
}

const fn ten() -> usize {
    10
}

impl ClassificationEntry {
    /// Keys and paths of the files.
    pub(crate) fn files(&self) -> Vec<(&'static str, &str)> {
        let files = [
            ("vectors", &self.vectors),
            ("texts", &self.texts),
            ("labels", &self.labels),
        ];
        let files = files.into_iter();
        files
            .filter_map(|(key, path)| Some((key, path.as_deref()?)))
            .collect()
    }

    /// Checks the parameters. The error is a key and a message.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        match (&self.vectors, &self.texts) {
            (Some(_), Some(_)) => {
                let message = "expected either vectors or texts, found both";
                return Err(("texts", message.to_owned()));
            }
            (None, None) => {
                let message = "expected the key vectors or texts, found neither";
                return Err(("", message.to_owned()));
            }
            (Some(_), None) => {
                if self.labels.is_none() {
                    return Err(("vectors", "expected the key labels, found none".to_owned()));
                }
                let of_texts = [
                    ("sublinear", self.sublinear),
                    ("components", self.components.is_some()),
                ];
                if let Some((key, _)) = of_texts.into_iter().find(|(_, set)| *set) {
                    return Err((key, "expected texts, found vectors".to_owned()));
                }
            }
            (None, Some(_)) => {}
        }
        Ok(())
    }

    /// Returns `true` for the name of a value: `accuracy`, the mean over the folds, and `fold 1` to
    /// the last fold.
    pub(crate) fn has_value(&self, name: &str) -> bool {
        let fold = || name.strip_prefix("fold ")?.parse().ok();
        let is_fold = |fold: usize| {
            (1..=self.folds).contains(&fold)
                && name.strip_prefix("fold ") == Some(&fold.to_string())
        };
        name == "accuracy" || fold().is_some_and(is_fold)
    }
}
