//! The FAISS index: building and searching.

use std::borrow::Cow;

use faiss::Index as _;
use ir_core::{DocIds, DocNum, Hit, Ranking, Retriever, Search, SearchError, VectorSimilarity};

use super::engine::FaissEngine;
use super::error::{FaissError, FaissNativeError};
use super::family::FaissFamily;
use crate::index::flat::FlatIndex;
use crate::index::validate::check_query;

/// Vector index of FAISS, chosen by FAISS's factory description. Requires the feature `faiss`.
///
/// | description | index | [search parameter](FaissIndex::searcher) |
/// |---|---|---|
/// | `Flat` | exhaustive search | none |
/// | `HNSW32`, `HNSW32,SQ8`, ... | graph with 32 links per vector | efSearch, default 16 |
/// | `IVF256,Flat`, `IVF256,PQ48`, ... | 256 cells; reads the nearest | nprobe, default 1 |
///
/// Filters are applied inside the search. An approximate search that finds fewer hits than k is
/// repeated with twice the search parameter until it finds k or all that it can reach: all
/// documents for `Flat` and `IVF`, the connected part of the graph for `HNSW`. Equal scores are
/// ordered by document number, among all vectors that the search has seen.
///
/// FAISS computes in f32, so scores differ from [`FlatIndex`] in the last digits; under cosine
/// similarity it stores normalized vectors. A batch is searched query by query, since FAISS
/// sums in another order in batches. Indexes built on several threads (`HNSW`, with some versions
/// of OpenBLAS also `IVF`) differ from build to build; `OMP_NUM_THREADS=1` makes them reproducible.
///
/// [`Retriever::explain`] returns none: FAISS does not say in which order it sums, so that
/// components would not add up to its score. [`FlatIndex`] explains the exact score of the same
/// vectors.
///
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{FaissIndex, FlatIndex, VectorSimilarity};
/// use ndarray::array;
///
/// let ids = ["north", "east", "north-east"].into_iter().collect();
/// let vectors = array![[0.0, 1.0], [1.0, 0.0], [0.7, 0.7]];
/// let flat = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
/// let index = FaissIndex::new(&flat, "Flat")?;
/// let ranking = index.search(&[0.1, 0.9], &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "north");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Douze and others, "The Faiss library", arXiv:2401.08281, 2024.
#[derive(Debug)]
pub struct FaissIndex {
    pub(super) ids: DocIds,
    pub(super) similarity: VectorSimilarity,
    pub(super) description: String,
    pub(super) dim: usize,
    pub(super) family: FaissFamily,
    /// [`None`] for an index without vectors.
    pub(super) engine: Option<FaissEngine>,
}

impl FaissIndex {
    /// Trains and builds an index of the vectors of a flat index, which is not needed afterwards.
    /// Training cells (`IVF256`) requires about forty vectors per cell.
    ///
    /// # Errors
    /// If the description is of another family, the file from which the flat index was opened is
    /// damaged, or FAISS cannot build the index.
    pub fn new(flat: &FlatIndex, description: &str) -> Result<Self, FaissError> {
        let family = FaissFamily::from_description(description)?;
        // Damage must not get a new checksum.
        flat.verify().map_err(FaissError::Vectors)?;
        let build = || -> Result<FaissEngine, FaissNativeError> {
            let metric = match flat.similarity() {
                VectorSimilarity::Euclidean => faiss::MetricType::L2,
                VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => {
                    faiss::MetricType::InnerProduct
                }
            };
            let mut index = faiss::index_factory(flat.dim() as u32, description, metric)?;
            let mut values = Cow::Borrowed(flat.values());
            if flat.similarity() == VectorSimilarity::Cosine {
                values
                    .to_mut()
                    .chunks_exact_mut(flat.dim())
                    .for_each(normalize);
            }
            if !index.is_trained() {
                index.train(&values)?;
            }
            index.add(&values)?;
            Ok(FaissEngine::new(index, family))
        };
        let engine = (!flat.is_empty()).then(build).transpose();
        Ok(Self {
            ids: flat.ids().clone(),
            similarity: flat.similarity(),
            description: description.to_owned(),
            dim: flat.dim(),
            family,
            engine: engine.map_err(|source| FaissError::Build {
                description: description.to_owned(),
                documents: flat.len(),
                dim: flat.dim(),
                source,
            })?,
        })
    }

