//! Walking the graph towards a query.

use super::graph::{Graph, NONE};
use super::records::{Key, Probe};
use super::vectors::Vectors;
use crate::flat::simd::prefetch;

/// The most vectors that can be numbered: a bit is for the beam.
pub(super) const MOST: usize = 1 << 31;

/// A vector in the beam, as one number, so that nearer ones are greater; of equally near ones, that
/// of the lower number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen(u64);

impl Seen {
    #[inline]
    pub(super) fn new(key: Key, node: u32) -> Self {
        Self(u64::from(key.0) << 32 | u64::from(!(node << 1)))
    }

    #[inline]
    pub(super) fn node(self) -> u32 {
        !(self.0 as u32) >> 1
    }

    /// The lowest bit is set until the neighbours of the vector were looked at.
    #[inline]
    fn is_open(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline]
    fn close(&mut self) {
        self.0 &= !1;
    }
}

/// The nearest vectors that were seen, nearest first.
#[derive(Debug, Default)]
pub(super) struct Beam {
    seen: Vec<Seen>,
    width: usize,
    /// No vector before this place is open.
    open: usize,
}

impl Beam {
    /// Begins again.
    pub(super) fn clear(&mut self, width: usize) {
        self.seen.clear();
        self.width = width.max(1);
        self.open = 0;
    }

    /// Keeps so many from now on, not fewer than before.
    pub(super) fn widen(&mut self, width: usize) {
        self.width = self.width.max(width);
    }

    #[inline]
    pub(super) fn push(&mut self, one: Seen) {
        if self.seen.len() >= self.width {
            if self.seen.last().is_some_and(|last| one <= *last) {
                return;
            }
            self.seen.pop();
        }
        let at = self.seen.partition_point(|other| *other > one);
        self.seen.insert(at, one);
        self.open = self.open.min(at);
    }

    /// The nearest that is open, which it then is no more.
    #[inline]
    fn next(&mut self) -> Option<u32> {
        while let Some(one) = self.seen.get_mut(self.open) {
            self.open += 1;
            if one.is_open() {
                one.close();
                return Some(one.node());
            }
        }
        None
    }

    /// The nearest that is open.
    #[inline]
    fn peek(&self) -> Option<u32> {
        let mut rest = self.seen.get(self.open..)?.iter();
        rest.find(|one| one.is_open()).map(|one| one.node())
    }

    /// Opens all again, for another layer.
    fn reopen(&mut self) {
        self.open = 0;
        for one in &mut self.seen {
            one.0 |= 1;
        }
    }

    pub(super) fn seen(&self) -> &[Seen] {
        &self.seen
    }
}

/// What one walk after another needs.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) beam: Beam,
    /// Vectors that have this walk's stamp were met.
    stamps: Vec<u8>,
    stamp: u8,
    nodes: Vec<u32>,
    sums: Vec<i32>,
    keys: Vec<Key>,
}

impl Scratch {
    /// Begins a walk among so many vectors.
    fn begin(&mut self, count: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 || self.stamps.len() < count {
            self.stamps.clear();
            self.stamps.resize(count, 0);
            self.stamp = 1;
        }
    }

    /// Whether a vector is met for the first time. Those beyond the count, which only a damaged file
    /// links to, never are.
    #[inline]
    fn meet(&mut self, node: u32) -> bool {
        match self.stamps.get_mut(node as usize) {
            Some(stamp) if *stamp != self.stamp => {
                *stamp = self.stamp;
                true
            }
            _ => false,
        }
    }
}

/// A graph and its vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) graph: Graph<'a>,
    pub(super) vectors: Vectors<'a>,
    /// How many vectors are linked: the first so many.
    pub(super) count: usize,
}

impl Walk<'_> {
    /// Goes down from the top through the layers above `layer`, greedily, and leaves the vector that
    /// it comes to in the beam. There is at least one vector.
    pub(super) fn descend(self, probe: &Probe, layer: usize, scratch: &mut Scratch) {
        scratch.beam.clear(1);
        let first = Seen::new(self.vectors.key(probe, 0), 0);
        scratch.beam.push(first);
        for above in (layer + 1..self.graph.shape.layers()).rev() {
            self.search(probe, above, scratch);
        }
    }

    /// Fills the beam with the vectors of a layer that are nearest to the query, beginning at those
    /// that it has.
    pub(super) fn search(self, probe: &Probe, layer: usize, scratch: &mut Scratch) {
        scratch.begin(self.count);
        scratch.beam.reopen();
        for at in 0..scratch.beam.seen.len() {
            let node = scratch.beam.seen[at].node();
            scratch.meet(node);
        }
        while let Some(node) = scratch.beam.next() {
            scratch.nodes.clear();
            for &next in self.graph.room(layer, node) {
                if next == NONE {
                    break;
                }
                if scratch.meet(next) {
                    scratch.nodes.push(next);
                }
            }
            if let Some(next) = scratch.beam.peek() {
                prefetch(bytemuck::cast_slice(self.graph.room(layer, next)));
            }
            let Scratch {
                beam,
                nodes,
                sums,
                keys,
                ..
            } = scratch;
            if sums.len() < nodes.len() {
                sums.resize(nodes.len(), 0);
                keys.resize(nodes.len(), Key::default());
            }
            let sums = &mut sums[..nodes.len()];
            self.vectors.keys(probe, nodes, sums, keys);
            for (&node, &key) in nodes.iter().zip(&*keys) {
                beam.push(Seen::new(key, node));
            }
        }
    }
}
