//! Building the graph.
//!
//! Vectors are linked in batches, each a small part of those that are linked already: every vector of
//! a batch finds its neighbours in the graph as it was before, then all links back are added at once,
//! in order. So threads never wait for each other, and the graph does not depend on how many there
//! are.
//!
//! # Sources
//! Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical
//! navigable small world graphs", TPAMI 2020 (algorithms 1, 2 and 4); the batches are those of Manohar
//! et al., "ParlayANN", PPoPP 2024.

use rayon::prelude::*;

use super::HnswConfig;
use super::graph::{Graph, NONE, Shape};
use super::records::{Key, Probe};
use super::vectors::Vectors;
use super::walk::{Scratch, Seen, Walk};
use crate::flat::align::Lines;
use crate::flat::pages::enlarge;

/// A batch is at most one in so many of the vectors that are linked.
const PART: usize = 32;

/// A link back: layer, from, to.
type Back = (usize, u32, u32);

/// What a thread needs.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    probe: Probe,
    other: Probe,
    seen: Vec<Seen>,
}

struct Builder<'a> {
    vectors: Vectors<'a>,
    shape: &'a Shape,
    effort: usize,
}

/// The links of all vectors.
pub(super) fn build(vectors: Vectors<'_>, shape: &Shape, config: &HnswConfig) -> Lines {
    let mut links = Lines::zeros(4 * shape.total());
    enlarge(links.as_ref());
    links.as_mut().fill(0xff);
    if shape.layers() == 0 {
        return links;
    }
    let builder = Builder {
        vectors,
        shape,
        effort: config.build_effort.max(config.links),
    };
    let all: &mut [u32] = bytemuck::cast_slice_mut(links.as_mut());
    let (count, mut linked) = (shape.size(0), 1);
    while linked < count {
        let batch = (linked / PART).clamp(1, count - linked);
        builder.link(linked, batch, all);
        linked += batch;
    }
    builder.connect(all);
    links
}

