//! Invariants of the graph.

use ir_core::{NoProgress, SplitMix64, VectorSimilarity};
use ndarray::Array2;

use super::config::HnswConfig;
use super::index::HnswIndex;
use crate::index::flat::FlatIndex;

/// Vectors of several distributions: uniform, distant clusters, a line, shared directions.
fn vectors(distribution: usize) -> Array2<f32> {
    let mut random = SplitMix64::new(3, distribution as u64);
    let mut uniform = move || (random.next_u64() >> 40) as f32 / 16_777_216.0;
    let rows: Vec<[f32; 3]> = (0..3000)
        .map(|n| match distribution {
            0 => [uniform(), uniform(), uniform()],
            1 => [(n % 20) as f32 * 1e4 + uniform(), uniform(), uniform()],
            2 => [n as f32, 1.0, 0.0],
            _ => [(n % 5) as f32, 1.0, 2.0].map(|x| x * (n + 1) as f32),
        })
        .collect();
    rows.into()
}

#[test]
fn graph_is_connected_and_has_valid_links() {
    for distribution in 0..4 {
        for similarity in [VectorSimilarity::Cosine, VectorSimilarity::Euclidean] {
            let ids = (0..3000).map(|n| n.to_string()).collect();
            let flat = FlatIndex::new(ids, vectors(distribution), similarity).unwrap();
            let config = HnswConfig::default().with_ef_construction(50).with_m(6);
            let index = HnswIndex::build(flat, &config, &mut NoProgress).unwrap();
            let graph = index.inner.graph_search().graph;
            assert!(graph.layout.sizes.len() > 3);
            for layer in 0..graph.layout.sizes.len() {
                let size = graph.layout.sizes[layer] as u32;
                for node in 0..size {
                    let mut links: Vec<u32> = graph.neighbors(layer, node).collect();
                    assert!(links.iter().all(|&other| other < size && other != node));
                    let count = links.len();
                    links.sort_unstable();
                    links.dedup();
                    assert_eq!(links.len(), count, "a duplicate link");
                }
            }
            let mut reached = vec![false; graph.layout.sizes[0]];
            let (mut rest, mut count) = (vec![0], 0);
            while let Some(node) = rest.pop() {
                if !std::mem::replace(&mut reached[node as usize], true) {
                    count += 1;
                    rest.extend(graph.neighbors(0, node));
                }
            }
            assert_eq!(count, reached.len(), "{similarity}, {distribution}");
        }
    }
}
