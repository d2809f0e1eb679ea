//! Construction of the graph.
//!
//! Nodes are linked in batches, each a small fraction of the linked nodes. All nodes of a batch
//! search their neighbors in the graph before the batch; then all reverse links are added at once,
//! in order. So threads never wait for each other, and the graph does not depend on their number.
//!
//! # Sources
//! Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
//! hierarchical navigable small world graphs", TPAMI 2020 (algorithms 1, 2 and 4); the batches
//! follow Manohar et al., "ParlayANN", PPoPP 2024.

use ir_core::{Flow, Progress};
use rayon::prelude::*;

use super::beam::BeamCandidate;
use super::codes::GraphQuery;
use super::config::{HnswConfig, HnswError};
use super::distance::NodeVectors;
use super::graph::{HnswGraph, LayerLayout, NO_LINK};
use super::search::{GraphSearch, SearchScratch};
use crate::simd::{AlignedBytes, huge_pages};

/// Maximum number of progress reports of a graph.
const REPORTS: usize = 100;

/// Minimum ratio of linked nodes to the size of a batch.
const LINKED_PER_BATCH: usize = 32;

/// Reverse link: layer, from, to.
type ReverseLink = (usize, u32, u32);

/// Buffers of a thread.
#[derive(Default)]
struct BuildScratch {
    search: SearchScratch,
    other: GraphQuery,
    candidates: Vec<BeamCandidate>,
}

struct GraphBuilder<'a> {
    vectors: NodeVectors<'a>,
    layout: &'a LayerLayout,
    ef_construction: usize,
}

/// Builds the links of all nodes. Returns [`HnswError::Canceled`] if `progress` cancels.
pub(super) fn build_links(
    vectors: NodeVectors<'_>,
    layout: &LayerLayout,
    config: &HnswConfig,
    progress: &mut dyn Progress,
) -> Result<AlignedBytes, HnswError> {
    let mut links = AlignedBytes::zeros(4 * layout.total_links);
    huge_pages::advise(links.as_ref());
    links.as_mut().fill(0xff);
    if layout.sizes.is_empty() {
        return Ok(links);
    }
    let builder = GraphBuilder {
        vectors,
        layout,
        ef_construction: config.ef_construction.max(config.m),
    };
    let all: &mut [u32] = bytemuck::cast_slice_mut(links.as_mut());
    let (count, mut linked) = (layout.sizes[0], 1);
    let mut next_report = 0;
    while linked < count {
        if linked >= next_report {
            let flow = progress.report("linking vectors", linked as u64, Some(count as u64));
            if flow == Flow::Stop {
                return Err(HnswError::Canceled);
            }
            next_report = linked + count.div_ceil(REPORTS);
        }
        let batch = (linked / LINKED_PER_BATCH).clamp(1, count - linked);
        builder.link_batch(linked, batch, all);
        linked += batch;
    }
    builder.connect(all);
    Ok(links)
}

