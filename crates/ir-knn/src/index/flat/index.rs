//! The flat index: building, saving, opening.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ir_core::store::{IndexBytes, IndexFileWriter, OpenIndexError, SectionBytes, Verify};
use ir_core::{
    DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, VectorSimilarity,
};
use ndarray::{ArrayView2, CowArray, Ix2};

use super::codes::{CodeTiles, STATS_PER_TILE, encode_tiles};
use super::row_major::row_major;
use super::row_numbers::{ALL_ROWS, RowNumbers};
use super::search::{FlatScan, ScanSegment};
use crate::index::buffer::{NumberBuffer, SharedNumbers};
use crate::index::error::{SaveVectorIndexError, VectorError};
use crate::index::file::{FLAT, VectorFile, section, write_file, write_ids_and_metadata};
use crate::index::similarity::explain_score;
use crate::index::validate::{check_query, check_vector};
use crate::matrix::MatrixError;
use crate::simd::{Cpu, MAX_DIM, TILE_ROWS, huge_pages, tile_size};

/// Flat vector index: exact search by scanning all vectors.
///
/// Vectors are stored unchanged, in f32. Scores are summed in f64 and rounded to f32; equal scores
/// are ordered by document number. So rankings are bit-identical for single queries and batches,
/// with and without codes, on any number of threads and on any CPU.
///
/// # Speed
/// A single query reads all vectors and is bound by memory bandwidth; [`FlatIndex::with_codes`]
/// reduces the bytes read to a quarter. A batch ([`Retriever::search_batch`]) compares 8-bit codes
/// first. It scores only the rows with an upper bound above the lowest score in the top k. Both run
/// on the current rayon thread pool.
///
/// # Memory
/// A built index holds vectors and codes in memory. An opened index maps them from its file. To
/// keep only the codes in memory, save an index [with codes](FlatIndex::with_codes) and open it
/// with [`Verify::SmallSections`]: a search then reads all codes, a quarter of the size of the
/// vectors, and the pages of rows that the codes cannot screen out. Rankings are exact in every
/// case; if the codes screen out no row, every row is read.
///
/// # Examples
/// ```
/// use ir_core::{DocNum, Retriever, Search};
/// use ir_knn::{FlatIndex, VectorSimilarity};
/// use ndarray::array;
///
/// let ids = ["north", "east", "north-east"].into_iter().collect();
/// let vectors = array![[0.0, 1.0], [1.0, 0.0], [0.7, 0.7]];
/// let index = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
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
    inner: Arc<FlatIndexData>,
}

#[derive(Debug, Clone)]
struct FlatIndexData {
    cpu: Cpu,
    similarity: VectorSimilarity,
    dim: usize,
    ids: DocIds,
    /// Shared with the index without codes from which this one was built.
    rows: Arc<NumberBuffer<f32>>,
    codes: Option<Arc<FlatCodes>>,
    user_metadata: Option<String>,
    /// Little-endian 64-bit numbers of the application.
    fingerprints: Option<SectionBytes>,
    file: Option<VectorFile>,
}

/// 8-bit codes of the rows and their statistics.
#[derive(Debug)]
struct FlatCodes {
    codes: NumberBuffer<u8>,
    stats: NumberBuffer<f32>,
}

