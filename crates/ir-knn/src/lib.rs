#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(feature = "faiss")]
mod faiss_index;
mod flat;
mod hnsw;
mod keywords;
mod knn;
mod labelled;
mod labels;
mod lsi;
mod nearest;
pub mod npy;
mod random_indexing;
mod rows;
mod sparse;
mod svd;
mod tfidf;
mod words;

#[cfg(feature = "faiss")]
pub use faiss_index::{FaissError, FaissIndex, FaissSearcher, NativeError};
pub use flat::{
    FlatIndex, FlatIndexWriter, HalfIndex, OpenError, Rounding, SaveError, Similarity, VectorError,
    Verify, WriteError,
};
pub use hnsw::{Effort, HnswConfig, HnswError, HnswIndex, HnswSearcher};
pub use keywords::{KeywordLabels, KeywordsError};
pub use knn::{Accuracy, Knn, KnnError};
pub use labelled::{
    Aggregate, LabelledQueries, LabelledQueriesConfig, LabelledQueriesError, LabelledQuery,
    Missing, Oddities,
};
pub use labels::{Folds, FoldsError, Labels, SmallClass};
pub use lsi::{Lsi, LsiConfig, LsiError};
pub use nearest::{Metric, Neighbour};
pub use random_indexing::{
    RandomIndexing, RandomIndexingConfig, RandomIndexingError, Start, TermWeight,
};
pub use rows::{DenseRows, Rows, RowsError, SparseRows};
pub use sparse::{EncodedSparse, SparseIndex, SparseTextsError, SparseVector, SparseVectorError};
pub use svd::{Svd, SvdConfig, SvdError};
pub use tfidf::{DocFrequency, FitError, Idf, Norm, SavedError, Tf, TfIdf, TfIdfConfig};
pub use words::Words;
