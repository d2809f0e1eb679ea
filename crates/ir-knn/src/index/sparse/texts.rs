//! Texts, searched through their sparse vectors.

use ir_core::{DocIds, EncodeError, Encoder, Ranking, Retriever, Search, SearchError, Side};

use super::{SparseIndex, SparseVector, SparseVectorError};
use crate::{Similarity, VectorError};

/// Texts that are encoded at once while an index is built.
const TEXTS: usize = 1024;

/// A text retriever made of an encoder whose vectors are mostly zeros and a [`SparseIndex`]:
/// what [`ir_core::Encoded`] is to dense vectors.
///
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{EncodedSparse, Similarity, TfIdf, TfIdfConfig};
///
/// let texts = ["ships seen by radar", "black tea with milk", "a cup of green tea"];
/// let ids = ["radar", "black", "green"].into_iter().collect();
/// let tfidf = TfIdf::fit(&texts, &TfIdfConfig::default())?;
/// let search = EncodedSparse::build(tfidf, ids, &texts, Similarity::InnerProduct)?;
/// let ranking = search.search("milk and tea", &Search::top(1))?;
/// assert_eq!(search.ids().id(ranking.hits()[0].doc), "black");
/// // The index is saved by itself, the encoder as it likes.
/// assert_eq!(search.index().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EncodedSparse<E> {
    encoder: E,
    index: SparseIndex,
}

impl<E: Encoder> EncodedSparse<E> {
    /// Encodes queries with `encoder` and searches `index` with the vectors. When they are of different
    /// lengths, every search fails.
    pub const fn new(encoder: E, index: SparseIndex) -> Self {
        Self { encoder, index }
    }

    /// Encodes the texts of all ids, some at a time, and makes an index of them.
    ///
    /// # Errors
    /// When the encoder fails, there are more or fewer texts than ids, or a vector is zero under
    /// cosine. By inner product a text without any known word is no error, and its score is 0.
    pub fn build(
        encoder: E,
        ids: DocIds,
        texts: &[&str],
        similarity: Similarity,
    ) -> Result<Self, SparseTextsError> {
        let mut rows = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS) {
            rows.extend(encode(&encoder, Side::Document, texts)?);
        }
        let index = SparseIndex::new(ids, encoder.dim(), rows, similarity)?;
        Ok(Self::new(encoder, index))
    }

    /// The encoder.
    pub const fn encoder(&self) -> &E {
        &self.encoder
    }

    /// The index.
    pub const fn index(&self) -> &SparseIndex {
        &self.index
    }

    fn queries(&self, texts: &[&str]) -> Result<Vec<SparseVector>, SearchError> {
        let (expected, found) = (self.index.dim(), self.encoder.dim());
        if expected != found {
            return Err(SearchError::Dimensions { expected, found });
        }
        encode(&self.encoder, Side::Query, texts).map_err(SearchError::Encode)
    }
}

fn encode(
    encoder: &impl Encoder,
    side: Side,
    texts: &[&str],
) -> Result<Vec<SparseVector>, EncodeError> {
    let (mut vectors, mut wrong) = (Vec::with_capacity(texts.len()), None);
    encoder.encode_sparse(side, texts, &mut |columns, values| match SparseVector::new(
        columns.to_vec(),
        values.to_vec(),
    ) {
        Ok(vector) => vectors.push(vector),
        Err(error) => wrong = wrong.take().or(Some(error)),
    })?;
    let foreign = |source: SparseVectorError| EncodeError::Model {
        model: "the sparse encoder".to_owned(),
        source: source.into(),
    };
    match wrong {
        Some(error) => Err(foreign(error)),
        None if vectors.len() != texts.len() => Err(EncodeError::Shape {
            expected: texts.len(),
            found: vectors.len(),
        }),
        None => Ok(vectors),
    }
}

impl<E: Encoder> Retriever for EncodedSparse<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let texts: Vec<&str> = queries.iter().map(|(text, _)| *text).collect();
        let vectors = self.queries(&texts)?;
        let batch: Vec<(&SparseVector, Search<'_>)> = vectors
            .iter()
            .zip(queries)
            .map(|(vector, (_, how))| (vector, *how))
            .collect();
        self.index.search_batch(&batch)
    }
}

/// Why texts are not an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SparseTextsError {
    /// A text could not be encoded.
    #[error("the texts could not be encoded")]
    Encode(#[from] EncodeError),
    /// Their vectors are not an index.
    #[error("the vectors of the texts are not an index")]
    Vectors(#[from] VectorError),
}
