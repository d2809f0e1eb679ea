//! Encoders of a build without the feature `dense`.

use std::convert::Infallible;
use std::sync::Arc;

use ir_bm25::{TermVectors, TermWords};
use ir_core::Encoder;
use ir_data::DocTemplate;

use crate::entries::EncoderReference;
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{SharedRetriever, SystemContext};
use crate::systems::vectors::QuestionsName;

impl EncoderReference {
    fn unavailable() -> SystemError {
        let message = "encoders need the feature `dense`, with which this program was not built";
        SystemError::missing("", message)
    }

    pub(crate) fn content(&self, _: &SystemContext<'_>) -> Result<String, SystemError> {
        Err(Self::unavailable())
    }

    pub(crate) fn query_stages(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |_| Err(Self::unavailable()))
    }

    pub(crate) fn stages(
        &self,
        context: &SystemContext<'_>,
        _: Option<&DocTemplate>,
        _: Option<QuestionsName>,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |_| Err(Self::unavailable()))
    }

    pub(crate) fn retriever(
        &self,
        context: &mut SystemContext<'_>,
        _: Option<&DocTemplate>,
        _: Option<QuestionsName>,
    ) -> Result<SharedRetriever, SystemError> {
        self.with(context, |_, _| Err(Self::unavailable()))
    }

    pub(crate) fn sparse_retriever(
        &self,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedRetriever, SystemError> {
        self.with(context, |_, _| Err(Self::unavailable()))
    }

    pub(crate) fn vectors(
        &self,
        context: &mut SystemContext<'_>,
        _: Option<&DocTemplate>,
    ) -> Result<(Infallible, Infallible), SystemError> {
        self.with(context, |_, _| Err(Self::unavailable()))
    }

    pub(crate) fn open(&self, context: &mut SystemContext<'_>) -> Result<Infallible, SystemError> {
        self.with(context, |_, _| Err(Self::unavailable()))
    }

    pub(crate) fn word_stages(
        &self,
        context: &SystemContext<'_>,
        _: &str,
    ) -> Result<Vec<StageReport>, SystemError> {
        self.inspect(context, |_| Err(Self::unavailable()))
    }

    pub(crate) fn word_vectors(
        &self,
        context: &mut SystemContext<'_>,
        _: &str,
        _: impl FnOnce(&mut SystemContext<'_>) -> Result<TermWords, SystemError>,
    ) -> Result<(Arc<dyn Encoder>, TermVectors), SystemError> {
        self.with(context, |_, _| Err(Self::unavailable()))
    }
}
