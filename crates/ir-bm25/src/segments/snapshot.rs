//! Point-in-time reader of a segmented index.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::segments::{Commit, SegmentStats};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    Analyzer, Attributes, DocFilter, DocIds, DocNum, DocSet, Document, Predicate, Years,
};

use super::Segment;
use super::searcher::Searcher;
use crate::search::TermList;
use crate::{DocOrder, FieldStats, Index, IndexConfig, Model, SearcherError, StoredFieldsError};

/// Maximum number of cached document frequencies of a segment.
const MAX_CACHED: usize = 1 << 16;

/// A commit of a segmented index, as [`IndexWriter`](super::IndexWriter) wrote it. Immutable; cheap
/// to clone and to share between threads.
///
/// Later commits do not change it and do not wait for it; open the index again to see them.
/// Rankings and scores are those of an [`Index`] built from the documents that are
/// not deleted, bit for bit: statistics cover all segments, without deleted documents, and
/// documents are numbered as in that index.
///
/// With several segments or deleted documents, opening takes time and memory proportional to the
/// number of documents, because these are numbered anew. [`IndexWriter::compact`] leaves one
/// segment without deleted documents, which opens at once.
///
/// [`IndexWriter::compact`]: super::IndexWriter::compact
///
/// ```
/// use ir_bm25::{Bm25, IndexConfig, IndexWriter, SegmentedIndex};
/// use ir_core::{Document, Retriever, Search};
///
/// # let folder = std::env::temp_dir().join(format!("ir-bm25-segments-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&folder);
/// let mut writer = IndexWriter::create(&folder, IndexConfig::default())?;
/// writer.put(&Document::new("d1").with_text("Green tea"))?;
/// writer.put(&Document::new("d2").with_text("Black tea"))?;
/// writer.commit()?;
/// let before = SegmentedIndex::open(&folder)?;
/// writer.delete("d1")?;
/// writer.put(&Document::new("d3").with_text("Tea with milk"))?;
/// writer.commit()?;
///
/// let index = SegmentedIndex::open(&folder)?;
/// let ranking = index.searcher(Bm25::ANSERINI)?.search("tea", &Search::top(10))?;
/// let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(ids, ["d2", "d3"]);
/// assert_eq!(before.len(), 2);
/// # drop(writer);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SegmentedIndex {
    inner: Arc<Snapshot>,
}

struct Snapshot {
    /// The folder; [`None`] for a single [`Index`].
    path: Option<PathBuf>,
    config: IndexConfig,
    commit: u64,
    segments: Vec<NumberedSegment>,
    ids: DocIds,
    fields: Vec<FieldStats>,
    /// [`None`] for an [`Index`] that needs a custom analyzer.
    analyzer: Option<Arc<dyn Analyzer>>,
}

/// A segment whose documents have numbers in the whole index.
pub(super) struct NumberedSegment {
    pub(super) segment: Segment,
    /// The numbers of the documents in the whole index, ascending; for a deleted document, that of
    /// the next one that is not. [`None`] if they equal the numbers in the segment.
    numbers: Option<Vec<u32>>,
    /// Document frequencies without deleted documents, by field and term.
    live_dfs: Mutex<HashMap<(usize, String), u32>>,
    /// Collection frequencies without deleted documents, by field and term.
    live_cfs: Mutex<HashMap<(usize, String), u64>>,
}

impl SegmentedIndex {
    /// Returns whether a folder contains a segmented index.
    #[must_use]
    pub fn exists(folder: impl AsRef<Path>) -> bool {
        ir_core::segments::exists(folder.as_ref())
    }

