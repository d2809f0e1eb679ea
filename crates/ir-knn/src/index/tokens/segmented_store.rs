//! Point-in-time reader of a segmented token store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::segments::{Commit, SegmentStats};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, DocNum, SearchError, SegmentOrder, SegmentedIds, TokenVectors};
use rayon::prelude::*;

use super::bounds::{Candidates, TopCandidates, top};
use super::codebook::TokenCodebook;
use super::codec::DocumentBytes;
use super::config::TokenStoreConfig;
use super::query::QueryTokens;
use super::segment::{Segment, check_codebooks};
use super::store::TokenStore;
use crate::index::flat::RowNumbers;
use crate::simd::Cpu;

/// Minimum number of multiply-adds per thread.
const MIN_WORK_PER_THREAD: usize = 1 << 22;

/// A commit of a segmented token store, as
/// [`SegmentedTokenStoreWriter`](crate::SegmentedTokenStoreWriter) wrote it, or a single
/// [`TokenStore`]. Immutable; cheap to clone and to share between threads.
///
/// Later commits do not change it and do not wait for it; open the store again to see them.
/// Vectors, scores and document numbers equal, bit for bit, a [`TokenStore`] that is written once
/// from the documents that are not deleted, in the order of their last writes.
///
/// # Examples
/// ```
/// use ir_core::{DocNum, TokenVectors};
/// use ir_knn::{SegmentedTokenStore, SegmentedTokenStoreWriter, TokenStoreConfig};
///
/// let vectors = |values: &[f32]| {
///     TokenVectors::new(2, values.to_vec(), vec![0..0; values.len() / 2])
/// };
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path().join("tokens");
/// let mut writer = SegmentedTokenStoreWriter::create(&folder, &TokenStoreConfig::new(2))?;
/// writer.put("north", &vectors(&[0.0, 1.0]))?;
/// writer.put("east", &vectors(&[1.0, 0.0]))?;
/// writer.commit()?;
/// writer.delete("north")?;
/// writer.put("both", &vectors(&[0.0, 1.0, 1.0, 0.0]))?;
/// writer.commit()?;
///
/// let store = SegmentedTokenStore::open(&folder)?;
/// let docs = [DocNum::new(0), DocNum::new(1)];
/// let query = vectors(&[0.0, 0.5, 0.5, 0.0]);
/// assert_eq!(store.scores(&query, &docs)?, [0.5, 1.0]);
/// assert_eq!(store.ids().id(docs[1]), "both");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SegmentedTokenStore {
    inner: Arc<TokenSnapshot>,
}

#[derive(Debug)]
struct TokenSnapshot {
    cpu: Cpu,
    /// The folder; `None` for a single [`TokenStore`].
    path: Option<PathBuf>,
    config: TokenStoreConfig,
    commit: u64,
    segments: Vec<NumberedSegment>,
    ids: DocIds,
}

/// Segment with the numbers of its documents in the whole store.
#[derive(Debug)]
struct NumberedSegment {
    segment: Segment,
    first: u32,
    numbers: RowNumbers,
}

impl SegmentedTokenStore {
    /// Returns `true` if a folder contains a segmented index.
    #[must_use]
    pub fn exists(folder: impl AsRef<Path>) -> bool {
        ir_core::segments::exists(folder.as_ref())
    }

