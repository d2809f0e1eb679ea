//! Beam of a graph search: the nearest nodes found so far.

use std::cmp::Ordering;

/// Proximity of a node to the query: an f32 as an integer of the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Proximity(u32);

impl Proximity {
    #[inline]
    pub(super) fn new(value: f32) -> Self {
        let bits = match value.partial_cmp(&0.0) {
            // NaN, which only a damaged file causes, is the lowest proximity.
            None => return Self(0),
            Some(Ordering::Equal) => 0,
            Some(_) => value.to_bits(),
        };
        Self(if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        })
    }
}

/// Node of the beam as one integer: proximity, then node number, then whether it is unexpanded.
/// Nearer nodes are greater; among equally near ones, the lower node number is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BeamCandidate(u64);

impl BeamCandidate {
    #[inline]
    pub(super) fn new(proximity: Proximity, node: u32) -> Self {
        Self(u64::from(proximity.0) << 32 | u64::from(!(node << 1)))
    }

    #[inline]
    pub(super) fn node(self) -> u32 {
        !(self.0 as u32) >> 1
    }

    /// Returns `true` if the neighbors of the node have not been visited yet.
    #[inline]
    fn is_unexpanded(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The nearest candidates, nearest first.
#[derive(Debug, Default)]
pub(super) struct Beam {
    candidates: Vec<BeamCandidate>,
    width: usize,
    /// Every candidate before this index is expanded.
    first_unexpanded: usize,
}

impl Beam {
    /// Empties the beam and sets its width.
    pub(super) fn clear(&mut self, width: usize) {
        self.candidates.clear();
        self.width = width.max(1);
        self.first_unexpanded = 0;
    }

    /// Raises the width; a lower width has no effect.
    pub(super) fn widen(&mut self, width: usize) {
        self.width = self.width.max(width);
    }

    #[inline]
    pub(super) fn push(&mut self, candidate: BeamCandidate) {
        if self.candidates.len() >= self.width {
            if self
                .candidates
                .last()
                .is_some_and(|last| candidate <= *last)
            {
                return;
            }
            self.candidates.pop();
        }
        let at = self.candidates.partition_point(|other| *other > candidate);
        self.candidates.insert(at, candidate);
        self.first_unexpanded = self.first_unexpanded.min(at);
    }

    /// Returns the nearest unexpanded node and marks it as expanded.
    #[inline]
    pub(super) fn expand_next(&mut self) -> Option<u32> {
        while let Some(candidate) = self.candidates.get_mut(self.first_unexpanded) {
            self.first_unexpanded += 1;
            if candidate.is_unexpanded() {
                candidate.0 &= !1;
                return Some(candidate.node());
            }
        }
        None
    }

    /// Returns the nearest unexpanded node.
    #[inline]
    pub(super) fn peek(&self) -> Option<u32> {
        let mut rest = self.candidates.get(self.first_unexpanded..)?.iter();
        rest.find(|candidate| candidate.is_unexpanded())
            .map(|candidate| candidate.node())
    }

    /// Marks all candidates as unexpanded, to search another layer.
    pub(super) fn reset_expanded(&mut self) {
        self.first_unexpanded = 0;
        for candidate in &mut self.candidates {
            candidate.0 |= 1;
        }
    }

    pub(super) fn candidates(&self) -> &[BeamCandidate] {
        &self.candidates
    }
}