impl FlatIndex {
    /// Builds an index; row n of `vectors` is the vector of the n-th id.
    ///
    /// Ids may repeat ([`DocIds::check_unique`] finds repeated ones; [`ir_core::Distinct`] removes
    /// them from rankings).
    ///
    /// # Shapes
    /// `vectors`: `[ids.len(), dim]`. A row-major [`Array2`](ndarray::Array2) is moved into the
    /// index without a copy; a view is copied once.
    ///
    /// # Errors
    /// If the numbers of ids and vectors differ, the dimension is 0 and there are ids, a value is
    /// NaN or infinite, or a vector is zero under cosine similarity.
    pub fn new<'v>(
        ids: DocIds,
        vectors: impl Into<CowArray<'v, f32, Ix2>>,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        let vectors = vectors.into();
        let (found, dim) = vectors.dim();
        let documents = ids.len();
        if documents != found {
            return Err(VectorError::Documents { documents, found });
        }
        Self::from_row_major(ids, dim, row_major(vectors), similarity)
    }

    /// Builds an index of row-major vectors, such as the output of
    /// [`Encoder::encode`](ir_core::Encoder::encode). They are not copied.
    ///
    /// # Shapes
    /// `values`: row-major `[ids.len(), dim]`.
    ///
    /// # Errors
    /// Returns [`VectorError`] if there are not `dim` values per id, the dimension is 0 and there
    /// are ids, a value is NaN or infinite, or a vector is zero under cosine similarity.
    pub fn from_row_major(
        ids: DocIds,
        dim: usize,
        values: Vec<f32>,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        Self::from_numbers(ids, dim, NumberBuffer::Owned(values), similarity)
    }

    /// Builds an index of row-major vectors in memory of the application, such as an array of
    /// another language, without a copy. `as_ref` must always return the same slice, and the
    /// vectors must not change while the index or a clone of it exists.
    ///
    /// # Shapes
    /// `values`: row-major `[ids.len(), dim]`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ir_core::{Retriever, Search};
    /// use ir_knn::{FlatIndex, VectorSimilarity};
    ///
    /// let values: Arc<Vec<f32>> = Arc::new(vec![0.0, 1.0, 1.0, 0.0]);
    /// let ids = ["north", "east"].into_iter().collect();
    /// let index = FlatIndex::from_shared(ids, 2, values.clone(), VectorSimilarity::Cosine)?;
    /// assert_eq!(index.vectors().as_ptr(), values.as_ptr());
    /// let ranking = index.search(&[0.9, 0.1], &Search::top(1))?;
    /// assert_eq!(index.ids().id(ranking.hits()[0].doc), "east");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`FlatIndex::from_row_major`].
    pub fn from_shared(
        ids: DocIds,
        dim: usize,
        values: Arc<dyn AsRef<[f32]> + Send + Sync>,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        let values = NumberBuffer::Shared(SharedNumbers(values));
        Self::from_numbers(ids, dim, values, similarity)
    }

    fn from_numbers(
        ids: DocIds,
        dim: usize,
        rows: NumberBuffer<f32>,
        similarity: VectorSimilarity,
    ) -> Result<Self, VectorError> {
        let values = rows.get();
        if dim == 0 && !ids.is_empty() {
            return Err(MatrixError::NoDimensions.into());
        }
        if ids.len().checked_mul(dim) != Some(values.len()) {
            return Err(VectorError::Values {
                documents: ids.len(),
                dim,
                found: values.len(),
            });
        }
        for (row, values) in values.chunks_exact(dim.max(1)).enumerate() {
            check_vector(row, dim, values, similarity)?;
        }
        if let NumberBuffer::Owned(values) = &rows {
            huge_pages::advise(bytemuck::cast_slice(values));
        }
        Ok(Self::from(FlatIndexData {
            cpu: Cpu::detect(),
            similarity,
            dim,
            ids,
            rows: Arc::new(rows),
            codes: None,
            user_metadata: None,
            fingerprints: None,
            file: None,
        }))
    }

    /// Adds 8-bit codes of the vectors, a quarter of their size, which every search reads first.
    ///
    /// Single queries become several times faster. In an index opened from a file, a search reads
    /// the codes and the pages of rows that they cannot screen out. Rankings remain bit-identical,
    /// since every such row is scored from its f32 values. [`FlatIndex::save`] saves the codes too.
    ///
    /// Vectors of more than 65,536 dimensions get no codes.
    ///
    /// ```
    /// # use ir_core::{Retriever, Search};
    /// # use ir_knn::{FlatIndex, VectorSimilarity};
    /// # let ids = ["a", "b"].into_iter().collect();
    /// # let vectors = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
    /// # let index = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct)?;
    /// let coded = index.clone().with_codes();
    /// let search = Search::top(1);
    /// assert_eq!(coded.search(&[1.0, 1.0], &search)?, index.search(&[1.0, 1.0], &search)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_codes(self) -> Self {
        let inner = &*self.inner;
        if inner.codes.is_some() || inner.rows.get().is_empty() || inner.dim > MAX_DIM {
            return self;
        }
        let (codes, stats) = encode_tiles(inner.cpu, inner.similarity, inner.dim, inner.rows.get());
        let codes = FlatCodes {
            codes: NumberBuffer::Aligned(codes),
            stats: NumberBuffer::Owned(stats),
        };
        Self::from(FlatIndexData {
            codes: Some(Arc::new(codes)),
            ..Arc::unwrap_or_clone(self.inner)
        })
    }

    /// Returns `true` if the index has 8-bit codes.
    #[must_use]
    pub fn has_codes(&self) -> bool {
        self.inner.codes.is_some()
    }

    /// Attaches a text of the application, such as the JSON of the encoder of the vectors.
    /// [`FlatIndex::save`] saves it unchanged.
    ///
    /// ```
    /// # use ir_knn::{FlatIndex, VectorSimilarity};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("vectors.ir");
    /// # let ids = ["a"].into_iter().collect();
    /// # let index = FlatIndex::new(ids, ndarray::array![[1.0]], VectorSimilarity::InnerProduct)?;
    /// index.with_user_metadata(r#"{"model": "all-MiniLM-L6-v2"}"#).save(&path)?;
    /// let metadata = FlatIndex::open(&path)?.user_metadata().map(str::to_owned);
    /// assert_eq!(metadata.as_deref(), Some(r#"{"model": "all-MiniLM-L6-v2"}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_user_metadata(self, text: impl Into<String>) -> Self {
        Self::from(FlatIndexData {
            user_metadata: Some(text.into()),
            ..Arc::unwrap_or_clone(self.inner)
        })
    }

    /// Text of [`FlatIndex::with_user_metadata`] or [`FlatIndexWriter::with_user_metadata`];
    /// `None` without one.
    ///
    /// [`FlatIndexWriter::with_user_metadata`]: crate::FlatIndexWriter::with_user_metadata
    #[must_use]
    pub fn user_metadata(&self) -> Option<&str> {
        self.inner.user_metadata.as_deref()
    }

    /// Attaches a 64-bit number of the application to each vector, such as a hash of the encoded
    /// text, by which a changed text is found. [`FlatIndex::save`] saves them unchanged.
    ///
    /// # Errors
    /// If there is not one number per vector.
    ///
    /// ```
    /// # use ir_core::DocNum;
    /// # use ir_knn::{FlatIndex, VectorSimilarity};
    /// # let ids = ["a"].into_iter().collect();
    /// # let index = FlatIndex::new(ids, ndarray::array![[1.0]], VectorSimilarity::InnerProduct)?;
    /// let index = index.with_fingerprints(&[0xbbd3_60dd])?;
    /// assert_eq!(index.fingerprint(DocNum::new(0)), Some(0xbbd3_60dd));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_fingerprints(self, fingerprints: &[u64]) -> Result<Self, VectorError> {
        if fingerprints.len() != self.len() {
            return Err(VectorError::Fingerprints {
                documents: self.len(),
                found: fingerprints.len(),
            });
        }
        let bytes = fingerprints.iter().flat_map(|number| number.to_le_bytes());
        let bytes = IndexBytes::from(bytes.collect::<Vec<u8>>());
        Ok(Self::from(FlatIndexData {
            fingerprints: Some(bytes.into()),
            ..Arc::unwrap_or_clone(self.inner)
        }))
    }

    /// Number of [`FlatIndex::with_fingerprints`] of a document; `None` if there are none.
    ///
    /// # Panics
    /// If there are some, and `doc` is not a document of this index.
    #[must_use]
    pub fn fingerprint(&self, doc: DocNum) -> Option<u64> {
        let all = self.inner.fingerprints.as_ref()?;
        let (all, _) = all.as_ref().as_chunks();
        Some(u64::from_le_bytes(all[doc.index()]))
    }

    /// Returns `true` if the index has a fingerprint for every vector.
    #[must_use]
    pub fn has_fingerprints(&self) -> bool {
        self.inner.fingerprints.is_some()
    }

    /// Saves the index to one file by an atomic write.
    ///
    /// # Errors
    /// If the file cannot be written, or the file that the index was opened from is damaged. An
    /// existing file at `path` is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveVectorIndexError> {
        write_file(&FLAT, path.as_ref(), |writer| self.write_sections(writer))
    }

    /// Writes the sections of a flat index.
    pub(in crate::index) fn write_sections<W: io::Write>(
        &self,
        writer: &mut IndexFileWriter<W>,
    ) -> io::Result<()> {
        // Damage must not get a new checksum.
        self.verify().map_err(io::Error::other)?;
        let inner = &*self.inner;
        writer.section(section::VECTORS, &inner.rows.to_bytes())?;
        if let Some(codes) = &inner.codes {
            writer.section(section::CODES, codes.codes.get())?;
            writer.section(section::CODE_STATS, &codes.stats.to_bytes())?;
        }
        if let Some(text) = &inner.user_metadata {
            writer.section(section::USER_METADATA, text.as_bytes())?;
        }
        if let Some(fingerprints) = &inner.fingerprints {
            writer.section(section::FINGERPRINTS, fingerprints.as_ref())?;
        }
        let (ids, count) = (inner.ids.iter(), inner.ids.len());
        write_ids_and_metadata(writer, ids, count, inner.similarity, inner.dim)
    }

    /// Opens a saved index by mapping it into memory, without copying the vectors. The first search
    /// verifies the checksums of vectors and codes ([`Verify::FirstUse`]). Other uses, such as
    /// [`FlatIndex::vectors`], do not: [`FlatIndex::verify`] does.
    ///
    /// The file must not be modified in place while it is open. Saving an index to the same path is
    /// safe: it replaces the file.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format or version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(path, Verify::FirstUse)
    }

    /// Opens a saved index and verifies the given checksums.
    ///
    /// ```
    /// # use ir_core::{Retriever, Search};
    /// # use ir_knn::{FlatIndex, VectorSimilarity};
    /// use ir_core::store::Verify;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("vectors.ir");
    /// # let ids = ["a", "b"].into_iter().collect();
    /// # let vectors = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
    /// # let index = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct)?;
    /// index.with_codes().save(&path)?;
    /// // Reads neither vectors nor codes.
    /// let index = FlatIndex::open_with(&path, Verify::SmallSections)?;
    /// assert_eq!(index.search(&[1.0, 1.0], &Search::top(1))?.hits()[0].doc.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`OpenIndexError`] if the file cannot be read, is of another format or version, or
    /// is damaged.
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        Self::from_file(VectorFile::open(&FLAT, path.as_ref(), verify)?)
    }

    /// Reads the sections that [`FlatIndex::write_sections`] wrote.
    pub(in crate::index) fn from_file(file: VectorFile) -> Result<Self, OpenIndexError> {
        let (dim, documents) = (file.metadata.dim, file.metadata.documents);
        let size = documents.checked_mul(dim).and_then(|n| n.checked_mul(4));
        let rows = file.section_with_len(section::VECTORS, size, "a vector for every document")?;
        let tiles = documents.div_ceil(TILE_ROWS);
        let codes = if file.has(section::CODES) && dim > 0 && dim <= MAX_DIM {
            let size = tiles.checked_mul(tile_size(dim));
            let codes = file.section_with_len(section::CODES, size, "a code for every value")?;
            // Searches read all codes, but few rows.
            rows.advise_random();
            let size = tiles.checked_mul(4 * STATS_PER_TILE);
            let expected = "bounds for every vector";
            let stats = file.section_with_len(section::CODE_STATS, size, expected)?;
            Some(Arc::new(FlatCodes {
                codes: NumberBuffer::from_section(codes),
                stats: NumberBuffer::from_section(stats),
            }))
        } else {
            None
        };
        let user_metadata = file.section(section::USER_METADATA).map(|section| {
            let text = String::from_utf8(section.as_ref().to_vec());
            text.map_err(|_| file.malformed(section::USER_METADATA, "UTF-8 text"))
        });
        let fingerprints = file.has(section::FINGERPRINTS).then(|| {
            let size = documents.checked_mul(8);
            file.section_with_len(section::FINGERPRINTS, size, "a number for every document")
        });
        Ok(Self::from(FlatIndexData {
            cpu: Cpu::detect(),
            similarity: file.metadata.similarity,
            dim,
            ids: file.ids()?,
            rows: Arc::new(NumberBuffer::from_section(rows)),
            codes,
            user_metadata: user_metadata.transpose()?,
            fingerprints: fingerprints.transpose()?,
            file: Some(file),
        }))
    }

    /// Verifies the checksums of all sections, also those that were not verified when the index was
    /// opened ([`Verify`]).
    /// Does nothing for an index that was not opened from a file.
    ///
    /// # Errors
    /// If a checksum differs.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        match &self.inner.file {
            Some(file) => file.verify(),
            None => Ok(()),
        }
    }

    vector_index_accessors!();

    /// All vectors, `[len, dim]`, row-major. Reads a mapped file without verifying its checksum:
    /// call [`FlatIndex::verify`] before copying vectors out of an index that was opened with
    /// [`Verify::FirstUse`].
    #[must_use]
    pub fn vectors(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((self.len(), self.dim()), self.values())
            .unwrap_or_else(|_| unreachable!("an index has `dim` values per id"))
    }

    /// Vector of a document, not verified ([`FlatIndex::vectors`]).
    ///
    /// # Panics
    /// If `doc` is not a document of this index.
    #[must_use]
    pub fn vector(&self, doc: DocNum) -> &[f32] {
        &self.values()[doc.index() * self.dim()..][..self.dim()]
    }

    /// Removes the vectors and codes of a mapped file from the resident memory.
    pub(in crate::index) fn release(&self) {
        self.inner.rows.release();
        if let Some(codes) = &self.inner.codes {
            codes.codes.release();
            codes.stats.release();
        }
    }

    /// All vectors, row by row.
    pub(in crate::index) fn values(&self) -> &[f32] {
        self.inner.rows.get()
    }

    /// Rows and codes for a scan.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(in crate::index) fn scan_segment<'a>(
        &'a self,
        numbers: &'a RowNumbers,
    ) -> Result<ScanSegment<'a>, SearchError> {
        self.verify_on_first_use()?;
        let inner = &*self.inner;
        let codes = inner.codes.as_ref();
        Ok(ScanSegment {
            rows: inner.rows.get(),
            tiles: codes
                .map(|codes| CodeTiles::new(inner.dim, codes.codes.get(), codes.stats.get())),
            numbers,
        })
    }

    fn verify_on_first_use(&self) -> Result<(), SearchError> {
        let Some(file) = &self.inner.file else {
            return Ok(());
        };
        file.verify_on_first_use()
            .map_err(|source| SearchError::Engine {
                engine: "the vector index",
                source: Box::new(source),
            })
    }

    /// The file from which the index was opened.
    pub(in crate::index) fn file(&self) -> Option<&VectorFile> {
        self.inner.file.as_ref()
    }

    pub(in crate::index) fn cpu(&self) -> Cpu {
        self.inner.cpu
    }

    pub(in crate::index) fn check_query(&self, query: &[f32]) -> Result<(), SearchError> {
        check_query(self.dim(), self.similarity(), query)?;
        self.verify_on_first_use()
    }
}

