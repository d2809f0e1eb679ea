//! Exact search among vectors in 16 bits.

use std::io;
use std::path::Path;
use std::sync::Arc;

use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use ir_core::{AtomicFile, DocIds, DocNum, Ranking, Retriever, Search, SearchError};

use super::align::Lines;
use super::file::{self, HALF, Mapped, Verify, Writer, section};
use super::numbers::Bytes;
use super::scan::{Scan, Values};
use super::simd::Cpu;
use super::{FlatIndex, OpenError, SaveError, Similarity, VectorError, check_query, pages};

/// Vectors in 16 bits, half the memory of a [`FlatIndex`], searched exactly.
///
/// The vectors **are** the rounded ones: every answer is, to the last bit, that of a [`FlatIndex`] of
/// them. How far they are from what was given, [`Rounding`] says. To spend still less memory and have
/// the answers of 32 bits, open a saved [`FlatIndex`] that has codes: it keeps the vectors on the disk
/// (see [`FlatIndex`], *Memory*).
///
/// Numbers have 11 binary digits, and are 65,504 in size at most.
///
/// It spends half the memory, and not less time: values are widened on the way, so that a single query
/// takes about twice as long as with a [`FlatIndex`].
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{FlatIndex, HalfIndex, Similarity};
///
/// let ids = ["a", "b"].into_iter().collect();
/// let index = FlatIndex::of(ids, &[[0.1, 0.9], [0.8, 0.6]], Similarity::InnerProduct)?;
/// let (half, rounding) = HalfIndex::of(&index)?;
/// assert!(rounding.relative < 0.0005);
/// let how = Search::top(1);
/// let (found, exact) = (half.search(&[1.0, 0.0], &how)?, index.search(&[1.0, 0.0], &how)?);
/// assert_eq!(found.hits()[0].doc, exact.hits()[0].doc);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct HalfIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cpu: Cpu,
    similarity: Similarity,
    dim: usize,
    ids: DocIds,
    rows: Bytes,
    file: Option<Mapped>,
}

/// What rounding vectors to 16 bits has done to them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Rounding {
    /// How far a vector was moved at most, as a part of its length. The inner product of a query with
    /// it has changed by no more than this times both lengths; the cosine by no more than twice this.
    pub relative: f64,
    /// How far a value was moved at most.
    pub largest: f32,
    /// How many values that were not zero are now.
    pub zeros: usize,
}

impl HalfIndex {
    /// The same index with every value rounded to 16 bits, to the nearest, ties to the even one.
    ///
    /// # Errors
    /// When a value is larger than 65,504, or only zeros are left of a vector under cosine.
    pub fn of(index: &FlatIndex) -> Result<(Self, Rounding), VectorError> {
        let (dim, similarity) = (index.dim(), index.similarity());
        let mut rounding = Rounding::default();
        let mut rows = Lines::zeros(index.rows().len() * 2);
        pages::enlarge(rows.as_ref());
        let mut halves = vec![f16::ZERO; dim];
        let size = dim.max(1);
        let pairs = index.rows().chunks_exact(size);
        for (row, (values, bytes)) in pairs
            .zip(rows.as_mut().chunks_exact_mut(2 * size))
            .enumerate()
        {
            halves.convert_from_f32_slice(values);
            let (mut moved, mut square) = (0.0, 0.0);
            for (column, (&value, &rounded)) in values.iter().zip(&halves).enumerate() {
                if rounded.is_infinite() {
                    let found = value;
                    return Err(VectorError::TooLarge { row, column, found });
                }
                let apart = f64::from(value) - rounded.to_f64();
                moved += apart * apart;
                square += f64::from(value) * f64::from(value);
                rounding.largest = rounding.largest.max(apart.abs() as f32);
                rounding.zeros += usize::from(value != 0.0 && rounded.to_f32() == 0.0);
            }
            if similarity == Similarity::Cosine && halves.iter().all(|half| half.to_f32() == 0.0) {
                return Err(VectorError::Zero { row });
            }
            if square > 0.0 {
                rounding.relative = rounding.relative.max((moved / square).sqrt());
            }
            for (bytes, half) in bytes.as_chunks_mut().0.iter_mut().zip(&halves) {
                *bytes = half.to_le_bytes();
            }
        }
        let inner = Inner {
            cpu: Cpu::detect(),
            similarity,
            dim,
            ids: index.ids().clone(),
            rows: Bytes::Owned(rows),
            file: None,
        };
        Ok((Self::from(inner), rounding))
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
        let mut writer = Writer::new(&HALF, sink, inner.similarity, inner.dim, inner.ids.len())?;
        writer.section(section::HALVES, inner.rows.as_ref())?;
        writer.section(section::IDS, &file::ids_to_bytes(&inner.ids))?;
        writer.finish()?.commit()
    }

    /// Opens a saved index by mapping it into memory: the vectors are not copied. Every byte is
    /// checked against its checksum first; [`HalfIndex::open_with`] can leave out the vectors. The
    /// file must not be changed in place while it is open.
    ///
    /// # Errors
    /// [`OpenError`] says which file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, Verify::Everything)
    }

    /// Opens a saved index, and checks as much of it as is asked for.
    ///
    /// # Errors
    /// As [`HalfIndex::open`].
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenError> {
        Self::read(Mapped::open(&HALF, path.as_ref(), verify)?)
    }

    /// Opens a saved index that must be of this similarity and of vectors of this length.
    ///
    /// # Errors
    /// As [`HalfIndex::open`], and when it is not.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: Similarity,
        dim: usize,
    ) -> Result<Self, OpenError> {
        Self::read(Mapped::open_as(&HALF, path.as_ref(), similarity, dim)?)
    }

    fn read(file: Mapped) -> Result<Self, OpenError> {
        Ok(Self::from(Inner {
            cpu: Cpu::detect(),
            similarity: file.table.similarity,
            dim: file.table.dim,
            ids: file.ids()?,
            rows: Bytes::Mapped(file.vectors(section::HALVES, 2)?),
            file: Some(file),
        }))
    }

    /// Checks every byte of the file against the checksums, as [`HalfIndex::open`] does and
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

    /// The length of every vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.inner.dim
    }

    /// What a score is.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.inner.similarity
    }

    /// The vector of a document, in 32 bits.
    ///
    /// # Panics
    /// When `doc` is not of this index.
    #[must_use]
    pub fn row(&self, doc: DocNum) -> Vec<f32> {
        let dim = self.inner.dim;
        let mut row = vec![0.0; dim];
        let bytes = &self.inner.rows.as_ref()[doc.index() * dim * 2..][..dim * 2];
        widen(bytes, &mut row);
        row
    }
}

impl From<Inner> for HalfIndex {
    fn from(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

/// Numbers of 16 bits, little-endian, in 32.
pub(super) fn widen(bytes: &[u8], values: &mut [f32]) {
    if cfg!(target_endian = "little")
        && let Ok(bits) = bytemuck::try_cast_slice::<u8, u16>(bytes)
    {
        let halves: &[f16] = bits.reinterpret_cast();
        halves.convert_to_f32_slice(values);
        return;
    }
    for (value, &bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = f16::from_le_bytes(bytes).to_f32();
    }
}

impl Retriever for HalfIndex {
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
        let scan = Scan {
            cpu: inner.cpu,
            similarity: inner.similarity,
            dim: inner.dim,
            rows: Values::Half(inner.rows.as_ref()),
            tiles: None,
        };
        scan.search(queries)
    }
}
