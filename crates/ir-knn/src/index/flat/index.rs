//! Exact search among vectors.

pub(crate) mod align;
mod error;
pub(crate) mod file;
mod half;
#[allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; the reasons are in the module"
)]
mod mmap;
pub(crate) mod numbers;
#[allow(
    unsafe_code,
    reason = "advice to the system about memory; the reasons are in the module"
)]
pub(crate) mod pages;
mod scan;
#[allow(
    unsafe_code,
    reason = "kernels for the processor at hand; the reasons are in the module"
)]
pub(crate) mod simd;
pub(crate) mod similarity;
pub(crate) mod tile;
mod writer;

use std::io;
use std::path::Path;
use std::sync::Arc;

use ir_core::{AtomicFile, DocIds, DocNum, Ranking, Retriever, Search, SearchError};

pub use error::{OpenError, SaveError, VectorError};
pub use file::Verify;
use file::{FLAT, Mapped, Writer, section};
pub use half::{HalfIndex, Rounding};
use numbers::{Bytes, Numbers};
use scan::{Scan, Values};
use simd::{Cpu, ROWS};
pub use similarity::Similarity;
use tile::{LONGEST, STATS, Tiles, pack_all, tile_size};
pub use writer::{FlatIndexWriter, WriteError};

use crate::DenseRows;

/// The vectors of a collection, searched exactly: every answer is that of scoring every vector.
///
/// Vectors are kept as given, in 32 bits; nothing else is, but the ids. Scores are summed in
/// 64 bits and rounded to 32, and equal scores are broken by document number, so an answer is the
/// same bytes alone or in a batch, on any number of threads and on any processor.
///
/// # Speed
/// A single query reads all vectors once, which is bound by the memory; [`FlatIndex::with_codes`]
/// makes it read a quarter. Batches ([`Retriever::search_batch`]) compare 8-bit forms first, and score
/// only the rows that the error of those forms leaves in doubt. Both run on the threads of the
/// rayon pool they are called in.
///
/// # Memory
/// An index that was made holds its vectors in memory, and its codes beside them. One that was saved
/// and opened holds neither: they stay in the file. To search by 8 bits and have the 32 on the disk
/// alone, save it [with codes](FlatIndex::with_codes) and open it with [`Verify::Tables`]: a search
/// then reads the codes, a quarter of the vectors, and of these the rows in doubt. The answers are
/// exact as always; where the codes leave every row in doubt, every row is read.
///
/// # Examples
/// ```
/// use ir_core::{DocNum, Retriever, Search};
/// use ir_knn::{FlatIndex, Similarity};
///
/// let ids = ["north", "east", "north-east"].into_iter().collect();
/// let rows = vec![0.0, 1.0, 1.0, 0.0, 0.7, 0.7];
/// let index = FlatIndex::new(ids, 2, rows, Similarity::Cosine)?;
///
/// let ranking = index.search(&[0.1, 0.9], &Search::top(2))?;
/// let found: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(found, ["north", "north-east"]);
///
/// let not_north = |doc: DocNum| doc.get() != 0;
/// let ranking = index.search(&[0.1, 0.9], &Search::top(1).within(&not_north))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "north-east");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FlatIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cpu: Cpu,
    similarity: Similarity,
    dim: usize,
    ids: DocIds,
    /// Shared by an index with codes and the one without that it was made of.
    rows: Arc<Numbers<f32>>,
    codes: Option<Codes>,
    file: Option<Mapped>,
}

/// The rows in 8 bits, and how far off those are.
#[derive(Debug)]
struct Codes {
    codes: Bytes,
    stats: Numbers<f32>,
}

