//! Point-in-time reader of a segmented vector index, and exact search.

use std::path::Path;
use std::sync::Arc;

use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, VectorSimilarity,
};

use super::VectorSegment;
use super::config::VectorIndexConfig;
use crate::index::flat::{FlatIndex, FlatScan, ScanSegment};
use crate::index::snapshot::{NumberedSegment, Snapshot};
use crate::index::validate::check_query;

/// A commit of a segmented vector index, as [`VectorIndexWriter`](crate::VectorIndexWriter) wrote
/// it. Immutable; cheap to clone and to share between threads.
///
/// Later commits do not change it and do not wait for it; open the index again to see them.
/// Searches are exact: rankings, scores and document numbers equal, bit for bit, a [`FlatIndex`]
/// built from the vectors that are not deleted, in the order of their last writes. For approximate
/// search, see [`SegmentedVectorIndex::hnsw_searcher`].
///
/// The numbers of ids are computed when one of them is first used, in time and memory proportional
/// to the number of deleted vectors.
/// [`VectorIndexWriter::compact`](crate::VectorIndexWriter::compact) leaves one segment without
/// deleted vectors: the file of a [`FlatIndex`], or of an [`HnswIndex`](crate::HnswIndex).
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter, VectorSimilarity};
///
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path().join("vectors");
/// let config = VectorIndexConfig::new(2, VectorSimilarity::Cosine);
/// let mut writer = VectorIndexWriter::create(&folder, &config)?;
/// writer.put("north", &[0.0, 1.0])?;
/// writer.put("east", &[1.0, 0.0])?;
/// writer.commit()?;
/// let before = SegmentedVectorIndex::open(&folder)?;
/// writer.delete("north")?;
/// writer.put("north-east", &[0.7, 0.7])?;
/// writer.commit()?;
///
/// let index = SegmentedVectorIndex::open(&folder)?;
/// let ranking = index.search(&[0.1, 0.9], &Search::top(10))?;
/// let found: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(found, ["north-east", "east"]);
/// assert_eq!(before.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SegmentedVectorIndex {
    inner: Arc<Snapshot<VectorSegment, VectorIndexConfig>>,
}

impl SegmentedVectorIndex {
    snapshot_accessors!();

    /// Opens the last commit of the index in a folder. The first search verifies the checksums of
    /// vectors, codes and graphs ([`Verify::FirstUse`]); other uses, such as
    /// [`SegmentedVectorIndex::vector`], do not.
    ///
    /// Opening takes O(segments) time, and time proportional to the number of vectors, milliseconds
    /// per million (`cargo bench -p bench-bm25 -- --workload opening`), for
    ///
    /// - the checksums of ids and fingerprints,
    /// - a bit per vector of each segment with deleted ones, deleted or not,
    /// - with graphs, the check that every vector has one node.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(folder, Verify::FirstUse)
    }

    /// Opens the last commit of the index in a folder and verifies the given checksums.
    ///
    /// # Errors
    /// Returns [`OpenIndexError`] if a file is missing or cannot be read, is of another format or
    /// version, or is damaged.
    pub fn open_with(folder: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        let inner = Arc::new(Snapshot::<VectorSegment, _>::open(folder.as_ref(), verify)?);
        Ok(Self { inner })
    }

    vector_index_accessors!(config);

    /// Configuration of the index.
    #[must_use]
    pub fn config(&self) -> &VectorIndexConfig {
        &self.inner.config
    }

    /// The index, if it is a single one without deleted vectors.
    #[must_use]
    pub fn single(&self) -> Option<&FlatIndex> {
        self.inner.single().map(VectorSegment::flat)
    }

    pub(super) fn numbered_segments(&self) -> &[NumberedSegment<VectorSegment>] {
        &self.inner.segments
    }

    /// Verifies the checksums of all files.
    ///
    /// # Errors
    /// [`OpenIndexError::Checksum`] names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        let mut segments = self.inner.segments.iter();
        segments.try_for_each(|numbered| numbered.segment.index.flat().verify())
    }

    /// Removes the vectors and codes of mapped files from the resident memory, for passes over more
    /// than the memory they may take. The next access reads them again: results are the same as
    /// long as the files are not modified.
    pub fn release(&self) {
        for numbered in &self.inner.segments {
            numbered.segment.index.flat().release();
        }
    }

    /// Vector of a document. Reads a mapped file without verifying its checksum: call
    /// [`SegmentedVectorIndex::verify`] before copying vectors out of an index that was opened with
    /// [`Verify::FirstUse`](ir_core::store::Verify::FirstUse).
    ///
    /// # Panics
    /// If `doc` is not a document of this index.
    #[must_use]
    pub fn vector(&self, doc: DocNum) -> &[f32] {
        let (numbered, row) = self.inner.locate(doc);
        numbered.segment.index.flat().vector(row)
    }

    /// Fingerprint of a document; [`None`] if the index has none
    /// ([`VectorIndexConfig::fingerprints`]).
    ///
    /// # Panics
    /// If `doc` is not a document of this index.
    #[must_use]
    pub fn fingerprint(&self, doc: DocNum) -> Option<u64> {
        let (numbered, row) = self.inner.locate(doc);
        numbered.segment.index.flat().fingerprint(row)
    }

    pub(super) fn check_query(&self, query: &[f32]) -> Result<(), SearchError> {
        check_query(self.dim(), self.similarity(), query)
    }
}

/// Creates a segmented index with a flat index as the only segment.
impl From<FlatIndex> for SegmentedVectorIndex {
    fn from(index: FlatIndex) -> Self {
        let config = VectorIndexConfig {
            codes: index.has_codes(),
            fingerprints: index.has_fingerprints(),
            user_metadata: index.user_metadata().map(str::to_owned),
            ..VectorIndexConfig::new(index.dim(), index.similarity())
        };
        let inner = Arc::new(Snapshot::from_index(config, VectorSegment::Flat(index)));
        Self { inner }
    }
}

impl Retriever for SegmentedVectorIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    ir_core::search_as_batch!();

    /// Reads rows once for many queries, on the current rayon thread pool.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.search_batch_above(queries, &[])
    }

    /// Faster than a search without floors: rows below the floors are screened out from the start.
    fn search_batch_above(
        &self,
        queries: &[(&[f32], Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        let segments = self.inner.segments.iter();
        let segments: Vec<ScanSegment<'_>> = segments
            .map(|numbered| {
                let flat = numbered.segment.index.flat();
                flat.scan_segment(&numbered.numbers)
            })
            .collect::<Result<_, _>>()?;
        let scan = FlatScan {
            cpu: self.inner.cpu,
            similarity: self.similarity(),
            dim: self.dim(),
            segments: &segments,
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
        let (numbered, row) = self.inner.locate(doc);
        let flat = numbered.segment.index.flat();
        flat.explain(query, row, &Search::top(1))
    }
}
