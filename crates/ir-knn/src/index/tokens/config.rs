//! Configuration of token stores.

use serde::{Deserialize, Serialize};

use super::codebook::TokenCodebook;
use super::encoding::TokenEncoding;
use super::error::TokenStoreError;
use crate::simd::MAX_DIM;

/// Configuration of a token store. A store keeps it.
///
/// ```
/// use ir_knn::{TokenEncoding, TokenStoreConfig};
/// let config = TokenStoreConfig::new(128).with_encoder("colbert, 128 dimensions");
/// assert_eq!(config.encoding, TokenEncoding::F16);
/// assert_eq!(config.encoder.as_deref(), Some("colbert, 128 dimensions"));
/// assert!(!config.spans);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenStoreConfig {
    /// Dimension of the vectors. Range: 1 to 65,536.
    pub dim: usize,
    /// Encoding of the vectors. Default: `f16`.
    pub encoding: TokenEncoding,
    /// Fingerprint of the encoder
    /// ([`TokenEncoder::fingerprint`](ir_core::TokenEncoder::fingerprint)). Default: none, unknown.
    pub encoder: Option<String>,
    /// If `true`, the byte range of each token in the text is stored, for highlights; about two
    /// bytes per token. Default: false.
    pub spans: bool,
    /// Centroids and buckets of residuals. Required by residual encodings; the others do not use
    /// it. Every file contains the codebook. Default: none.
    #[serde(skip)]
    pub codebook: Option<TokenCodebook>,
}

impl TokenStoreConfig {
    /// Configuration of half-precision vectors without spans and codebook.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        Self {
            dim,
            encoding: TokenEncoding::default(),
            encoder: None,
            spans: false,
            codebook: None,
        }
    }

    ir_core::setters! {
        with_encoding: encoding, TokenEncoding;
        with_encoder: Some(encoder), impl Into<String>;
        with_spans: spans, bool;
        with_codebook: Some(codebook), TokenCodebook;
    }

    pub(super) fn validate(&self) -> Result<(), TokenStoreError> {
        if !(1..=MAX_DIM).contains(&self.dim) {
            return Err(TokenStoreError::Dim {
                max: MAX_DIM,
                found: self.dim,
            });
        }
        match &self.codebook {
            Some(codebook) if codebook.dim() != self.dim => Err(TokenStoreError::CodebookDim {
                expected: self.dim,
                found: codebook.dim(),
            }),
            _ => Ok(()),
        }
    }
}
