//! Feedback documents and their terms.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ir_core::{DocNum, Hit, Ranking, SearchError};

use super::error::FeedbackError;
use super::model::FeedbackModel;
use super::term_vector::FeedbackDocument;
use crate::search::search_error;
use crate::{Searcher, StoredFields, WeightedTerm};

type TextOfDocument = dyn Fn(DocNum) -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync;

/// Collection that feedback documents come from: the searcher's own, or an external one.
///
/// A searcher retrieves them, and their texts are analyzed at search time.
///
/// ```
/// use ir_bm25::feedback::FeedbackDocuments;
/// use ir_bm25::{Bm25, Index, IndexConfig};
/// use ir_core::{Document, NoProgress};
///
/// let documents = vec![Document::new("a").with_text("green tea")];
/// // Without stored texts.
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// assert!(FeedbackDocuments::stored(searcher.clone()).is_err());
/// let texts = vec!["green tea".to_owned()];
/// let documents = FeedbackDocuments::with_texts(searcher, move |doc| {
///     texts.get(doc.index()).cloned().ok_or_else(|| "no text".into())
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FeedbackDocuments {
    searcher: Searcher,
    text: Arc<TextOfDocument>,
}

impl FeedbackDocuments {
    /// Creates a collection of the texts stored in the searcher's index.
    ///
    /// # Errors
    /// Returns [`FeedbackError::NotStored`] if the index was not built with
    /// [`StoredFields::Everything`].
    pub fn stored(searcher: Searcher) -> Result<Self, FeedbackError> {
        let config = searcher.index().config();
        if config.store != StoredFields::Everything {
            return Err(FeedbackError::NotStored {
                found: config.store,
            });
        }
        let fields = config.fields;
        let index = searcher.index().clone();
        Ok(Self::with_texts(searcher, move |doc| {
            let document = index.document(doc)?;
            let (mut text, mut buffer) = (String::new(), String::new());
            for field in 0..fields.names().len() {
                text += fields.text_of(field, &document, &mut buffer);
                text.push('\n');
            }
            Ok(text)
        }))
    }

    /// Creates a collection. A function returns the text of each document.
    pub fn with_texts(
        searcher: Searcher,
        text: impl Fn(DocNum) -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            searcher,
            text: Arc::new(text),
        }
    }

    /// Returns the searcher of the feedback documents.
    #[must_use]
    pub const fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// The positive and the negative documents among the hits of a first search.
    pub(super) fn read_all(
        &self,
        found: &Ranking,
        model: &FeedbackModel,
        target: &Searcher,
    ) -> Result<(Vec<FeedbackDocument>, Vec<FeedbackDocument>), SearchError> {
        let negative = found.len().saturating_sub(model.negative_docs());
        let (first, last) = (
            &found.hits()[..found.len().min(model.docs())],
            &found.hits()[negative..],
        );
        let read = |hit: &Hit| self.read(hit, target);
        let mut first = first.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        // Last hit first, as in Anserini: the order of single-precision sums.
        let mut last = last.iter().rev().map(read).collect::<Result<Vec<_>, _>>()?;
        retain_candidates(&mut [&mut first, &mut last], model, target)?;
        Ok((first, last))
    }

    /// All terms of a document, as the analyzer of the searched index emits them.
    fn read(&self, hit: &Hit, target: &Searcher) -> Result<FeedbackDocument, SearchError> {
        let text = (self.text)(hit.doc).map_err(|source| SearchError::Engine {
            engine: "feedback",
            source,
        })?;
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let mut length = 0_u32;
        target.analyzer().analyze(&text, &mut |token| {
            length = length.saturating_add(1);
            match counts.get_mut(token.term) {
                Some(count) => *count = count.saturating_add(1),
                None => {
                    counts.insert(token.term.to_owned(), 1);
                }
            }
        });
        let counts = counts.into_iter();
        Ok(FeedbackDocument {
            score: hit.score,
            length,
            terms: counts.map(|(term, count)| (term, count as f32)).collect(),
        })
    }
}

impl fmt::Debug for FeedbackDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedbackDocuments")
            .field("searcher", &self.searcher)
            .finish_non_exhaustive()
    }
}

/// Removes terms that the model does not accept, and those that no document of the searched index
/// contains.
fn retain_candidates(
    lists: &mut [&mut Vec<FeedbackDocument>],
    model: &FeedbackModel,
    target: &Searcher,
) -> Result<(), SearchError> {
    let documents = lists.iter().flat_map(|list| list.iter());
    let terms = documents.flat_map(|document| document.terms.iter());
    let accepted: BTreeSet<&str> = terms
        .map(|(term, _)| term)
        .filter(|term| model.accepts(term))
        .collect();
    let accepted: Vec<WeightedTerm> = (accepted.into_iter())
        .map(|term| WeightedTerm::new(term, 1.0))
        .collect();
    let dfs = target
        .document_frequencies(&accepted)
        .map_err(search_error)?;
    let all = target.index().len() as f32;
    let candidates: BTreeSet<String> = (accepted.into_iter().zip(dfs))
        .filter(|(_, df)| *df > 0 && *df as f32 / all <= model.max_df())
        .map(|(term, _)| term.term)
        .collect();
    for document in lists.iter_mut().flat_map(|list| list.iter_mut()) {
        let terms = document.terms.iter();
        document.terms = terms
            .filter(|(term, _)| candidates.contains(*term))
            .map(|(term, count)| (term.to_owned(), count))
            .collect();
    }
    Ok(())
}
