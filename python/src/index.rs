//! The class of full-text indexes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_bm25::{
    Analysis, BlankDocs, Bm25, DocOrder, DuplicateIds, FieldNames, Index as CoreIndex,
    IndexBuilder, IndexConfig, IndexedFields, SegmentedIndex, StoredFields,
};
use ir_core::{Corpus, DocIds, Document, Progress};
use ir_data::{DocumentFile, ReadOptions};
use ir_experiment::SharedRetriever;
use ir_experiment::systems::AnalyzerEntry;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyString};

use crate::closable::Closable;
use crate::document::{document, to_dict};
use crate::error::{invalid, raise};
use crate::evaluation::from_json;
use crate::filter::{DocFilter, filter_of, select};
use crate::ids::{choice, expected, id_text};
use crate::system::{TextRetriever, single_or_batch};
use crate::work::{Task, interruptible};

/// Documents that are converted at once, with the GIL.
const CHUNK: usize = 1000;

/// Full-text index with BM25.
///
/// `Index.build` makes one of documents, `Index.open` opens a saved one. `search` uses BM25 with k1
/// = 0.9 and b = 0.4; `System.open(index)` searches by other systems.
///
/// Examples
/// --------
/// >>> documents = [
/// ...     {"id": "tea", "text": "Green tea is steeped for two minutes.", "year": 2012},
/// ...     {"id": "bread", "text": "Bread rises twice before it is baked.", "year": 2020},
/// ... ]
/// >>> index = irrs.Index.build(documents)
/// >>> index.search("baking bread", k=1).ids
/// ['bread']
/// >>> results = index.search({"q1": "green tea", "q2": "bread"}, k=2)
/// >>> results.ids
/// [['tea'], ['bread']]
/// >>> results.scores.shape
/// (2, 1)
/// >>> index.search("tea bread", filter="year>=2015").ids
/// ['bread']
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Index(Closable<OpenIndex>);

/// Index and its default retriever.
#[derive(Debug)]
pub(crate) struct OpenIndex {
    pub(crate) index: SegmentedIndex,
    retriever: TextRetriever,
}

impl Index {
    fn new(index: SegmentedIndex, path: Option<PathBuf>) -> PyResult<Self> {
        let searcher = index.searcher(Bm25::ANSERINI).map_err(raise)?;
        let retriever: SharedRetriever = Arc::new(searcher);
        let retriever = TextRetriever::new(retriever);
        Ok(Self(Closable::new(OpenIndex { index, retriever }, path)))
    }

    /// Returns the index, or the error of a closed one.
    pub(crate) fn get(&self) -> PyResult<Arc<OpenIndex>> {
        self.0.get()
    }
}

/// Opens an index: a folder of segments, or a file.
fn open_path(path: &Path) -> PyResult<SegmentedIndex> {
    if path.is_dir() {
        return SegmentedIndex::open(path).map_err(raise);
    }
    Ok(CoreIndex::open(path).map_err(raise)?.into())
}

/// Adds documents of an iterator to a builder. Exceptions of the iterator are passed on.
fn push_records(
    builder: &mut IndexBuilder,
    records: &Py<PyIterator>,
    task: &mut Task<'_>,
) -> PyResult<()> {
    let mut row = 0;
    loop {
        let chunk = Python::attach(|py| {
            let mut chunk: Vec<Document> = Vec::new();
            let mut records = records.bind(py).clone();
            while chunk.len() < CHUNK
                && let Some(record) = records.next()
            {
                chunk.push(document(&record?, row)?);
                row += 1;
            }
            PyResult::Ok(chunk)
        })?;
        if chunk.is_empty() {
            return Ok(());
        }
        for document in &chunk {
            builder.push(document).map_err(raise)?;
        }
        if task.report("documents", row as u64, None) == ir_core::Flow::Stop {
            return Err(invalid("canceled"));
        }
    }
}

/// Adds the documents of a path: a file, a folder, or the name of a collection.
fn push_path(builder: &mut IndexBuilder, path: &Path, task: &mut Task<'_>) -> PyResult<()> {
    if path.is_file() {
        let file = DocumentFile::open(path, &ReadOptions::default()).map_err(raise)?;
        return push_corpus(builder, &file, task);
    }
    let collection = ir_data::open_path_or_name(&path.to_string_lossy()).map_err(raise)?;
    push_corpus(builder, collection.corpus(), task)
}

/// Adds all documents, with a warning of what their reader has skipped.
fn push_corpus(
    builder: &mut IndexBuilder,
    corpus: &dyn Corpus,
    task: &mut Task<'_>,
) -> PyResult<()> {
    builder.push_all(corpus, task).map_err(raise)?;
    let skipped = corpus.skipped();
    let parts = [
        (skipped.nul_bytes, "NUL bytes skipped"),
        (skipped.repeated_ids, "repeated records skipped"),
        (
            skipped.commented_documents,
            "commented-out documents skipped",
        ),
        (
            skipped.joined_rows,
            "rows with the text of other rows, as after an unpaired quotation mark",
        ),
    ];
    let found = parts.into_iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = found
        .map(|(count, text)| format!("documents: {count} {text}"))
        .collect();
    task.warn_all(&texts);
    Ok(())
}