impl GraphBuilder<'_> {
    fn graph_search<'w>(&'w self, links: &'w [u32], count: usize) -> GraphSearch<'w> {
        let layout = self.layout;
        GraphSearch {
            graph: HnswGraph { layout, links },
            vectors: self.vectors,
            count,
        }
    }

    /// Links `batch` nodes after the first `linked`.
    fn link_batch(&self, linked: usize, batch: usize, links: &mut [u32]) {
        let search = self.graph_search(links, linked);
        let found: Vec<Vec<Vec<u32>>> = (linked as u32..(linked + batch) as u32)
            .into_par_iter()
            .map_init(BuildScratch::default, |scratch, node| {
                self.search_neighbors(search, node, scratch)
            })
            .collect();
        let mut reverse: Vec<ReverseLink> = Vec::new();
        for (node, layers) in (linked as u32..).zip(found) {
            for (layer, neighbors) in layers.into_iter().enumerate() {
                let range = &mut links[self.layout.range(layer, node)];
                range[..neighbors.len()].copy_from_slice(&neighbors);
                reverse.extend(neighbors.into_iter().map(|other| (layer, other, node)));
            }
        }
        reverse.par_sort_unstable();
        let groups: Vec<&[ReverseLink]> = reverse
            .chunk_by(|one, other| (one.0, one.1) == (other.0, other.1))
            .collect();
        let graph = self.graph_search(links, linked).graph;
        let merged: Vec<Vec<u32>> = groups
            .par_iter()
            .map_init(BuildScratch::default, |scratch, group| {
                self.merge_neighbors(graph, group, scratch)
            })
            .collect();
        for (group, neighbors) in groups.into_iter().zip(merged) {
            let (layer, node, _) = group[0];
            let range = &mut links[self.layout.range(layer, node)];
            let (used, rest) = range.split_at_mut(neighbors.len());
            used.copy_from_slice(&neighbors);
            rest.fill(NO_LINK);
        }
    }

    /// Neighbors of a new node in all of its layers, the lowest first.
    fn search_neighbors(
        &self,
        search: GraphSearch<'_>,
        node: u32,
        scratch: &mut BuildScratch,
    ) -> Vec<Vec<u32>> {
        let top = self.layout.top_layer(node);
        let buffers = &mut scratch.search;
        self.vectors.set_query_to_node(node, &mut buffers.query);
        search.descend(top, buffers);
        let mut layers = vec![Vec::new(); top + 1];
        for layer in (0..=top).rev() {
            buffers.beam.widen(self.ef_construction);
            search.search_layer(layer, buffers);
            let candidates = buffers.beam.candidates();
            let max = self.layout.m;
            layers[layer] = self.select_neighbors(node, candidates, max, &mut scratch.other);
        }
        layers
    }

    /// Neighbors of a node after the reverse links of a group are added.
    fn merge_neighbors(
        &self,
        graph: HnswGraph<'_>,
        group: &[ReverseLink],
        scratch: &mut BuildScratch,
    ) -> Vec<u32> {
        let (layer, node, _) = group[0];
        let mut neighbors: Vec<u32> = graph.neighbors(layer, node).collect();
        neighbors.extend(group.iter().map(|&(_, _, new)| new));
        let max = self.layout.max_links(layer);
        if neighbors.len() <= max {
            return neighbors;
        }
        let (query, candidates) = (&mut scratch.search.query, &mut scratch.candidates);
        self.vectors.set_query_to_node(node, query);
        let proximities = self.vectors.proximities(query, &neighbors);
        candidates.clear();
        let pairs = proximities.iter().zip(neighbors);
        candidates.extend(pairs.map(|(&proximity, node)| BeamCandidate::new(proximity, node)));
        candidates.sort_unstable_by(|one, other| other.cmp(one));
        self.select_neighbors(node, candidates, max, &mut scratch.other)
    }

    /// Selects, among candidates sorted by proximity, those that are nearer to `node` than to any
    /// neighbor selected before (algorithm 4).
    fn select_neighbors(
        &self,
        node: u32,
        candidates: &[BeamCandidate],
        max: usize,
        query: &mut GraphQuery,
    ) -> Vec<u32> {
        const CHUNK: usize = 8;
        let mut selected: Vec<u32> = Vec::with_capacity(max);
        for candidate in candidates {
            if selected.len() == max {
                break;
            }
            let candidate = candidate.node();
            self.vectors.set_query_to_node(candidate, query);
            let to_node = self.vectors.proximity(query, node);
            let is_diverse = selected.chunks(CHUNK).all(|some| {
                let proximities = self.vectors.proximities(query, some);
                proximities.iter().all(|proximity| *proximity < to_node)
            });
            if is_diverse {
                selected.push(candidate);
            }
        }
        selected
    }

    /// Links nodes of the lowest layer that are unreachable from the first node, as far as
    /// reachable nodes have free links.
    fn connect(&self, links: &mut [u32]) {
        let count = self.layout.sizes[0];
        let mut reached = vec![false; count];
        let mut buffers = SearchScratch::default();
        self.mark_reachable(links, 0, &mut reached);
        for node in 0..count as u32 {
            if reached[node as usize] {
                continue;
            }
            let search = self.graph_search(links, count);
            self.vectors.set_query_to_node(node, &mut buffers.query);
            search.descend(0, &mut buffers);
            buffers.beam.widen(self.ef_construction);
            search.search_layer(0, &mut buffers);
            let nearest = buffers.beam.candidates().iter().map(|one| one.node());
            // Any other node if no candidate has a free link.
            let from = nearest
                .chain(0..count as u32)
                .filter(|&near| reached[near as usize])
                .find(|&near| search.graph.links(0, near).last() == Some(&NO_LINK));
            let Some(from) = from else { continue };
            let range = &mut links[self.layout.range(0, from)];
            if let Some(free) = range.iter_mut().find(|link| **link == NO_LINK) {
                *free = node;
            }
            self.mark_reachable(links, node, &mut reached);
        }
    }

    fn mark_reachable(&self, links: &[u32], from: u32, reached: &mut [bool]) {
        let graph = self.graph_search(links, 0).graph;
        let mut rest = vec![from];
        reached[from as usize] = true;
        while let Some(node) = rest.pop() {
            for next in graph.neighbors(0, node) {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    rest.push(next);
                }
            }
        }
    }
}
