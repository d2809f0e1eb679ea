//! Proximities of nodes: from 8-bit codes, or from f32 vectors where codes are too coarse.
//!
//! Codes are relative to one centroid. Vectors that are much closer to each other than to the
//! centroid (near-duplicates, points of a plane) get equal or misordered codes. Building an index
//! measures this on a sample of vectors: the fraction of exact nearest neighbors among the nearest
//! by code.

use ir_core::{Retriever, Search};
use rayon::prelude::*;

use super::beam::{Beam, BeamCandidate, Proximity};
use super::codes::{GraphQuery, NodeCodes};
use super::documents::NodeDocuments;
use crate::index::flat::FlatIndex;
use crate::index::similarity::WideQuery;
use crate::simd::prefetch;

/// Number of sampled nodes.
const SAMPLE_SIZE: usize = 64;
/// Number of exact nearest neighbors of each sampled node.
const NEIGHBORS: usize = 10;
/// Number of nearest nodes by code among which they are looked for.
const CODE_NEIGHBORS: usize = 16;
/// Minimum fraction of neighbors found for the codes to be used.
const MIN_CODE_RECALL: f64 = 0.98;

/// Vectors from which proximities are computed.
#[derive(Debug, Clone, Copy)]
pub(super) enum NodeVectors<'a> {
    Coded(NodeCodes<'a>),
    Exact(ExactVectors<'a>),
}

/// f32 vectors of the nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactVectors<'a> {
    pub(super) flat: &'a FlatIndex,
    pub(super) documents: &'a NodeDocuments,
}

impl<'a> ExactVectors<'a> {
    #[inline]
    fn get(self, node: u32) -> &'a [f32] {
        self.flat.vector(self.documents.first(node as usize))
    }

    /// Exact scores as proximities.
    fn proximities<'q>(self, query: &'q mut GraphQuery, nodes: &[u32]) -> &'q [Proximity] {
        let (similarity, cpu) = (self.flat.similarity(), self.flat.cpu());
        query.proximities.clear();
        for (at, &node) in nodes.iter().enumerate() {
            if let Some(&next) = nodes.get(at + 2) {
                prefetch(bytemuck::cast_slice(self.get(next)));
            }
            let score = query.wide.score(similarity, cpu, self.get(node));
            query.proximities.push(Proximity::new(score));
        }
        &query.proximities
    }
}

impl NodeVectors<'_> {
    /// Prepares a validated query and reuses the buffers of another.
    pub(super) fn set_query(self, vector: &[f32], query: &mut GraphQuery) {
        match self {
            Self::Coded(codes) => codes.set_query(vector, query),
            Self::Exact(vectors) => query.wide.set(vectors.flat.cpu(), vector),
        }
    }

    /// Replaces the query by a node's vector and reuses its buffers.
    pub(super) fn set_query_to_node(self, node: u32, query: &mut GraphQuery) {
        match self {
            Self::Coded(codes) => codes.set_query_to_node(node, query),
            Self::Exact(vectors) => query.wide.set(vectors.flat.cpu(), vectors.get(node)),
        }
    }

    /// Proximities of some nodes.
    #[inline]
    pub(super) fn proximities<'q>(
        self,
        query: &'q mut GraphQuery,
        nodes: &[u32],
    ) -> &'q [Proximity] {
        match self {
            Self::Coded(codes) => codes.proximities(query, nodes),
            Self::Exact(vectors) => vectors.proximities(query, nodes),
        }
    }

    /// Proximity of one node.
    pub(super) fn proximity(self, query: &mut GraphQuery, node: u32) -> Proximity {
        self.proximities(query, &[node])[0]
    }
}

/// Returns `true` if codes find enough of the exact nearest documents of sampled nodes. Documents
/// as near as the last of the nearest count as found.
pub(super) fn codes_are_faithful(codes: NodeCodes<'_>, vectors: ExactVectors<'_>) -> bool {
    let ExactVectors { flat, documents } = vectors;
    let count = documents.nodes();
    // Nodes are in random order.
    let sample = 0..count.min(SAMPLE_SIZE) as u32;
    let k = NEIGHBORS.min(flat.len());
    if k == 0 {
        return true;
    }
    let queries: Vec<(&[f32], Search<'_>)> = sample
        .clone()
        .map(|node| (vectors.get(node), Search::top(k)))
        .collect();
    let Ok(exact) = flat.search_batch(&queries) else {
        // If exact scores exceed the range of f32, only codes can order nodes.
        return true;
    };
    let found: usize = (sample.clone(), exact)
        .into_par_iter()
        .map(|(node, exact)| {
            let last = exact.hits().last().map_or(f32::MIN, |hit| hit.score);
            let wide = WideQuery::new(flat.cpu(), vectors.get(node));
            let score = |other: u32| wide.score(flat.similarity(), flat.cpu(), vectors.get(other));
            let found = nearest_by_code(codes, node, count)
                .candidates()
                .iter()
                .map(|candidate| candidate.node())
                .filter(|&other| score(other) >= last)
                .map(|other| documents.get(other as usize).len())
                .sum::<usize>();
            found.min(k)
        })
        .sum();
    let all = sample.len() * k;
    found as f64 / all as f64 >= MIN_CODE_RECALL
}

fn nearest_by_code(codes: NodeCodes<'_>, node: u32, count: usize) -> Beam {
    const CHUNK: usize = 256;
    let mut query = GraphQuery::default();
    codes.set_query_to_node(node, &mut query);
    let mut nearest = Beam::default();
    nearest.clear(CODE_NEIGHBORS);
    let all: Vec<u32> = (0..count as u32).collect();
    for nodes in all.chunks(CHUNK) {
        let proximities = codes.proximities(&mut query, nodes);
        for (&other, &proximity) in nodes.iter().zip(proximities) {
            nearest.push(BeamCandidate::new(proximity, other));
        }
    }
    nearest
}
