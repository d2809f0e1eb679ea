//! Exact search among vectors that are mostly zeros.

mod file;
mod search;
mod texts;
mod vector;

use std::path::Path;
use std::sync::Arc;

use ir_core::{DocIds, DocNum, Ranking, Retriever, Search, SearchError};
use rayon::prelude::*;

use crate::flat::numbers::Numbers;
use crate::{OpenError, SaveError, Similarity, SparseRows, VectorError};
use search::{Lists, Scan, square};
pub use texts::{EncodedSparse, SparseTextsError};
pub use vector::{SparseVector, SparseVectorError};

/// Vectors that are mostly zeros, searched exactly: every answer is that of scoring every vector.
///
/// Answers are those of a [`FlatIndex`](crate::FlatIndex) of the same vectors, to the last bit:
/// scores are summed in 64 bits and rounded to 32, equal scores are broken by document number, and
/// vectors that share nothing with the query are ranked too, if k reaches that far.
///
/// A search reads the lists of the columns that the query has, and one number for each vector. A
/// vector takes 16 bytes for each value that is not zero.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{Similarity, SparseIndex, SparseVector};
///
/// let rows = [
///     SparseVector::new(vec![0, 70_000], vec![0.6, 0.8])?,
///     SparseVector::new(vec![5], vec![1.0])?,
/// ];
/// let ids = ["a", "b"].into_iter().collect();
/// let index = SparseIndex::new(ids, 100_000, rows, Similarity::InnerProduct)?;
/// let ranking = index.search(&SparseVector::new(vec![5, 6], vec![2.0, 1.0])?, &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Texts are searched through [`EncodedSparse`].
#[derive(Debug, Clone)]
pub struct SparseIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    similarity: Similarity,
    dim: usize,
    ids: DocIds,
    rows: Kept,
    columns: Kept,
    squares: Vec<f64>,
    longest: usize,
}

/// Every column has a list, and every list a place where it starts: 512 MiB for so many.
const MOST_COLUMNS: usize = 1 << 26;

/// [`Lists`] in memory or in a file.
#[derive(Debug)]
struct Kept {
    starts: Vec<usize>,
    places: Numbers<u32>,
    values: Numbers<f32>,
}

impl Kept {
    fn lists(&self) -> Lists<'_> {
        Lists {
            starts: &self.starts,
            places: self.places.get(),
            values: self.values.get(),
        }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }
}

impl SparseIndex {
    /// An index of vectors of `dim` columns: that of the first id, of the second, ... Ids may repeat.
    ///
    /// # Errors
    /// When there are more or fewer vectors than ids, `dim` is over 2²⁶, a column is not below `dim`,
    /// or a vector is zero under cosine. (For texts, some of which may have no known word, take the inner product: TF-IDF
    /// makes vectors of length one.)
    pub fn new(
        ids: DocIds,
        dim: usize,
        rows: impl IntoIterator<Item = SparseVector>,
        similarity: Similarity,
    ) -> Result<Self, VectorError> {
        if dim > MOST_COLUMNS {
            let (most, found) = (MOST_COLUMNS, dim);
            return Err(VectorError::Columns { most, found });
        }
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for (row, vector) in rows.into_iter().enumerate() {
            check_columns(&vector, dim).map_err(|found| VectorError::Dimensions {
                row,
                expected: dim,
                found,
            })?;
            if similarity == Similarity::Cosine && vector.values().is_empty() {
                return Err(VectorError::Zero { row });
            }
            places.extend_from_slice(vector.columns());
            values.extend_from_slice(vector.values());
            starts.push(places.len());
        }
        let (documents, found) = (ids.len(), starts.len() - 1);
        if documents != found {
            return Err(VectorError::Documents { documents, found });
        }
        let rows = Kept {
            starts,
            places: Numbers::Owned(places),
            values: Numbers::Owned(values),
        };
        let columns = transposed(dim, rows.lists());
        Ok(Self::of(similarity, dim, ids, rows, columns))
    }

    /// An index of rows, rounded to 32 bits.
    ///
    /// # Errors
    /// As [`SparseIndex::new`], and when a value is too large for 32 bits.
    pub fn from_rows(
        ids: DocIds,
        rows: &SparseRows,
        similarity: Similarity,
    ) -> Result<Self, VectorError> {
        let vector = |row: usize| {
            let (columns, values) = rows.parts(row);
            let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            match narrow.iter().position(|value| !value.is_finite()) {
                Some(at) => Err(VectorError::NotFinite {
                    row,
                    column: columns[at] as usize,
                    found: narrow[at],
                }),
                None => Ok(SparseVector::trusted(columns.to_vec(), narrow)),
            }
        };
        let vectors = (0..rows.len()).map(vector);
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
        Self::new(ids, rows.dim(), vectors, similarity)
    }

