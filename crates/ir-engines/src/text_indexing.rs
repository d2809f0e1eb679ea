//! Analysis and BM25 parameters of indexed texts.

#[cfg(any(feature = "elasticsearch", feature = "milvus-grpc"))]
use std::fmt;

use serde::{Deserialize, Serialize};

/// Text analysis by the name that it has in `ir-bm25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextAnalysis {
    /// Anserini's analysis of English, which equals Lucene's `EnglishAnalyzer`: Porter stemmer.
    #[default]
    Anserini,
    /// The same without the stemmer.
    AnseriniUnstemmed,
    /// English with the Porter2 stemmer.
    English,
    /// Lucene's `StandardAnalyzer`.
    LuceneStandard,
    /// Tokens between white space.
    Whitespace,
}

impl TextAnalysis {
    #[cfg(any(feature = "elasticsearch", feature = "milvus-grpc"))]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Anserini => "anserini",
            Self::AnseriniUnstemmed => "anserini-unstemmed",
            Self::English => "english",
            Self::LuceneStandard => "lucene-standard",
            Self::Whitespace => "whitespace",
        }
    }
}

/// Analysis and BM25 parameters of the field with title and text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextIndexing {
    /// Text analysis. Default: Anserini's.
    pub analysis: TextAnalysis,
    /// Term-frequency saturation; 0 ignores repeated occurrences. Range: ≥ 0. Default: 0.9.
    pub k1: f32,
    /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0 to 1. Default: 0.4.
    pub b: f32,
}

impl Default for TextIndexing {
    fn default() -> Self {
        Self::ANSERINI
    }
}

impl TextIndexing {
    /// Anserini and Pyserini: k1 0.9, b 0.4.
    pub const ANSERINI: Self = Self {
        analysis: TextAnalysis::Anserini,
        k1: 0.9,
        b: 0.4,
    };

    /// Lucene: k1 1.2, b 0.75.
    pub const LUCENE: Self = Self {
        analysis: TextAnalysis::Anserini,
        k1: 1.2,
        b: 0.75,
    };
}

#[cfg(any(feature = "elasticsearch", feature = "milvus-grpc"))]
impl fmt::Display for TextIndexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (analysis, k1, b) = (self.analysis.name(), self.k1, self.b);
        write!(f, "analysis {analysis}, k1 {k1}, b {b}")
    }
}

#[cfg(any(feature = "elasticsearch", feature = "milvus-grpc"))]
impl TextIndexing {
    pub(crate) fn check(&self) -> Result<(), crate::RemoteError> {
        let Self { k1, b, .. } = self;
        if k1.is_finite() && *k1 >= 0.0 && (0.0..=1.0).contains(b) {
            Ok(())
        } else {
            let message = format!("expected k1 ≥ 0 and b from 0 to 1, found {k1} and {b}");
            Err(crate::RemoteError::schema(message))
        }
    }
}

/// Title and text of a document as one text.
#[cfg(any(feature = "elasticsearch", feature = "milvus-grpc"))]
pub(crate) fn contents(title: &str, text: &str) -> String {
    let parts = [title, text].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}
