//! Configuration of segmented vector indexes.

use ir_core::VectorSimilarity;
use serde::{Deserialize, Serialize};

use super::error::VectorIndexWriterError;
use crate::index::hnsw::{HnswConfig, HnswError};
use crate::matrix::MatrixError;
use crate::simd::MAX_DIM;

/// Configuration of a segmented vector index. An index keeps it.
///
/// ```
/// use ir_knn::{HnswConfig, VectorIndexConfig, VectorSimilarity};
/// let config = VectorIndexConfig::new(384, VectorSimilarity::Cosine);
/// assert!(config.codes && config.hnsw.is_none());
/// let config = config.with_hnsw(HnswConfig::default());
/// assert_eq!(config.hnsw, Some(HnswConfig::default()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VectorIndexConfig {
    /// Dimension of the vectors. Range: ≥ 1; at most 65,536 with a graph.
    pub dim: usize,
    /// Similarity that the scores measure.
    pub similarity: VectorSimilarity,
    /// If `true`, segments have 8-bit codes
    /// ([`FlatIndex::with_codes`](crate::FlatIndex::with_codes)), which make exact search faster.
    /// Default: true.
    pub codes: bool,
    /// Construction parameters of a graph per segment, for approximate search. Default: no graphs.
    pub hnsw: Option<HnswConfig>,
    /// If `true`, each vector has a number of the application
    /// ([`FlatIndex::with_fingerprints`](crate::FlatIndex::with_fingerprints)). Default: false.
    #[serde(default)]
    pub fingerprints: bool,
    /// Text of the application
    /// ([`FlatIndex::with_user_metadata`](crate::FlatIndex::with_user_metadata)). Default: none.
    pub user_metadata: Option<String>,
}

impl VectorIndexConfig {
    /// Configuration with codes and without graphs.
    #[must_use]
    pub fn new(dim: usize, similarity: VectorSimilarity) -> Self {
        Self {
            dim,
            similarity,
            codes: true,
            hnsw: None,
            fingerprints: false,
            user_metadata: None,
        }
    }

    ir_core::setters! {
        with_codes: codes, bool;
        with_hnsw: Some(hnsw), HnswConfig;
        with_fingerprints: fingerprints, bool;
        with_user_metadata: Some(user_metadata), impl Into<String>;
    }

    pub(super) fn validate(&self) -> Result<(), VectorIndexWriterError> {
        if self.dim == 0 {
            return Err(VectorIndexWriterError::Config(
                MatrixError::NoDimensions.into(),
            ));
        }
        let Some(hnsw) = &self.hnsw else {
            return Ok(());
        };
        hnsw.validate()?;
        if self.dim > MAX_DIM {
            return Err(VectorIndexWriterError::Hnsw(HnswError::Dimensions {
                max: MAX_DIM,
                found: self.dim,
            }));
        }
        Ok(())
    }
}
