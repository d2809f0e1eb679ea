//! Documents of the data in the order of a system, and among the documents of a file of vectors.

use std::sync::Arc;

use ir_core::{Distinct, DocIds, DocNum, Document, Renumbered};

use crate::entries::{BlankDocsName, DocOrderName};
use crate::error::SystemError;
use crate::system::{OpenSystem, SharedRetriever, SystemContext};

/// Ids of the documents in an order, without the documents that `blank` drops: those without title
/// and text. An index has an order of its own, and has kept or dropped documents when it was built.
pub(super) fn ordered_ids(
    context: &SystemContext<'_>,
    order: Option<DocOrderName>,
    blank: Option<BlankDocsName>,
) -> Result<DocIds, SystemError> {
    let data = context.data;
    if data.index().is_some() {
        return Ok(data.ids().clone());
    }
    let ids = match blank {
        None | Some(BlankDocsName::Keep) => data.ids().clone(),
        Some(BlankDocsName::Drop) => {
            let reading = "reading documents";
            let mut ids = DocIds::new();
            for document in data.corpus().docs().map_err(SystemError::stage(reading))? {
                let Document {
                    id, title, text, ..
                } = document.map_err(SystemError::stage(reading))?;
                if !(is_blank(&title) && is_blank(&text)) {
                    let pushed = ids.push(&id).map(drop);
                    pushed.map_err(SystemError::stage(reading))?;
                }
            }
            ids
        }
    };
    Ok(match order {
        None | Some(DocOrderName::Insertion) => ids,
        Some(DocOrderName::Id) => sorted(&ids),
    })
}

/// Ids in ascending byte order.
pub(super) fn sorted(ids: &DocIds) -> DocIds {
    let by_id = ids.order().iter();
    by_id.map(|&number| ids.id(DocNum::new(number))).collect()
}

/// Returns `true` for a text that an index counts as blank.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte <= b' ')
}

/// Search of the documents of the data with the numbers of [`ordered_ids`], each id once. Vectors of
/// other documents are left out, with a warning if the data lack them.
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
    if *inner.ids() == ids {
        return Ok(OpenSystem::new(Arc::new(Distinct(inner))));
    }
    let known = context.data.ids();
    let unknown = || inner.ids().iter().filter(move |id| known.get(id).is_none());
    if let Some(first) = unknown().next() {
        let (count, all) = (unknown().count(), inner.ids().len());
        if count == all {
            let message =
                format!("expected vectors of documents of the collection, found {first:?}");
            return Err(SystemError::parameter("vectors", message));
        }
        context.observer.warning(&format!(
            "{path}: {count} of {all} vectors are left out, of documents that the collection \
             lacks, such as {first:?}"
        ));
    }
    Ok(OpenSystem::new(Arc::new(Renumbered::new(inner, ids))))
}