impl FlatIndex {
    /// An index of vectors that lie one after another: those of the first id, of the second, ...
    ///
    /// Ids may repeat ([`DocIds::check_unique`] finds them; [`ir_core::Distinct`] searches so that
    /// each comes once).
    ///
    /// # Shapes
    /// `rows` is row-major `[ids.len(), dim]`. It is not copied.
    ///
    /// # Errors
    /// When `dim` is 0 and there are ids, the values are not `dim` an id, one is NaN or infinite, or a
    /// vector is zero under cosine.
    pub fn new(
        ids: DocIds,
        dim: usize,
        rows: Vec<f32>,
        similarity: Similarity,
    ) -> Result<Self, VectorError> {
        if dim == 0 && !ids.is_empty() {
            return Err(VectorError::NoDimensions);
        }
        if ids.len().checked_mul(dim) != Some(rows.len()) {
            return Err(VectorError::Values {
                documents: ids.len(),
                dim,
                found: rows.len(),
            });
        }
        for (row, values) in rows.chunks_exact(dim.max(1)).enumerate() {
            check_row(row, values, similarity)?;
        }
        pages::enlarge(bytemuck::cast_slice(&rows));
        Ok(Self::from(Inner {
            cpu: Cpu::detect(),
            similarity,
            dim,
            ids,
            rows: Arc::new(Numbers::Owned(rows)),
            codes: None,
            file: None,
        }))
    }

    /// The same from one slice a vector. Without any, the index takes queries of every length.
    ///
    /// # Errors
    /// As [`FlatIndex::new`], and when a vector has another length than the first.
    pub fn of<R: AsRef<[f32]>>(
        ids: DocIds,
        rows: &[R],
        similarity: Similarity,
    ) -> Result<Self, VectorError> {
        let dim = rows.first().map_or(0, |row| row.as_ref().len());
        if rows.len() != ids.len() {
            return Err(VectorError::Documents {
                documents: ids.len(),
                found: rows.len(),
            });
        }
        let mut values = Vec::with_capacity(rows.len() * dim);
        for (row, vector) in rows.iter().enumerate() {
            let vector = vector.as_ref();
            if vector.len() != dim {
                return Err(VectorError::Dimensions {
                    row,
                    expected: dim,
                    found: vector.len(),
                });
            }
            values.extend_from_slice(vector);
        }
        Self::new(ids, dim, values, similarity)
    }

    /// An index of rows, as those of a `.npy` file, rounded to 32 bits.
    ///
    /// ```
    /// use ir_core::{Retriever, Search};
    /// use ir_knn::{DenseRows, FlatIndex, Similarity, npy};
    /// # let mut file = Vec::new();
    /// # npy::write(&DenseRows::of(&[[1.0, 2.0], [3.0, 4.0]])?, npy::Float::F32, &mut file)?;
    /// # let file = &file[..];
    /// let rows = npy::read(file, "x.npy")?;
    /// let ids = (0..rows.len()).map(|n| n.to_string()).collect();
    /// let index = FlatIndex::from_rows(ids, &rows, Similarity::InnerProduct)?;
    /// assert_eq!(index.search(&[1.0, 1.0], &Search::top(1))?.hits()[0].score, 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`FlatIndex::new`], and when a value is too large for 32 bits.
    pub fn from_rows(
        ids: DocIds,
        rows: &DenseRows,
        similarity: Similarity,
    ) -> Result<Self, VectorError> {
        let (documents, found) = (ids.len(), rows.len());
        if documents != found {
            return Err(VectorError::Documents { documents, found });
        }
        let narrow = rows.values().iter().map(|&value| value as f32).collect();
        Self::new(ids, rows.dim(), narrow, similarity)
    }

