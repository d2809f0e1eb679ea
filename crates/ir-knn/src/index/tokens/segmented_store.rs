//! Point-in-time reader of a segmented token store.

use std::path::Path;
use std::sync::Arc;

use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, DocNum, SearchError, TokenVectors};
use rayon::prelude::*;

use super::config::TokenStoreConfig;
use super::query::QueryTokens;
use super::segment::codebook_of;
use super::store::TokenStore;
use super::top::{TopCandidates, TopSearch};
use crate::index::snapshot::Snapshot;

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
    inner: Arc<Snapshot<TokenStore, TokenStoreConfig>>,
}

impl SegmentedTokenStore {
    snapshot_accessors!();

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
        let mut snapshot = Snapshot::<TokenStore, _>::open(folder.as_ref(), verify)?;
        let segments = snapshot.segments.iter();
        let codebook = codebook_of(segments.map(|numbered| &numbered.segment.index))?;
        snapshot.config.codebook = codebook;
        Ok(Self {
            inner: Arc::new(snapshot),
        })
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
        let cpu = self.inner.cpu;
        let score_all = |docs: &[DocNum]| -> Result<Vec<f32>, SearchError> {
            let (mut rows, mut maxima) = (Vec::new(), query.maxima());
            let score = |&doc: &DocNum| {
                self.decode(doc, &mut rows)?;
                not_nan(doc, query.score(cpu, &rows, &mut maxima))
            };
            docs.iter().map(score).collect()
        };
        let tokens = |&doc: &DocNum| {
            let (store, doc) = self.locate(doc);
            store.raw(doc).1.tokens as usize
        };
        let work = docs.iter().map(tokens).sum::<usize>() * query.tokens * query.dim;
        let threads = rayon::current_num_threads().min(work / MIN_WORK_PER_THREAD);
        if threads <= 1 {
            return score_all(docs);
        }
        let parts = docs.par_chunks(docs.len().div_ceil(4 * threads));
        let parts: Result<Vec<Vec<f32>>, SearchError> = parts.map(score_all).collect();
        Ok(parts?.concat())
    }

    /// Returns the best `k` of some documents: exactly the hits, scores and order of scoring all of
    /// them, with equal scores in the order of `docs`. Documents may repeat.
    ///
    /// Scores 16 query tokens at a time, and leaves a document as soon as the lengths of the other
    /// query tokens and of its tokens exclude it. So the search is fastest if `docs` are in the
    /// order of a first stage, and excludes nothing if a query has 16 tokens or fewer. Runs on one
    /// thread, unlike [`SegmentedTokenStore::scores`].
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
    /// use ir_knn::{SegmentedTokenStore, TokenStore, TokenStoreConfig, TokenStoreWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tokens.ir");
    /// let axes = [1.0, 0.0, 0.0, 1.0];
    /// let mut writer = TokenStoreWriter::create(&path, &TokenStoreConfig::new(2))?;
    /// for n in 0..64 {
    ///     let tokens = axes[2 * (n % 2)..][..2].repeat(3);
    ///     writer.push(&n.to_string(), &TokenVectors::new(2, tokens, vec![0..0; 3]))?;
    /// }
    /// writer.finish()?;
    ///
    /// let store = SegmentedTokenStore::from(TokenStore::open(&path)?);
    /// let docs: Vec<DocNum> = (0..64).map(DocNum::new).collect();
    /// let query = TokenVectors::new(2, [1.0, 0.0].repeat(32), vec![0..5; 32]);
    /// let top = store.top(&query, &docs, 1)?;
    /// assert_eq!(top.best, [(0, 32.0)]);
    /// // Every other document is left after 16 of the 32 query tokens.
    /// assert_eq!((top.scored_pairs, top.pairs), (4608, 6144));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn top(
        &self,
        query: &TokenVectors,
        docs: &[DocNum],
        k: usize,
    ) -> Result<TopCandidates, SearchError> {
        let query = self.query(query)?;
        let (mut search, mut rows) = (TopSearch::new(self.inner.cpu, &query, k), Vec::new());
        for (at, &doc) in docs.iter().enumerate() {
            self.decode(doc, &mut rows)?;
            not_nan(doc, search.add(at, &rows))?;
        }
        Ok(search.finish())
    }

    /// Decodes the vectors of a document into `rows`, in place of the content.
    fn decode(&self, doc: DocNum, rows: &mut Vec<f32>) -> Result<(), SearchError> {
        let (store, doc) = self.locate(doc);
        let document = store.document(doc).map_err(|source| SearchError::Engine {
            engine: "the token store",
            source: Box::new(source),
        })?;
        store.codec().decode(&document, rows);
        Ok(())
    }

    fn query(&self, query: &TokenVectors) -> Result<QueryTokens, SearchError> {
        let query = QueryTokens::new(query)?;
        query.check_dim(self.config().dim)?;
        Ok(query)
    }

    /// Store of a document and the number there.
    fn locate(&self, doc: DocNum) -> (&TokenStore, DocNum) {
        let (numbered, doc) = self.inner.locate(doc);
        (&numbered.segment.index, doc)
    }
}

/// Creates a segmented store with a store as the only segment.
impl From<TokenStore> for SegmentedTokenStore {
    fn from(store: TokenStore) -> Self {
        let inner = Arc::new(Snapshot::from_index(store.config().clone(), store));
        Self { inner }
    }
}

/// Returns the score, or an error if it is NaN.
fn not_nan(doc: DocNum, score: f32) -> Result<f32, SearchError> {
    if score.is_nan() {
        return Err(SearchError::NanScore { doc });
    }
    Ok(score)
}
