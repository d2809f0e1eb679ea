//! Point-in-time reader of a segmented index.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::segments::{Commit, SegmentStats};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    Analyzer, Attributes, DocFilter, DocIds, DocNum, DocSet, Document, Predicate, SegmentOrder,
    SegmentedIds, Years,
};

use super::Segment;
use crate::postings::END;
use crate::search::{ListStatistics, TermList};
use crate::{DocOrder, FieldStats, Index, IndexConfig, StoredFieldsError};

/// Maximum number of terms with cached statistics, per field and segment.
const MAX_CACHED: usize = 1 << 16;

/// A commit of a segmented index, as [`IndexWriter`](super::IndexWriter) wrote it. Immutable; cheap
/// to clone and to share between threads.
///
/// Later commits do not change it and do not wait for it; open the index again to see them.
/// An [`Index`] built from the documents that are not deleted has the same rankings and scores, bit
/// for bit: statistics cover all segments, without deleted documents, and documents are numbered as
/// in that index.
///
/// The time to open an index depends little on its size, but the length codes of segments with
/// deleted documents are scanned. With several segments or deleted documents, the first search
/// numbers the documents anew, in a time proportional to the number of documents outside the
/// largest segment ([`SegmentedIds`]). [`IndexWriter::compact`] leaves one segment without deleted
/// documents.
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
    /// [`None`] for a single segment without deleted documents.
    numbering: Option<SegmentedIds>,
    fields: Vec<FieldStats>,
    /// [`None`] for an [`Index`] that needs a custom analyzer.
    analyzer: Option<Arc<dyn Analyzer>>,
}

/// A segment and the numbers of its documents in the whole index.
pub(crate) struct NumberedSegment {
    pub(crate) segment: Segment,
    /// The numbers of all segments, and which this one is. [`None`] if it is the whole index,
    /// without deleted documents.
    numbering: Option<(SegmentedIds, usize)>,
    /// Statistics without deleted documents, of every field by term.
    live: Mutex<Vec<HashMap<Box<str>, ListStatistics>>>,
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
        let commit = Commit::<Index>::open(folder, Verify::FirstUse)?;
        let config = commit.config;
        let analysis = config.analysis.build();
        let analyzer = analysis.map_err(|error| OpenIndexError::Metadata {
            path: folder.to_owned(),
            source: error.into(),
        })?;
        let fields = live_stats(&config, &commit.segments)?;
        let (ids, numbering) = match &*commit.segments {
            [only] if only.deleted.count() == Some(0) => (only.index.ids().clone(), None),
            segments => {
                let parts = segments.iter();
                let parts = parts.map(|part| (part.index.ids().clone(), part.deleted.clone()));
                let order = match config.order {
                    DocOrder::Id => SegmentOrder::Id,
                    DocOrder::Insertion => SegmentOrder::Insertion,
                };
                let all = SegmentedIds::new(parts.collect(), order);
                (all.clone().into(), Some(all))
            }
        };
        let number = |(at, segment)| NumberedSegment {
            segment,
            numbering: numbering.clone().map(|all| (all, at)),
            live: Mutex::default(),
        };
        let segments = commit
            .segments
            .into_iter()
            .enumerate()
            .map(number)
            .collect();
        Ok(Self {
            inner: Arc::new(Snapshot {
                path: Some(folder.to_owned()),
                config,
                commit: commit.number,
                segments,
                ids,
                numbering,
                fields,
                analyzer: Some(Arc::new(analyzer)),
            }),
        })
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

    /// Statistics of every field, without deleted documents. Terms and postings are counted in a
    /// single index ([`SegmentedIndex::single`]); otherwise their numbers are 0. `longest` includes
    /// deleted documents.
    ///
    /// ```
    /// use ir_bm25::{Index, IndexConfig, SegmentedIndex};
    /// use ir_core::{Document, NoProgress};
    ///
    /// let documents = vec![Document::new("a").with_text("green tea, black tea")];
    /// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
    /// let fields = SegmentedIndex::from(index).fields().to_vec();
    /// assert_eq!((fields[0].tokens, fields[0].terms), (4, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fields(&self) -> &[FieldStats] {
        &self.inner.fields
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
    /// Returns the errors of [`SegmentedIndex::document`].
    pub fn attributes(&self, doc: DocNum) -> Result<Attributes, StoredFieldsError> {
        let (numbered, local) = self.locate(doc)?;
        numbered.segment.index.attributes(local)
    }

