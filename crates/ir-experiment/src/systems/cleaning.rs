//! Cleaning of queries, for systems of several types.

use std::sync::Arc;

use ir_bm25::analysis::{QueryCleaning, StopWords};
use ir_core::Rewritten;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::knn::StopWordList;
use crate::system::{OpenSystem, SharedRetriever};

/// Cleaning of query texts, in this order: punctuation, case, stop words.
///
/// DataFinder's kNN removes punctuation and NLTK's stop words; its BM25 cleans nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleaningEntry {
    /// Replaces the 32 ASCII punctuation characters by spaces. Default: false.
    pub punctuation: bool,
    /// Lowercases the text. Default: false.
    pub lower_case: bool,
    /// Stop words to remove, ignoring case. Default: `none`.
    pub stop_words: StopWordList,
}

impl CleaningEntry {
    pub(super) fn cleaning(self) -> QueryCleaning {
        QueryCleaning::default()
            .with_punctuation_removed(self.punctuation)
            .with_lower_case(self.lower_case)
            .with_stop_words(match self.stop_words {
                StopWordList::Nltk => StopWords::Nltk179,
                StopWordList::None => StopWords::None,
            })
    }

    /// Cleans the queries of a system.
    pub(super) fn applied(entry: Option<&Self>, open: OpenSystem) -> OpenSystem {
        let Some(entry) = entry else { return open };
        let cleaning = entry.cleaning();
        let cleaned = |retriever: SharedRetriever| -> SharedRetriever {
            let cleaning = cleaning.clone();
            Arc::new(Rewritten::new(retriever, move |text: &str| {
                cleaning.clean(text)
            }))
        };
        OpenSystem {
            retriever: cleaned(open.retriever),
            with_duplicates: open.with_duplicates.map(cleaned),
        }
    }
}
