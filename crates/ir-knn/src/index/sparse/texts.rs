//! Text search with sparse vectors.

use ir_core::{
    DocIds, DocNum, EncodeError, Encoder, Explanation, Ranking, Retriever, Search, SearchError,
    Side, VectorSimilarity,
};

use super::index::SparseIndex;
use super::vector::SparseVector;
use crate::index::error::VectorError;

/// Number of texts per encoding batch.
const BATCH_SIZE: usize = 1024;

/// Text retriever: a sparse encoder and a [`SparseIndex`]. The counterpart of [`ir_core::Encoded`]
/// for dense vectors. The ranking of a query without text is empty.
///
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{EncodedSparse, TfidfVectorizer, TfidfConfig, VectorSimilarity};
///
/// let texts = ["ships seen by radar", "black tea with milk", "a cup of green tea"];
/// let ids = ["radar", "black", "green"].into_iter().collect();
/// let tfidf = TfidfVectorizer::fit(&texts, &TfidfConfig::default())?;
/// let search = EncodedSparse::build(tfidf, ids, &texts, VectorSimilarity::InnerProduct)?;
/// let ranking = search.search("milk and tea", &Search::top(1))?;
/// assert_eq!(search.ids().id(ranking.hits()[0].doc), "black");
/// // Index and encoder are saved separately.
/// assert_eq!(search.index().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EncodedSparse<E> {
    encoder: E,
    index: SparseIndex,
}

impl<E: Encoder> EncodedSparse<E> {
    /// Combines a query encoder and an index. If their dimensions differ, every search returns an
    /// error.
    pub const fn new(encoder: E, index: SparseIndex) -> Self {
        Self { encoder, index }
    }

    /// Encodes the text of each id and builds an index of the vectors.
    ///
    /// # Errors
    /// If encoding fails, the numbers of texts and ids differ, or a vector is zero under cosine
    /// similarity. Under the inner product a text without any known word scores 0.
    pub fn build(
        encoder: E,
        ids: DocIds,
        texts: &[&str],
        similarity: VectorSimilarity,
    ) -> Result<Self, EncodedSparseError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH_SIZE) {
            vectors.extend(encode(&encoder, Side::Document, texts)?);
        }
        let index = SparseIndex::new(ids, encoder.dim(), vectors, similarity)?;
        Ok(Self::new(encoder, index))
    }

    /// Encoder of documents and queries.
    pub const fn encoder(&self) -> &E {
        &self.encoder
    }

    /// Index of the document vectors.
    pub const fn index(&self) -> &SparseIndex {
        &self.index
    }
}

fn encode(
    encoder: &impl Encoder,
    side: Side,
    texts: &[&str],
) -> Result<Vec<SparseVector>, EncodeError> {
    let (mut vectors, mut invalid) = (Vec::with_capacity(texts.len()), None);
    encoder.encode_sparse(side, texts, &mut |columns, values| match SparseVector::new(
        columns.to_vec(),
        values.to_vec(),
    ) {
        Ok(vector) => vectors.push(vector),
        Err(error) => invalid = invalid.take().or(Some(error)),
    })?;
    match invalid {
        Some(error) => Err(EncodeError::Model {
            model: "the sparse encoder".to_owned(),
            source: error.into(),
        }),
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

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let encoded: Vec<_> = queries.iter().filter(|(text, _)| !is_blank(text)).collect();
        let texts: Vec<&str> = encoded.iter().map(|(text, _)| *text).collect();
        let (expected, found) = (self.index.dim(), self.encoder.dim());
        if expected != found {
            return Err(SearchError::Dimensions { expected, found });
        }
        let vectors = encode(&self.encoder, Side::Query, &texts).map_err(SearchError::Encode)?;
        let batch: Vec<(&SparseVector, Search<'_>)> = vectors
            .iter()
            .zip(encoded)
            .map(|(vector, (_, search))| (vector, *search))
            .collect();
        let mut found = self.index.search_batch(&batch)?.into_iter();
        let ranking = |(text, _): &(&str, Search<'_>)| {
            if is_blank(text) {
                Ranking::default()
            } else {
                found.next().unwrap_or_default()
            }
        };
        Ok(queries.iter().map(ranking).collect())
    }

    /// Explains a hit. The encoder names the components; TF-IDF names terms.
    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let (expected, found) = (self.index.dim(), self.encoder.dim());
        if expected != found {
            return Err(SearchError::Dimensions { expected, found });
        }
        if is_blank(query) {
            return Ok(None);
        }
        let vectors = encode(&self.encoder, Side::Query, &[query]).map_err(SearchError::Encode)?;
        let vector = vectors.into_iter().next().unwrap_or_default();
        let name = |column: u32| self.encoder.component_name(column as usize);
        self.index.explain_named(&vector, doc, search, &name)
    }
}

/// Returns `true` if a query has no text. Its ranking is empty, as in `Encoded`.
fn is_blank(query: &str) -> bool {
    query.trim().is_empty()
}

/// Error building an [`EncodedSparse`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodedSparseError {
    /// A text cannot be encoded.
    #[error("cannot encode the texts")]
    Encode(#[from] EncodeError),
    /// The vectors cannot be indexed.
    #[error("cannot index the vectors of the texts")]
    Vectors(#[from] VectorError),
}
