//! The type `binary`: dense retrieval by binary codes, rescored by the vectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entries::{CleaningEntry, EncoderReference, cleaning, template};
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{OpenSystem, System, SystemContext};

/// Default number of candidates per hit.
const RESCORE_MULTIPLIER: usize = 10;

/// Dense retrieval with a bi-encoder, by binary codes of the vectors: the documents with the
/// smallest Hamming distances to the query are rescored by their vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BinarySystem {
    /// Encoder of documents and queries.
    pub encoder: EncoderReference,
    /// Template of the document texts. Default: the encoder's.
    #[serde(default)]
    pub template: Option<String>,
    /// Number of candidates per hit, which are rescored. Larger values find more of the nearest
    /// vectors and take longer. Range: ≥ 1. Default: 10.
    #[serde(default)]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = RESCORE_MULTIPLIER))]
    pub rescore_multiplier: Option<usize>,
    /// Cleaning of the queries before they are encoded. Default: none.
    #[serde(
        default,
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
}

impl System for BinarySystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        self.template.as_deref().map(template).transpose()?;
        self.encoder.check()
    }

    fn files(&self) -> Vec<(String, String)> {
        let tags = self.cleaning.as_ref().and_then(CleaningEntry::file);
        self.encoder.file().into_iter().chain(tags).collect()
    }

    fn encoders(&self) -> Vec<(String, String)> {
        self.encoder.named().into_iter().collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let tags = CleaningEntry::content(self.cleaning.as_ref(), context)?;
        Ok(self.encoder.content(context)? + &tags)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        let template = self.template.as_deref().map(template).transpose()?;
        self.encoder.stages(context, template.as_ref(), None)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let template = self.template.as_deref().map(template).transpose()?;
        let (encoder, vectors) = self.encoder.vectors(context, template.as_ref())?;
        #[cfg(not(feature = "dense"))]
        match (encoder, vectors) {}
        #[cfg(feature = "dense")]
        {
            use std::sync::Arc;

            use ir_core::{Distinct, Encoded};
            use ir_knn::BinaryIndex;

            let multiplier = self.rescore_multiplier.unwrap_or(RESCORE_MULTIPLIER);
            let index = BinaryIndex::new((*vectors).clone());
            let retriever = Encoded::new(encoder, index.searcher(multiplier));
            let open = OpenSystem::new(Arc::new(Distinct(retriever)));
            CleaningEntry::applied(self.cleaning.as_ref(), context, open)
        }
    }
}
