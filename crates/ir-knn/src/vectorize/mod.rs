//! Vectors from text: TF-IDF, latent semantic indexing and random indexing.

use ir_core::EncodeError;
use ndarray::Array2;

#[cfg(feature = "lsi")]
mod lsi;
mod random_indexing;
#[cfg(feature = "lsi")]
mod svd;
mod tfidf;
mod word_analyzer;

#[cfg(feature = "lsi")]
pub use lsi::{Lsi, LsiConfig, LsiError};
pub use random_indexing::{
    ElementalVectors, RandomIndexing, RandomIndexingConfig, RandomIndexingError, TermWeighting,
};
#[cfg(feature = "lsi")]
pub use svd::{TruncatedSvd, TruncatedSvdConfig, TruncatedSvdError};
pub use tfidf::{
    DocFrequency, IdfWeighting, RowNorm, TfWeighting, TfidfConfig, TfidfFitError, TfidfVectorizer,
};
pub use word_analyzer::WordAnalyzer;

/// Copies dense vectors into the output of an [`Encoder`](ir_core::Encoder).
fn copy_rows(rows: &Array2<f64>, out: &mut [f32]) -> Result<(), EncodeError> {
    let (expected, found) = (rows.len(), out.len());
    if found != expected {
        return Err(EncodeError::Shape { expected, found });
    }
    for (out, &value) in out.iter_mut().zip(rows) {
        *out = value as f32;
    }
    Ok(())
}
