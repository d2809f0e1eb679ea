//! Indexes that can be closed, and pickled by their paths.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::PyResult;
use pyo3::exceptions::PyTypeError;

use crate::error::invalid;

/// An open index with the path of its file, if it has one; nothing after `close`.
#[derive(Debug)]
pub(crate) struct Closable<T> {
    open: RwLock<Option<Arc<T>>>,
    path: Option<PathBuf>,
}

impl<T> Closable<T> {
    pub(crate) fn new(open: T, path: Option<PathBuf>) -> Self {
        Self {
            open: RwLock::new(Some(Arc::new(open))),
            path,
        }
    }

    /// Returns the index, or the error of a closed one.
    pub(crate) fn get(&self) -> PyResult<Arc<T>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone()
            .ok_or_else(|| invalid("expected an open index, found a closed one"))
    }

    pub(crate) fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    /// Returns the path from which a pickled index is opened.
    pub(crate) fn path_to_pickle(&self) -> PyResult<PathBuf> {
        self.get()?;
        self.path.clone().ok_or_else(|| {
            PyTypeError::new_err(
                "expected an index in a file, which can be pickled by its path, found an index in memory; save and open it",
            )
        })
    }
}
