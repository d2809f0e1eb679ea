//! Equal vectors are one in the graph: links among them would use up the room for others.

use std::io;

use ir_core::{DocNum, SplitMix};
use rayon::prelude::*;
use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::flat::file::{Mapped, Writer, section};
use crate::flat::numbers::Numbers;
use crate::{FlatIndex, OpenError};

/// The documents of each vector of the graph.
#[derive(Debug)]
pub(super) struct Documents {
    /// All documents, those of one vector after those of another.
    order: Numbers<u32>,
    /// Where those of each begin, and the end; empty when each has one.
    starts: Numbers<u32>,
}

impl Documents {
    /// Those of an index, in an order that is drawn from a seed.
    pub(super) fn of(flat: &FlatIndex, seed: u64) -> Self {
        let bits = |doc: u32| -> &[u8] { bytemuck::cast_slice(flat.row(DocNum::new(doc))) };
        let hash = |doc: u32| {
            let mut hasher = FxHasher::default();
            hasher.write(bits(doc));
            (hasher.finish(), doc)
        };
        let mut hashes: Vec<(u64, u32)> =
            (0..flat.len() as u32).into_par_iter().map(hash).collect();
        // Of one hash: by content, then by number.
        hashes.par_sort_unstable_by(|one, other| {
            one.0
                .cmp(&other.0)
                .then_with(|| bits(one.1).cmp(bits(other.1)))
                .then(one.1.cmp(&other.1))
        });
        let mut groups: Vec<(u64, &[(u64, u32)])> = hashes
            .chunk_by(|one, other| one.0 == other.0 && bits(one.1) == bits(other.1))
            .map(|group| {
                let first = u64::from(group[0].1);
                (SplitMix::new(seed, first).bits(), group)
            })
            .collect();
        groups.par_sort_unstable_by_key(|(place, group)| (*place, group[0].1));
        let mut order = Vec::with_capacity(flat.len());
        let mut starts = vec![0];
        for (_, group) in &groups {
            order.extend(group.iter().map(|&(_, doc)| doc));
            starts.push(order.len() as u32);
        }
        if groups.len() == order.len() {
            starts.clear();
        }
        Self {
            order: Numbers::Owned(order),
            starts: Numbers::Owned(starts),
        }
    }

    pub(super) fn write<W: io::Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.section(section::ORDER, &self.order.bytes())?;
        if !self.starts.get().is_empty() {
            writer.section(section::STARTS, &self.starts.bytes())?;
        }
        Ok(())
    }

    /// What [`Documents::write`] wrote.
    pub(super) fn read(file: &Mapped, nodes: usize) -> Result<Self, OpenError> {
        let documents = file.table.documents;
        let each = "every document once";
        let size = documents.checked_mul(4);
        let order = Numbers::of(file.sized(section::ORDER, size, each)?);
        let mut met = vec![false; documents];
        for &doc in order.get() {
            match met.get_mut(doc as usize) {
                Some(met) if !*met => *met = true,
                _ => return Err(file.malformed(section::ORDER, each)),
            }
        }
        let starts = if file.part(section::STARTS).is_some() {
            let size = nodes.checked_add(1).and_then(|n| n.checked_mul(4));
            let part = file.sized(section::STARTS, size, "a start for every vector")?;
            let starts = Numbers::<u32>::of(part);
            let all = starts.get();
            let ends = all.first() == Some(&0) && all.last() == Some(&(documents as u32));
            if !ends || !all.is_sorted_by(|one, other| one < other) {
                return Err(file.malformed(section::STARTS, "rising numbers of documents"));
            }
            starts
        } else if nodes == documents {
            Numbers::Owned(Vec::new())
        } else {
            return Err(file.malformed(section::STARTS, "a start for every vector"));
        };
        Ok(Self { order, starts })
    }

    /// How many different vectors there are.
    pub(super) fn nodes(&self) -> usize {
        match self.starts.get() {
            [] => self.order.get().len(),
            starts => starts.len() - 1,
        }
    }

    /// The documents of a vector.
    #[inline]
    pub(super) fn get(&self, node: usize) -> &[u32] {
        let order = self.order.get();
        match self.starts.get() {
            [] => &order[node..=node],
            starts => &order[starts[node] as usize..starts[node + 1] as usize],
        }
    }

    /// The first of them.
    pub(super) fn first(&self, node: usize) -> DocNum {
        DocNum::new(self.get(node)[0])
    }

    /// All documents, in random order, but for those of one vector.
    pub(super) fn all(&self) -> &[u32] {
        self.order.get()
    }
}
