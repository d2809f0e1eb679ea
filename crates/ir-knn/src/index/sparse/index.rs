//! The sparse index: building, saving, opening.

use std::sync::Arc;

use ir_core::{
    DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, VectorSimilarity,
};
use rayon::prelude::*;

use super::search::{CsrStorage, SparseIndexData, squared_norm};
use super::vector::SparseVector;
use crate::index::error::VectorError;
use crate::index::validate::dimensions_error;
use crate::matrix::{CsrMatrix, MatrixError, transpose};

/// Sparse vector index: exact search of sparse vectors with an inverted index.
///
/// Rankings are bit-identical to a [`FlatIndex`](crate::FlatIndex) of the same vectors:
/// scores are summed in f64 and rounded to f32, equal scores are ordered by document number, and
/// vectors that share no column with the query are ranked too, if k is large enough.
///
/// A search reads the posting lists of the query's columns and one number per vector. The index
/// takes 16 bytes per nonzero value.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{SparseIndex, SparseVector, VectorSimilarity};
///
/// let vectors = [
///     SparseVector::new(vec![0, 70_000], vec![0.6, 0.8])?,
///     SparseVector::new(vec![5], vec![1.0])?,
/// ];
/// let ids = ["a", "b"].into_iter().collect();
/// let index = SparseIndex::new(ids, 100_000, vectors, VectorSimilarity::InnerProduct)?;
/// let ranking = index.search(&SparseVector::new(vec![5, 6], vec![2.0, 1.0])?, &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// [`EncodedSparse`](crate::EncodedSparse) searches texts.
#[derive(Debug, Clone)]
pub struct SparseIndex {
    pub(super) inner: Arc<SparseIndexData>,
}

/// Maximum number of columns. The offsets of as many posting lists take 512 MiB.
const MAX_COLUMNS: usize = 1 << 26;

impl SparseIndex {
    /// Builds an index of vectors of `dim` columns; the n-th vector belongs to the n-th id. Ids may
    /// repeat.
    ///
    /// # Errors
    /// If the numbers of ids and vectors differ, `dim` exceeds 2²⁶, a column is not below `dim`, or
    /// a vector is zero under cosine similarity. For texts without any known word, use the inner
    /// product: TF-IDF vectors are normalized already.
    pub fn new(
        ids: DocIds,
        dim: usize,
        vectors: impl IntoIterator<Item = SparseVector>,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        if dim > MAX_COLUMNS {
            let (max, found) = (MAX_COLUMNS, dim);
            return Err(VectorError::Columns { max, found });
        }
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (row, vector) in vectors.into_iter().enumerate() {
            check_columns(&vector, dim).map_err(|found| dimensions_error(row, dim, found))?;
            if similarity == VectorSimilarity::Cosine && vector.values().is_empty() {
                return Err(VectorError::Zero { row });
            }
            indices.extend_from_slice(vector.columns());
            values.extend_from_slice(vector.values());
            starts.push(indices.len());
        }
        let (documents, found) = (ids.len(), starts.len() - 1);
        if documents != found {
            return Err(VectorError::Documents { documents, found });
        }
        let transposed = transpose(dim, &starts, &indices, &values);
        let [rows, columns] = [(starts, indices, values), transposed].map(CsrStorage::new);
        Ok(Self::from_matrices(similarity, dim, ids, rows, columns))
    }

    /// Builds an index of the rows of a matrix, rounded to f32.
    ///
    /// # Errors
    /// Returns the errors of [`SparseIndex::new`], and an error if a value exceeds the range of
    /// f32.
    pub fn from_rows(
        ids: DocIds,
        rows: &CsrMatrix,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        let vector = |row: usize| {
            let (columns, values) = rows.row_slices(row);
            let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            match narrow.iter().position(|value| !value.is_finite()) {
                Some(at) => Err(VectorError::from(MatrixError::NotFinite {
                    row,
                    column: columns[at] as usize,
                    found: narrow[at].into(),
                })),
                None => Ok(SparseVector::from_valid(columns.to_vec(), narrow)),
            }
        };
        let vectors = (0..rows.nrows()).map(vector);
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
        Self::new(ids, rows.ncols(), vectors, similarity)
    }

    pub(super) fn from_matrices(
        similarity: VectorSimilarity,
        dim: usize,
        ids: DocIds,
        rows: CsrStorage,
        columns: CsrStorage,
    ) -> Self {
        let view = rows.view();
        let squared_norms = (0..rows.starts.len() - 1).into_par_iter();
        let squared_norms = squared_norms
            .map(|row| squared_norm(view.row(row)))
            .collect();
        let lengths = rows.starts.windows(2).map(|pair| pair[1] - pair[0]);
        let max_nonzeros = lengths.max().unwrap_or(0);
        let inner = SparseIndexData {
            similarity,
            dim,
            ids,
            rows,
            columns,
            squared_norms,
            max_nonzeros,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    vector_index_accessors!();

    /// Total number of nonzero values.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.inner.rows.values.get().len()
    }

    /// Columns and values of a document's vector.
    ///
    /// # Panics
    /// If `doc` is not a document of this index.
    #[must_use]
    pub fn vector(&self, doc: DocNum) -> (&[u32], &[f32]) {
        let vector = self.inner.rows.view().row(doc.index());
        (vector.columns, vector.values)
    }

    /// [`Retriever::explain`] with names of columns, such as the tokens of a vocabulary. `name`
    /// returns the name of a column, if it has one.
    ///
    /// # Errors
    /// Returns [`SearchError`] if the query has another dimension or, under cosine similarity, is
    /// zero.
    pub fn explain_named(
        &self,
        query: &SparseVector,
        doc: DocNum,
        search: &Search<'_>,
        name: &dyn Fn(u32) -> Option<String>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.check_query(query)?;
        if doc.index() >= self.len() || !search.allows(doc) {
            return Ok(None);
        }
        Ok(Some(self.inner.explain(query.view(), doc, name)))
    }

    fn check_query(&self, query: &SparseVector) -> Result<(), SearchError> {
        let expected = self.inner.dim;
        check_columns(query, expected)
            .map_err(|found| SearchError::Dimensions { expected, found })?;
        if self.inner.similarity == VectorSimilarity::Cosine && query.values().is_empty() {
            return Err(SearchError::ZeroVector);
        }
        Ok(())
    }
}

/// Returns the number of columns that the vector needs as the error, if it exceeds `dim`.
fn check_columns(vector: &SparseVector, dim: usize) -> Result<(), usize> {
    match vector.columns().last() {
        Some(&last) if last as usize >= dim => Err(last as usize + 1),
        _ => Ok(()),
    }
}

impl Retriever for SparseIndex {
    type Query = SparseVector;

    fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    fn search(&self, query: &SparseVector, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.check_query(query)?;
        self.inner.search(query.view(), search, &mut Vec::new())
    }

    /// Searches on the current rayon thread pool, one query per thread.
    fn search_batch(
        &self,
        queries: &[(&SparseVector, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.check_query(query)?;
        }
        queries
            .par_iter()
            .map_init(Vec::new, |products, (query, search)| {
                self.inner.search(query.view(), search, products)
            })
            .collect()
    }

    fn explain(
        &self,
        query: &SparseVector,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.explain_named(query, doc, search, &|_| None)
    }
}
