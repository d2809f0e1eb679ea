//! Expansion of queries by nearest words.

pub(crate) mod encoder;

use ir_knn::RandomIndexingConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::encoder::EncoderReference;
use crate::error::SystemError;

/// Expansion of queries by the words with the nearest vectors to the query: vectors of reflective
/// random indexing of the documents, or of an encoder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpansionEntry {
    /// Number of words added to a query. Range: ≥ 0; 0 adds none. Default: 10.
    #[schemars(extend("default" = WORDS))]
    pub words: Option<usize>,
    /// Weight of an added word at a cosine of 1; one of the query has weight 1. Range: ≥ 0.
    /// Default: 0.2.
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = WEIGHT))]
    pub weight: Option<f32>,
    /// Encoder of the words. It encodes one word per term of the documents, the most frequent one
    /// as written, and the queries; the vectors of the words are cached. Default: random indexing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderReference>,
    /// Number of dimensions of random indexing. Range: 10 to 65,536. Default: 200.
    #[schemars(range(min = 10, max = 65_536))]
    #[schemars(extend("default" = RandomIndexingConfig::default().dim))]
    pub dim: Option<usize>,
    /// Number of reflections of random indexing. Range: 0 to 100. Default: 1.
    #[schemars(range(min = 0, max = 100))]
    #[schemars(extend("default" = REFLECTIONS))]
    pub reflections: Option<usize>,
    /// Seed of the elemental vectors of random indexing. Default: 0.
    #[schemars(extend("default" = RandomIndexingConfig::default().seed))]
    pub seed: Option<u64>,
}

const WORDS: usize = 10;
const WEIGHT: f64 = 0.2;
const REFLECTIONS: usize = 1;

impl ExpansionEntry {
    /// Number of words added to a query.
    pub(crate) fn words(&self) -> usize {
        self.words.unwrap_or(WORDS)
    }

    pub(crate) fn weight(&self) -> f32 {
        self.weight.unwrap_or(WEIGHT as f32)
    }

    pub(crate) fn config(&self) -> RandomIndexingConfig {
        let mut config = RandomIndexingConfig::default();
        config.dim = self.dim.unwrap_or(config.dim);
        config.reflections = self.reflections.unwrap_or(REFLECTIONS);
        config.seed = self.seed.unwrap_or(config.seed);
        config
    }

    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// [`SystemError::Parameter`] with the key of the parameter, such as `expansion.dim`.
    pub fn check(&self) -> Result<(), SystemError> {
        let invalid = |key: &str, expected: &str, found: &dyn std::fmt::Display| {
            let message = format!("expected {expected}, found {found}");
            Err(SystemError::parameter(format!("expansion.{key}"), message))
        };
        if let Some(encoder) = &self.encoder {
            let given = [
                ("dim", self.dim.is_some()),
                ("reflections", self.reflections.is_some()),
                ("seed", self.seed.is_some()),
            ];
            if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return invalid(key, "random indexing", &"an encoder");
            }
            encoder.check().map_err(in_expansion)?;
        }
        Ok(())
    }

    /// Key and path of the model of an encoder.
    pub(crate) fn file(&self) -> Option<(String, String)> {
        let (key, path) = self.encoder.as_ref()?.file()?;
        Some((format!("expansion.{key}"), path))
    }

    /// Key and name of a named encoder.
    pub(crate) fn named_encoder(&self) -> Option<(String, String)> {
        let (key, name) = self.encoder.as_ref()?.named()?;
        Some((format!("expansion.{key}"), name))
    }
}

/// Error of the encoder of an expansion.
pub(crate) fn in_expansion(error: SystemError) -> SystemError {
    error.in_table("expansion")
}
