//! Approximate search among vectors, by a graph of neighbours.

mod build;
mod config;
mod distinct;
mod graph;
mod records;
mod searcher;
mod vectors;
mod walk;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ir_core::{AtomicFile, DocIds};

use crate::flat::file::{GraphTable, HNSW, Mapped, Writer, section};
use crate::flat::numbers::{Bytes, Numbers};
use crate::flat::tile::LONGEST;
use crate::{FlatIndex, OpenError, SaveError, Similarity, Verify};
pub use config::{Effort, HnswConfig, HnswError};
use distinct::Documents;
use graph::{Graph, Shape};
use records::{Frame, Records, code_all, middle, record_size};
pub use searcher::HnswSearcher;
use vectors::{Rows, Vectors, faithful};
use walk::{MOST, Scratch, Walk};

/// The vectors of a [`FlatIndex`], searched through a graph of neighbours: many times faster, and
/// now and then a vector is missed.
///
/// How many are missed depends on the [`Effort`] of the searcher; the scores of those that are
/// found are exactly the flat index's. Vectors in 8 bits and the graph come to about 40 % of the
/// 32-bit vectors, for 384 dimensions. Vectors so close together that 8 bits would mislead (copies with
/// slight changes, points of a plane) are found by their 32 bits instead, which takes longer.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{Effort, FlatIndex, HnswConfig, HnswIndex, Similarity};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("vectors.ir");
/// let ids = (0..2000).map(|n| n.to_string()).collect();
/// let rows: Vec<[f32; 2]> = (0..2000).map(|n| (n as f32).sin_cos().into()).collect();
/// let flat = FlatIndex::of(ids, &rows, Similarity::Cosine)?;
/// let index = HnswIndex::new(flat, &HnswConfig::default())?;
///
/// let query: [f32; 2] = 7_f32.sin_cos().into();
/// let ranking = index.searcher(Effort(20)).search(&query, &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "7");
/// index.save(&path)?;
/// let index = HnswIndex::open(&path)?;
/// assert_eq!(index.searcher(Effort(20)).search(&query, &Search::top(1))?, ranking);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical
/// navigable small world graphs", TPAMI 2020.
#[derive(Debug, Clone)]
pub struct HnswIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    flat: FlatIndex,
    config: HnswConfig,
    /// [`None`] when the graph is walked by the vectors as they are.
    codes: Option<Codes>,
    shape: Shape,
    links: Numbers<u32>,
    documents: Documents,
    file: Option<Mapped>,
    /// For as many searches as ever ran at once.
    scratches: Mutex<Vec<Scratch>>,
}

/// The vectors in 8 bits.
#[derive(Debug)]
struct Codes {
    middle: Numbers<f32>,
    step: f64,
    records: Bytes,
}

impl Codes {
    fn records(&self, flat: &FlatIndex) -> Records<'_> {
        let frame = Frame {
            cpu: flat.cpu(),
            similarity: flat.similarity(),
            middle: self.middle.get(),
            step: self.step,
        };
        let bytes = self.records.as_ref();
        Records { frame, bytes }
    }
}

impl HnswIndex {
    /// Builds the graph of the vectors of an exact index, on the threads of the rayon pool it is
    /// called in.
    ///
    /// # Errors
    /// When a parameter is out of range, or vectors are longer than 65,536 or more than 2³¹.
    pub fn new(flat: FlatIndex, config: &HnswConfig) -> Result<Self, HnswError> {
        config.check()?;
        let (dim, similarity, cpu) = (flat.dim(), flat.similarity(), flat.cpu());
        if dim > LONGEST {
            return Err(HnswError::Dimensions {
                most: LONGEST,
                found: dim,
            });
        }
        let documents = Documents::of(&flat, config.seed);
        let too_many = |found| HnswError::Vectors { most: MOST, found };
        let count = documents.nodes();
        if count > MOST {
            return Err(too_many(count));
        }
        let shape = Shape::new(count, config.links).ok_or_else(|| too_many(count))?;
        let row = |node: usize| flat.row(documents.first(node));
        let middle = middle(similarity, dim, count, row);
        let (records, step) = code_all(cpu, similarity, &middle, count, row);
        let codes = Codes {
            middle: Numbers::Owned(middle),
            step,
            records: Bytes::Owned(records),
        };
        let rows = Rows {
            flat: &flat,
            documents: &documents,
        };
        let codes = faithful(codes.records(&flat), rows).then_some(codes);
        let vectors = match &codes {
            Some(codes) => Vectors::Coded(codes.records(&flat)),
            None => Vectors::Plain(rows),
        };
        let links = build::build(vectors, &shape, config);
        Ok(Self::from(Inner {
            flat,
            config: *config,
            codes,
            shape,
            links: Numbers::Aligned(links),
            documents,
            file: None,
            scratches: Mutex::default(),
        }))
    }

    /// The index with an effort of searching: a [`Retriever`](ir_core::Retriever).
    #[must_use]
    pub fn searcher(&self, effort: Effort) -> HnswSearcher {
        HnswSearcher::new(self.clone(), effort)
    }

