//! Filters of a search: conditions on attributes, ids, Boolean arrays.

use ir_bm25::SegmentedIndex;
use ir_core::{DocIds, DocNum, DocSet, Predicate};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::{invalid, raise};
use crate::ids::id_text;
use crate::work::detached;

/// Documents that a search may return. `Index.select` makes it of a condition; it can be reused for
/// many searches.
#[pyclass(frozen, module = "irrs", from_py_object)]
#[derive(Debug, Clone)]
pub(crate) struct DocFilter {
    pub(crate) documents: DocSet,
    /// Number of documents of the index.
    pub(crate) of: usize,
}

#[pymethods]
impl DocFilter {
    /// Number of documents that pass.
    fn __len__(&self) -> usize {
        self.documents.iter().count()
    }

    fn __repr__(&self) -> String {
        format!("DocFilter({} of {} documents)", self.__len__(), self.of)
    }
}

/// Selects documents by a condition such as `year>=2015`.
pub(crate) fn select(index: &SegmentedIndex, condition: &str) -> PyResult<DocFilter> {
    let condition: Predicate = condition.parse().map_err(raise)?;
    Ok(DocFilter {
        documents: index.select(&condition).map_err(raise)?,
        of: index.len(),
    })
}

/// Converts the argument `filter`: a [`DocFilter`], a condition, a Boolean array of all documents,
/// or an iterable of ids. Conditions need an index.
pub(crate) fn filter_of(
    filter: &Bound<'_, PyAny>,
    ids: &DocIds,
    index: Option<&SegmentedIndex>,
) -> PyResult<DocFilter> {
    let of = ids.len();
    if let Ok(filter) = filter.cast::<DocFilter>() {
        let filter = filter.get();
        if filter.of != of {
            return Err(invalid(format!(
                "filter: expected a filter of an index of {of} documents, found {}",
                filter.of
            )));
        }
        return Ok(filter.clone());
    }
    if let Ok(condition) = filter.cast::<PyString>() {
        let Some(index) = index else {
            return Err(invalid(
                "filter: expected ids or a Boolean array; a vector index has no attributes for a condition",
            ));
        };
        let condition = condition.to_str()?;
        return detached(filter.py(), || select(index, condition))?;
    }
    if let Ok(mask) = filter.extract::<PyReadonlyArray1<'_, bool>>() {
        let mask = mask.as_array();
        if mask.len() != of {
            return Err(invalid(format!(
                "filter: expected a Boolean array of shape [{of}], found [{}]",
                mask.len()
            )));
        }
        let documents = DocSet::select(of, |doc| mask[doc.index()]);
        return Ok(DocFilter { documents, of });
    }
    let mut documents = DocSet::new();
    for id in filter.try_iter()? {
        let id = id?;
        let id = id_text(&id, "filter: document id")?;
        let records: Vec<DocNum> = ids.all(&id).collect();
        for doc in records {
            documents.insert(doc);
        }
    }
    Ok(DocFilter { documents, of })
}
