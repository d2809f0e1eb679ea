//! The HNSW index: building, saving, opening.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, Progress};
use serde::{Deserialize, Serialize};

use super::build;
use super::codes::{NodeCodes, centroid, encode_nodes, record_size};
use super::config::{HnswConfig, HnswError};
use super::distance::{ExactVectors, NodeVectors, codes_are_faithful};
use super::documents::NodeDocuments;
use super::graph::{HnswGraph, LayerLayout};
use super::search::{GraphSearch, MAX_NODES, SearchScratch};
use crate::index::buffer::NumberBuffer;
use crate::index::error::SaveVectorIndexError;
use crate::index::file::{HNSW, VectorFile, json, section, write_file, write_json};
use crate::index::flat::FlatIndex;
use crate::simd::MAX_DIM;

/// HNSW index: approximate search with a hierarchical navigable small world graph over a
/// [`FlatIndex`].
///
/// Many times faster than exact search, with a recall that grows with the
/// [`EfSearch`](crate::EfSearch) of the searcher. Scores are bit-identical to the flat
/// index. 8-bit codes and links take about 40 % of the size of f32 vectors of 384 dimensions. If
/// vectors are too close together for 8-bit codes (near-duplicates, points of a plane), distances
/// are computed from f32 vectors instead, which takes longer.
///
/// # Examples
/// ```
/// use ir_core::{NoProgress, Retriever, Search};
/// use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
/// use ndarray::Array2;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("vectors.ir");
/// let ids = (0..2000).map(|n| n.to_string()).collect();
/// let point = |n: f32| <[f32; 2]>::from(n.sin_cos());
/// let vectors = Array2::from_shape_fn((2000, 2), |(n, axis)| point(n as f32)[axis]);
/// let flat = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
/// let index = HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress)?;
///
/// let ranking = index.searcher(EfSearch(20)).search(&point(7.0), &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "7");
/// index.save(&path)?;
/// let index = HnswIndex::open(&path)?;
/// assert_eq!(index.searcher(EfSearch(20)).search(&point(7.0), &Search::top(1))?, ranking);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
/// hierarchical navigable small world graphs", TPAMI 2020.
#[derive(Debug, Clone)]
pub struct HnswIndex {
    pub(super) inner: Arc<HnswIndexData>,
}

#[derive(Debug)]
pub(super) struct HnswIndexData {
    pub(super) flat: FlatIndex,
    pub(super) config: HnswConfig,
    /// [`None`] if distances are computed from f32 vectors.
    codes: Option<HnswCodes>,
    layout: LayerLayout,
    links: NumberBuffer<u32>,
    pub(super) documents: NodeDocuments,
    /// One per concurrent search.
    scratches: Mutex<Vec<SearchScratch>>,
}

/// Graph parameters in the file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct GraphMetadata {
    config: HnswConfig,
    /// Number of distinct vectors.
    nodes: usize,
    /// [`NodeCodes::step`]; [`None`] if there are no codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<f64>,
}

/// 8-bit codes of the distinct vectors.
#[derive(Debug)]
struct HnswCodes {
    centroid: NumberBuffer<f32>,
    step: f64,
    records: NumberBuffer<u8>,
}

impl HnswCodes {
    fn view(&self, flat: &FlatIndex) -> NodeCodes<'_> {
        NodeCodes {
            cpu: flat.cpu(),
            similarity: flat.similarity(),
            centroid: self.centroid.get(),
            step: self.step,
            records: self.records.get(),
        }
    }
}

impl HnswIndex {
    /// Builds the graph over the vectors of a flat index, on the current rayon thread pool. Reports
    /// the number of linked vectors.
    ///
    /// # Errors
    /// Returns [`HnswError`] if a parameter is out of range, there are more than 2³¹ distinct
    /// vectors, they have more than 65,536 dimensions, or `progress` cancels.
    pub fn build(
        flat: FlatIndex,
        config: &HnswConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, HnswError> {
        config.validate()?;
        let (dim, similarity, cpu) = (flat.dim(), flat.similarity(), flat.cpu());
        if dim > MAX_DIM {
            return Err(HnswError::Dimensions {
                max: MAX_DIM,
                found: dim,
            });
        }
        let documents = NodeDocuments::new(&flat, config.seed);
        let count = documents.nodes();
        let layout = LayerLayout::new(count, config.m).filter(|_| count <= MAX_NODES);
        let layout = layout.ok_or(HnswError::Vectors {
            max: MAX_NODES,
            found: count,
        })?;
        let vector = |node: usize| flat.vector(documents.first(node));
        let centroid = centroid(similarity, dim, count, vector);
        let (records, step) = encode_nodes(cpu, similarity, &centroid, count, vector);
        let codes = HnswCodes {
            centroid: NumberBuffer::Owned(centroid),
            step,
            records: NumberBuffer::Aligned(records),
        };
        let exact = ExactVectors {
            flat: &flat,
            documents: &documents,
        };
        let codes = codes_are_faithful(codes.view(&flat), exact).then_some(codes);
        let vectors = match &codes {
            Some(codes) => NodeVectors::Coded(codes.view(&flat)),
            None => NodeVectors::Exact(exact),
        };
        let links = build::build_links(vectors, &layout, config, progress)?;
        Ok(Self::from(HnswIndexData {
            flat,
            config: *config,
            codes,
            layout,
            links: NumberBuffer::Aligned(links),
            documents,
            scratches: Mutex::default(),
        }))
    }

    /// The flat index over which the graph was built.
    #[must_use]
    pub fn flat(&self) -> &FlatIndex {
        &self.inner.flat
    }

    /// Parameters with which the graph was built.
    #[must_use]
    pub fn config(&self) -> &HnswConfig {
        &self.inner.config
    }

    /// Document ids, in the order of the flat index.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        ir_core::Retriever::ids(self.flat())
    }

