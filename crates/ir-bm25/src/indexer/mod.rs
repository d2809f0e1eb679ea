//! Index construction by sort-based inversion.
//!
//! Worker threads invert chunks of documents into sorted runs. Runs beyond the memory budget are
//! spilled to temporary files. A final multiway merge writes the index in one pass.
//!
//! The bytes of an index depend only on the documents and the [`IndexConfig`]: runs are merged in
//! document order, and a posting list is encoded once all its postings are known.

mod index_merge;
mod index_writer;
mod inverter;
#[cfg(feature = "ciff")]
mod posting_list_builder;
mod record_spool;
mod sorted_run;
mod workers;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::store::{AtomicFile, Verify};
use ir_core::{Analyzer, Corpus, DocIds, Document, Flow, Progress};

use crate::{BlankDocs, BuildError, DuplicateIds, Index, IndexConfig, IndexedFields};
pub(crate) use index_merge::merge_indexes;
use inverter::InvertedChunk;
#[cfg(feature = "ciff")]
pub(crate) use posting_list_builder::PostingListBuilder;
use record_spool::RecordSpool;
use sorted_run::SortedRuns;
use workers::{DocChunk, InversionConfig, Workers};

/// Default memory budget of an [`IndexBuilder`] in bytes: 256 MiB.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// Number of documents, or of bytes of text, after which progress is reported.
const REPORT_DOCS: u64 = 1 << 12;
const REPORT_BYTES: usize = 1 << 20;

/// Maximum size of a chunk, in documents and in bytes of text.
const CHUNK_DOCS: usize = 1 << 13;
const CHUNK_BYTES: usize = 2 << 20;

/// Incremental, parallel builder of an [`Index`] within a memory budget.
///
/// # Memory
/// [`IndexBuilder::with_memory`] bounds the inverted documents and stored fields held in memory;
/// the rest is spilled to temporary files. In addition, the builder holds for every document its
/// id, 40 bytes and about 8 bytes per field; the chunks in progress (about 10 MB per thread); and
/// at the end the term dictionary and the longest posting list. The bytes of the index depend
/// neither on the budget nor on the number of threads.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexBuilder, IndexConfig};
/// use ir_core::{DocNum, Document, NoProgress};
///
/// # let folder = std::env::temp_dir().join(format!("ir-bm25-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("tea.ir");
/// let mut builder = IndexBuilder::new(IndexConfig::default())?.with_memory(64 << 20);
/// builder.push(&Document::new("d1").with_text("Green tea"))?;
/// builder.push(&Document::new("d2").with_text("Black tea"))?;
/// let index = builder.finish_to(&path, &mut NoProgress)?;
/// assert_eq!(index.stats().fields[0].tokens, 4);
/// assert_eq!(Index::open(&path)?.ids().id(DocNum::new(0)), "d1");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndexBuilder {
    inversion: InversionConfig,
    analyzer_name: Option<String>,
    /// `true` if ids may be repeated.
    keeps_duplicates: bool,
    memory: usize,
    threads: usize,
    temporary: Option<PathBuf>,
    workers: Option<Workers>,
    chunk: DocChunk,
    chunk_bytes: usize,
    failed: bool,
    /// Number of documents with an attribute `year` that is none.
    invalid_years: u64,
    indexed: IndexedDocs,
}

/// The documents indexed so far.
#[derive(Debug, Default)]
struct IndexedDocs {
    ids: DocIds,
    blank_dropped: u64,
    /// Empty until a document has a year.
    years: Vec<Option<i64>>,
    /// Document lengths in tokens, by field.
    lengths: Vec<Vec<u32>>,
    runs: SortedRuns,
    stored: RecordSpool,
}

impl Index {
    /// Builds an index of a collection in memory. [`IndexBuilder`] offers memory budget, number of
    /// threads and incremental indexing.
    ///
    /// # Errors
    /// [`BuildError`]: the collection cannot be read, an id is repeated, indexing was canceled,
    /// ...
    pub fn build<C: Corpus + ?Sized>(
        corpus: &C,
        config: &IndexConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        IndexBuilder::with_corpus(corpus, config, progress)?.finish(progress)
    }

    /// Builds an index of a collection in a file and opens it. The write is atomic.
    ///
    /// # Errors
    /// Returns the errors of [`Index::build`], and an error if the file cannot be written.
    pub fn build_to<C: Corpus + ?Sized>(
        path: impl AsRef<Path>,
        corpus: &C,
        config: &IndexConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        IndexBuilder::with_corpus(corpus, config, progress)?.finish_to(path, progress)
    }
}

