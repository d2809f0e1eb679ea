//! Indexes of the C++ library FAISS.

use std::borrow::Cow;

use faiss::Index as _;
use ir_core::{DocIds, DocNum, Hit, Ranking, Retriever, Search, SearchError};

use super::engine::Engine;
use super::error::{FaissError, FaissNativeError};

use crate::index::flat::FlatIndex;
use crate::index::hnsw::EfSearch;
use crate::index::similarity::VectorSimilarity;
use crate::index::validate::check_query;

/// A vector index of FAISS, named by FAISS's own description. The feature `faiss` has it.
///
/// | description | what it is | [effort](FaissIndex::searcher) |
/// |---|---|---|
/// | `Flat` | every vector is compared | none: it is exact |
/// | `HNSW32`, `HNSW32,SQ8`, ... | a graph with 32 links a vector | vectors in view (efSearch), 16 |
/// | `IVF256,Flat`, `IVF256,PQ48`, ... | 256 cells, of which the nearest are read | cells read (nprobe), 1 |
///
/// Filters are part of the search. An approximate search that finds fewer than the k hits that there are
/// is repeated with twice the effort until it has them, or has seen all that it can reach: always for
/// `Flat` and `IVF`, as far as the graph hangs together for `HNSW`.
///
/// Equal scores are broken by document number, among all that the search has seen.
///
/// FAISS works in 32 bits, so scores differ from those of [`FlatIndex`] in the
/// last digits; under cosine it holds vectors of length 1. A batch is searched query by query, since
/// FAISS sums batches in another order. What it builds on several threads (`HNSW`, in some versions of
/// OpenBLAS `IVF`) differs from build to build; `OMP_NUM_THREADS=1` prevents that.
///
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{FaissIndex, FlatIndex, VectorSimilarity};
///
/// let ids = ["north", "east", "north-east"].into_iter().collect();
/// let rows = [[0.0, 1.0], [1.0, 0.0], [0.7, 0.7]];
/// let flat = FlatIndex::of(ids, &rows, VectorSimilarity::Cosine)?;
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
    ids: DocIds,
    similarity: VectorSimilarity,
    description: String,
    dim: usize,
    kind: Kind,
    /// None without vectors.
    engine: Option<Engine>,
}

/// What more effort means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Exact,
    /// More vectors in view.
    View,
    /// More cells read.
    Probes,
}

impl Kind {
    fn of(description: &str) -> Result<Self, FaissError> {
        let refined = description.contains(",RFlat") || description.contains(",Refine");
        let kind = if description == "Flat" {
            Some(Self::Exact)
        } else if description.starts_with("HNSW") {
            Some(Self::View)
        } else if description.starts_with("IVF") {
            Some(Self::Probes)
        } else {
            None
        };
        let kind = kind.filter(|_| !refined);
        kind.ok_or_else(|| FaissError::Description {
            found: description.to_owned(),
        })
    }

    /// What FAISS calls it.
    fn parameter(self) -> Option<&'static str> {
        match self {
            Self::Exact => None,
            Self::View => Some("efSearch"),
            Self::Probes => Some("nprobe"),
        }
    }

    /// What FAISS does unasked.
    fn usual(self) -> usize {
        match self {
            Self::Exact | Self::Probes => 1,
            Self::View => 16,
        }
    }
}

