//! Search by random indexing of the texts of an index.

use anyhow::{Context, Result, anyhow};
use ir_bm25::{IndexedFields, SegmentedIndex, StoredFields};
use ir_core::DocNum;
use ir_data::DocTemplate;
use ir_experiment::SystemError;
use ir_experiment::systems::RandomIndexingSystem;

use super::expansion::{TextRetriever, without_texts};

/// The retriever of the documents of an index, by its analysis of their titles and texts.
pub(super) fn retriever(
    system: &RandomIndexingSystem,
    index: &SegmentedIndex,
) -> Result<TextRetriever> {
    const MODEL: &str = "--model random-indexing";
    if index.config().store != StoredFields::Everything {
        return Err(without_texts()).context(MODEL);
    }
    let template = match index.config().fields {
        IndexedFields::TextOnly => DocTemplate::text_only(),
        _ => DocTemplate::default(),
    };
    let mut texts = Vec::with_capacity(index.len());
    for doc in (0..index.len() as u32).map(DocNum::new) {
        texts.push(template.render(&index.document(doc)?));
    }
    let retriever = system.retriever(index.ids().clone(), &index.config().analysis, &texts);
    let retriever = retriever.map_err(|error| match error {
        SystemError::Stage { stage, source } => anyhow::Error::from_boxed(source).context(stage),
        other => anyhow!("{other}"),
    });
    Ok(Box::new(retriever.context(MODEL)?))
}