impl Builder<'_> {
    fn walk<'w>(&'w self, links: &'w [u32], count: usize) -> Walk<'w> {
        let shape = self.shape;
        Walk {
            graph: Graph { shape, links },
            vectors: self.vectors,
            count,
        }
    }

    /// Links the vectors after the first `linked`.
    fn link(&self, linked: usize, batch: usize, links: &mut [u32]) {
        let walk = self.walk(links, linked);
        let found: Vec<Vec<Vec<u32>>> = (linked as u32..(linked + batch) as u32)
            .into_par_iter()
            .map_init(Worker::default, |worker, node| {
                self.neighbours(walk, node, worker)
            })
            .collect();
        let mut back: Vec<Back> = Vec::new();
        for (node, layers) in (linked as u32..).zip(found) {
            for (layer, neighbours) in layers.into_iter().enumerate() {
                let room = &mut links[self.shape.range(layer, node)];
                room[..neighbours.len()].copy_from_slice(&neighbours);
                back.extend(neighbours.into_iter().map(|other| (layer, other, node)));
            }
        }
        back.par_sort_unstable();
        let groups: Vec<&[Back]> = back
            .chunk_by(|one, other| (one.0, one.1) == (other.0, other.1))
            .collect();
        let graph = self.walk(links, linked).graph;
        let changed: Vec<Vec<u32>> = groups
            .par_iter()
            .map_init(Worker::default, |worker, group| {
                self.merge(graph, group, worker)
            })
            .collect();
        for (group, neighbours) in groups.into_iter().zip(changed) {
            let (layer, node, _) = group[0];
            let room = &mut links[self.shape.range(layer, node)];
            let (some, rest) = room.split_at_mut(neighbours.len());
            some.copy_from_slice(&neighbours);
            rest.fill(NONE);
        }
    }

    /// The neighbours of a new vector in all layers that it is in, the lowest first.
    fn neighbours(&self, walk: Walk<'_>, node: u32, worker: &mut Worker) -> Vec<Vec<u32>> {
        let top = self.shape.top(node);
        let Worker {
            scratch,
            probe,
            other,
            ..
        } = worker;
        self.vectors.probe_of(node, probe);
        walk.descend(probe, top, scratch);
        let mut layers = vec![Vec::new(); top + 1];
        for layer in (0..=top).rev() {
            scratch.beam.widen(self.effort);
            walk.search(probe, layer, scratch);
            layers[layer] = self.select(node, scratch.beam.seen(), self.shape.links(), other);
        }
        layers
    }

    /// The neighbours of a vector that others have linked to.
    fn merge(&self, graph: Graph<'_>, group: &[Back], worker: &mut Worker) -> Vec<u32> {
        let (layer, node, _) = group[0];
        let mut neighbours: Vec<u32> = graph.neighbours(layer, node).collect();
        neighbours.extend(group.iter().map(|&(_, _, new)| new));
        let width = self.shape.width(layer);
        if neighbours.len() <= width {
            return neighbours;
        }
        let Worker {
            probe, other, seen, ..
        } = worker;
        self.vectors.probe_of(node, probe);
        let mut sums = vec![0; neighbours.len()];
        let mut keys = vec![Key::default(); neighbours.len()];
        self.vectors.keys(probe, &neighbours, &mut sums, &mut keys);
        seen.clear();
        let pairs = keys.into_iter().zip(neighbours);
        seen.extend(pairs.map(|(key, node)| Seen::new(key, node)));
        seen.sort_unstable_by(|one, other| other.cmp(one));
        self.select(node, seen, width, other)
    }

    /// Of vectors that are near to `node`, nearest first, those that are nearer to it than to any that
    /// was taken before.
    fn select(&self, node: u32, near: &[Seen], most: usize, probe: &mut Probe) -> Vec<u32> {
        const TOGETHER: usize = 8;
        let (mut sums, mut keys) = ([0; TOGETHER], [Key::default(); TOGETHER]);
        let mut taken: Vec<u32> = Vec::with_capacity(most);
        for one in near {
            if taken.len() == most {
                break;
            }
            let one = one.node();
            self.vectors.probe_of(one, probe);
            let own = self.vectors.key(probe, node);
            let apart = taken.chunks(TOGETHER).all(|some| {
                let (sums, keys) = (&mut sums[..some.len()], &mut keys[..some.len()]);
                self.vectors.keys(probe, some, sums, keys);
                keys.iter().all(|key| *key < own)
            });
            if apart {
                taken.push(one);
            }
        }
        taken
    }

    /// Links what cannot be reached from the first vector in the lowest layer, as long as there is
    /// room for links to it.
    fn connect(&self, links: &mut [u32]) {
        let count = self.shape.size(0);
        let mut reached = vec![false; count];
        let mut worker = Worker::default();
        self.reach(links, 0, &mut reached);
        for node in 0..count as u32 {
            if reached[node as usize] {
                continue;
            }
            let walk = self.walk(links, count);
            let Worker { scratch, probe, .. } = &mut worker;
            self.vectors.probe_of(node, probe);
            walk.descend(probe, 0, scratch);
            scratch.beam.widen(self.effort);
            walk.search(probe, 0, scratch);
            let near = scratch.beam.seen().iter().map(|one| one.node());
            // Further off than the beam: any.
            let from = near
                .chain(0..count as u32)
                .filter(|&near| reached[near as usize])
                .find(|&near| walk.graph.room(0, near).last() == Some(&NONE));
            let Some(from) = from else { continue };
            let room = &mut links[self.shape.range(0, from)];
            if let Some(free) = room.iter_mut().find(|link| **link == NONE) {
                *free = node;
            }
            self.reach(links, node, &mut reached);
        }
    }

    fn reach(&self, links: &[u32], from: u32, reached: &mut [bool]) {
        let graph = self.walk(links, 0).graph;
        let mut rest = vec![from];
        reached[from as usize] = true;
        while let Some(node) = rest.pop() {
            for next in graph.neighbours(0, node) {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    rest.push(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlatIndex, HnswIndex, Similarity};
    use ir_core::SplitMix;

    /// Crowds far from each other, lines, and directions that many vectors share.
    fn rows(kind: usize) -> Vec<[f32; 3]> {
        let mut random = SplitMix::new(3, kind as u64);
        let mut any = move || (random.bits() >> 40) as f32 / 16_777_216.0;
        (0..3000)
            .map(|n| match kind {
                0 => [any(), any(), any()],
                1 => [(n % 20) as f32 * 1e4 + any(), any(), any()],
                2 => [n as f32, 1.0, 0.0],
                _ => [(n % 5) as f32, 1.0, 2.0].map(|x| x * (n + 1) as f32),
            })
            .collect()
    }

    #[test]
    fn the_graph_hangs_together() {
        for kind in 0..4 {
            for similarity in [Similarity::Cosine, Similarity::Euclidean] {
                let ids = (0..3000).map(|n| n.to_string()).collect();
                let flat = FlatIndex::of(ids, &rows(kind), similarity).unwrap();
                let config = HnswConfig::default().with_build_effort(50).with_links(6);
                let index = HnswIndex::new(flat, &config).unwrap();
                let graph = index.inner.walk().graph;
                assert!(graph.shape.layers() > 3);
                for layer in 0..graph.shape.layers() {
                    let size = graph.shape.size(layer) as u32;
                    for node in 0..size {
                        let mut links: Vec<u32> = graph.neighbours(layer, node).collect();
                        assert!(links.iter().all(|&other| other < size && other != node));
                        let count = links.len();
                        links.sort_unstable();
                        links.dedup();
                        assert_eq!(links.len(), count, "a link twice");
                    }
                }
                let mut reached = vec![false; graph.shape.size(0)];
                let (mut rest, mut count) = (vec![0], 0);
                while let Some(node) = rest.pop() {
                    if !std::mem::replace(&mut reached[node as usize], true) {
                        count += 1;
                        rest.extend(graph.neighbours(0, node));
                    }
                }
                assert_eq!(count, reached.len(), "{similarity}, kind {kind}");
            }
        }
    }
}
