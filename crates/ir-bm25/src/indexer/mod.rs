//! Building an index: documents are inverted chunk by chunk on all cores, the sorted results are kept within a
//! memory budget (beyond it they go to temporary files), and one merge writes the index from front to back.
//!
//! The result depends on the documents and the [`IndexConfig`] alone: chunks are merged in the order of their
//! documents, and every list is encoded from the whole of its postings.

mod index_writer;
mod inverter;
mod record_spool;
mod sorted_run;
mod workers;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::store::{AtomicFile, Verify};
use ir_core::{Analyzer, Corpus, DocIds, Document, Flow, NoProgress, Progress};

use crate::{BlankDocs, BuildError, DuplicateIds, Index, IndexConfig, IndexedFields};
use inverter::InvertedChunk;
use record_spool::RecordSpool;
use sorted_run::SortedRuns;
use workers::{DocChunk, InversionConfig, Workers};

/// Memory that an index in the making may take by default, in bytes: 256 MiB.
pub const DEFAULT_MEMORY: usize = 256 << 20;

/// A chunk is handed to the workers when it has so many documents or bytes.
const CHUNK_DOCS: usize = 1 << 13;
const CHUNK_BYTES: usize = 2 << 20;

/// Builds an index from documents that are pushed one after another.
///
/// # Memory
/// [`IndexBuilder::with_memory`] bounds the inverted documents and the stored texts that are held at a time; what
/// is beyond goes to temporary files. On top of it come, for every document, its id and about 8 bytes a field and
/// 40 in all, the chunks that are at work (about 10 MB a thread), and at the end the term dictionary and the longest
/// list of postings. The bytes of the index do not depend on the budget or on the number of threads.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexBuilder, IndexConfig};
/// use ir_core::Document;
///
/// # let folder = std::env::temp_dir().join(format!("ir-bm25-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("tea.ir");
/// let mut builder = IndexBuilder::new(IndexConfig::default())?.with_memory(64 << 20);
/// builder.push(&Document::new("d1").with_text("Green tea"))?;
/// builder.push(&Document::new("d2").with_text("Black tea"))?;
/// let index = builder.finish_to(&path)?;
/// assert_eq!(index.stats().fields[0].tokens, 4);
/// assert_eq!(Index::open(&path)?.ids().id(0.into()), "d1");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndexBuilder {
    inversion: InversionConfig,
    analyzer_name: Option<String>,
    memory: usize,
    threads: usize,
    temporary: Option<PathBuf>,
    workers: Option<Workers>,
    chunk: DocChunk,
    chunk_bytes: usize,
    failed: bool,
    indexed: IndexedDocs,
}

/// What has been indexed of the documents so far.
#[derive(Debug, Default)]
struct IndexedDocs {
    ids: DocIds,
    id_bytes: usize,
    blank_dropped: u64,
    /// Empty while no document has a year.
    years: Vec<Option<i64>>,
    /// For every field the tokens of every document.
    lengths: Vec<Vec<u32>>,
    runs: SortedRuns,
    stored: RecordSpool,
}

impl IndexBuilder {
    /// A builder without documents, with [`DEFAULT_MEMORY`] and as many threads as there are cores.
    ///
    /// # Errors
    /// When the analysis is not valid.
    pub fn new(config: IndexConfig) -> Result<Self, BuildError> {
        let analyzer = Arc::new(config.analysis.build()?);
        let indexed = IndexedDocs {
            lengths: vec![Vec::new(); config.fields.names().len()],
            ..IndexedDocs::default()
        };
        Ok(Self {
            inversion: InversionConfig { config, analyzer },
            analyzer_name: None,
            memory: DEFAULT_MEMORY,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            temporary: None,
            workers: None,
            chunk: DocChunk::default(),
            chunk_bytes: 0,
            failed: false,
            indexed,
        })
    }

    /// The memory budget, in bytes. Any value works; a small one makes more and smaller temporary files.
    #[must_use]
    pub fn with_memory(self, bytes: usize) -> Self {
        Self {
            memory: bytes,
            ..self
        }
    }

