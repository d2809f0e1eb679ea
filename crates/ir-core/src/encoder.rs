//! The [`Encoder`] trait, text to vectors, and [`Encoded`], a text retriever over a vector index.

use crate::error::{EncodeError, SearchError};
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::macros::forward;
use crate::ranking::Ranking;
use crate::retriever::Retriever;
use crate::search::Search;

/// Role of a text: query or document. Prompts, length limits and towers may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Query, encoded by the query encoder.
    Query,
    /// Document, encoded by the document encoder.
    Document,
}

/// Encodes texts as vectors of a fixed dimension: TF-IDF, LSI, a transformer, a remote service.
///
/// ```
/// use ir_core::{EncodeError, Encoder, Side};
///
/// /// Counts of the five vowels.
/// struct Vowels;
/// impl Encoder for Vowels {
///     fn dim(&self) -> usize { 5 }
///     fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
///         let (expected, found) = (texts.len() * self.dim(), out.len());
///         if found != expected {
///             return Err(EncodeError::Shape { expected, found });
///         }
///         for (text, row) in texts.iter().zip(out.chunks_exact_mut(5)) {
///             for (cell, vowel) in row.iter_mut().zip("aeiou".chars()) {
///                 *cell = text.chars().filter(|&c| c == vowel).count() as f32;
///             }
///         }
///         Ok(())
///     }
/// }
/// assert_eq!(Vowels.encode(Side::Query, &["banana", "onion"])?[..5], [3., 0., 0., 0., 0.]);
/// Vowels.encode_sparse(Side::Query, &["onion"], &mut |columns, values| {
///     assert_eq!((columns, values), (&[2, 3][..], &[1., 2.][..]));
/// })?;
/// # Ok::<(), EncodeError>(())
/// ```
pub trait Encoder: Send + Sync {
    /// Returns the dimension of the vectors.
    fn dim(&self) -> usize;

    /// Encodes texts into `out`.
    ///
    /// # Shapes
    /// `out` is row-major `[texts.len(), dim()]`; every element is written.
    /// The vector of a text does not depend on the other texts of the batch.
    ///
    /// # Errors
    /// If a text cannot be encoded, or `out` has the wrong length.
    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError>;

    /// Encodes texts into a new row-major `[texts.len(), dim()]` buffer.
    ///
    /// # Errors
    /// Returns the errors of [`Encoder::encode_into`].
    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<f32>, EncodeError> {
        let mut out = vec![0.0; texts.len() * self.dim()];
        self.encode_into(side, texts, &mut out)?;
        Ok(out)
    }

    /// Encodes texts as sparse vectors: calls `emit` for every text, in order, with the columns and
    /// values of its nonzero components, sorted by column.
    ///
    /// The default encodes densely in batches of 64 texts. Sparse encoders override it.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    fn encode_sparse(
        &self,
        side: Side,
        texts: &[&str],
        emit: &mut dyn FnMut(&[u32], &[f32]),
    ) -> Result<(), EncodeError> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for texts in texts.chunks(64) {
            let dense = self.encode(side, texts)?;
            for text in 0..texts.len() {
                columns.clear();
                values.clear();
                for (column, &value) in (0..).zip(&dense[text * self.dim()..][..self.dim()]) {
                    if value != 0.0 {
                        columns.push(column);
                        values.push(value);
                    }
                }
                emit(&columns, &values);
            }
        }
        Ok(())
    }

    /// Returns the name of a component of the vectors, for explanations of scores: the term of a
    /// column of TF-IDF. Default: `None`.
    fn component_name(&self, component: usize) -> Option<String> {
        let _ = component;
        None
    }
}

forward!(Encoder {
    fn dim(&self) -> usize;
    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError>;
    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<f32>, EncodeError>;
    fn encode_sparse(&self, side: Side, texts: &[&str], emit: &mut dyn FnMut(&[u32], &[f32]))
        -> Result<(), EncodeError>;
    fn component_name(&self, component: usize) -> Option<String>;
});

/// Text retriever that encodes queries and searches a vector index. A query without text, or of
/// white space only, has no hits, as in lexical retrieval.
///
/// # Examples
/// `Encoded::new(encoder, index)` implements `Retriever<Query = str>` whenever `index` implements
/// `Retriever<Query = [f32]>`, so that it stands in one list with BM25.
#[derive(Debug, Clone)]
pub struct Encoded<E, R> {
    encoder: E,
    index: R,
}

