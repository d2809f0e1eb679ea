//! Proximities of nodes: from 8-bit codes, or from f32 vectors where codes are too coarse.
//!
//! Codes are relative to one centroid. Vectors that are much closer to each other than to the
//! centroid (near-duplicates, points of a plane) get equal or misordered codes. Building an index
//! measures this on a sample of vectors: the fraction of exact nearest neighbors among the nearest
//! by code.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ir_core::{Retriever, Search};
use rayon::prelude::*;

use super::beam::{Candidate, Proximity};
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

    fn set_query(self, vector: &[f32], query: &mut GraphQuery) {
        query.wide.set(self.flat.cpu(), vector);
    }

    /// Exact scores as proximities.
    fn proximities(self, query: &GraphQuery, nodes: &[u32], proximities: &mut [Proximity]) {
        for (at, (proximity, &node)) in proximities.iter_mut().zip(nodes).enumerate() {
            if let Some(&next) = nodes.get(at + 2) {
                prefetch(bytemuck::cast_slice(self.get(next)));
            }
            let (similarity, cpu) = (self.flat.similarity(), self.flat.cpu());
            *proximity = Proximity::new(similarity.score(cpu, &query.wide, self.get(node)));
        }
    }
}

impl NodeVectors<'_> {
    /// Prepares a validated query.
    pub(super) fn query(self, vector: &[f32]) -> GraphQuery {
        match self {
            Self::Coded(codes) => codes.query(vector),
            Self::Exact(vectors) => {
                let mut query = GraphQuery::default();
                vectors.set_query(vector, &mut query);
                query
            }
        }
    }

    /// Replaces the query by a node's vector and reuses its buffers.
    pub(super) fn set_query_to_node(self, node: u32, query: &mut GraphQuery) {
        match self {
            Self::Coded(codes) => codes.set_query_to_node(node, query),
            Self::Exact(vectors) => vectors.set_query(vectors.get(node), query),
        }
    }

    /// Proximities of several nodes. `sums` and `proximities` are at least as long as `nodes`.
    #[inline]
    pub(super) fn proximities(
        self,
        query: &GraphQuery,
        nodes: &[u32],
        sums: &mut [i32],
        proximities: &mut [Proximity],
    ) {
        match self {
            Self::Coded(codes) => codes.proximities(query, nodes, sums, proximities),
            Self::Exact(vectors) => vectors.proximities(query, nodes, proximities),
        }
    }

    /// Proximity of one node.
    pub(super) fn proximity(self, query: &GraphQuery, node: u32) -> Proximity {
        let (mut sum, mut proximity) = ([0], [Proximity::default()]);
        self.proximities(query, &[node], &mut sum, &mut proximity);
        proximity[0]
    }
}

/// Whether exact nearest neighbors are nearest by code too.
pub(super) fn codes_are_faithful(codes: NodeCodes<'_>, vectors: ExactVectors<'_>) -> bool {
    // If exact scores exceed the range of f32, only codes can order nodes.
    code_recall(codes, vectors).is_none_or(|recall| recall >= MIN_CODE_RECALL)
}

/// Fraction of the exact nearest documents of sampled nodes that codes find. Documents that are as
/// near as the last of them count as found.
fn code_recall(codes: NodeCodes<'_>, vectors: ExactVectors<'_>) -> Option<f64> {
    let ExactVectors { flat, documents } = vectors;
    let count = documents.nodes();
    // Nodes are in random order.
    let sample = 0..count.min(SAMPLE_SIZE) as u32;
    let k = NEIGHBORS.min(flat.len());
    if k == 0 {
        return None;
    }
    let queries: Vec<(&[f32], Search<'_>)> = sample
        .clone()
        .map(|node| (vectors.get(node), Search::top(k)))
        .collect();
    let exact = flat.search_batch(&queries).ok()?;
    let found: usize = (sample.clone(), exact)
        .into_par_iter()
        .map(|(node, exact)| {
            let last = exact.hits().last().map_or(f32::MIN, |hit| hit.score);
            let wide = WideQuery::new(flat.cpu(), vectors.get(node));
            let score = |other: u32| {
                flat.similarity()
                    .score(flat.cpu(), &wide, vectors.get(other))
            };
            let found = nearest_by_code(codes, node, count)
                .filter(|&other| score(other) >= last)
                .map(|other| documents.get(other as usize).len())
                .sum::<usize>();
            found.min(k)
        })
        .sum();
    let all = sample.len() * k;
    Some(found as f64 / all as f64)
}

fn nearest_by_code(codes: NodeCodes<'_>, node: u32, count: usize) -> impl Iterator<Item = u32> {
    const CHUNK: usize = 256;
    let mut query = GraphQuery::default();
    codes.set_query_to_node(node, &mut query);
    let (mut sums, mut proximities) = ([0; CHUNK], [Proximity::default(); CHUNK]);
    let mut best: BinaryHeap<Reverse<Candidate>> = BinaryHeap::new();
    let all: Vec<u32> = (0..count as u32).collect();
    for nodes in all.chunks(CHUNK) {
        let (sums, proximities) = (&mut sums[..nodes.len()], &mut proximities[..nodes.len()]);
        codes.proximities(&query, nodes, sums, proximities);
        for (&other, &proximity) in nodes.iter().zip(&*proximities) {
            best.push(Reverse(Candidate::new(proximity, other)));
            if best.len() > CODE_NEIGHBORS {
                best.pop();
            }
        }
    }
    best.into_iter().map(|candidate| candidate.0.node())
}