impl From<FlatIndexData> for FlatIndex {
    fn from(inner: FlatIndexData) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Retriever for FlatIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    ir_core::search_as_batch!();

    /// Searches on the current rayon thread pool. Rows are read once for many queries, so a batch
    /// is much faster than single queries.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.search_batch_above(queries, &[])
    }

    /// Faster than a search without floors: rows below them are screened out from the first one on.
    fn search_batch_above(
        &self,
        queries: &[(&[f32], Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        let scan = FlatScan {
            cpu: self.cpu(),
            similarity: self.similarity(),
            dim: self.dim(),
            segments: &[self.scan_segment(&ALL_ROWS)?],
        };
        scan.search_above(queries, floors)
    }

    fn explain(
        &self,
        query: &[f32],
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.check_query(query)?;
        if doc.index() >= self.len() || !search.allows(doc) {
            return Ok(None);
        }
        let row = self.vector(doc);
        Ok(Some(explain_score(
            self.similarity(),
            self.cpu(),
            query,
            row,
        )))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::simd::CACHE_LINE;

    #[test]
    fn opening_copies_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.ir");
        let ids = (0..100).map(|n| n.to_string()).collect();
        let vectors = Array2::from_shape_fn((100, 5), |(n, m)| (5 * n + m) as f32);
        let index = FlatIndex::new(ids, vectors, VectorSimilarity::Euclidean).unwrap();
        index.with_codes().save(&path).unwrap();
        let opened = FlatIndex::open(&path).unwrap();
        for index in [opened.clone(), opened.clone().with_codes()] {
            assert!(matches!(&*index.inner.rows, NumberBuffer::Mapped(_)));
            assert_eq!(index.values().as_ptr().align_offset(CACHE_LINE), 0);
            let codes = index.inner.codes.as_ref().unwrap();
            assert!(matches!(&codes.codes, NumberBuffer::Mapped(_)));
            assert!(matches!(&codes.stats, NumberBuffer::Mapped(_)));
        }
    }
}