    /// Adds the vectors in 8 bits, a quarter of their size, which every search then reads first:
    /// single queries become several times faster, and of an index that is open from a file, little
    /// but those bytes is read: of the vectors, the pages with rows in doubt. Answers remain the same to the last bit, since every row
    /// that the 8 bits leave in doubt is scored from its 32. [`FlatIndex::save`] saves them too.
    ///
    /// Vectors longer than 65,536 are left as they are.
    ///
    /// ```
    /// # use ir_core::{Retriever, Search};
    /// # use ir_knn::{FlatIndex, Similarity};
    /// # let ids = ["a", "b"].into_iter().collect();
    /// # let index = FlatIndex::of(ids, &[[1.0, 2.0], [3.0, 4.0]], Similarity::InnerProduct)?;
    /// let coded = index.clone().with_codes();
    /// let how = Search::top(1);
    /// assert_eq!(coded.search(&[1.0, 1.0], &how)?, index.search(&[1.0, 1.0], &how)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_codes(self) -> Self {
        let inner = &*self.inner;
        if inner.codes.is_some() || inner.rows.get().is_empty() || inner.dim > LONGEST {
            return self;
        }
        let (codes, stats) = pack_all(inner.cpu, inner.similarity, inner.dim, inner.rows.get());
        let codes = Codes {
            codes: Bytes::Owned(codes),
            stats: Numbers::Owned(stats),
        };
        let inner = Arc::try_unwrap(self.inner).unwrap_or_else(|shared| shared.copy());
        Self::from(Inner {
            codes: Some(codes),
            ..inner
        })
    }

    /// Whether the vectors are there in 8 bits too.
    #[must_use]
    pub fn has_codes(&self) -> bool {
        self.inner.codes.is_some()
    }

    /// Saves the index in one file, which appears when it is complete.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing appears, and what was there stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        self.write_file(path).map_err(SaveError::at(path))
    }

    fn write_file(&self, path: &Path) -> io::Result<()> {
        let inner = &*self.inner;
        let sink = AtomicFile::create(path)?;
        let mut writer = Writer::new(&FLAT, sink, inner.similarity, inner.dim, inner.ids.len())?;
        self.write(&mut writer)?;
        writer.finish()?.commit()
    }

    /// Writes the sections of a flat index.
    pub(crate) fn write<W: io::Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let inner = &*self.inner;
        writer.section(section::ROWS, &inner.rows.bytes())?;
        if let Some(codes) = &inner.codes {
            writer.section(section::CODES, codes.codes.as_ref())?;
            writer.section(section::BOUNDS, &codes.stats.bytes())?;
        }
        writer.section(section::IDS, &file::ids_to_bytes(&inner.ids))
    }

    /// Opens a saved index by mapping it into memory: the vectors are not copied. Every byte is
    /// checked against its checksum first; [`FlatIndex::open_with`] can leave out the vectors.
    ///
    /// The file must not be changed in place while it is open. Saving an index to the same path is
    /// safe: that makes a new file.
    ///
    /// # Errors
    /// [`OpenError`] says which file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, Verify::Everything)
    }

    /// Opens a saved index, and checks as much of it as is asked for.
    ///
    /// ```
    /// # use ir_core::{Retriever, Search};
    /// # use ir_knn::{FlatIndex, Similarity};
    /// use ir_knn::Verify;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("vectors.ir");
    /// # let ids = ["a", "b"].into_iter().collect();
    /// # let index = FlatIndex::of(ids, &[[1.0, 2.0], [3.0, 4.0]], Similarity::InnerProduct)?;
    /// index.with_codes().save(&path)?;
    /// // Nothing is read yet of vectors and codes.
    /// let index = FlatIndex::open_with(&path, Verify::Tables)?;
    /// assert_eq!(index.search(&[1.0, 1.0], &Search::top(1))?.hits()[0].doc.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`FlatIndex::open`].
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenError> {
        Self::read(Mapped::open(&FLAT, path.as_ref(), verify)?)
    }

    /// What [`FlatIndex::write`] wrote.
    pub(crate) fn read(file: Mapped) -> Result<Self, OpenError> {
        let (dim, documents) = (file.table.dim, file.table.documents);
        let rows = file.vectors(section::ROWS, 4)?;
        let tiles = documents.div_ceil(ROWS);
        let codes = if file.part(section::CODES).is_some() && dim > 0 && dim <= LONGEST {
            let size = tiles.checked_mul(tile_size(dim));
            let codes = file.sized(section::CODES, size, "a code for every value")?;
            // Searches read the codes first, and then a row here and there.
            rows.scattered();
            let size = tiles.checked_mul(4 * STATS);
            let stats = file.sized(section::BOUNDS, size, "bounds for every vector")?;
            Some(Codes {
                codes: Bytes::Mapped(codes),
                stats: Numbers::of(stats),
            })
        } else {
            None
        };
        Ok(Self::from(Inner {
            cpu: Cpu::detect(),
            similarity: file.table.similarity,
            dim,
            ids: file.ids()?,
            rows: Arc::new(Numbers::of(rows)),
            codes,
            file: Some(file),
        }))
    }

    /// Opens a saved index that must be of this similarity and of vectors of this length.
    ///
    /// # Errors
    /// As [`FlatIndex::open`], and when it is not.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: Similarity,
        dim: usize,
    ) -> Result<Self, OpenError> {
        Self::read(Mapped::open_as(&FLAT, path.as_ref(), similarity, dim)?)
    }

    /// Checks every byte of the file against the checksums, as [`FlatIndex::open`] does and
    /// [`Verify::Tables`] does not. An index that is not from a file has nothing to check.
    ///
    /// # Errors
    /// [`OpenError::Checksum`].
    pub fn verify(&self) -> Result<(), OpenError> {
        match &self.inner.file {
            Some(file) => file.verify(|_| true),
            None => Ok(()),
        }
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

    /// The length of every vector. 0 when there are none and it was not said.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.inner.dim
    }

    /// What a score is.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.inner.similarity
    }

    /// All vectors, row-major `[len, dim]`.
    #[must_use]
    pub fn rows(&self) -> &[f32] {
        self.inner.rows.get()
    }

    /// The vector of a document.
    ///
    /// # Panics
    /// When `doc` is not of this index.
    #[must_use]
    pub fn row(&self, doc: DocNum) -> &[f32] {
        &self.rows()[doc.index() * self.dim()..][..self.dim()]
    }

    pub(crate) fn cpu(&self) -> Cpu {
        self.inner.cpu
    }

    /// Fails when a query is not one that this index answers.
    pub(crate) fn check_query(&self, query: &[f32]) -> Result<(), SearchError> {
        check_query(self.dim(), self.similarity(), query)
    }
}

