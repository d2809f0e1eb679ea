//! The vectors as the graph is walked by them: in 8 bits, or as they are where 8 bits would mislead.
//!
//! Codes are relative to one middle. Vectors that are much closer to each other than to it, copies
//! with slight changes or points of a plane, get codes that are equal or in the wrong order. That
//! is measured when a graph is built, on vectors of a sample: how many of the nearest are among those
//! that are nearest by their codes.

use std::collections::BinaryHeap;

use ir_core::{Retriever, Search};
use rayon::prelude::*;

use super::distinct::Documents;
use super::records::{Key, Probe, Records};
use super::walk::Seen;
use crate::FlatIndex;
use crate::flat::simd::prefetch;
use crate::flat::similarity::Wide;

/// Vectors whose neighbours are compared.
const SAMPLE: usize = 64;
/// Neighbours of each that should be found,
const NEAR: usize = 10;
/// among so many that are nearest by codes.
const AMONG: usize = 16;
/// The share of them that has to be found for a walk by codes.
const FAITHFUL: f64 = 0.98;

/// What distances are measured by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Vectors<'a> {
    /// In 8 bits.
    Coded(Records<'a>),
    /// As they are.
    Plain(Rows<'a>),
}

/// The vectors themselves, in the order of the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) flat: &'a FlatIndex,
    pub(super) documents: &'a Documents,
}

impl<'a> Rows<'a> {
    #[inline]
    pub(super) fn row(self, node: u32) -> &'a [f32] {
        self.flat.row(self.documents.first(node as usize))
    }

    /// Sets the query; room is used again.
    fn aim(self, query: &[f32], probe: &mut Probe) {
        probe.wide.set(self.flat.cpu(), query);
    }

    /// The exact scores, rounded to 32 bits, as keys.
    fn keys(self, probe: &Probe, nodes: &[u32], keys: &mut [Key]) {
        for (at, (key, &node)) in keys.iter_mut().zip(nodes).enumerate() {
            if let Some(&next) = nodes.get(at + 2) {
                prefetch(bytemuck::cast_slice(self.row(next)));
            }
            let (similarity, cpu) = (self.flat.similarity(), self.flat.cpu());
            *key = Key::new(similarity.score(cpu, &probe.wide, self.row(node)));
        }
    }
}

impl Vectors<'_> {
    /// A query of the same length, finite, not zero under cosine.
    pub(super) fn probe(self, query: &[f32]) -> Probe {
        match self {
            Self::Coded(records) => records.probe(query),
            Self::Plain(rows) => {
                let mut probe = Probe::default();
                rows.aim(query, &mut probe);
                probe
            }
        }
    }

    /// One of the vectors as a query.
    pub(super) fn probe_of(self, node: u32, probe: &mut Probe) {
        match self {
            Self::Coded(records) => records.probe_of(node, probe),
            Self::Plain(rows) => rows.aim(rows.row(node), probe),
        }
    }

    /// The keys of some vectors. `sums` and `keys` are as long as `nodes`.
    #[inline]
    pub(super) fn keys(self, probe: &Probe, nodes: &[u32], sums: &mut [i32], keys: &mut [Key]) {
        match self {
            Self::Coded(records) => records.keys(probe, nodes, sums, keys),
            Self::Plain(rows) => rows.keys(probe, nodes, keys),
        }
    }

    /// The key of one vector.
    pub(super) fn key(self, probe: &Probe, node: u32) -> Key {
        let (mut sum, mut key) = ([0], [Key::default()]);
        self.keys(probe, &[node], &mut sum, &mut key);
        key[0]
    }
}

/// Whether the nearest vectors are nearest by their codes too.
pub(super) fn faithful(records: Records<'_>, rows: Rows<'_>) -> bool {
    // Where scores are beyond 32 bits, only codes are left.
    share(records, rows).is_none_or(|share| share >= FAITHFUL)
}

/// Of the nearest documents of some vectors, the share that is found by codes. Documents that are as
/// near as the last of the nearest count as well.
fn share(records: Records<'_>, rows: Rows<'_>) -> Option<f64> {
    let Rows { flat, documents } = rows;
    let count = documents.nodes();
    // The order of the graph is random.
    let sample = 0..count.min(SAMPLE) as u32;
    let near = NEAR.min(flat.len());
    if near == 0 {
        return None;
    }
    let queries: Vec<(&[f32], Search<'_>)> = sample
        .clone()
        .map(|node| (rows.row(node), Search::top(near)))
        .collect();
    let exact = flat.search_batch(&queries).ok()?;
    let found: usize = (sample.clone(), exact)
        .into_par_iter()
        .map(|(node, exact)| {
            let last = exact.hits().last().map_or(f32::MIN, |hit| hit.score);
            let wide = Wide::new(flat.cpu(), rows.row(node));
            let score = |other: u32| flat.similarity().score(flat.cpu(), &wide, rows.row(other));
            let found = nearest(records, node, count)
                .filter(|&other| score(other) >= last)
                .map(|other| documents.get(other as usize).len())
                .sum::<usize>();
            found.min(near)
        })
        .sum();
    let all = sample.len() * near;
    Some(found as f64 / all as f64)
}

/// The nearest vectors by codes.
fn nearest(records: Records<'_>, node: u32, count: usize) -> impl Iterator<Item = u32> {
    const TOGETHER: usize = 256;
    let mut probe = Probe::default();
    records.probe_of(node, &mut probe);
    let (mut sums, mut keys) = ([0; TOGETHER], [Key::default(); TOGETHER]);
    let mut best: BinaryHeap<std::cmp::Reverse<Seen>> = BinaryHeap::new();
    let all: Vec<u32> = (0..count as u32).collect();
    for some in all.chunks(TOGETHER) {
        let (sums, keys) = (&mut sums[..some.len()], &mut keys[..some.len()]);
        records.keys(&probe, some, sums, keys);
        for (&other, &key) in some.iter().zip(&*keys) {
            best.push(std::cmp::Reverse(Seen::new(key, other)));
            if best.len() > AMONG {
                best.pop();
            }
        }
    }
    best.into_iter().map(|one| one.0.node())
}
