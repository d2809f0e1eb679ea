//! Parameters of HNSW indexes and their errors.

use serde::{Deserialize, Serialize};

/// Construction parameters of an [`HnswIndex`](crate::HnswIndex). The same vectors and parameters
/// give the same graph on any number of threads.
///
/// ```
/// use ir_knn::HnswConfig;
/// let config = HnswConfig::default().with_m(32);
/// assert_eq!((config.m, config.ef_construction), (32, 200));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HnswConfig {
    /// M, the number of neighbors that a new node is linked to. The lowest layer allows 2M links
    /// per node. Higher values improve recall for vectors of many dimensions and take more memory.
    /// Range: 2 to 1024. Default: 16.
    pub m: usize,
    /// efConstruction, the beam width with which neighbors of a new node are searched. Higher
    /// values improve the graph and take longer to build. Range: ≥ 1. Default: 200.
    pub ef_construction: usize,
    /// Seed of the order in which nodes are linked, and so of the nodes of the upper layers.
    /// Default: 0.
    pub seed: u64,
}

impl Default for HnswConfig {
    fn default() -> Self {
        Self {
            m: 16,
            ef_construction: 200,
            seed: 0,
        }
    }
}

impl HnswConfig {
    ir_core::setters! {
        with_m: m, usize;
        with_ef_construction: ef_construction, usize;
        with_seed: seed, u64;
    }

    pub(in crate::index) fn validate(&self) -> Result<(), HnswError> {
        if !(2..=MAX_M).contains(&self.m) {
            return Err(HnswError::M { found: self.m });
        }
        if self.ef_construction == 0 {
            return Err(HnswError::EfConstruction);
        }
        Ok(())
    }
}

/// Maximum of [`HnswConfig::m`].
const MAX_M: usize = 1024;

/// efSearch, the beam width of a search: the number of nearest nodes that it keeps. Higher values
/// improve recall; search time grows about linearly. A search for the top k uses at least k.
/// Default: 64.
///
/// It belongs to the [searcher](crate::HnswIndex::searcher), not to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EfSearch(pub usize);

impl Default for EfSearch {
    fn default() -> Self {
        Self(64)
    }
}

/// Error building an HNSW index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum HnswError {
    /// [`HnswConfig::m`] is out of range.
    #[error("m: expected 2 to {MAX_M}, found {found}")]
    M { found: usize },
    /// [`HnswConfig::ef_construction`] is 0.
    #[error("ef_construction: expected at least 1, found 0")]
    EfConstruction,
    /// There are too many distinct vectors.
    #[error("expected at most {max} distinct vectors, found {found}")]
    Vectors { max: usize, found: usize },
    /// The vectors have too many dimensions for 8-bit products.
    #[error("expected vectors of at most {max} dimensions, found {found}")]
    Dimensions { max: usize, found: usize },
    /// The caller's [`Progress`](ir_core::Progress) canceled the construction.
    #[error("building the graph was canceled")]
    Canceled,
}