    /// The exact index of the same vectors.
    #[must_use]
    pub fn flat(&self) -> &FlatIndex {
        &self.inner.flat
    }

    /// How the graph was built.
    #[must_use]
    pub fn config(&self) -> &HnswConfig {
        &self.inner.config
    }

    /// The ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        ir_core::Retriever::ids(self.flat())
    }

    /// Saves vectors and graph in one file, which appears when it is complete.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing appears, and what was there stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        self.write_file(path).map_err(SaveError::at(path))
    }

    fn write_file(&self, path: &Path) -> io::Result<()> {
        let inner = &*self.inner;
        let flat = &inner.flat;
        let sink = AtomicFile::create(path)?;
        let mut writer = Writer::new(&HNSW, sink, flat.similarity(), flat.dim(), flat.len())?;
        writer.graph(GraphTable {
            config: inner.config,
            nodes: inner.documents.nodes(),
            step: inner.codes.as_ref().map(|codes| codes.step),
        });
        flat.write(&mut writer)?;
        if let Some(codes) = &inner.codes {
            writer.section(section::MIDDLE, &codes.middle.bytes())?;
            writer.section(section::RECORDS, codes.records.as_ref())?;
        }
        writer.section(section::LINKS, &inner.links.bytes())?;
        inner.documents.write(&mut writer)?;
        writer.finish()?.commit()
    }

    /// Opens a saved index by mapping it into memory: neither vectors nor graph are copied. Every
    /// byte is checked against its checksum first; [`HnswIndex::open_with`] can leave out what is
    /// large.
    ///
    /// The file must not be changed in place while it is open. Saving an index to the same path is
    /// safe: that makes a new file.
    ///
    /// # Errors
    /// [`OpenError`] says which file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, Verify::Everything)
    }

    /// Opens a saved index, and checks as much of it as is asked for.
    ///
    /// # Errors
    /// As [`HnswIndex::open`].
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenError> {
        Self::read(Mapped::open(&HNSW, path.as_ref(), verify)?)
    }

    /// What [`HnswIndex::save`] wrote.
    fn read(file: Mapped) -> Result<Self, OpenError> {
        let flat = FlatIndex::read(file.clone())?;
        let graph = file.table.graph.as_ref();
        let graph = graph.filter(|graph| {
            let parameters = graph.config.check().is_ok() && graph.nodes <= MOST;
            let step = graph.step.is_none_or(|step| step.is_finite() && step > 0.0);
            parameters && step && flat.dim() <= LONGEST
        });
        let malformed = || file.malformed("table", "the parameters of a graph");
        let GraphTable {
            config,
            nodes,
            step,
        } = *graph.ok_or_else(malformed)?;
        let documents = Documents::read(&file, nodes)?;
        let shape = Shape::new(nodes, config.links).ok_or_else(malformed)?;
        let codes = |step| {
            let size = flat.dim().checked_mul(4);
            let middle = file.sized(section::MIDDLE, size, "a number for every dimension")?;
            let size = nodes.checked_mul(record_size(flat.dim()));
            let records = file.sized(section::RECORDS, size, "a record for every vector")?;
            Ok::<_, OpenError>(Codes {
                middle: Numbers::of(middle),
                step,
                records: Bytes::Mapped(records),
            })
        };
        let codes = step.map(codes).transpose()?;
        let size = shape.total().checked_mul(4);
        let links = file.sized(section::LINKS, size, "the links of every vector")?;
        Ok(Self::from(Inner {
            flat,
            config,
            codes,
            shape,
            links: Numbers::of(links),
            documents,
            file: Some(file),
            scratches: Mutex::default(),
        }))
    }

    /// Opens a saved index that must be of this similarity and of vectors of this length.
    ///
    /// # Errors
    /// As [`HnswIndex::open`], and when it is not.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: Similarity,
        dim: usize,
    ) -> Result<Self, OpenError> {
        Self::read(Mapped::open_as(&HNSW, path.as_ref(), similarity, dim)?)
    }

    /// Checks every byte of the file against the checksums, as [`HnswIndex::open`] does and
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
}

impl From<Inner> for HnswIndex {
    fn from(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl Inner {
    fn walk(&self) -> Walk<'_> {
        let vectors = match &self.codes {
            Some(codes) => Vectors::Coded(codes.records(&self.flat)),
            None => Vectors::Plain(Rows {
                flat: &self.flat,
                documents: &self.documents,
            }),
        };
        Walk {
            graph: Graph {
                shape: &self.shape,
                links: self.links.get(),
            },
            vectors,
            count: self.documents.nodes(),
        }
    }

    /// Runs something with room of its own.
    fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        let held = || match self.scratches.lock() {
            Ok(held) => held,
            Err(poisoned) => poisoned.into_inner(),
        };
        let mut scratch = held().pop().unwrap_or_default();
        let found = run(&mut scratch);
        held().push(scratch);
        found
    }
}