    /// Saves vectors and graph to one file by an atomic write.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file at `path` is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveVectorIndexError> {
        let inner = &*self.inner;
        write_file(&HNSW, path.as_ref(), |writer| {
            inner.flat.write_sections(writer)?;
            let metadata = GraphMetadata {
                config: inner.config,
                nodes: inner.documents.nodes(),
                step: inner.codes.as_ref().map(|codes| codes.step),
            };
            write_json(writer, section::GRAPH, &metadata)?;
            if let Some(codes) = &inner.codes {
                writer.section(section::CENTROID, &codes.centroid.to_bytes())?;
                writer.section(section::NODE_CODES, codes.records.get())?;
            }
            writer.section(section::LINKS, &inner.links.to_bytes())?;
            inner.documents.write(writer)
        })
    }

    /// Opens a saved index by mapping it into memory, without copying vectors or graph. Verifies
    /// the sizes of all sections, the parameters of the graph, and that every document has one
    /// node, which takes milliseconds per million documents. The first search verifies the
    /// checksums of vectors and graph ([`Verify::FirstUse`]).
    ///
    /// The file must not be modified in place while it is open. Saving an index to the same path is
    /// safe: it replaces the file.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format or version, or is damaged: a checksum
    /// differs, or a section is missing or does not fit the others.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(path, Verify::FirstUse)
    }

    /// Opens a saved index and verifies the given checksums.
    ///
    /// # Errors
    /// Returns [`OpenIndexError`] if the file cannot be read, is of another format or version, or
    /// is damaged.
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        Self::from_file(VectorFile::open(&HNSW, path.as_ref(), verify)?)
    }

    fn from_file(file: VectorFile) -> Result<Self, OpenIndexError> {
        let flat = FlatIndex::from_file(file.clone())?;
        let GraphMetadata {
            config,
            nodes,
            step,
        } = json(&file, section::GRAPH)?;
        let malformed = || file.malformed(section::GRAPH, "the parameters of a graph");
        let is_valid = config.validate().is_ok()
            && nodes <= MAX_NODES
            && step.is_none_or(|step: f64| step.is_finite() && step > 0.0)
            && flat.dim() <= MAX_DIM;
        if !is_valid {
            return Err(malformed());
        }
        let documents = NodeDocuments::from_file(&file, nodes)?;
        let layout = LayerLayout::new(nodes, config.m).ok_or_else(malformed)?;
        let codes = |step| {
            let size = flat.dim().checked_mul(4);
            let centroid =
                file.section_with_len(section::CENTROID, size, "a number per dimension")?;
            let size = nodes.checked_mul(record_size(flat.dim()));
            let expected = "codes for every node";
            let records = file.section_with_len(section::NODE_CODES, size, expected)?;
            Ok::<_, OpenIndexError>(HnswCodes {
                centroid: NumberBuffer::from_section(centroid),
                step,
                records: NumberBuffer::from_section(records),
            })
        };
        let codes = step.map(codes).transpose()?;
        let size = layout.total_links.checked_mul(4);
        let links = file.section_with_len(section::LINKS, size, "the links of every node")?;
        Ok(Self::from(HnswIndexData {
            flat,
            config,
            codes,
            layout,
            links: NumberBuffer::from_section(links),
            documents,
            scratches: Mutex::default(),
        }))
    }

    /// Verifies the checksums of all sections, also those that were not verified when the index was
    /// opened ([`Verify`]).
    /// Does nothing for an index of vectors in memory.
    ///
    /// # Errors
    /// If a checksum differs.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        self.inner.flat.verify()
    }
}

impl From<HnswIndexData> for HnswIndex {
    fn from(inner: HnswIndexData) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }
}

impl HnswIndexData {
    pub(super) fn graph_search(&self) -> GraphSearch<'_> {
        let vectors = match &self.codes {
            Some(codes) => NodeVectors::Coded(codes.view(&self.flat)),
            None => NodeVectors::Exact(ExactVectors {
                flat: &self.flat,
                documents: &self.documents,
            }),
        };
        GraphSearch {
            graph: HnswGraph {
                layout: &self.layout,
                links: self.links.get(),
            },
            vectors,
            count: self.documents.nodes(),
        }
    }

    /// Runs a closure with an exclusive scratch buffer.
    pub(super) fn with_scratch<T>(&self, run: impl FnOnce(&mut SearchScratch) -> T) -> T {
        let locked = || {
            let scratches = self.scratches.lock();
            scratches.unwrap_or_else(PoisonError::into_inner)
        };
        let mut scratch = locked().pop().unwrap_or_default();
        let found = run(&mut scratch);
        locked().push(scratch);
        found
    }
}
