//! Top k by block-max MaxScore.
//!
//! The documents are passed over in stretches in which no list of importance changes its block. In every stretch the
//! lists are sorted by the most that they can add there. The first of them that together cannot lift a document
//! into the top k are *optional*: only documents of the other, *essential*, lists are looked at. Their parts are added
//! up in a window, list by list, and for the documents that could still get in the optional lists are asked, the one
//! with the highest bound first, as long as there is hope. Blocks of essential lists that cannot matter are not decoded.
//!
//! Why not WAND: its pivoting is bound to one document at a time, and pays with long queries (an argument of ArguAna
//! has a hundred terms) for keeping the lists sorted by document; here an essential posting costs an addition in a loop.
//!
//! Why the result is that of scoring everything, bit for bit: bounds are computed by the same monotone float
//! operations as scores ([`super::score`]), sums of parts and bounds are exact
//! ([`Plan::is_order_free`](super::plan::Plan::is_order_free); the caller scores everything where that does not
//! hold), and rounding to single is monotone. So a document is only passed over when its score is not above that of
//! the worst hit kept, and all documents come in ascending order, so an equal score does not get in either.
//!
//! # Source
//! Turtle and Flood, "Query Evaluation: Strategies and Optimizations", IPM 1995 (MaxScore); Ding and Suel, "Faster
//! Top-k Document Retrieval Using Block-Max Indexes", SIGIR 2011; Grand, Muir, Ferenczi and Lin, "From MaxScore to
//! Block-Max WAND: The Story of How Lucene Significantly Improved Query Evaluation Performance", ECIR 2020.

use ir_core::{DocNum, Search, TopK};

use super::plan::Slot;
use super::window::{WIDTH, Window};

/// The least documents in a stretch: less is not worth the sorting.
const SHORTEST: u32 = 1024;
/// The most: the division into optional and essential lists is to follow the rising score of the worst hit.
const LONGEST: u32 = 1 << 16;
/// A list with more blocks in a stretch is bounded there by the bound of the whole list.
const MANY_BLOCKS: usize = 32;

pub(super) fn search(slots: &mut [Slot<'_>], documents: u32, how: &Search<'_>, best: &mut TopK) {
    Pruned {
        bounds: vec![0.0; slots.len()],
        order: (0..slots.len()).collect(),
        up_to: vec![0.0; slots.len()],
        optional: 0,
        slots,
        how,
        best,
        least: None,
    }
    .run(documents);
}

struct Pruned<'s, 'a> {
    slots: &'s mut [Slot<'a>],
    how: &'s Search<'s>,
    best: &'s mut TopK,
    /// The score that a document must exceed, once k are kept.
    least: Option<f32>,
    /// For every slot, the most that it can add in the present stretch.
    bounds: Vec<f32>,
    /// The slots by ascending bound.
    order: Vec<usize>,
    /// `up_to[i]` is the sum of the bounds of `order[..=i]`.
    up_to: Vec<f64>,
    /// `order[..optional]` cannot lift a document into the top k.
    optional: usize,
}

impl Pruned<'_, '_> {
    fn run(&mut self, documents: u32) {
        let mut window = Window::new();
        let mut start = 0;
        while start < documents {
            let end = self.stretch(start).min(documents);
            self.bound(start, end);
            self.divide();
            match self.order.get(self.optional..) {
                None | Some([]) => {}
                Some(&[only]) => self.one_list(only, start, end),
                Some(_) => self.several_lists(&mut window, start, end),
            }
            start = end;
        }
    }

    /// Where the stretch from `start` ends: with the first block of an essential list, but not at once.
    fn stretch(&mut self, start: u32) -> u32 {
        let mut end = start.saturating_add(LONGEST);
        // Where no list was essential, the most important one stands in.
        let essential = self.optional.min(self.order.len().saturating_sub(1));
        for &slot in self.order.get(essential..).unwrap_or_default() {
            let cursor = &mut self.slots[slot].cursor;
            cursor.shallow(start);
            end = end.min(cursor.last_of(cursor.block()).saturating_add(1));
        }
        end.max(start.saturating_add(SHORTEST))
    }

