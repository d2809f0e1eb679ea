//! Texts of candidates, for rerankers: of the documents of a collection, or stored in an index.

use std::borrow::Cow;
use std::sync::Arc;

use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::{CandidateTexts, SearchError};
use ir_data::DocTemplate;
use ir_data::training::DocumentTexts;

use super::document_texts::TextRendering;
use super::existing_file::without_texts;
use crate::error::SystemError;
use crate::system::SystemContext;

/// Texts that are stored in an index, read when a document is a candidate.
struct StoredTexts {
    index: SegmentedIndex,
    template: DocTemplate,
}

impl CandidateTexts for StoredTexts {
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError> {
        let Some(doc) = self.index.ids().get(id) else {
            return Ok(None);
        };
        let document = self.index.document(doc);
        let document = document.map_err(|source| SearchError::Engine {
            engine: "reading stored texts",
            source: Box::new(source),
        })?;
        Ok(Some(Cow::Owned(self.template.render(&document))))
    }

    fn contains(&self, id: &str) -> Result<bool, SearchError> {
        Ok(self.index.ids().get(id).is_some())
    }
}

/// Texts that are stored in an index, by a template or else of the indexed fields. `key` is the key
/// that needs them.
///
/// # Errors
/// Returns [`SystemError::Parameter`] of the key `key` if the index stores no texts, and of the key
/// `template` for an unknown field.
pub(super) fn stored_texts(
    key: &str,
    index: &SegmentedIndex,
    template: Option<&str>,
) -> Result<Arc<dyn CandidateTexts>, SystemError> {
    let config = index.config();
    if config.store != StoredFields::Everything {
        return Err(without_texts(key));
    }
    let template = TextRendering::new(template).template(config.fields)?;
    let index = index.clone();
    Ok(Arc::new(StoredTexts { index, template }))
}

/// Texts of the documents of the data, by a template or else of title and text. `key` is the key
/// that needs them.
///
/// # Errors
/// Returns the errors of [`stored_texts`], and [`SystemError::Stage`] if the documents cannot be
/// read.
pub(super) fn candidate_texts(
    context: &mut SystemContext<'_>,
    key: &str,
    template: Option<&str>,
) -> Result<Arc<dyn CandidateTexts>, SystemError> {
    let data = context.data;
    let rendered = match data.index() {
        None => TextRendering::new(template).template(Default::default())?,
        Some(index) => TextRendering::new(template).template(index.config().fields)?,
    };
    let checked = rendered.check(data.corpus());
    let name = if template.is_some() { "template" } else { key };
    if data.index().is_none() || template.is_some() {
        checked.map_err(|error| SystemError::parameter(name, error.to_string()))?;
    }
    if let Some(index) = data.index() {
        return stored_texts(key, index, template);
    }
    let shared = format!("texts of candidates {rendered}");
    if let Some(texts) = context.session.get::<DocumentTexts>(&shared) {
        return Ok(texts);
    }
    let texts = DocumentTexts::from_corpus(data.corpus(), &rendered);
    let texts = Arc::new(texts.map_err(SystemError::stage("reading documents"))?);
    context.session.keep(shared, texts.clone());
    Ok(texts)
}
