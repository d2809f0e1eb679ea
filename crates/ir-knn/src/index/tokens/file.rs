//! Format of the file of a token store.

use ir_core::store::IndexFormat;
use serde::{Deserialize, Serialize};

use super::encoding::TokenEncoding;

pub(super) static TOKENS: IndexFormat = IndexFormat {
    magic: *b"ir-toks\n",
    version: 2,
    name: "a token store",
    large_sections: &[section::DOCUMENTS],
};

/// Names of the sections in the table of the module documentation.
pub(super) mod section {
    pub(in crate::index::tokens) const DOCUMENTS: &str = "documents";
    pub(in crate::index::tokens) const TABLE: &str = "table";
    pub(in crate::index::tokens) const CENTROIDS: &str = "centroids";
    pub(in crate::index::tokens) const BUCKETS: &str = "buckets";
    pub(in crate::index::tokens) const IDS: &str = "ids";
    pub(in crate::index::tokens) const METADATA: &str = "metadata";
}

/// Properties of a token store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TokenMetadata {
    /// Crate and version that wrote the file.
    pub(super) program: String,
    pub(super) dim: usize,
    pub(super) encoding: TokenEncoding,
    pub(super) encoder: Option<String>,
    pub(super) spans: bool,
    pub(super) documents: usize,
}

/// Size in bytes of a [`TableEntry`].
pub(super) const ENTRY_SIZE: usize = 16;

/// Where the bytes of a document end, the number of tokens, and the checksum of the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableEntry {
    pub(super) end: u64,
    pub(super) tokens: u32,
    pub(super) checksum: u32,
}

impl TableEntry {
    pub(super) fn to_bytes(self) -> [u8; ENTRY_SIZE] {
        let mut bytes = [0; ENTRY_SIZE];
        bytes[..8].copy_from_slice(&self.end.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.tokens.to_le_bytes());
        bytes[12..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        Self {
            end: u64::from(half(0)) | u64::from(half(4)) << 32,
            tokens: half(8),
            checksum: half(12),
        }
    }
}
