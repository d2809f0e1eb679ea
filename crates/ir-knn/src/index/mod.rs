//! Vector indexes: exact search (flat, sparse), approximate search (HNSW, binary codes), segments,
//! FAISS, and stores of token vectors for late interaction.

/// Accessors of an index. Its field `inner` has `ids`; `inner` itself or the named field of it has
/// `dim` and `similarity`.
macro_rules! vector_index_accessors {
    ($($field:ident)?) => {
        /// Number of indexed vectors; one per id.
        #[must_use]
        pub fn len(&self) -> usize {
            self.inner.ids.len()
        }

        /// Returns `true` if the index has no vectors.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.inner.ids.is_empty()
        }

        /// Dimension of the vectors.
        #[must_use]
        pub fn dim(&self) -> usize {
            self.inner$(.$field)?.dim
        }

        /// Similarity that the scores measure.
        #[must_use]
        pub fn similarity(&self) -> VectorSimilarity {
            self.inner$(.$field)?.similarity
        }
    };
}

/// Functions of a reader of a segmented index. Its field `inner` is a `Snapshot`.
macro_rules! snapshot_accessors {
    () => {
        /// Returns `true` if a folder contains a segmented index.
        #[must_use]
        pub fn exists(folder: impl AsRef<std::path::Path>) -> bool {
            ir_core::segments::exists(folder.as_ref())
        }

        /// Number of commits and merges since the index was created; 0 for a single index.
        #[must_use]
        pub fn commit(&self) -> u64 {
            self.inner.commit
        }

        /// Folder of the index; `None` for a single index.
        #[must_use]
        pub fn path(&self) -> Option<&std::path::Path> {
            self.inner.path.as_deref()
        }

        /// Segments, from the oldest to the newest.
        pub fn segments(
            &self,
        ) -> impl ExactSizeIterator<Item = ir_core::segments::SegmentStats> + '_ {
            let segments = self.inner.segments.iter();
            segments.map(|numbered| numbered.segment.stats())
        }
    };
}

mod binary;
mod buffer;
mod error;
mod explain;
#[cfg(feature = "faiss")]
mod faiss;
mod file;
mod flat;
mod hnsw;
mod partial_file;
mod segments;
mod similarity;
mod snapshot;
mod sparse;
mod tokens;
mod validate;

pub use binary::{BinaryIndex, BinarySearcher};
pub use error::{SaveVectorIndexError, VectorError};
#[cfg(feature = "faiss")]
pub use faiss::{FaissError, FaissIndex, FaissNativeError, FaissSearcher};
pub use flat::{FlatIndex, FlatIndexWriteError, FlatIndexWriter};
pub use hnsw::{EfSearch, HnswConfig, HnswError, HnswIndex, HnswSearcher};
pub use segments::{
    PutOutcome, SegmentStats, SegmentedHnswSearcher, SegmentedVectorIndex, VectorIndexConfig,
    VectorIndexWriter, VectorIndexWriterError,
};
pub use sparse::{EncodedSparse, EncodedSparseError, SparseIndex, SparseVector, SparseVectorError};
pub use tokens::{
    LateInteraction, LateInteractionError, SegmentedTokenStore, SegmentedTokenStoreWriter,
    TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStore, TokenStoreConfig,
    TokenStoreError, TokenStoreWriter, TopCandidates, explain_max_sim, matched_words, max_sim,
};