    fn of(similarity: Similarity, dim: usize, ids: DocIds, rows: Kept, columns: Kept) -> Self {
        let lists = rows.lists();
        let squares = (0..rows.count()).into_par_iter();
        let squares = squares.map(|row| square(lists.get(row))).collect();
        let lengths = rows.starts.windows(2).map(|pair| pair[1] - pair[0]);
        let longest = lengths.max().unwrap_or(0);
        let inner = Inner {
            similarity,
            dim,
            ids,
            rows,
            columns,
            squares,
            longest,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Saves the index in one file, which appears when it is complete.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing appears, and what was there stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        file::save(&self.inner, path).map_err(SaveError::at(path))
    }

    /// Opens a saved index by mapping it into memory: the vectors are not copied. Every byte is
    /// checked first. The file must not be changed in place while it is open.
    ///
    /// # Errors
    /// [`OpenError`] says which file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        file::open(path.as_ref())
    }

    /// Opens a saved index that must be of this similarity and of vectors of this length.
    ///
    /// # Errors
    /// As [`SparseIndex::open`], and when it is not.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: Similarity,
        dim: usize,
    ) -> Result<Self, OpenError> {
        file::open_as(path.as_ref(), similarity, dim)
    }

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.ids.is_empty()
    }

    /// The number of columns, zeros counted.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.inner.dim
    }

    /// How many values that are not zero are stored in all.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.inner.rows.values.get().len()
    }

    /// What a score is.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.inner.similarity
    }

    /// The columns and the values of a document's vector.
    ///
    /// # Panics
    /// When `doc` is not of this index.
    #[must_use]
    pub fn row(&self, doc: DocNum) -> (&[u32], &[f32]) {
        let parts = self.inner.rows.lists().get(doc.index());
        (parts.columns, parts.values)
    }

    fn check_query(&self, query: &SparseVector) -> Result<(), SearchError> {
        let expected = self.inner.dim;
        check_columns(query, expected)
            .map_err(|found| SearchError::Dimensions { expected, found })?;
        if self.inner.similarity == Similarity::Cosine && query.values().is_empty() {
            return Err(SearchError::ZeroVector);
        }
        Ok(())
    }
}

/// Fails with the least number of columns that the vector can have, when that is too many.
fn check_columns(vector: &SparseVector, dim: usize) -> Result<(), usize> {
    match vector.columns().last() {
        Some(&last) if last as usize >= dim => Err(last as usize + 1),
        _ => Ok(()),
    }
}

fn transposed(dim: usize, rows: Lists<'_>) -> Kept {
    let mut starts = vec![0; dim + 1];
    for &column in rows.places {
        starts[column as usize + 1] += 1;
    }
    for column in 0..dim {
        starts[column + 1] += starts[column];
    }
    let mut next = starts.clone();
    let mut places = vec![0; rows.places.len()];
    let mut values = vec![0.0; rows.values.len()];
    for row in 0..rows.starts.len() - 1 {
        let vector = rows.get(row);
        for (&column, &value) in vector.columns.iter().zip(vector.values) {
            let place = &mut next[column as usize];
            places[*place] = row as u32;
            values[*place] = value;
            *place += 1;
        }
    }
    Kept {
        starts,
        places: Numbers::Owned(places),
        values: Numbers::Owned(values),
    }
}

impl Retriever for SparseIndex {
    type Query = SparseVector;

    fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    fn search(&self, query: &SparseVector, how: &Search<'_>) -> Result<Ranking, SearchError> {
        self.check_query(query)?;
        self.inner
            .scan()
            .search(query.parts(), how, &mut Vec::new())
    }

    /// On the threads of the rayon pool that it is called in, a query on one of them.
    fn search_batch(
        &self,
        queries: &[(&SparseVector, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.check_query(query)?;
        }
        let scan = self.inner.scan();
        queries
            .par_iter()
            .map_init(Vec::new, |products, (query, how)| {
                scan.search(query.parts(), how, products)
            })
            .collect()
    }
}

impl Inner {
    fn scan(&self) -> Scan<'_> {
        Scan {
            similarity: self.similarity,
            rows: self.rows.lists(),
            columns: self.columns.lists(),
            squares: &self.squares,
            longest: self.longest,
        }
    }
}