    /// How many threads invert documents; 0 counts as 1. With one, the work is done in `push`.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self {
            threads: threads.max(1),
            ..self
        }
    }

    /// The folder of the temporary files; the system's by default. They have no name there, and
    /// vanish with the builder whatever happens.
    #[must_use]
    pub fn with_temporary_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            temporary: Some(folder.into()),
            ..self
        }
    }

    /// An analyzer of the caller's own in place of the one in the configuration. It cannot be saved with
    /// the index, only its name; who opens the index gives it again with [`Index::with_analyzer`].
    #[must_use]
    pub fn with_analyzer(mut self, name: impl Into<String>, analyzer: Arc<dyn Analyzer>) -> Self {
        self.analyzer_name = Some(name.into());
        self.inversion.analyzer = analyzer;
        self
    }

    /// Adds a document.
    ///
    /// # Errors
    /// When there are too many documents, or an earlier one cannot be indexed: errors may come late, since work
    /// is done in the background. After an error the builder is of no more use.
    pub fn push(&mut self, doc: &Document) -> Result<(), BuildError> {
        self.guard(|builder| builder.add(doc))
    }

    /// Adds all documents of a collection.
    ///
    /// # Errors
    /// As [`IndexBuilder::push`], and when the collection cannot be read or the progress says stop.
    pub fn push_all<C: Corpus + ?Sized>(
        &mut self,
        corpus: &C,
        progress: &mut dyn Progress,
    ) -> Result<(), BuildError> {
        self.guard(|builder| {
            let total = corpus.len_hint();
            let mut reader = corpus.open()?;
            let mut doc = Document::default();
            let mut read = 0_u64;
            while reader.read(&mut doc)? {
                builder.add(&doc)?;
                read += 1;
                if read.is_multiple_of(4096)
                    && progress.report("indexing", read, total) == Flow::Stop
                {
                    return Err(BuildError::Cancelled);
                }
            }
            match progress.report("indexing", read, total.or(Some(read))) {
                Flow::Continue => Ok(()),
                Flow::Stop => Err(BuildError::Cancelled),
            }
        })
    }

    /// How many documents have been added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indexed.ids.len()
    }

    /// Whether none has been added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index, in memory.
    ///
    /// # Errors
    /// When ids are repeated, or a document cannot be indexed.
    pub fn finish(self) -> Result<Index, BuildError> {
        self.finish_with(&mut NoProgress)
    }

    /// The index, in memory, with reports on the way.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish`], and when the progress says stop.
    pub fn finish_with(mut self, progress: &mut dyn Progress) -> Result<Index, BuildError> {
        let path = Path::new("(memory)");
        let bytes = self.write_index(Vec::new(), path, progress)?;
        Ok(self.finished(Index::from_bytes(bytes, Verify::SmallSections)?))
    }

    /// Writes the index to a file and opens it. The write is atomic.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish`], and when the file cannot be written; an existing file at `path`
    /// is unchanged then.
    pub fn finish_to(self, path: impl AsRef<Path>) -> Result<Index, BuildError> {
        self.finish_to_with(path, &mut NoProgress)
    }

    /// [`IndexBuilder::finish_to`] with progress reports.
    ///
    /// # Errors
    /// As [`IndexBuilder::finish_to`], and [`BuildError::Cancelled`].
    pub fn finish_to_with(
        mut self,
        path: impl AsRef<Path>,
        progress: &mut dyn Progress,
    ) -> Result<Index, BuildError> {
        let path = path.as_ref();
        let write = |source| BuildError::Write {
            path: path.to_owned(),
            source,
        };
        let file = AtomicFile::create(path).map_err(write)?;
        let file = self.write_index(file, path, progress)?;
        file.commit().map_err(write)?;
        Ok(self.finished(Index::open_with(path, Verify::SmallSections)?))
    }

    /// Writes the index to `sink` and returns the sink. `path` is for errors.
    fn write_index<W: Write>(
        &mut self,
        sink: W,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<W, BuildError> {
        let indexed = self.take_indexed()?;
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

    fn add(&mut self, doc: &Document) -> Result<(), BuildError> {
        let config = &self.inversion.config;
        if config.blank == BlankDocs::Drop && is_blank(doc, config.fields) {
            self.indexed.blank_dropped += 1;
            return Ok(());
        }
        let number = self.indexed.ids.push(&doc.id)?;
        self.indexed.id_bytes += doc.id.len();
        let year = doc.attributes.year();
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
        self.chunk.docs.push(doc.clone());
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
        while let Some(outcome) = workers.next(backlog) {
            self.take(outcome?)?;
        }
        self.workers = Some(workers);
        Ok(())
    }

    fn take(&mut self, inverted: InvertedChunk) -> Result<(), BuildError> {
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

    /// Waits for all work.
    fn take_indexed(&mut self) -> Result<IndexedDocs, BuildError> {
        self.guard(|builder| {
            builder.submit()?;
            if let Some(mut workers) = builder.workers.take() {
                while let Some(outcome) = workers.next(0) {
                    builder.take(outcome?)?;
                }
            }
            if builder.inversion.config.duplicates == DuplicateIds::Reject {
                builder.indexed.ids.check_unique()?;
            }
            Ok(std::mem::take(&mut builder.indexed))
        })
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
    blank(&doc.text) && (fields == IndexedFields::TextOnly || blank(&doc.title))
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