    /// Opens the last commit of the index in a folder. Checksums of postings and stored fields are
    /// verified when these are first read.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        let folder = folder.as_ref();
        let commit = Commit::<Index>::open(folder, Verify::SmallSections)?;
        let config = commit.config;
        let analysis = config.analysis.build();
        let analyzer = analysis.map_err(|error| OpenIndexError::Metadata {
            path: folder.to_owned(),
            source: error.into(),
        })?;
        let (ids, numbers) = number_documents(&commit.segments, config.order);
        let fields = live_stats(&config, &commit.segments)?;
        let segments = commit.segments.into_iter().zip(numbers);
        let segments = segments.map(|(segment, numbers)| NumberedSegment {
            segment,
            numbers,
            live_dfs: Mutex::default(),
            live_cfs: Mutex::default(),
        });
        Ok(Self {
            inner: Arc::new(Snapshot {
                path: Some(folder.to_owned()),
                config,
                commit: commit.number,
                segments: segments.collect(),
                ids,
                fields,
                analyzer: Some(Arc::new(analyzer)),
            }),
        })
    }

    /// Creates a searcher with [`Bm25`](crate::Bm25) or any other model. Cheap: a parameter sweep
    /// can create one for each setting.
    ///
    /// # Errors
    /// When a parameter is out of range, or an [`Index`] needs a custom analyzer.
    pub fn searcher(&self, model: impl Into<Model>) -> Result<Searcher, SearcherError> {
        Searcher::new(self.clone(), model.into())
    }

    /// The ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    /// Number of documents, without deleted ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.ids.len()
    }

    /// Returns whether the index has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The configuration of the index.
    #[must_use]
    pub fn config(&self) -> &IndexConfig {
        &self.inner.config
    }

    /// The analyzer of documents and queries, as [`Index::analyzer`].
    #[must_use]
    pub fn analyzer(&self) -> Option<&dyn Analyzer> {
        self.inner.analyzer.as_deref()
    }

    pub(super) fn shared_analyzer(&self) -> Option<Arc<dyn Analyzer>> {
        self.inner.analyzer.clone()
    }

    /// The index, if it is a single one without deleted documents.
    #[must_use]
    pub fn single(&self) -> Option<&Index> {
        match &*self.inner.segments {
            [only] if only.is_whole_index() => Some(&only.segment.index),
            _ => None,
        }
    }

    /// Number of commits and merges since the index was created; 0 for a single [`Index`].
    #[must_use]
    pub fn commit(&self) -> u64 {
        self.inner.commit
    }

    /// The folder of the index, or the file of a single [`Index`].
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// The segments, from the oldest to the newest.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentStats> + '_ {
        let segments = self.inner.segments.iter();
        segments.map(|numbered| numbered.segment.stats())
    }

    /// Verifies the checksums of all files.
    ///
    /// # Errors
    /// [`OpenIndexError::Checksum`] names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        let mut segments = self.inner.segments.iter();
        segments.try_for_each(|numbered| numbered.segment.index.verify())
    }

    /// Returns a stored document. Requires [`StoredFields::Everything`](crate::StoredFields).
    ///
    /// # Errors
    /// [`StoredFieldsError`].
    pub fn document(&self, doc: DocNum) -> Result<Document, StoredFieldsError> {
        let (numbered, local) = self.locate(doc)?;
        numbered.segment.index.document(local)
    }

    /// Returns the stored attributes of a document. Requires
    /// [`StoredFields::Attributes`](crate::StoredFields) or
    /// [`StoredFields::Everything`](crate::StoredFields).
    ///
    /// # Errors
    /// As [`SegmentedIndex::document`].
    pub fn attributes(&self, doc: DocNum) -> Result<Attributes, StoredFieldsError> {
        let (numbered, local) = self.locate(doc)?;
        numbered.segment.index.attributes(local)
    }

    /// Selects the documents whose attributes satisfy a condition, as a filter. Scans all
    /// documents.
    ///
    /// # Errors
    /// As [`SegmentedIndex::attributes`].
    pub fn select(&self, condition: &Predicate) -> Result<DocSet, StoredFieldsError> {
        let mut selected = DocSet::new();
        for numbered in &self.inner.segments {
            for doc in numbered.segment.index.select(condition)?.iter() {
                if numbered.segment.is_live(doc) {
                    selected.insert(numbered.number(doc));
                }
            }
        }
        Ok(selected)
    }

    /// Publication years, from the attribute [`YEAR`](ir_core::Attributes::YEAR), for filtering by
    /// time.
    #[must_use]
    pub fn years(&self) -> Years {
        if let [only] = &*self.inner.segments
            && only.is_whole_index()
        {
            return only.segment.index.years().clone();
        }
        let mut years = vec![None; self.len()];
        for numbered in &self.inner.segments {
            let index = &numbered.segment.index;
            let docs = (0..index.len() as u32).map(DocNum::new);
            for doc in docs.filter(|&doc| numbered.segment.is_live(doc)) {
                years[numbered.number(doc).index()] = index.years().get(doc);
            }
        }
        if years.iter().all(Option::is_none) {
            return Years::default();
        }
        years.into_iter().collect()
    }

    /// The segment of a document and its number there.
    fn locate(&self, doc: DocNum) -> Result<(&NumberedSegment, DocNum), StoredFieldsError> {
        let mut segments = self.inner.segments.iter();
        let found = segments.find_map(|numbered| Some((numbered, numbered.local(doc)?)));
        found.ok_or(StoredFieldsError::NoSuchDocument {
            documents: self.len(),
            found: doc.get(),
        })
    }

    pub(super) fn numbered_segments(&self) -> &[NumberedSegment] {
        &self.inner.segments
    }

    /// Statistics of the fields over all documents that are not deleted.
    pub(super) fn field_stats(&self) -> &[FieldStats] {
        &self.inner.fields
    }
}