    /// Selects the documents that satisfy a condition on attributes, as a filter. Scans all
    /// documents.
    ///
    /// # Errors
    /// Returns the errors of [`SegmentedIndex::attributes`].
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
        let located = match &self.inner.numbering {
            None if doc.index() < self.len() => Some((0, doc)),
            None => None,
            Some(all) => all.locate(doc),
        };
        let no_such_document = StoredFieldsError::NoSuchDocument {
            documents: self.len(),
            found: doc.get(),
        };
        let (segment, local) = located.ok_or(no_such_document)?;
        Ok((&self.inner.segments[segment], local))
    }

    /// The segment of a document, its part and the number of the document there.
    pub(crate) fn part_of<'s, P>(
        &self,
        doc: DocNum,
        parts: Vec<(&'s NumberedSegment, P)>,
    ) -> Option<(&'s NumberedSegment, P, DocNum)> {
        let (holder, local) = self.locate(doc).ok()?;
        let mut parts = parts.into_iter();
        let (numbered, part) = parts.find(|(numbered, _)| std::ptr::eq(*numbered, holder))?;
        Some((numbered, part, local))
    }

    pub(crate) fn numbered_segments(&self) -> &[NumberedSegment] {
        &self.inner.segments
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
            numbering: None,
            fields: index.field_stats().to_vec(),
            analyzer: index.shared_analyzer(),
            segments: vec![NumberedSegment {
                segment: Segment::new(0, index),
                numbering: None,
                live: Mutex::default(),
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
    /// Returns `true` if the segment is the whole index, without deleted documents.
    pub(super) const fn is_whole_index(&self) -> bool {
        self.numbering.is_none()
    }

    /// The number in the whole index of a document that is not deleted.
    #[inline]
    pub(crate) fn number(&self, local: DocNum) -> DocNum {
        match &self.numbering {
            Some((all, segment)) => all.numbers(*segment).number(local),
            None => local,
        }
    }

    /// A number that is not above the number of any document from `local` on.
    #[inline]
    pub(crate) fn least_number(&self, local: DocNum) -> DocNum {
        match &self.numbering {
            Some(_) => DocNum::new(0),
            None => local,
        }
    }

    /// Statistics of a posting list without deleted documents.
    pub(super) fn live_statistics(
        &self,
        list: &TermList<'_>,
        term: &str,
    ) -> Result<ListStatistics, OpenIndexError> {
        let deleted = &self.segment.deleted;
        let mut statistics = ListStatistics {
            df: list.cursor.df,
            cf: list.cursor.occurrences,
        };
        if deleted.count() == Some(0) {
            return Ok(statistics);
        }
        let lock = || self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = lock().get(list.field).and_then(|known| known.get(term)) {
            return Ok(known);
        }
        if let Some(mut cursor) = self.segment.index.cursor(list.field, term)? {
            // In the shorter of the list and the deleted documents, each document is looked up in
            // the other.
            let mut subtract = |tf| {
                statistics.df = statistics.df.saturating_sub(1);
                statistics.cf = statistics.cf.saturating_sub(u64::from(tf));
            };
            if deleted
                .count()
                .is_some_and(|count| count < cursor.df as usize)
            {
                for doc in deleted.iter() {
                    if cursor.seek(doc.get()) == doc.get() {
                        subtract(cursor.tf());
                    }
                }
            } else {
                let mut doc = cursor.seek(0);
                while doc != END {
                    if deleted.contains(DocNum::new(doc)) {
                        subtract(cursor.tf());
                    }
                    doc = cursor.seek(doc + 1);
                }
            }
            cursor.take_damage().map_or(Ok(()), Err)?;
        }
        let mut cached = lock();
        if cached.len() <= list.field {
            cached.resize_with(list.field + 1, HashMap::new);
        }
        let cached = &mut cached[list.field];
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(term.into(), statistics);
        Ok(statistics)
    }
}

/// Statistics of the fields over the documents that are not deleted.
fn live_stats(
    config: &IndexConfig,
    segments: &[Segment],
) -> Result<Vec<FieldStats>, OpenIndexError> {
    if let [Segment { index, deleted, .. }] = segments
        && deleted.count() == Some(0)
    {
        return Ok(index.field_stats().to_vec());
    }
    let names = config.fields.names();
    let field = |name: &&str| FieldStats {
        name: (*name).to_owned(),
        ..FieldStats::default()
    };
    let mut fields: Vec<FieldStats> = names.iter().map(field).collect();
    for Segment { index, deleted, .. } in segments {
        let of_deleted = match deleted.count() {
            Some(0) => vec![(0, 0); fields.len()],
            _ => index.totals_of(deleted)?,
        };
        let stats = index.field_stats().iter();
        for ((all, stats), (docs, tokens)) in fields.iter_mut().zip(stats).zip(of_deleted) {
            let live = stats
                .docs
                .checked_sub(docs)
                .zip(stats.tokens.checked_sub(tokens))
                .filter(|(docs, tokens)| docs <= tokens);
            let sums = live.and_then(|(docs, tokens)| {
                let docs = all.docs.checked_add(docs)?;
                Some((docs, all.tokens.checked_add(tokens)?))
            });
            (all.docs, all.tokens) = sums.ok_or_else(|| index.malformed_stats())?;
            all.longest = all.longest.max(stats.longest);
        }
    }
    Ok(fields)
}
