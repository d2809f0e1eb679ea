//! Layers and links of the graph.
//!
//! Nodes are numbered in the order in which they were linked, which is random. So layer l contains
//! the first n / Mˡ nodes, and no levels are stored.

use std::ops::Range;

/// Padding after the links of a node.
pub(super) const NO_LINK: u32 = u32::MAX;

/// Positions of the links of all layers.
#[derive(Debug)]
pub(super) struct LayerLayout {
    /// Number of links of a new node.
    pub(super) m: usize,
    /// Number of nodes of each layer, the lowest first.
    pub(super) sizes: Vec<usize>,
    /// Offset of each layer's links.
    starts: Vec<usize>,
    /// Number of links of all nodes in all layers, with padding.
    pub(super) total_links: usize,
}

impl LayerLayout {
    /// Layers of `count` nodes. [`None`] if the number of links overflows.
    pub(super) fn new(count: usize, m: usize) -> Option<Self> {
        let (mut sizes, mut starts, mut total_links) = (Vec::new(), Vec::new(), 0_usize);
        let mut size = count;
        while size > 0 && m > 1 {
            let width = if sizes.is_empty() {
                m.checked_mul(2)?
            } else {
                m
            };
            sizes.push(size);
            starts.push(total_links);
            total_links = total_links.checked_add(size.checked_mul(width)?)?;
            size /= m;
        }
        Some(Self {
            m,
            sizes,
            starts,
            total_links,
        })
    }

    /// Maximum number of links of a node.
    pub(super) fn max_links(&self, layer: usize) -> usize {
        if layer == 0 { 2 * self.m } else { self.m }
    }

    /// Range of the links of a node.
    pub(super) fn range(&self, layer: usize, node: u32) -> Range<usize> {
        let width = self.max_links(layer);
        let start = self.starts[layer] + node as usize * width;
        start..start + width
    }

    /// Highest layer that contains a node.
    pub(super) fn top_layer(&self, node: u32) -> usize {
        let containing = self.sizes.iter().take_while(|&&size| size > node as usize);
        containing.count().saturating_sub(1)
    }
}

/// Graph as its layout and links.
#[derive(Debug, Clone, Copy)]
pub(super) struct HnswGraph<'a> {
    pub(super) layout: &'a LayerLayout,
    pub(super) links: &'a [u32],
}

impl<'a> HnswGraph<'a> {
    /// Links of a node, padded with [`NO_LINK`]. Empty for a node outside the layer, which only a
    /// damaged file links to.
    #[inline]
    pub(super) fn links(self, layer: usize, node: u32) -> &'a [u32] {
        if node as usize >= self.layout.sizes[layer] {
            return &[];
        }
        &self.links[self.layout.range(layer, node)]
    }

    /// Neighbors of a node.
    #[inline]
    pub(super) fn neighbors(self, layer: usize, node: u32) -> impl Iterator<Item = u32> + 'a {
        let links = self.links(layer, node).iter().copied();
        links.take_while(|&next| next != NO_LINK)
    }
}
