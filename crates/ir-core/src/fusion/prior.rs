use super::FusionError;
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::ranking::{Ranking, TopK};
use crate::retriever::Retriever;
use crate::search::Search;

/// Retriever that gives every document a query-independent score, its prior: citations, clicks,
/// PageRank.
///
/// One of the retrievers of a [`WeightedSum`](super::WeightedSum). A document with prior 0 is not
/// returned.
///
/// ```
/// use ir_core::fusion::{DocumentPrior, WeightedSum};
/// # use ir_core::{Ranking, Retriever, Search};
/// # fn search(dense: Box<dyn Retriever<Query = str>>)
/// # -> Result<Ranking, Box<dyn std::error::Error>> {
/// let citations = [("ImageNet", 62_u16), ("COCO", 32), ("smallNORB", 0)];
/// let prior = DocumentPrior::new(citations.map(|(id, n)| (id, f32::from(n).ln_1p())))?;
/// let prior: Box<dyn Retriever<Query = str>> = Box::new(prior);
/// let hybrid = WeightedSum::new([(prior, 0.05), (dense, 1.0)])?;
/// let ranking = hybrid.search("image classification", &Search::top(5))?;
/// # Ok(ranking)
/// # }
/// ```
///
/// # Source
/// Kraaij, Westerveld and Hiemstra, "The Importance of Prior Probabilities for Entry Page Search",
/// SIGIR 2002.
#[derive(Debug, Clone)]
pub struct DocumentPrior {
    ids: DocIds,
    scores: Vec<f32>,
}

impl DocumentPrior {
    /// Creates a retriever from document ids and their priors.
    ///
    /// # Errors
    /// [`FusionError::Prior`] if a score is not finite.
    pub fn new<Id: AsRef<str>>(
        scores: impl IntoIterator<Item = (Id, f32)>,
    ) -> Result<Self, FusionError> {
        let mut prior = Self {
            ids: DocIds::new(),
            scores: Vec::new(),
        };
        for (id, score) in scores {
            let doc = id.as_ref();
            if !score.is_finite() {
                let doc = doc.to_owned();
                return Err(FusionError::Prior { doc, score });
            }
            prior.ids.push(doc)?;
            prior.scores.push(score);
        }
        Ok(prior)
    }
}

impl Retriever for DocumentPrior {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, _: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(search.k());
        for (doc, &score) in (0..).map(DocNum::new).zip(&self.scores) {
            if score != 0.0 && search.allows(doc) {
                best.push(doc, score);
            }
        }
        best.finish()
    }

    fn explain(
        &self,
        _: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let score = self.scores.get(doc.index()).copied();
        let score = score.filter(|&score| score != 0.0 && search.allows(doc));
        Ok(score.map(|score| Explanation::new(score, "document prior")))
    }
}
