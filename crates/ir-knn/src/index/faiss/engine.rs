//! Searches in a native FAISS index.
//!
//! # Why there is `unsafe` here
//! The crate `faiss` requires `&mut` to search an index, although FAISS CPU indexes support
//! concurrent searches while nobody modifies them, and it leaks the selector of every filtered
//! search. Three calls of FAISS's C interface avoid both; everything else goes through the crate.

use std::ffi::CStr;
use std::ptr;
use std::sync::{PoisonError, RwLock};

use faiss::index::autotune::ParameterSpace;
use faiss::index::{Index as _, IndexImpl};
use faiss::search_params::{SearchParameters, SearchParametersIVF};
use faiss::selector::IdSelector;

use super::error::FaissNativeError;
use super::family::FaissFamily;

/// Trained index with its vectors.
#[derive(Debug)]
pub(super) struct FaissEngine {
    family: FaissFamily,
    state: RwLock<EngineState>,
}

#[derive(Debug)]
struct EngineState {
    index: IndexImpl,
    /// Current search parameter of the index; 0 until it is set.
    parameter: usize,
}

impl FaissEngine {
    pub(super) fn new(index: IndexImpl, family: FaissFamily) -> Self {
        let state = EngineState {
            index,
            parameter: 0,
        };
        Self {
            family,
            state: RwLock::new(state),
        }
    }

    /// Runs a closure on the native index.
    pub(super) fn with_index<T>(&self, run: impl FnOnce(&IndexImpl) -> T) -> T {
        let state = self.state.read();
        run(&state.unwrap_or_else(PoisonError::into_inner).index)
    }

    /// Row numbers and FAISS distances of up to `k` nearest vectors. `allowed` is a bitmap of the
    /// rows, least significant bit first.
    pub(super) fn search(
        &self,
        query: &[f32],
        k: usize,
        parameter: usize,
        allowed: Option<&[u8]>,
    ) -> Result<Vec<(u32, f32)>, FaissNativeError> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.parameter == parameter || self.family == FaissFamily::Flat {
                return state.search(self.family, query, k, parameter, allowed);
            }
        }
        // The search parameter is a property of the index, so other searches wait while it changes.
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = self.family.parameter_name() {
            ParameterSpace::new()?.set_index_parameter(&state.index, name, parameter as f64)?;
        }
        state.parameter = parameter;
        state.search(self.family, query, k, parameter, allowed)
    }
}

impl EngineState {
    fn search(
        &self,
        family: FaissFamily,
        query: &[f32],
        k: usize,
        parameter: usize,
        allowed: Option<&[u8]>,
    ) -> Result<Vec<(u32, f32)>, FaissNativeError> {
        let filter = allowed.map(|bits| BitmapFilter::new(bits, family, parameter));
        let filter = filter.transpose()?;
        let params = filter.as_ref().map(|filter| filter.params.inner_ptr());
        debug_assert_eq!(query.len(), self.index.d() as usize);
        let (mut distances, mut rows) = (vec![0.0_f32; k], vec![-1_i64; k]);
        // SAFETY: the index is alive and, behind the lock, nobody modifies it; FAISS CPU indexes
        // support concurrent searches. The query has the dimension of the index (checked by the
        // caller), and both outputs have room for k values. The parameters are null or belong
        // to the family of the index. The filter and the bits that it borrows live until the end
        // of this function.
        let code = unsafe {
            faiss_sys::faiss_Index_search_with_params(
                self.index.inner_ptr(),
                1,
                query.as_ptr(),
                k as faiss_sys::idx_t,
                params.unwrap_or(ptr::null_mut()),
                distances.as_mut_ptr(),
                rows.as_mut_ptr(),
            )
        };
        if code != 0 {
            return Err(last_error());
        }
        let found = rows.into_iter().zip(distances);
        // FAISS pads the output with -1.
        let found = found.filter_map(|(row, distance)| Some((row.try_into().ok()?, distance)));
        Ok(found.collect())
    }
}

/// Selector of rows and the search parameters that refer to it.
struct BitmapFilter<'a> {
    params: SearchParameters,
    selector: *mut faiss_sys::FaissIDSelector,
    _bits: &'a [u8],
}

impl<'a> BitmapFilter<'a> {
    fn new(
        bits: &'a [u8],
        family: FaissFamily,
        parameter: usize,
    ) -> Result<Self, FaissNativeError> {
        let selector = IdSelector::bitmap(bits)?;
        let pointer = selector.inner_ptr();
        let params = match family {
            FaissFamily::Ivf => SearchParametersIVF::new_with(selector, parameter, 0)?.upcast(),
            FaissFamily::Flat | FaissFamily::Hnsw => SearchParameters::new(selector)?,
        };
        Ok(Self {
            params,
            selector: pointer,
            _bits: bits,
        })
    }
}

impl Drop for BitmapFilter<'_> {
    fn drop(&mut self) {
        // SAFETY: the parameters own the selector and do not free it; nothing uses them afterwards.
        unsafe { faiss_sys::faiss_IDSelector_free(self.selector) }
    }
}

fn last_error() -> FaissNativeError {
    // SAFETY: after a failure FAISS returns a null-terminated message that is valid until the next
    // failure on this thread.
    let message = unsafe {
        let message = faiss_sys::faiss_get_last_error();
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    };
    FaissNativeError(message.unwrap_or_else(|| "unknown error".to_owned()))
}