    fn bound(&mut self, start: u32, end: u32) {
        for (slot, bound) in self.slots.iter_mut().zip(&mut self.bounds) {
            slot.cursor.shallow(start);
            let first = slot.cursor.block();
            *bound = 0.0;
            for block in first..slot.cursor.blocks() {
                if block - first == MANY_BLOCKS {
                    *bound = slot.bound;
                    break;
                }
                *bound = bound.max(slot.block_bound(block));
                if slot.cursor.last_of(block) >= end - 1 {
                    break;
                }
            }
        }
    }

    fn divide(&mut self) {
        let bounds = &self.bounds;
        // Equal bounds in the order of the slots; the sort is stable, and nearly sorted from the stretch before.
        self.order.sort_by(|&a, &b| bounds[a].total_cmp(&bounds[b]));
        let mut sum = 0.0;
        self.optional = 0;
        for (&slot, up_to) in self.order.iter().zip(&mut self.up_to) {
            sum += f64::from(bounds[slot]);
            *up_to = sum;
            if beaten(sum, self.least) {
                self.optional += 1;
            }
        }
    }

    /// The sum of the bounds of the first `n` slots in order.
    fn bound_of_first(&self, n: usize) -> f64 {
        n.checked_sub(1).map_or(0.0, |last| self.up_to[last])
    }

    fn one_list(&mut self, slot: usize, start: u32, end: u32) {
        let others = self.bound_of_first(self.optional);
        let mut from = start;
        while from < end {
            let it = &mut self.slots[slot];
            it.cursor.shallow(from);
            let block = it.cursor.block();
            if block >= it.cursor.blocks() {
                return;
            }
            let last = it.cursor.last_of(block);
            if self.least.is_some() && beaten(others + f64::from(it.block_bound(block)), self.least)
            {
                from = last.saturating_add(1);
                continue;
            }
            let doc = it.cursor.seek(from);
            if doc >= end {
                return;
            }
            let part = it.scorer.part(doc, it.cursor.tf());
            self.candidate(doc, f64::from(part));
            from = doc + 1;
        }
    }

    fn several_lists(&mut self, window: &mut Window, start: u32, end: u32) {
        let all = self.bound_of_first(self.order.len());
        let mut from = start;
        while from < end {
            let to = from.saturating_add(WIDTH).min(end);
            window.start_at(from);
            for &n in self.order.get(self.optional..).unwrap_or_default() {
                let Slot { cursor, scorer, .. } = &mut self.slots[n];
                let others = all - f64::from(self.bounds[n]);
                let least = self.least;
                window.add(cursor, scorer, to, |cursor| {
                    let block = cursor.block();
                    if least.is_none() || block >= cursor.blocks() {
                        return false;
                    }
                    let bound = scorer.bound(cursor.points(block));
                    beaten(others + f64::from(bound), least)
                });
            }
            window.drain(|doc, sum| self.candidate(doc, sum));
            from = to;
        }
    }

    /// A document with the sum of its parts in essential lists.
    #[inline]
    fn candidate(&mut self, doc: u32, mut sum: f64) {
        if beaten(sum + self.bound_of_first(self.optional), self.least) {
            return;
        }
        if !self.how.allows(DocNum::new(doc)) {
            return;
        }
        for at in (0..self.optional).rev() {
            if beaten(sum + self.up_to[at], self.least) {
                return;
            }
            let others = self.bound_of_first(at);
            let slot = &mut self.slots[self.order[at]];
            slot.cursor.shallow(doc);
            let block = slot.cursor.block();
            if block >= slot.cursor.blocks() {
                continue;
            }
            if beaten(
                sum + others + f64::from(slot.block_bound(block)),
                self.least,
            ) {
                return;
            }
            if slot.cursor.seek(doc) == doc {
                sum += f64::from(slot.scorer.part(doc, slot.cursor.tf()));
            }
        }
        if !beaten(sum, self.least) {
            self.best.push(DocNum::new(doc), sum as f32);
            self.least = self.best.worst().map(|hit| hit.score);
        }
    }
}

impl Slot<'_> {
    #[inline]
    fn block_bound(&self, block: usize) -> f32 {
        if self.cursor.blocks() == 1 {
            return self.bound;
        }
        self.scorer.bound(self.cursor.points(block))
    }
}

/// Whether a document with at most this sum cannot get in any more.
#[inline]
fn beaten(sum: f64, least: Option<f32>) -> bool {
    least.is_some_and(|least| sum as f32 <= least)
}