impl IndexBuilder {
    /// A builder with [`DEFAULT_MEMORY`] and one thread per core.
    ///
    /// # Errors
    /// [`BuildError::Analysis`].
    pub fn new(config: IndexConfig) -> Result<Self, BuildError> {
        let analyzer = Arc::new(config.analysis.build()?);
        let indexed = IndexedDocs {
            lengths: vec![Vec::new(); config.fields.names().len()],
            ..IndexedDocs::default()
        };
        Ok(Self {
            keeps_duplicates: config.duplicates == DuplicateIds::Keep,
            inversion: InversionConfig { config, analyzer },
            analyzer_name: None,
            memory: DEFAULT_MEMORY,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            temporary: None,
            workers: None,
            chunk: DocChunk::default(),
            chunk_bytes: 0,
            failed: false,
            invalid_years: 0,
            indexed,
        })
    }

    /// A builder that has read a collection.
    pub(crate) fn with_corpus<C: Corpus + ?Sized>(
        corpus: &C,
        config: &IndexConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        let mut builder = Self::new(config.clone())?;
        builder.push_all(corpus, progress)?;
        Ok(builder)
    }

    /// Accepts repeated ids whatever the configuration says: a segment has documents that were
    /// replaced within its commit.
    pub(crate) fn with_replaced_documents(mut self) -> Self {
        self.keeps_duplicates = true;
        self
    }

