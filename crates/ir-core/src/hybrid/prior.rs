//! [`Prior`]: what is known of documents before anything is asked.

use crate::{DocIds, DocNum, Ranking, Retriever, Search, SearchError, TopK};

/// Gives every document the score that it has whatever is asked: how often it is cited, clicked,
/// used. In a [`Blend`](super::Blend) it is what textbooks call the document prior, or static
/// quality.
///
/// A document with score 0, of which nothing is known, is no hit.
///
/// ```
/// use ir_core::hybrid::{Blend, Prior};
/// # use ir_core::{Ranking, Retriever, Search};
/// # fn of(dense: Box<dyn Retriever<Query = str>>) -> Result<(), ir_core::SearchError> {
/// let uses = [("ImageNet", 62_u16), ("COCO", 32), ("smallNORB", 0)];
/// let prior = Prior::new(uses.map(|(id, uses)| (id, f32::from(uses).ln_1p())))?;
/// let prior: Box<dyn Retriever<Query = str>> = Box::new(prior);
/// let blend = Blend::new([(dense, 1.0), (prior, 0.05)])?;
/// let ranking = blend.search("image classification", &Search::top(5))?;
/// # Ok(())
/// # }
/// ```
///
/// # Source
/// Kraaij, Westerveld and Hiemstra, "The Importance of Prior Probabilities for Entry Page Search",
/// SIGIR 2002.
#[derive(Debug, Clone)]
pub struct Prior {
    ids: DocIds,
    scores: Vec<f32>,
}

impl Prior {
    /// Documents with their scores.
    ///
    /// # Errors
    /// When a score is not finite.
    pub fn new<Id: AsRef<str>>(
        scores: impl IntoIterator<Item = (Id, f32)>,
    ) -> Result<Self, SearchError> {
        let (ids, scores): (Vec<Id>, Vec<f32>) = scores.into_iter().unzip();
        match scores.iter().find(|score| !score.is_finite()) {
            Some(&score) => Err(SearchError::Parameter {
                name: "a document's prior",
                expected: "a finite number",
                found: score.into(),
            }),
            None => Ok(Self {
                ids: ids.iter().map(AsRef::as_ref).collect(),
                scores,
            }),
        }
    }
}

impl Retriever for Prior {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, _: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(how.k());
        for (doc, &score) in (0..).map(DocNum::new).zip(&self.scores) {
            if score != 0.0 && how.allows(doc) {
                best.push(doc, score);
            }
        }
        best.finish()
    }
}
