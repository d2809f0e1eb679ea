//! Documents of a system in its order, and their texts by a template or by fields.

use ir_bm25::{Analysis, IndexedFields, StoredFields};
use ir_core::DocIds;
use ir_data::DocTemplate;

use super::data_documents::{is_blank, sorted};
use super::existing_file::without_texts;
use crate::entries::{BlankDocsName, DocOrderName, template};
use crate::error::SystemError;
use crate::system::SystemContext;

/// Rendering of the texts of documents.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextRendering<'a> {
    /// Template, in place of the fields.
    pub(super) template: Option<&'a str>,
    /// Fields of the texts; an index has its own.
    pub(super) fields: IndexedFields,
    /// Documents with a blank text; an index has dropped them or not.
    pub(super) blank: Option<BlankDocsName>,
    /// Order of the documents; an index has its own.
    pub(super) order: Option<DocOrderName>,
}

impl<'a> TextRendering<'a> {
    /// Rendering by a template, or else of title and text.
    pub(super) fn new(template: Option<&'a str>) -> Self {
        Self {
            template,
            ..Self::default()
        }
    }

    fn template(self, fields: IndexedFields) -> Result<DocTemplate, SystemError> {
        match (self.template, fields) {
            (Some(given), _) => template(given),
            (None, IndexedFields::TextOnly) => Ok(DocTemplate::text_only()),
            (None, IndexedFields::Named(names)) => {
                let names = names.names().iter().map(|name| format!("{{{name}}}"));
                template(&names.collect::<Vec<_>>().join(" "))
            }
            (None, _) => Ok(DocTemplate::default()),
        }
    }
}

/// Ids of the documents in the order of the rendering, without blank documents if it drops them.
pub(super) fn document_ids(
    context: &SystemContext<'_>,
    rendering: TextRendering<'_>,
) -> Result<DocIds, SystemError> {
    let data = context.data;
    if data.index().is_some() {
        return Ok(data.ids().clone());
    }
    let ids = if rendering.blank == Some(BlankDocsName::Drop) {
        let template = rendering.template(rendering.fields)?;
        let mut ids = DocIds::new();
        for document in (data.corpus().docs()).map_err(SystemError::stage("reading documents"))? {
            let document = document.map_err(SystemError::stage("reading documents"))?;
            if !is_blank(&template.render(&document)) {
                let pushed = ids.push(&document.id).map(drop);
                pushed.map_err(SystemError::stage("reading documents"))?;
            }
        }
        ids
    } else {
        data.ids().clone()
    };
    Ok(match rendering.order {
        None | Some(DocOrderName::Insertion) => ids,
        Some(DocOrderName::Id) => sorted(&ids),
    })
}

/// Ids and texts of the documents in the order of the rendering, and the analysis: of the data's
/// index, if there is one.
pub(super) fn document_texts(
    context: &mut SystemContext<'_>,
    rendering: TextRendering<'_>,
    mut analysis: Analysis,
) -> Result<(DocIds, Vec<String>, Analysis), SystemError> {
    let mut fields = rendering.fields;
    let mut drops_blank = rendering.blank == Some(BlankDocsName::Drop);
    if let Some(index) = context.data.index() {
        let config = index.config();
        if config.store != StoredFields::Everything {
            return Err(without_texts("type"));
        }
        analysis = config.analysis.clone();
        fields = config.fields;
        drops_blank = false;
    }
    let rendered = rendering.template(fields)?;
    let key = rendering.template.map_or("fields", |_| "template");
    let corpus = context.data.corpus();
    (rendered.check(corpus)).map_err(|error| SystemError::parameter(key, error.to_string()))?;
    let mut texts = Vec::with_capacity(context.data.ids().len());
    let mut ids = DocIds::new();
    for document in (corpus.docs()).map_err(SystemError::stage("reading documents"))? {
        let document = document.map_err(SystemError::stage("reading documents"))?;
        let text = rendered.render(&document);
        if drops_blank && is_blank(&text) {
            continue;
        }
        let pushed = ids.push(&document.id).map(drop);
        pushed.map_err(SystemError::stage("reading documents"))?;
        texts.push(text);
    }
    if rendering.order == Some(DocOrderName::Id) && context.data.index().is_none() {
        let by_id = ids.order().iter().map(|&number| number as usize);
        texts = by_id.map(|at| std::mem::take(&mut texts[at])).collect();
        ids = sorted(&ids);
    }
    Ok((ids, texts, analysis))
}
