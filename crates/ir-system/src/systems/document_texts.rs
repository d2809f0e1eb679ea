//! Texts of the documents of a system, by a template.

use ir_bm25::{Analysis, IndexedFields, StoredFields};
use ir_data::DocTemplate;

use super::existing_file::without_texts;
use crate::entries::template;
use crate::error::SystemError;
use crate::system::SystemContext;

/// Texts of the documents in their order, and the analysis: of the data's index, if there is one.
pub(super) fn document_texts(
    context: &mut SystemContext<'_>,
    given: Option<&str>,
    mut analysis: Analysis,
) -> Result<(Vec<String>, Analysis), SystemError> {
    let mut rendered = given.map(template).transpose()?;
    if let Some(index) = context.data.index() {
        let config = index.config();
        if config.store != StoredFields::Everything {
            return Err(without_texts("type"));
        }
        analysis = config.analysis.clone();
        if config.fields == IndexedFields::TextOnly {
            rendered = rendered.or(Some(DocTemplate::text_only()));
        }
    }
    let rendered = rendered.unwrap_or_default();
    let corpus = context.data.corpus();
    (rendered.check(corpus))
        .map_err(|error| SystemError::parameter("template", error.to_string()))?;
    let mut texts = Vec::with_capacity(context.data.ids().len());
    for document in (corpus.docs()).map_err(SystemError::stage("reading documents"))? {
        let document = document.map_err(SystemError::stage("reading documents"))?;
        texts.push(rendered.render(&document));
    }
    Ok((texts, analysis))
}