    /// Sets the memory budget in bytes. Any value works; smaller ones spill more often. Default:
    /// [`DEFAULT_MEMORY`].
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the number of threads that invert documents; 0 counts as 1. With one thread, `push`
    /// inverts. Default: one per core.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Sets the directory of the temporary files. They are unnamed, and the operating system
    /// removes them even if the process is killed. Default: the system's directory.
    #[must_use]
    pub fn with_temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temporary = Some(folder.into());
        self
    }

    /// Sets a custom analyzer, which replaces the configured analysis. Only its name is saved with
    /// the index; pass the analyzer again to [`Index::with_analyzer`] after opening the index.
    #[must_use]
    pub fn with_analyzer(mut self, name: impl Into<String>, analyzer: Arc<dyn Analyzer>) -> Self {
        self.analyzer_name = Some(name.into());
        self.inversion.analyzer = analyzer;
        self
    }

    /// Adds a document.
    ///
    /// # Errors
    /// When there are too many documents, or an earlier document cannot be indexed: errors may
    /// arrive late, because documents are inverted in the background. After an error, every call
    /// returns [`BuildError::Abandoned`].
    pub fn push(&mut self, doc: &Document) -> Result<(), BuildError> {
        self.guard(|builder| builder.add(doc.clone()))
    }

    /// Adds all documents of a collection.
    ///
    /// # Errors
    /// Returns the errors of [`IndexBuilder::push`], [`BuildError::Corpus`] if the collection
    /// cannot be read, and [`BuildError::Canceled`].
    pub fn push_all<C: Corpus + ?Sized>(
        &mut self,
        corpus: &C,
        progress: &mut dyn Progress,
    ) -> Result<(), BuildError> {
        self.guard(|builder| {
            let total = corpus.len_hint();
            let mut reader = corpus.open()?;
            let mut doc = Document::default();
            let (mut read, mut bytes) = (0_u64, 0);
            while reader.read(&mut doc)? {
                read += 1;
                bytes += doc.title.len() + doc.text.len();
                builder.add(std::mem::take(&mut doc))?;
                if read.is_multiple_of(REPORT_DOCS) || bytes >= REPORT_BYTES {
                    bytes = 0;
                    report(progress, read, total)?;
                }
            }
            builder.invert_all(progress)
        })
    }

    /// The number of documents added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indexed.ids.len()
    }

    /// Returns the number of documents with an invalid year
    /// ([`Attributes::has_invalid_year`](ir_core::Attributes::has_invalid_year)).
    #[must_use]
    pub const fn invalid_years(&self) -> u64 {
        self.invalid_years
    }

    /// Returns whether no document was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Completes the index in memory.
    ///
    /// # Errors
    /// Returns an error if ids are repeated, a document cannot be indexed, or `progress` cancels.
    pub fn finish(mut self, progress: &mut dyn Progress) -> Result<Index, BuildError> {
        let path = Path::new("(memory)");
        let bytes = self.write_index(Vec::new(), path, progress)?;
        Ok(self.finished(Index::from_bytes(bytes, Verify::SmallSections)?))
    }

    /// Writes the index to a file and opens it. The write is atomic.
    ///
    /// # Errors
    /// Returns the errors of [`IndexBuilder::finish`], and an error if the file cannot be written.
    /// An existing file at `path` is unchanged then.
    pub fn finish_to(
        mut self,
        path: impl AsRef<Path>,
        progress: &mut dyn Progress,
    ) -> Result<Index, BuildError> {
        let path = path.as_ref();
        let file = AtomicFile::create(path).map_err(BuildError::write(path))?;
        let file = self.write_index(file, path, progress)?;
        file.commit().map_err(BuildError::write(path))?;
        Ok(self.finished(Index::open_with(path, Verify::SmallSections)?))
    }

    /// Writes the index to `sink` and returns the sink. `path` is for errors.
    fn write_index<W: Write>(
        &mut self,
        sink: W,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<W, BuildError> {
        let indexed = self.take_indexed(progress)?;
        let (config, analyzer) = (&self.inversion.config, self.analyzer_name.clone());
        index_writer::write_index(indexed, config, analyzer, sink, path, progress)
    }

    /// The finished index with the custom analyzer, if there is one.
    fn finished(&self, index: Index) -> Index {
        match self.analyzer_name {
            Some(_) => index.with_analyzer(Arc::clone(&self.inversion.analyzer)),
            None => index,
        }
    }

    fn guard<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        if self.failed {
            return Err(BuildError::Abandoned);
        }
        let result = work(self);
        self.failed = result.is_err();
        result
    }

    fn add(&mut self, doc: Document) -> Result<(), BuildError> {
        let config = &self.inversion.config;
        if config.blank == BlankDocs::Drop && is_blank(&doc, config.fields) {
            self.indexed.blank_dropped += 1;
            return Ok(());
        }
        let number = self.indexed.ids.push(&doc.id)?;
        let year = doc.attributes.year();
        self.invalid_years += u64::from(doc.attributes.has_invalid_year());
        if year.is_some() && self.indexed.years.is_empty() {
            self.indexed.years = vec![None; number.index()];
        }
        if year.is_some() || !self.indexed.years.is_empty() {
            self.indexed.years.push(year);
        }
        if self.chunk.docs.is_empty() {
            self.chunk.first = number.get();
        }
        self.chunk_bytes += doc.title.len() + doc.text.len();
        self.chunk.docs.push(doc);
        if self.chunk.docs.len() >= CHUNK_DOCS || self.chunk_bytes >= CHUNK_BYTES {
            self.submit()?;
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), BuildError> {
        if self.chunk.docs.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.chunk_bytes = 0;
        let mut workers = match self.workers.take() {
            Some(workers) => workers,
            None => Workers::start(self.threads, &self.inversion)?,
        };
        workers.submit(chunk, &self.inversion);
        let backlog = workers.backlog();
        while let Some(inverted) = workers.next(backlog) {
            self.add_chunk(inverted?)?;
        }
        self.workers = Some(workers);
        Ok(())
    }

    fn add_chunk(&mut self, inverted: InvertedChunk) -> Result<(), BuildError> {
        let indexed = &mut self.indexed;
        for (all, lengths) in indexed.lengths.iter_mut().zip(inverted.lengths) {
            all.extend(lengths);
        }
        indexed.runs.push(inverted.run);
        indexed
            .stored
            .extend(&inverted.stored, &inverted.stored_ends);
        if indexed.runs.in_memory() + indexed.stored.in_memory() > self.memory {
            let folder = self.temporary.clone();
            let new_file = || new_file(folder.as_deref());
            indexed.runs.spill(&new_file).map_err(BuildError::Spill)?;
            indexed.stored.spill(&new_file).map_err(BuildError::Spill)?;
        }
        Ok(())
    }

    /// Inverts the documents that were pushed and waits for the workers.
    fn invert_all(&mut self, progress: &mut dyn Progress) -> Result<(), BuildError> {
        self.submit()?;
        let documents = self.len() as u64;
        if let Some(mut workers) = self.workers.take() {
            while let Some(inverted) = workers.next(0) {
                self.add_chunk(inverted?)?;
                report(progress, documents, Some(documents))?;
            }
        }
        Ok(())
    }

    /// Waits for the workers and takes the indexed documents.
    fn take_indexed(&mut self, progress: &mut dyn Progress) -> Result<IndexedDocs, BuildError> {
        self.guard(|builder| {
            builder.invert_all(progress)?;
            if !builder.keeps_duplicates {
                builder.indexed.ids.check_unique()?;
            }
            Ok(std::mem::take(&mut builder.indexed))
        })
    }
}

fn report(
    progress: &mut dyn Progress,
    documents: u64,
    total: Option<u64>,
) -> Result<(), BuildError> {
    match progress.report("indexing", documents, total) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(BuildError::Canceled),
    }
}

fn new_file(folder: Option<&Path>) -> io::Result<File> {
    match folder {
        Some(folder) => tempfile::tempfile_in(folder),
        None => tempfile::tempfile(),
    }
}

fn is_blank(doc: &Document, fields: IndexedFields) -> bool {
    let blank = |text: &str| text.bytes().all(|byte| byte <= b' ');
    match fields {
        IndexedFields::TextOnly => blank(&doc.text),
        IndexedFields::One | IndexedFields::Separate => blank(&doc.text) && blank(&doc.title),
        IndexedFields::Named(names) => {
            let mut buffer = String::new();
            let mut all = 0..names.names().len();
            all.all(|field| blank(fields.text_of(field, doc, &mut buffer)))
        }
    }
}

impl fmt::Debug for IndexBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexBuilder")
            .field("documents", &self.len())
            .field("config", &self.inversion.config)
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