#[pymethods]
impl Index {
    /// Builds an index of documents.
    ///
    /// Parameters
    /// ----------
    /// documents : iterable of dict, path or pandas.DataFrame
    ///     Dictionaries with an id (`_id`, `id`, `docno`, `doc_id`, ...), a text (`text`,
    ///     `contents`, `body`, ...) and optionally a `title`; other keys and the members of
    ///     `metadata` are attributes for filters. An iterator is read once, in chunks. A path is a
    ///     file (JSON lines, CSV, TSV, Parquet, TREC), a BEIR folder or the name of a collection.
    /// path : path, optional
    ///     File of the index. None keeps it in memory.
    /// analyzer : str or dict
    ///     porter, anserini, english, lucene-standard, whitespace, lucene-cjk, or a dictionary of
    ///     an analysis chain.
    /// fields : str or list of str
    ///     Indexed fields: "one" (title and text as one), "text", "separate", or names of fields.
    /// store : str
    ///     Stored fields: "all", "attributes" (for filters) or "nothing".
    /// positions : bool
    ///     Store positions, which phrases need.
    /// order : str
    ///     Order of documents with equal scores: "id" or "insertion".
    /// duplicates : str
    ///     Repeated ids: "reject" or "keep".
    /// blank : str
    ///     Blank documents: "keep" or "drop".
    /// memory : int, optional
    ///     Memory budget in bytes; postings beyond it are spilled to temporary files.
    /// threads : int, optional
    ///     Number of threads. Default: one per core.
    /// progress : callable, optional
    ///     Called with stage, number done and total (or None).
    ///
    /// Returns
    /// -------
    /// Index
    #[staticmethod]
    #[pyo3(signature = (documents, path = None, *, analyzer = None, fields = None, store = "all", positions = false, order = "id", duplicates = "reject", blank = "keep", memory = None, threads = None, progress = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn build(
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        path: Option<PathBuf>,
        analyzer: Option<&Bound<'_, PyAny>>,
        fields: Option<&Bound<'_, PyAny>>,
        store: &str,
        positions: bool,
        order: &str,
        duplicates: &str,
        blank: &str,
        memory: Option<usize>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let stored = [
            ("all", StoredFields::Everything),
            ("attributes", StoredFields::Attributes),
            ("nothing", StoredFields::Nothing),
        ];
        let orders = [("id", DocOrder::Id), ("insertion", DocOrder::Insertion)];
        let repeated = [
            ("reject", DuplicateIds::Reject),
            ("keep", DuplicateIds::Keep),
        ];
        let blanks = [("keep", BlankDocs::Keep), ("drop", BlankDocs::Drop)];
        let config = IndexConfig::default()
            .with_analysis(analysis_of(analyzer)?)
            .with_fields(fields_of(fields)?)
            .with_store(choice("store", store, &stored)?)
            .with_positions(positions)
            .with_order(choice("order", order, &orders)?)
            .with_duplicates(choice("duplicates", duplicates, &repeated)?)
            .with_blank(choice("blank", blank, &blanks)?);
        let mut builder = IndexBuilder::new(config).map_err(raise)?;
        if let Some(memory) = memory {
            builder = builder.with_memory(memory);
        }
        if let Some(threads) = threads {
            builder = builder.with_threads(threads);
        }
        let inputs = py
            .import("irrs._inputs")?
            .call_method1("documents", (documents,))?;
        let corpus = inputs.cast::<PyString>().is_ok();
        let source: Option<PathBuf> = corpus.then(|| inputs.extract()).transpose()?;
        let records = match &source {
            Some(_) => None,
            None => Some(inputs.try_iter()?.unbind()),
        };
        let output = path.clone();
        let index = interruptible(py, threads, progress, move |task| {
            match (source, records) {
                (Some(source), _) => push_path(&mut builder, &source, task)?,
                (None, Some(records)) => push_records(&mut builder, &records, task)?,
                (None, None) => {}
            }
            let invalid_years = builder.invalid_years();
            if invalid_years > 0 {
                task.warn_all(&[format!(
                    "{invalid_years} documents with an attribute \"year\" that is neither a year nor a date"
                )]);
            }
            match output {
                Some(path) => builder.finish_to(path, task).map_err(raise),
                None => builder.finish(task).map_err(raise),
            }
        })?;
        Self::new(index.into(), path)
    }

    /// Opens a saved index: a file, or a folder of segments that `ir index --add` updates.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let index = interruptible(py, None, None, |_| open_path(&path))?;
        Self::new(index, Some(path))
    }

    /// Searches one query or several.
    ///
    /// Parameters
    /// ----------
    /// queries : str, list of str, dict or pandas.DataFrame
    ///     A text; or several: a list, a dictionary from ids to texts, or a data frame with the
    ///     columns qid and query.
    /// k : int
    ///     Maximum number of hits per query.
    /// filter : str, DocFilter, iterable of ids or numpy.ndarray of bool, optional
    ///     Documents that may be returned: a condition on attributes such as "year>=2015", which
    ///     documents without the attribute satisfy, ids, or an array of shape [documents]. `select`
    ///     makes a condition reusable.
    ///
    /// Returns
    /// -------
    /// Hits for a text, Results for several queries.
    #[pyo3(signature = (queries, k = 10, filter = None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        filter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let open = self.get()?;
        let filter = filter.map(|it| filter_of(it, open.index.ids(), Some(&open.index)));
        single_or_batch(py, &open.retriever, queries, k, filter.transpose()?)
    }

    /// Selects documents by a condition on attributes, such as `year>=2015`.
    fn select(&self, py: Python<'_>, condition: &str) -> PyResult<DocFilter> {
        let open = self.get()?;
        interruptible(py, None, None, |_| select(&open.index, condition))
    }

    /// Returns the stored fields of a document: id, title, text and attributes.
    fn document<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.get()?;
        let id = id_text(id, "id")?;
        let number = open.index.ids().get(&id);
        let number = number.ok_or_else(|| PyKeyError::new_err(id.clone().into_owned()))?;
        to_dict(py, &open.index.document(number).map_err(raise)?)
    }

    /// Explains the score of a document for a query, as text; None if the document is no hit.
    #[pyo3(signature = (query, id))]
    fn explain(
        &self,
        py: Python<'_>,
        query: &str,
        id: &Bound<'_, PyAny>,
    ) -> PyResult<Option<String>> {
        let open = self.get()?;
        let id = id_text(id, "id")?;
        let number = open.index.ids().get(&id);
        let number = number.ok_or_else(|| PyKeyError::new_err(id.clone().into_owned()))?;
        open.retriever.explain(py, query, number)
    }

    /// Ids of the documents, a list in the order of the document numbers.
    #[getter]
    fn ids(&self) -> PyResult<Vec<String>> {
        let ids: DocIds = self.get()?.index.ids().clone();
        Ok(ids.iter().map(str::to_owned).collect())
    }

    /// Path from which the index was opened; None for an index in memory.
    #[getter]
    fn path(&self) -> PyResult<Option<PathBuf>> {
        self.get()?;
        Ok(self.0.path().cloned())
    }

    /// Writes an index in memory, or another one of a single file, to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let open = self.get()?;
        interruptible(py, None, None, |_| match open.index.single() {
            Some(index) => index.save(&path).map_err(raise),
            None => Err(invalid(
                "expected an index of one segment; `ir index --compact` merges several",
            )),
        })
    }

    /// Closes the index. Retrievers that were opened on it stay open.
    fn close(&self) {
        self.0.close();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close();
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.get()?.index.len())
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let open = self.get()?;
        Ok(open.index.ids().get(&id_text(id, "id")?).is_some())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        let path = self.0.path_to_pickle()?;
        Ok((py.get_type::<Self>().getattr("open")?, (path,)))
    }

    fn __repr__(&self) -> String {
        match self.get() {
            Err(_) => "Index(closed)".to_owned(),
            Ok(open) => {
                let path = self.0.path();
                let path = path.map(|path| format!(", path={:?}", path.display().to_string()));
                format!(
                    "Index({} documents{})",
                    open.index.len(),
                    path.unwrap_or_default()
                )
            }
        }
    }
}

