//! The layers and their links.
//!
//! Vectors are numbered in the order in which they were linked, which is random, so that the upper
//! layers are the first so many of them: layer l has n / M^l. No levels need be kept.

use std::ops::Range;

/// No further link.
pub(super) const NONE: u32 = u32::MAX;

/// Where the links of each layer are among all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    links: usize,
    /// How many vectors each layer has, the lowest first.
    sizes: Vec<usize>,
    /// Where its links begin.
    starts: Vec<usize>,
    total: usize,
}

impl Shape {
    /// The layers of `count` vectors. [`None`] when there would be more links than can be.
    pub(super) fn new(count: usize, links: usize) -> Option<Self> {
        let (mut sizes, mut starts, mut total) = (Vec::new(), Vec::new(), 0_usize);
        let mut size = count;
        while size > 0 && links > 1 {
            let width = if sizes.is_empty() {
                links.checked_mul(2)?
            } else {
                links
            };
            sizes.push(size);
            starts.push(total);
            total = total.checked_add(size.checked_mul(width)?)?;
            size /= links;
        }
        Some(Self {
            links,
            sizes,
            starts,
            total,
        })
    }

    /// How many links a new vector gets.
    pub(super) fn links(&self) -> usize {
        self.links
    }

    /// How many links there is room for.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn layers(&self) -> usize {
        self.sizes.len()
    }

    /// How many vectors a layer has.
    pub(super) fn size(&self, layer: usize) -> usize {
        self.sizes[layer]
    }

    /// The most links of a vector.
    pub(super) fn width(&self, layer: usize) -> usize {
        if layer == 0 {
            2 * self.links
        } else {
            self.links
        }
    }

    /// Where the links of a vector are.
    pub(super) fn range(&self, layer: usize, node: u32) -> Range<usize> {
        let width = self.width(layer);
        let start = self.starts[layer] + node as usize * width;
        start..start + width
    }

    /// The topmost layer that a vector is in.
    pub(super) fn top(&self, node: u32) -> usize {
        let above = self.sizes.iter().take_while(|&&size| size > node as usize);
        above.count().saturating_sub(1)
    }
}

/// A graph to walk on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Graph<'a> {
    pub(super) shape: &'a Shape,
    pub(super) links: &'a [u32],
}

impl<'a> Graph<'a> {
    /// The room for the links of a vector: its neighbours, then [`NONE`]. Empty for one that is not of
    /// this layer, to which only a damaged file links.
    #[inline]
    pub(super) fn room(self, layer: usize, node: u32) -> &'a [u32] {
        if node as usize >= self.shape.size(layer) {
            return &[];
        }
        &self.links[self.shape.range(layer, node)]
    }

    /// The neighbours of a vector.
    #[inline]
    pub(super) fn neighbours(self, layer: usize, node: u32) -> impl Iterator<Item = u32> + 'a {
        let room = self.room(layer, node).iter().copied();
        room.take_while(|&next| next != NONE)
    }
}
