//! Search in the graph.

use super::beam::{Beam, BeamCandidate};
use super::codes::GraphQuery;
use super::distance::NodeVectors;
use super::graph::{HnswGraph, NO_LINK};
use crate::simd::prefetch;

/// Maximum number of nodes: a [`BeamCandidate`] has 31 bits for the node.
pub(super) const MAX_NODES: usize = 1 << 31;

/// Reusable buffers of a search.
#[derive(Debug, Default)]
pub(super) struct SearchScratch {
    pub(super) query: GraphQuery,
    pub(super) beam: Beam,
    /// Stamp of each node. Visited nodes have the stamp `stamp`.
    stamps: Vec<u8>,
    stamp: u8,
    nodes: Vec<u32>,
}

impl SearchScratch {
    /// Marks `count` nodes as unvisited.
    fn begin(&mut self, count: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 || self.stamps.len() < count {
            self.stamps.clear();
            self.stamps.resize(count, 0);
            self.stamp = 1;
        }
    }

    /// Marks a node as visited and returns whether it was unvisited. Nodes beyond the count, which
    /// only a damaged file links to, count as visited.
    #[inline]
    fn visit(&mut self, node: u32) -> bool {
        match self.stamps.get_mut(node as usize) {
            Some(stamp) if *stamp != self.stamp => {
                *stamp = self.stamp;
                true
            }
            _ => false,
        }
    }
}

/// Graph and vectors to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphSearch<'a> {
    pub(super) graph: HnswGraph<'a>,
    pub(super) vectors: NodeVectors<'a>,
    /// Number of linked nodes: those with lower numbers.
    pub(super) count: usize,
}

impl GraphSearch<'_> {
    /// Descends greedily from the top layer through the layers above `layer`, and leaves the
    /// node found nearest to the query in the beam. The graph has at least one node.
    pub(super) fn descend(self, layer: usize, scratch: &mut SearchScratch) {
        scratch.beam.clear(1);
        let proximity = self.vectors.proximity(&mut scratch.query, 0);
        scratch.beam.push(BeamCandidate::new(proximity, 0));
        for above in (layer + 1..self.graph.layout.sizes.len()).rev() {
            self.search_layer(above, scratch);
        }
    }

    /// Fills the beam with the nodes of a layer nearest to the query, starting from its candidates.
    pub(super) fn search_layer(self, layer: usize, scratch: &mut SearchScratch) {
        scratch.begin(self.count);
        scratch.beam.reset_expanded();
        for at in 0..scratch.beam.candidates().len() {
            let node = scratch.beam.candidates()[at].node();
            scratch.visit(node);
        }
        while let Some(node) = scratch.beam.expand_next() {
            scratch.nodes.clear();
            for &next in self.graph.links(layer, node) {
                if next == NO_LINK {
                    break;
                }
                if scratch.visit(next) {
                    scratch.nodes.push(next);
                }
            }
            if let Some(next) = scratch.beam.peek() {
                prefetch(bytemuck::cast_slice(self.graph.links(layer, next)));
            }
            let nodes = &scratch.nodes;
            let proximities = self.vectors.proximities(&mut scratch.query, nodes);
            for (&node, &proximity) in nodes.iter().zip(proximities) {
                scratch.beam.push(BeamCandidate::new(proximity, node));
            }
        }
    }
}
