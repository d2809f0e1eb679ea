//! Texts of candidates, for rerankers: of the documents of a collection, or stored in an index.

use std::borrow::Cow;
use std::sync::Arc;

use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::{CandidateTexts, SearchError};
use ir_data::DocTemplate;
use ir_data::training::DocumentTexts;

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

/// Texts that are stored in an index. `key` is the key that needs them.
///
/// # Errors
/// Returns [`SystemError::Parameter`] of the key `key` if the index stores no texts.
pub(super) fn stored_texts(
    key: &str,
    index: &SegmentedIndex,
    template: DocTemplate,
) -> Result<Arc<dyn CandidateTexts>, SystemError> {
    if index.config().store != StoredFields::Everything {
        return Err(without_texts(key));
    }
    let index = index.clone();
    Ok(Arc::new(StoredTexts { index, template }))
}

/// Texts of the documents of the data. `key` is the key that needs them.
///
/// # Errors
/// Returns the errors of [`stored_texts`], [`SystemError::Parameter`] for a template with a field
/// that no document has, and [`SystemError::Stage`] if the documents cannot be read.
pub(super) fn candidate_texts(
    context: &mut SystemContext<'_>,
    key: &str,
    template: DocTemplate,
) -> Result<Arc<dyn CandidateTexts>, SystemError> {
    let data = context.data;
    if let Some(index) = data.index() {
        let texts = stored_texts(key, index, template.clone())?;
        check_template(context, &template)?;
        return Ok(texts);
    }
    check_template(context, &template)?;
    let shared = format!("texts of candidates {template}");
    if let Some(texts) = context.session.get::<DocumentTexts>(&shared) {
        return Ok(texts);
    }
    let texts = DocumentTexts::from_corpus(data.corpus(), &template);
    let texts = Arc::new(texts.map_err(SystemError::stage("reading documents"))?);
    context.session.keep(shared, texts.clone());
    Ok(texts)
}

/// Checks that the documents have the fields of a template.
fn check_template(context: &SystemContext<'_>, template: &DocTemplate) -> Result<(), SystemError> {
    let checked = template.check(context.data.corpus());
    checked.map_err(|error| SystemError::parameter("template", error.to_string()))
}