impl FaissIndex {
    /// Trains and builds an index of the vectors of `flat`, which is not needed afterwards. Cells
    /// (`IVF256`) want some forty vectors each.
    ///
    /// # Errors
    /// When the description is of another kind than the three, or FAISS cannot build it, such as of too
    /// few vectors.
    pub fn new(flat: &FlatIndex, description: &str) -> Result<Self, FaissError> {
        let kind = Kind::of(description)?;
        let build = || -> Result<Engine, FaissNativeError> {
            let metric = match flat.similarity() {
                VectorSimilarity::Euclidean => faiss::MetricType::L2,
                VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => {
                    faiss::MetricType::InnerProduct
                }
            };
            let mut index = faiss::index_factory(flat.dim() as u32, description, metric)?;
            let mut rows = Cow::Borrowed(flat.values());
            if flat.similarity() == VectorSimilarity::Cosine {
                rows.to_mut().chunks_exact_mut(flat.dim()).for_each(unit);
            }
            if !index.is_trained() {
                index.train(&rows)?;
            }
            index.add(&rows)?;
            Ok(Engine::new(index, kind))
        };
        let engine = (!flat.ids().is_empty()).then(build).transpose();
        Ok(Self {
            ids: flat.ids().clone(),
            similarity: flat.similarity(),
            description: description.to_owned(),
            dim: flat.dim(),
            kind,
            engine: engine.map_err(|source| FaissError::Build {
                description: description.to_owned(),
                documents: flat.ids().len(),
                dim: flat.dim(),
                source,
            })?,
        })
    }

    /// A retriever that takes more or less trouble: for `HNSW` so many vectors in view, for `IVF` so
    /// many cells. The index itself searches with FAISS's usual 16 and 1, which is fast and misses
    /// much. Searchers of one effort search side by side; those of different efforts wait for
    /// one another.
    #[must_use]
    pub fn searcher(&self, effort: EfSearch) -> FaissSearcher<'_> {
        FaissSearcher {
            index: self,
            effort: effort.0.max(1),
        }
    }

    /// FAISS's description of it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What its scores are.
    #[must_use]
    pub fn similarity(&self) -> VectorSimilarity {
        self.similarity
    }

    /// The length of its vectors; 0 without any.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    fn rank(&self, query: &[f32], how: &Search<'_>, effort: usize) -> Result<Ranking, SearchError> {
        let Some(engine) = &self.engine else {
            return Ranking::from_hits(Vec::new());
        };
        check_query(self.dim, self.similarity, query)?;
        let mut query = query.to_vec();
        if self.similarity == VectorSimilarity::Cosine {
            unit(&mut query);
        }
        let documents = self.ids.len();
        let allowed = how.filter().map(|_| {
            let mut bits = vec![0_u8; documents.div_ceil(8)];
            for doc in 0..documents {
                let allowed = how.allows(DocNum::new(doc as u32));
                bits[doc / 8] |= u8::from(allowed) << (doc % 8);
            }
            bits
        });
        let there = allowed.as_ref().map_or(documents, |bits| {
            bits.iter().map(|byte| byte.count_ones() as usize).sum()
        });
        let k = how.k().min(there);
        if k == 0 {
            return Ranking::from_hits(Vec::new());
        }
        // One more than is wanted shows whether the last place is tied.
        let (mut asked, mut effort) = ((k + 1).min(there), effort);
        let found = loop {
            let found = engine.search(&query, asked, effort, allowed.as_deref());
            let found = found.map_err(|source| SearchError::Engine {
                engine: "FAISS",
                source: source.into(),
            })?;
            if found.len() < k && self.kind != Kind::Exact && effort < documents {
                effort *= 2;
                continue;
            }
            let last = found.last().map(|&(_, distance)| distance);
            let tied = last.is_some() && last == found.get(k - 1).map(|&(_, distance)| distance);
            if !tied || found.len() < asked || asked == there {
                break found;
            }
            asked = asked.saturating_mul(2).min(there);
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

/// With the effort that FAISS takes unasked.
impl Retriever for FaissIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        self.rank(query, how, self.kind.usual())
    }
}

/// A [`FaissIndex`] with an effort.
#[derive(Debug, Clone, Copy)]
pub struct FaissSearcher<'a> {
    index: &'a FaissIndex,
    effort: usize,
}

impl Retriever for FaissSearcher<'_> {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.index.ids
    }

    fn search(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.rank(query, how, self.effort)
    }
}

/// To length 1, summed in 64 bits.
fn unit(row: &mut [f32]) {
    let square: f64 = row.iter().map(|&value| f64::from(value).powi(2)).sum();
    let length = square.sqrt();
    for value in row {
        *value = (f64::from(*value) / length) as f32;
    }
}
