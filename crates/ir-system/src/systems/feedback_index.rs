//! Index of an external collection of feedback documents: a saved index, or one that is built.

use std::path::PathBuf;
use std::sync::Arc;

use ir_bm25::{Index, IndexConfig, SegmentedIndex};
use ir_core::store::Verify;
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;

use super::existing_file::folder_hash;
use crate::cache::Stage;
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::SystemContext;

const KEY: &str = "feedback_collection";

/// Path of a saved index; `None` for a collection of the catalog or a folder of documents.
fn saved_index(context: &SystemContext<'_>, name: &str) -> Result<Option<PathBuf>, SystemError> {
    if Catalog::from_env().entry(name).is_ok() {
        return Ok(None);
    }
    let path = context.resolve(KEY, name)?;
    let is_index = path.is_file() || SegmentedIndex::exists(&path);
    Ok(is_index.then_some(path))
}

/// Hash of the documents of a collection, or of the files of a saved index.
pub(super) fn content(context: &SystemContext<'_>, name: &str) -> Result<String, SystemError> {
    match saved_index(context, name)? {
        None => context.collection_hash(KEY, name),
        Some(path) if path.is_dir() => folder_hash(context, &path),
        Some(path) => context.file_hash(&path),
    }
}

/// Stage of the index of a collection; `None` for a saved index.
pub(super) fn stage(
    context: &SystemContext<'_>,
    name: &str,
    config: &IndexConfig,
    template: Option<&DocTemplate>,
) -> Result<Option<StageReport>, SystemError> {
    if saved_index(context, name)?.is_some() {
        return Ok(None);
    }
    let (key, description) = context.index_stage_of_collection(KEY, name, config, template)?;
    Ok(Some(context.planned(Stage::Index, &key, &description)))
}

/// Opens a saved index, or the index of a collection with this configuration.
pub(super) fn open(
    context: &mut SystemContext<'_>,
    name: &str,
    config: &IndexConfig,
    template: Option<&DocTemplate>,
) -> Result<SegmentedIndex, SystemError> {
    if let Some(opened) = context.data.other_index(name, config) {
        return opened;
    }
    let Some(path) = saved_index(context, name)? else {
        let index = context.index_of_collection(KEY, name, config, template)?;
        return Ok((*index).clone().into());
    };
    let key = format!("feedback index {}", path.display());
    if let Some(index) = context.session.get::<SegmentedIndex>(&key) {
        return Ok((*index).clone());
    }
    let opened = if path.is_dir() {
        SegmentedIndex::open(&path)
    } else {
        Index::open_with(&path, Verify::AllSections).map(SegmentedIndex::from)
    };
    let index = opened.map_err(|error| SystemError::parameter(KEY, error.to_string()))?;
    context.session.keep(key, Arc::new(index.clone()));
    Ok(index)
}
