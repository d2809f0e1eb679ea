//! One search in FAISS's own index.
//!
//! # Why there is `unsafe` here
//! The crate `faiss` lets only the owner of an index search it (`&mut`), though FAISS's processor
//! indexes may be searched by many threads at a time as long as nobody changes them, and it loses
//! the memory of a selector after every filtered search. Three calls of FAISS's C interface mend
//! both; all else goes through the crate.

use std::ffi::CStr;
use std::ptr;
use std::sync::{PoisonError, RwLock};

use faiss::index::autotune::ParameterSpace;
use faiss::index::{Index as _, IndexImpl};
use faiss::search_params::{SearchParameters, SearchParametersIVF};
use faiss::selector::IdSelector;

use super::{FaissNativeError, Kind};

/// A trained index with its vectors.
#[derive(Debug)]
pub(super) struct Engine {
    kind: Kind,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    index: IndexImpl,
    /// The effort that the index is set to. 0: not yet.
    effort: usize,
}

impl Engine {
    pub(super) fn new(index: IndexImpl, kind: Kind) -> Self {
        let state = State { index, effort: 0 };
        Self {
            kind,
            state: RwLock::new(state),
        }
    }

    /// For what reads the index.
    pub(super) fn read<T>(&self, what: impl FnOnce(&IndexImpl) -> T) -> T {
        let state = self.state.read();
        what(&state.unwrap_or_else(PoisonError::into_inner).index)
    }

    /// NumberBuffer and FAISS's distances of at most `k` vectors near to the query; `allowed` has a bit
    /// a vector, the lowest first.
    pub(super) fn search(
        &self,
        query: &[f32],
        k: usize,
        effort: usize,
        allowed: Option<&[u8]>,
    ) -> Result<Vec<(u32, f32)>, FaissNativeError> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.effort == effort || self.kind == Kind::Exact {
                return state.search(self.kind, query, k, effort, allowed);
            }
        }
        // The effort of HNSW is a property of the index, so others wait while it changes.
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = self.kind.parameter() {
            ParameterSpace::new()?.set_index_parameter(&state.index, name, effort as f64)?;
        }
        state.effort = effort;
        state.search(self.kind, query, k, effort, allowed)
    }
}

impl State {
    fn search(
        &self,
        kind: Kind,
        query: &[f32],
        k: usize,
        effort: usize,
        allowed: Option<&[u8]>,
    ) -> Result<Vec<(u32, f32)>, FaissNativeError> {
        let filter = allowed.map(|bits| Filter::new(bits, kind, effort));
        let filter = filter.transpose()?;
        let params = filter.as_ref().map(|filter| filter.params.inner_ptr());
        debug_assert_eq!(query.len(), self.index.d() as usize);
        let (mut distances, mut labels) = (vec![0.0_f32; k], vec![-1_i64; k]);
        // SAFETY: the index is alive and, behind the lock, nobody changes it; FAISS's processor
        // indexes take searches of several threads. The query has the length of the index's
        // vectors (checked by the caller), and both outputs have room for k values. The parameters
        // are those of the index's kind or null, and the filter, with the bits that it
        // borrows, lives until the end of this function.
        let code = unsafe {
            faiss_sys::faiss_Index_search_with_params(
                self.index.inner_ptr(),
                1,
                query.as_ptr(),
                k as faiss_sys::idx_t,
                params.unwrap_or(ptr::null_mut()),
                distances.as_mut_ptr(),
                labels.as_mut_ptr(),
            )
        };
        if code != 0 {
            return Err(last_error());
        }
        let found = labels.into_iter().zip(distances);
        // -1 stands where there are no more.
        let found = found.filter_map(|(label, distance)| Some((label.try_into().ok()?, distance)));
        Ok(found.collect())
    }
}

/// A selector and the parameters that refer to it.
struct Filter<'a> {
    params: SearchParameters,
    selector: *mut faiss_sys::FaissIDSelector,
    _bits: &'a [u8],
}

impl<'a> Filter<'a> {
    fn new(bits: &'a [u8], kind: Kind, effort: usize) -> Result<Self, FaissNativeError> {
        let selector = IdSelector::bitmap(bits)?;
        let pointer = selector.inner_ptr();
        let params = match kind {
            Kind::Probes => SearchParametersIVF::new_with(selector, effort, 0)?.upcast(),
            Kind::Exact | Kind::View => SearchParameters::new(selector)?,
        };
        Ok(Self {
            params,
            selector: pointer,
            _bits: bits,
        })
    }
}

impl Drop for Filter<'_> {
    fn drop(&mut self) {
        // SAFETY: the parameters took the selector over and do not free it; nobody uses them after this.
        unsafe { faiss_sys::faiss_IDSelector_free(self.selector) }
    }
}

fn last_error() -> FaissNativeError {
    // SAFETY: after a failure FAISS has a message, which ends in zero and stays until the next
    // failure on this thread.
    let message = unsafe {
        let message = faiss_sys::faiss_get_last_error();
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    };
    FaissNativeError(message.unwrap_or_else(|| "an unknown fault".to_owned()))
}
