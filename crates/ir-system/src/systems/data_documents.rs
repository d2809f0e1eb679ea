//! Documents of the data among the documents of a file of vectors.

use std::sync::Arc;

use ir_core::{Distinct, DocIds, DocNum, Renumbered};

use crate::error::SystemError;
use crate::system::{OpenSystem, SharedRetriever, SystemContext};

/// Part of the cache keys of runs of saved vectors: how ties are broken.
pub(super) const RANKING: &str = " ties by the numbers of the documents";

/// Ids in ascending byte order.
pub(super) fn sorted(ids: &DocIds) -> DocIds {
    let by_id = ids.order().iter();
    by_id.map(|&number| ids.id(DocNum::new(number))).collect()
}

/// Returns `true` for a text that an index counts as blank.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte <= b' ')
}

/// Search of the documents of the data with these ids, each once, with their numbers. Vectors of
/// other documents are left out, with a warning if the data lack them. Records of an index with the
/// same id have the number of the first one, which its filters select.
///
/// # Errors
/// Returns [`SystemError::Parameter`] of the key `vectors` if no vector is of a document of the
/// data.
pub(super) fn of_the_data(
    context: &mut SystemContext<'_>,
    path: &str,
    inner: SharedRetriever,
    ids: DocIds,
) -> Result<OpenSystem, SystemError> {
    let is_same = *inner.ids() == ids;
    if is_same && context.data.index().is_none() {
        return Ok(OpenSystem::new(Arc::new(Distinct(inner))));
    }
    let known = context.data.ids();
    let unknown = || inner.ids().iter().filter(move |id| known.get(id).is_none());
    if !is_same && let Some(first) = unknown().next() {
        let (count, all) = (unknown().count(), inner.ids().len());
        if count == all {
            let message =
                format!("expected vectors of documents of the collection, found {first:?}");
            return Err(SystemError::parameter("vectors", message));
        }
        context.warn_once(&format!(
            "{path}: {count} of {all} vectors are left out, of documents that the collection \
             lacks, such as {first:?}"
        ));
    }
    Ok(OpenSystem::new(Arc::new(Renumbered::new(inner, ids))))
}

/// Retriever with the document numbers of the index of the data, if there is one, which filters
/// select.
pub(super) fn with_numbers_of_the_index(
    context: &SystemContext<'_>,
    retriever: SharedRetriever,
) -> SharedRetriever {
    match context.data.index() {
        Some(index) if *index.ids() != *retriever.ids() => {
            Arc::new(Renumbered::new(retriever, index.ids().clone()))
        }
        _ => retriever,
    }
}