/// An index as the only segment.
impl From<Index> for SegmentedIndex {
    fn from(index: Index) -> Self {
        let inner = Snapshot {
            path: index.path().map(Path::to_owned),
            config: index.config().clone(),
            commit: 0,
            ids: index.ids().clone(),
            fields: index.field_stats().to_vec(),
            analyzer: index.shared_analyzer(),
            segments: vec![NumberedSegment {
                segment: Segment::new(0, index),
                numbers: None,
                live_dfs: Mutex::default(),
                live_cfs: Mutex::default(),
            }],
        };
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl fmt::Debug for SegmentedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentedIndex")
            .field("documents", &self.len())
            .field("segments", &self.inner.segments.len())
            .field("config", self.config())
            .finish_non_exhaustive()
    }
}

impl NumberedSegment {
    /// Whether the segment is the whole index, without deleted documents.
    pub(super) const fn is_whole_index(&self) -> bool {
        self.numbers.is_none()
    }

    /// The number in the whole index of a document that is not deleted.
    pub(super) fn number(&self, local: DocNum) -> DocNum {
        match &self.numbers {
            Some(numbers) => DocNum::new(numbers[local.index()]),
            None => local,
        }
    }

    /// The number in the segment of a document of the whole index.
    pub(super) fn local(&self, doc: DocNum) -> Option<DocNum> {
        let local = match &self.numbers {
            None => doc.index(),
            Some(numbers) => {
                let mut local = numbers.partition_point(|&number| number < doc.get());
                let end = numbers.partition_point(|&number| number <= doc.get());
                while local < end && !self.segment.is_live(DocNum::new(local as u32)) {
                    local += 1;
                }
                (local < end).then_some(local)?
            }
        };
        (local < self.segment.index.len()).then_some(DocNum::new(local as u32))
    }

