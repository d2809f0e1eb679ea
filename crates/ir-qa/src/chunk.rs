//! Chunks: the parts of a document that become frames.

use serde::{Deserialize, Serialize};

use crate::frame::ChunkKind;

/// Title, section heading or running text of a document, in the form of SOCO's `soco_doc` records.
///
/// ```
/// use ir_qa::{Chunk, ChunkKind};
/// let chunk: Chunk = serde_json::from_str(r#"{"text": "Tea", "type": "title"}"#)?;
/// assert_eq!(chunk, Chunk::new(ChunkKind::Title, "Tea"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chunk {
    /// Text; chunks without one are skipped.
    pub text: Option<String>,
    /// Part of the document.
    #[serde(rename = "type")]
    pub kind: ChunkKind,
    /// Id of the chunk. Default: the number of the chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Page of the document from 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// MathML of a formula. In a record of a user it is not trusted:
    /// [`safe_mathml`](crate::documents::safe_mathml) makes it safe in HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markup: Option<String>,
}

impl Chunk {
    /// Creates a chunk without id and page.
    #[must_use]
    pub fn new(kind: ChunkKind, text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            kind,
            ..Self::default()
        }
    }

    /// Returns the chunk with this page.
    #[must_use]
    pub fn with_page(mut self, page: Option<u32>) -> Self {
        self.page = page;
        self
    }
}