    /// Opens the last commit of the store in a folder. Checksums of documents are verified on first
    /// use.
    ///
    /// # Errors
    /// Returns [`OpenIndexError`], which names the file, what was expected and what was found.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(folder, Verify::FirstUse)
    }

    /// Opens the last commit of the store in a folder and verifies the given checksums.
    ///
    /// # Errors
    /// Returns [`OpenIndexError`] if a file is missing or cannot be read, is of another format or
    /// version, or is damaged.
    pub fn open_with(folder: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        let folder = folder.as_ref();
        let commit = Commit::<TokenStore>::open(folder, verify)?;
        check_codebooks(&commit.segments)?;
        let path = Some(folder.to_owned());
        Ok(Self::new(
            path,
            commit.config,
            commit.number,
            commit.segments,
        ))
    }

    fn new(
        path: Option<PathBuf>,
        mut config: TokenStoreConfig,
        commit: u64,
        segments: Vec<Segment>,
    ) -> Self {
        let first = segments.first();
        config.codebook = first.and_then(|first| first.index.config().codebook.clone());
        let mut first = 0;
        let number = |segment: Segment| {
            let numbered = NumberedSegment {
                numbers: RowNumbers::new(first, segment.index.len(), &segment.deleted),
                first,
                segment,
            };
            first += numbered.segment.live() as u32;
            numbered
        };
        let segments: Vec<NumberedSegment> = segments.into_iter().map(number).collect();
        let ids = match &*segments {
            [only] if only.numbers.is_identity() => only.segment.index.ids().clone(),
            segments => {
                let parts = segments.iter().map(|numbered| &numbered.segment);
                let parts = parts.map(|part| (part.index.ids().clone(), part.deleted.clone()));
                SegmentedIds::new(parts.collect(), SegmentOrder::Insertion).into()
            }
        };
        Self {
            inner: Arc::new(TokenSnapshot {
                cpu: Cpu::detect(),
                path,
                config,
                commit,
                segments,
                ids,
            }),
        }
    }

    /// Returns the configuration, with the codebook of the documents.
    #[must_use]
    pub fn config(&self) -> &TokenStoreConfig {
        &self.inner.config
    }

    /// Returns the ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.ids.len()
    }

    /// Returns `true` if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.ids.is_empty()
    }

    /// Returns the number of tokens of all documents.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let docs = (0..self.len() as u32).map(|doc| self.locate(DocNum::new(doc)));
        docs.map(|(store, doc)| u64::from(store.raw(doc).1.tokens))
            .sum()
    }

    /// Returns the number of commits and merges since the store was created; 0 for a single
    /// [`TokenStore`].
    #[must_use]
    pub fn commit(&self) -> u64 {
        self.inner.commit
    }

    /// Returns the folder of the store; `None` for a single [`TokenStore`].
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Returns the segments, from the oldest to the newest.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentStats> + '_ {
        let segments = self.inner.segments.iter();
        segments.map(|numbered| numbered.segment.stats())
    }

    /// Verifies the checksums of all files.
    ///
    /// # Errors
    /// Returns [`OpenIndexError::Checksum`], which names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        let mut segments = self.inner.segments.iter();
        segments.try_for_each(|numbered| numbered.segment.index.verify())
    }

    /// Returns the decoded token vectors of a document, with their ranges in the text.
    ///
    /// # Errors
    /// Returns [`OpenIndexError::Checksum`] if the bytes of the document are damaged.
    ///
    /// # Panics
    /// If `doc` is not a document of this store.
    pub fn vectors(&self, doc: DocNum) -> Result<TokenVectors, OpenIndexError> {
        let (store, doc) = self.locate(doc);
        store.vectors(doc)
    }

    /// Returns the MaxSim score of each document ([`max_sim`](crate::max_sim) of the decoded
    /// vectors), in order. Many documents are divided among the threads of the current rayon pool.
    ///
    /// # Errors
    /// Returns [`SearchError`] if the query has another dimension or a component that is NaN or
    /// infinite, a document is damaged, or a score is NaN.
    ///
    /// # Panics
    /// If an element of `docs` is not a document of this store.
    pub fn scores(&self, query: &TokenVectors, docs: &[DocNum]) -> Result<Vec<f32>, SearchError> {
        let query = self.query(query)?;
        let (cpu, candidates) = (self.inner.cpu, StoredCandidates { store: self, docs });
        let score_all = |range: std::ops::Range<usize>| -> Result<Vec<f32>, SearchError> {
            let (mut rows, mut maxima) = (Vec::new(), query.maxima());
            let score = |at: usize| {
                candidates.decode(&candidates.document(at)?, &mut rows);
                let score = query.score(cpu, &rows, &mut maxima);
                if score.is_nan() {
                    return Err(SearchError::NanScore { doc: docs[at] });
                }
                Ok(score)
            };
            range.map(score).collect()
        };
        let documents = (0..docs.len()).map(|at| candidates.tokens(at));
        let work = documents.sum::<usize>() * query.tokens * query.dim;
        let threads = rayon::current_num_threads().min(work / MIN_WORK_PER_THREAD);
        if threads <= 1 {
            return score_all(0..docs.len());
        }
        let size = docs.len().div_ceil(4 * threads);
        let starts = (0..docs.len()).into_par_iter().step_by(size);
        let parts = starts.map(|start| score_all(start..docs.len().min(start + size)));
        let parts: Result<Vec<Vec<f32>>, SearchError> = parts.collect();
        Ok(parts?.concat())
    }

    /// Returns the best `k` of some documents: exactly the hits, scores and order of scoring all of
    /// them, with equal scores in the order of `docs`. Documents may repeat.
    ///
    /// If the store has a codebook, centroids give upper bounds of the scores. The first `k`
    /// documents are scored, so the search is fastest if `docs` are in the order of a first stage;
    /// then the others, in descending order of the bounds, until the next bound is below the k-th
    /// score. All documents are scored without a codebook, and if the bounds of a sample exclude
    /// few of them: at a cosine of .8 of tokens and centroids, the bounds exclude nothing and take
    /// time (`cargo bench -p bench-tokens`). Runs on one thread, unlike
    /// [`SegmentedTokenStore::scores`].
    ///
    /// # Errors
    /// Returns the errors of [`SegmentedTokenStore::scores`].
    ///
    /// # Panics
    /// If an element of `docs` is not a document of this store.
    ///
    /// # Examples
    /// ```
    /// use ir_core::{DocNum, TokenVectors};
    /// use ir_knn::{
    ///     SegmentedTokenStore, TokenCodebook, TokenCodebookConfig, TokenStore, TokenStoreConfig,
    ///     TokenStoreWriter,
    /// };
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tokens.ir");
    /// let axes = [1.0, 0.0, 0.0, 1.0];
    /// let config = TokenCodebookConfig::default().with_centroids(2_usize);
    /// let codebook = TokenCodebook::train(2, &axes, &config)?;
    /// let config = TokenStoreConfig::new(2).with_codebook(codebook);
    /// let mut writer = TokenStoreWriter::create(&path, &config)?;
    /// for n in 0..64 {
    ///     let tokens = axes[2 * (n % 2)..][..2].repeat(3);
    ///     writer.push(&n.to_string(), &TokenVectors::new(2, tokens, vec![0..0; 3]))?;
    /// }
    /// writer.finish()?;
    ///
    /// let store = SegmentedTokenStore::from(TokenStore::open(&path)?);
    /// let docs: Vec<DocNum> = (0..64).map(DocNum::new).collect();
    /// let query = TokenVectors::new(2, vec![1.0, 0.0], vec![0..5]);
    /// let top = store.top(&query, &docs, 1)?;
    /// assert_eq!(top.best, [(0, 1.0)]);
    /// assert_eq!((top.scored_pairs, top.pairs), (96, 192));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn top(
        &self,
        query: &TokenVectors,
        docs: &[DocNum],
        k: usize,
    ) -> Result<TopCandidates, SearchError> {
        let candidates = StoredCandidates { store: self, docs };
        top(self.inner.cpu, &self.query(query)?, &candidates, k)
    }

    fn query(&self, query: &TokenVectors) -> Result<QueryTokens, SearchError> {
        let query = QueryTokens::new(query)?;
        query.check_dim(self.config().dim)?;
        Ok(query)
    }

    /// Store of a document and the number there.
    fn locate(&self, doc: DocNum) -> (&TokenStore, DocNum) {
        assert!(doc.index() < self.len(), "no document {}", doc.get());
        let segments = &self.inner.segments;
        let at = segments.partition_point(|numbered| numbered.first <= doc.get());
        let numbered = &segments[at - 1];
        let row = numbered.numbers.row(doc) as u32;
        (&numbered.segment.index, DocNum::new(row))
    }
}

