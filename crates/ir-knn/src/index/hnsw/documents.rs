//! Documents of the graph's nodes. Equal vectors are one node: links among them would displace
//! links to others.

use std::hash::Hasher;
use std::io;

use ir_core::store::{IndexFileWriter, OpenIndexError};
use ir_core::{DocNum, SplitMix64};
use rayon::prelude::*;
use rustc_hash::FxHasher;

use crate::index::buffer::NumberBuffer;
use crate::index::file::{VectorFile, section};
use crate::index::flat::FlatIndex;

/// Documents of each node. Nodes are in random order.
#[derive(Debug)]
pub(super) struct NodeDocuments {
    /// Documents ordered by node.
    order: NumberBuffer<u32>,
    /// Offset of each node's first document, and the end; empty if each node has one document.
    starts: NumberBuffer<u32>,
}

impl NodeDocuments {
    /// Groups the documents of an index by vector, in an order that depends on the seed.
    pub(super) fn new(flat: &FlatIndex, seed: u64) -> Self {
        let bits = |doc: u32| -> &[u8] { bytemuck::cast_slice(flat.vector(DocNum::new(doc))) };
        let hash = |doc: u32| {
            let mut hasher = FxHasher::default();
            hasher.write(bits(doc));
            (hasher.finish(), doc)
        };
        let mut hashes: Vec<(u64, u32)> =
            (0..flat.len() as u32).into_par_iter().map(hash).collect();
        // Equal hashes are ordered by content, then by number.
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
                (SplitMix64::new(seed, first).next_u64(), group)
            })
            .collect();
        groups.par_sort_unstable_by_key(|(random, group)| (*random, group[0].1));
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
            order: NumberBuffer::Owned(order),
            starts: NumberBuffer::Owned(starts),
        }
    }

    pub(super) fn write<W: io::Write>(&self, writer: &mut IndexFileWriter<W>) -> io::Result<()> {
        writer.section(section::NODE_DOCUMENTS, &self.order.to_bytes())?;
        if !self.starts.get().is_empty() {
            writer.section(section::NODE_STARTS, &self.starts.to_bytes())?;
        }
        Ok(())
    }

    pub(super) fn from_file(file: &VectorFile, nodes: usize) -> Result<Self, OpenIndexError> {
        let documents = file.metadata.documents;
        let (each_once, each_node) = ("every document once", "an offset for every node");
        let size = documents.checked_mul(4);
        let order = file.section_with_len(section::NODE_DOCUMENTS, size, each_once)?;
        let order = NumberBuffer::from_section(order);
        let mut is_assigned = vec![false; documents];
        for &doc in order.get() {
            match is_assigned.get_mut(doc as usize) {
                Some(assigned) if !*assigned => *assigned = true,
                _ => return Err(file.malformed(section::NODE_DOCUMENTS, each_once)),
            }
        }
        let starts = if file.has(section::NODE_STARTS) {
            let size = nodes.checked_add(1).and_then(|n| n.checked_mul(4));
            let starts = file.section_with_len(section::NODE_STARTS, size, each_node)?;
            let starts = NumberBuffer::<u32>::from_section(starts);
            let all = starts.get();
            let is_covering = all.first() == Some(&0) && all.last() == Some(&(documents as u32));
            if !is_covering || !all.is_sorted_by(|one, other| one < other) {
                return Err(file.malformed(section::NODE_STARTS, "ascending offsets"));
            }
            starts
        } else if nodes == documents {
            NumberBuffer::Owned(Vec::new())
        } else {
            return Err(file.malformed(section::NODE_STARTS, each_node));
        };
        Ok(Self { order, starts })
    }

    pub(super) fn nodes(&self) -> usize {
        match self.starts.get() {
            [] => self.order.get().len(),
            starts => starts.len() - 1,
        }
    }

    /// Documents of a node.
    #[inline]
    pub(super) fn get(&self, node: usize) -> &[u32] {
        let order = self.order.get();
        match self.starts.get() {
            [] => &order[node..=node],
            starts => &order[starts[node] as usize..starts[node + 1] as usize],
        }
    }

    /// First document of a node.
    pub(super) fn first(&self, node: usize) -> DocNum {
        DocNum::new(self.get(node)[0])
    }

    /// All documents, ordered by node, and so in random order.
    pub(super) fn all(&self) -> &[u32] {
        self.order.get()
    }
}