/// Fails when a query is not one that an index like this answers.
pub(crate) fn check_query(
    dim: usize,
    similarity: Similarity,
    query: &[f32],
) -> Result<(), SearchError> {
    if query.len() != dim && dim > 0 {
        return Err(SearchError::Dimensions {
            expected: dim,
            found: query.len(),
        });
    }
    if let Some(at) = query.iter().position(|value| !value.is_finite()) {
        let value = query[at];
        return Err(SearchError::NotFinite { at, value });
    }
    if similarity == Similarity::Cosine && query.iter().all(|&value| value == 0.0) {
        return Err(SearchError::ZeroVector);
    }
    Ok(())
}

impl From<Inner> for FlatIndex {
    fn from(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Inner {
    /// The same again, without codes. The rows are shared.
    fn copy(&self) -> Self {
        Self {
            cpu: self.cpu,
            similarity: self.similarity,
            dim: self.dim,
            ids: self.ids.clone(),
            rows: Arc::clone(&self.rows),
            codes: None,
            file: self.file.clone(),
        }
    }
}

fn check_row(row: usize, values: &[f32], similarity: Similarity) -> Result<(), VectorError> {
    if let Some(column) = values.iter().position(|value| !value.is_finite()) {
        let found = values[column];
        return Err(VectorError::NotFinite { row, column, found });
    }
    if similarity == Similarity::Cosine && values.iter().all(|&value| value == 0.0) {
        return Err(VectorError::Zero { row });
    }
    Ok(())
}

impl Retriever for FlatIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    fn search(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    /// On the threads of the rayon pool that it is called in: rows are read once for many queries, so
    /// that a thousand take far less than a thousand times one.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let inner = &*self.inner;
        for (query, _) in queries {
            check_query(inner.dim, inner.similarity, query)?;
        }
        let tiles = inner
            .codes
            .as_ref()
            .map(|codes| Tiles::new(inner.dim, codes.codes.as_ref(), codes.stats.get()));
        let scan = Scan {
            cpu: inner.cpu,
            similarity: inner.similarity,
            dim: inner.dim,
            rows: Values::Single(inner.rows.get()),
            tiles,
        };
        scan.search(queries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_copied_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.ir");
        let ids = (0..100).map(|n| n.to_string()).collect();
        let rows = (0..100 * 5).map(|n| n as f32).collect();
        let index = FlatIndex::new(ids, 5, rows, Similarity::Euclidean).unwrap();
        index.with_codes().save(&path).unwrap();
        let opened = FlatIndex::open(&path).unwrap();
        for index in [opened.clone(), opened.clone().with_codes()] {
            assert!(matches!(&*index.inner.rows, Numbers::Mapped(_)));
            assert_eq!(index.rows().as_ptr().align_offset(align::LINE), 0);
            let codes = index.inner.codes.as_ref().unwrap();
            assert!(matches!(&codes.codes, Bytes::Mapped(_)));
            assert!(matches!(&codes.stats, Numbers::Mapped(_)));
        }
    }
}