impl<E: Encoder, R: Retriever<Query = [f32]>> Encoded<E, R> {
    /// Combines a query encoder and a vector index.
    pub const fn new(encoder: E, index: R) -> Self {
        Self { encoder, index }
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<f32>, SearchError> {
        let vectors = self.encoder.encode(Side::Query, texts);
        let vectors = vectors.map_err(SearchError::Encode)?;
        let (expected, found) = (texts.len() * self.encoder.dim(), vectors.len());
        if found != expected {
            return Err(SearchError::Encode(EncodeError::Shape { expected, found }));
        }
        Ok(vectors)
    }

    /// Encodes the queries that are not blank, and searches them by `search`, which receives their
    /// numbers, too.
    fn search_encoded(
        &self,
        queries: &[(&str, Search<'_>)],
        search: impl FnOnce(&[(&[f32], Search<'_>)], &[usize]) -> Result<Vec<Ranking>, SearchError>,
    ) -> Result<Vec<Ranking>, SearchError> {
        let mut rankings = vec![Ranking::default(); queries.len()];
        let numbers = 0..queries.len();
        let numbers: Vec<usize> = numbers.filter(|&n| !is_blank(queries[n].0)).collect();
        if numbers.is_empty() {
            return Ok(rankings);
        }
        let dim = self.encoder.dim();
        let texts: Vec<&str> = numbers.iter().map(|&number| queries[number].0).collect();
        let vectors = self.encode(&texts)?;
        let batch = numbers.iter().enumerate();
        let batch: Vec<(&[f32], Search<'_>)> = batch
            .map(|(n, &number)| (&vectors[n * dim..][..dim], queries[number].1))
            .collect();
        for (&number, found) in numbers.iter().zip(search(&batch, &numbers)?) {
            rankings[number] = found;
        }
        Ok(rankings)
    }
}

impl<E: Encoder, R: Retriever<Query = [f32]>> Retriever for Encoded<E, R> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        if is_blank(query) {
            return Ok(Ranking::default());
        }
        self.index.search(&self.encode(&[query])?, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.search_encoded(queries, |batch, _| self.index.search_batch(batch))
    }

    fn search_batch_above(
        &self,
        queries: &[(&str, Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        self.search_encoded(queries, |batch, numbers| {
            let floor = |&number: &usize| floors.get(number).copied();
            let floors = numbers.iter().map(floor);
            let floors = floors.map(|floor| floor.unwrap_or(f32::NEG_INFINITY));
            self.index
                .search_batch_above(batch, &floors.collect::<Vec<f32>>())
        })
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if is_blank(query) {
            return Ok(None);
        }
        self.index.explain(&self.encode(&[query])?, doc, search)
    }
}

fn is_blank(query: &str) -> bool {
    query.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoder of dimension 2. `encode` returns one vector for any number of texts.
    struct OneVector;

    impl Encoder for OneVector {
        fn dim(&self) -> usize {
            2
        }

        fn encode_into(&self, _: Side, _: &[&str], _: &mut [f32]) -> Result<(), EncodeError> {
            Ok(())
        }

        fn encode(&self, _: Side, _: &[&str]) -> Result<Vec<f32>, EncodeError> {
            Ok(vec![1.0; 2])
        }
    }

    struct NoVectors(DocIds);

    impl Retriever for NoVectors {
        type Query = [f32];

        fn ids(&self) -> &DocIds {
            &self.0
        }

        fn search(&self, _: &[f32], _: &Search<'_>) -> Result<Ranking, SearchError> {
            Ok(Ranking::default())
        }
    }

    #[test]
    fn wrong_number_of_vectors_is_an_error() {
        let retriever = Encoded::new(OneVector, NoVectors(DocIds::default()));
        let search = Search::top(1);
        let batch = [("a", search), ("b", search)];
        // Queries without text are not encoded, and have no hits.
        let blank = [(" ", search), ("a", search), ("", search)];
        assert_eq!(retriever.search_batch(&blank).unwrap().len(), 3);
        assert_eq!(retriever.search_batch(&blank[2..]).unwrap().len(), 1);
        assert_eq!(retriever.search_batch(&batch[..1]).unwrap().len(), 1);
        let error = retriever.search_batch(&batch).unwrap_err();
        assert!(
            matches!(
                error,
                SearchError::Encode(EncodeError::Shape {
                    expected: 4,
                    found: 2
                })
            ),
            "{error}"
        );
    }
}