/// A store as the only segment.
impl From<TokenStore> for SegmentedTokenStore {
    fn from(store: TokenStore) -> Self {
        let config = store.config().clone();
        Self::new(None, config, 0, vec![Segment::new(0, store)])
    }
}

/// Documents of a store.
struct StoredCandidates<'a> {
    store: &'a SegmentedTokenStore,
    docs: &'a [DocNum],
}

impl StoredCandidates<'_> {
    fn tokens(&self, at: usize) -> usize {
        let (store, doc) = self.store.locate(self.docs[at]);
        store.raw(doc).1.tokens as usize
    }
}

impl Candidates for StoredCandidates<'_> {
    fn len(&self) -> usize {
        self.docs.len()
    }

    fn doc(&self, at: usize) -> DocNum {
        self.docs[at]
    }

    fn document(&self, at: usize) -> Result<DocumentBytes<'_>, SearchError> {
        let (store, doc) = self.store.locate(self.docs[at]);
        store.document(doc).map_err(|source| SearchError::Engine {
            engine: "the token store",
            source: Box::new(source),
        })
    }

    fn decode(&self, document: &DocumentBytes<'_>, rows: &mut Vec<f32>) {
        // All segments have the same codec.
        if let Some(numbered) = self.store.inner.segments.first() {
            numbered.segment.index.codec().decode(document, rows);
        }
    }

    fn codebook(&self) -> Option<&TokenCodebook> {
        self.store.config().codebook.as_ref()
    }
}