    /// Searcher with the given search parameter: efSearch for `HNSW`, nprobe for `IVF`. The index
    /// itself searches with FAISS's defaults, 16 and 1. Searchers with equal parameters run
    /// concurrently; those with different ones wait for each other.
    #[must_use]
    pub fn searcher(&self, search_parameter: usize) -> FaissSearcher<'_> {
        FaissSearcher {
            index: self,
            search_parameter: search_parameter.max(1),
        }
    }

    /// FAISS's factory description with which the index was built.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Similarity that the scores measure.
    #[must_use]
    pub fn similarity(&self) -> VectorSimilarity {
        self.similarity
    }

    /// Dimension of the vectors; 0 if there are none.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    fn search_with(
        &self,
        query: &[f32],
        search: &Search<'_>,
        search_parameter: usize,
    ) -> Result<Ranking, SearchError> {
        let Some(engine) = &self.engine else {
            return Ranking::from_hits(Vec::new());
        };
        check_query(self.dim, self.similarity, query)?;
        let mut query = query.to_vec();
        if self.similarity == VectorSimilarity::Cosine {
            normalize(&mut query);
        }
        let documents = self.ids.len();
        let allowed = search.filter().map(|_| {
            let mut bits = vec![0_u8; documents.div_ceil(8)];
            for doc in 0..documents {
                let allowed = search.allows(DocNum::new(doc as u32));
                bits[doc / 8] |= u8::from(allowed) << (doc % 8);
            }
            bits
        });
        let passing = allowed.as_ref().map_or(documents, |bits| {
            bits.iter().map(|byte| byte.count_ones() as usize).sum()
        });
        let k = search.k().min(passing);
        if k == 0 {
            return Ranking::from_hits(Vec::new());
        }
        // One hit more than k shows whether the last one is tied.
        let (mut requested, mut parameter) = ((k + 1).min(passing), search_parameter);
        let found = loop {
            let found = engine.search(&query, requested, parameter, allowed.as_deref());
            let found = found.map_err(|source| SearchError::Engine {
                engine: "FAISS",
                source: source.into(),
            })?;
            if found.len() < k && self.family != FaissFamily::Flat && parameter < documents {
                parameter *= 2;
                continue;
            }
            let last = found.last().map(|&(_, distance)| distance);
            let is_tied = last.is_some() && last == found.get(k - 1).map(|&(_, distance)| distance);
            if !is_tied || found.len() < requested || requested == passing {
                break found;
            }
            requested = requested.saturating_mul(2).min(passing);
        };
        let hits = found.into_iter().map(|(doc, distance)| Hit {
            doc: DocNum::new(doc),
            score: match self.similarity {
                VectorSimilarity::Euclidean => 0.0 - distance,
                _ => distance,
            },
        });
        Ok(Ranking::from_hits(hits.collect())?.top(k))
    }
}

/// Searches with FAISS's default search parameter.
impl Retriever for FaissIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.search_with(query, search, self.family.default_parameter())
    }
}

/// [`FaissIndex`] with a search parameter, as a [`Retriever`].
#[derive(Debug, Clone, Copy)]
pub struct FaissSearcher<'a> {
    index: &'a FaissIndex,
    search_parameter: usize,
}

impl Retriever for FaissSearcher<'_> {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.index.ids
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.search_with(query, search, self.search_parameter)
    }
}

/// Scales a vector to norm 1, with sums in f64.
fn normalize(vector: &mut [f32]) {
    let squared_norm: f64 = vector.iter().map(|&value| f64::from(value).powi(2)).sum();
    let norm = squared_norm.sqrt();
    for value in vector {
        *value = (f64::from(*value) / norm) as f32;
    }
}