fn analysis_of(analyzer: Option<&Bound<'_, PyAny>>) -> PyResult<Analysis> {
    let Some(analyzer) = analyzer else {
        return Ok(Analysis::porter());
    };
    if let Ok(name) = analyzer.cast::<PyString>()
        && name.to_str()? == "porter"
    {
        return Ok(Analysis::porter());
    }
    let json = analyzer
        .py()
        .import("json")?
        .call_method1("dumps", (analyzer,))?;
    let entry: AnalyzerEntry = from_json("analyzer", json.extract()?)?;
    entry.analysis().map_err(raise)
}

fn fields_of(fields: Option<&Bound<'_, PyAny>>) -> PyResult<IndexedFields> {
    let Some(fields) = fields else {
        return Ok(IndexedFields::One);
    };
    if let Ok(name) = fields.cast::<PyString>() {
        let named = [
            ("one", IndexedFields::One),
            ("text", IndexedFields::TextOnly),
            ("separate", IndexedFields::Separate),
        ];
        return choice("fields", name.to_str()?, &named);
    }
    let names: Vec<String> = fields
        .extract()
        .map_err(|_| expected("fields", "one, text, separate or a list of names", fields))?;
    Ok(IndexedFields::Named(FieldNames::new(names).map_err(raise)?))
}