    /// The number of documents in a posting list that are not deleted.
    pub(super) fn live_df(&self, list: &TermList<'_>, term: &str) -> Result<u32, OpenIndexError> {
        let deleted = &self.segment.deleted;
        if deleted.count() == Some(0) {
            return Ok(list.cursor.df);
        }
        let key = (list.field, term.to_owned());
        let lock = || self.live_dfs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&df) = lock().get(&key) {
            return Ok(df);
        }
        let mut df = list.cursor.df;
        if let Some(mut cursor) = self.segment.index.cursor(list.field, term)? {
            for doc in deleted.iter() {
                if cursor.seek(doc.get()) == doc.get() {
                    df -= 1;
                }
            }
            cursor.take_damage().map_or(Ok(()), Err)?;
        }
        let mut cached = lock();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(key, df);
        Ok(df)
    }

    /// The number of occurrences in a posting list without those in deleted documents.
    pub(super) fn live_cf(&self, list: &TermList<'_>, term: &str) -> Result<u64, OpenIndexError> {
        let deleted = &self.segment.deleted;
        if deleted.count() == Some(0) {
            return Ok(list.cursor.occurrences);
        }
        let key = (list.field, term.to_owned());
        let lock = || self.live_cfs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&cf) = lock().get(&key) {
            return Ok(cf);
        }
        let mut cf = list.cursor.occurrences;
        if let Some(mut cursor) = self.segment.index.cursor(list.field, term)? {
            for doc in deleted.iter() {
                if cursor.seek(doc.get()) == doc.get() {
                    cf = cf.saturating_sub(u64::from(cursor.tf()));
                }
            }
            cursor.take_damage().map_or(Ok(()), Err)?;
        }
        let mut cached = lock();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(key, cf);
        Ok(cf)
    }
}

/// Numbers the documents that are not deleted as an index built from them does.
fn number_documents(segments: &[Segment], order: DocOrder) -> (DocIds, Vec<Option<Vec<u32>>>) {
    if let [only] = segments
        && only.live() == only.index.len()
    {
        return (only.index.ids().clone(), vec![None]);
    }
    let mut ids = DocIds::new();
    let mut numbers: Vec<Vec<u32>> = segments.iter().map(|_| Vec::new()).collect();
    let mut number = |segment: usize, id: &str, is_live: bool| {
        numbers[segment].push(ids.len() as u32);
        if is_live {
            // The writer limits the number of documents.
            let _ = ids.push(id);
        }
    };
    let docs = |segment: usize| {
        let Segment { index, deleted, .. } = &segments[segment];
        let docs = index.ids().iter().zip(0..);
        docs.map(move |(id, doc)| (id, !deleted.contains(DocNum::new(doc))))
    };
    match order {
        DocOrder::Insertion => {
            for segment in 0..segments.len() {
                docs(segment).for_each(|(id, is_live)| number(segment, id, is_live));
            }
        }
        DocOrder::Id => {
            let mut readers: Vec<_> = (0..segments.len()).map(docs).collect();
            let mut heap = BinaryHeap::new();
            for (segment, reader) in readers.iter_mut().enumerate() {
                heap.extend(reader.next().map(|(id, live)| Reverse((id, segment, live))));
            }
            while let Some(Reverse((id, segment, is_live))) = heap.pop() {
                number(segment, id, is_live);
                let next = readers[segment].next();
                heap.extend(next.map(|(id, live)| Reverse((id, segment, live))));
            }
        }
    }
    (ids, numbers.into_iter().map(Some).collect())
}

/// Statistics of the fields over the documents that are not deleted.
fn live_stats(
    config: &IndexConfig,
    segments: &[Segment],
) -> Result<Vec<FieldStats>, OpenIndexError> {
    let mut fields = Vec::new();
    for (field, name) in config.fields.names().iter().enumerate() {
        let mut all = FieldStats {
            name: (*name).to_owned(),
            ..FieldStats::default()
        };
        for Segment { index, deleted, .. } in segments {
            let Some(stats) = index.field_stats().get(field) else {
                continue;
            };
            all.docs += stats.docs;
            all.tokens += stats.tokens;
            all.longest = all.longest.max(stats.longest);
            if deleted.count() != Some(0) {
                let lengths = index.lengths(field)?;
                for doc in deleted.iter() {
                    let length = lengths.get(doc.index()).copied().unwrap_or(0);
                    all.docs -= u64::from(length > 0);
                    all.tokens -= u64::from(length);
                }
            }
        }
        fields.push(all);
    }
    Ok(fields)
}
