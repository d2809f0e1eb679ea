#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod classify;
mod index;
mod matrix;
mod neighbors;
#[cfg(feature = "npy")]
pub mod npy;
mod quantize;
mod recommend;
#[allow(
    unsafe_code,
    reason = "vector instructions and advice about memory; each module documents its soundness"
)]
mod simd;
#[cfg(feature = "tsne")]
mod tsne;
mod vectorize;

pub use ir_core::VectorSimilarity;

pub use classify::{
    Classes, IclrVersion, KeywordClasses, KeywordTableError, KnnAccuracy, KnnClassifier, KnnError,
    SmallClass, StratifiedFolds, StratifiedFoldsError,
};
pub use index::{
    BinaryIndex, BinarySearcher, EfSearch, EncodedSparse, EncodedSparseError, FlatIndex,
    FlatIndexWriteError, FlatIndexWriter, HnswConfig, HnswError, HnswIndex, HnswSearcher,
    LateInteraction, LateInteractionError, PutOutcome, SaveVectorIndexError, SegmentStats,
    SegmentedHnswSearcher, SegmentedTokenStore, SegmentedTokenStoreWriter, SegmentedVectorIndex,
    SparseIndex, SparseVector, SparseVectorError, TokenCodebook, TokenCodebookConfig,
    TokenEncoding, TokenStore, TokenStoreConfig, TokenStoreError, TokenStoreWriter, TopCandidates,
    VectorError, VectorIndexConfig, VectorIndexWriter, VectorIndexWriterError, explain_max_sim,
    matched_words, max_sim,
};
#[cfg(feature = "faiss")]
pub use index::{FaissError, FaissIndex, FaissNativeError, FaissSearcher};
pub use matrix::{CsrMatrix, Matrix, MatrixError, MatrixView, normalize_rows};
pub use neighbors::Neighbor;
pub use quantize::{
    QuantizationError, QuantizedFormat, QuantizedVectors, quantization_ranges, quantize_vectors,
};
pub use recommend::{
    DataFinderQuirks, MissingRelevantPolicy, NeighborAggregation, NeighborTies, TrainingQuery,
    TrainingQueryKnn, TrainingQueryKnnConfig, TrainingQueryKnnError,
};
#[cfg(feature = "tsne")]
pub use tsne::{TsneConfig, TsneError, tsne};
pub use vectorize::{
    DocFrequency, ElementalVectors, IdfWeighting, RandomIndexing, RandomIndexingConfig,
    RandomIndexingError, RowNorm, TermWeighting, TfWeighting, TfidfConfig, TfidfFitError,
    TfidfVectorizer, WordAnalyzer,
};
#[cfg(feature = "lsi")]
pub use vectorize::{
    Lsi, LsiConfig, LsiError, TruncatedSvd, TruncatedSvdConfig, TruncatedSvdError,
};
