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
use super::score::TermScorer;
use super::window::{WIDTH, Window};
use crate::postings::{BLOCK, Cursor, END};

/// The least documents in a stretch, and so many more for every list: less is not worth the sorting.
const SHORTEST: u32 = 2048;
const PER_LIST: u32 = 64;
/// The most: the division into optional and essential lists is to follow the rising score of the worst hit.
const LONGEST: u32 = 1 << 16;
/// What it costs to ask a list for one document, when adding up one posting costs 1.
const ASKING: f64 = 4.0;
/// A list with more blocks in a stretch is bounded there by the bound of the whole list.
const MANY_BLOCKS: usize = 32;

pub(super) fn search(slots: &mut [Slot<'_>], documents: u32, how: &Search<'_>, best: &mut TopK) {
    let lists = slots.iter_mut().map(List::new).collect();
    Pruned {
        lists,
        optional: 0,
        up_to: Vec::new(),
        all: 0.0,
        candidates: Vec::new(),
        seen: (0, 1),
        how,
        best,
        least: None,
    }
    .run(documents);
}

/// One list and what is known of it in the present stretch.
struct List<'s, 'a> {
    slot: &'s mut Slot<'a>,
    /// The most that it can add.
    bound: f32,
    /// That for each of its postings: of lists with little to add, it is the long ones that should be optional.
    worth: f32,
    /// A block and the most that it can add.
    block: (usize, f32),
}

/// A document, and the sum of its parts that are known.
#[derive(Clone, Copy)]
struct Candidate {
    doc: u32,
    sum: f64,
}

struct Pruned<'s, 'a> {
    /// First the optional lists in the order of their worth, then the essential ones.
    lists: Vec<List<'s, 'a>>,
    /// How many lists are optional: all of these cannot lift a document into the top k.
    optional: usize,
    /// `up_to[i]` is the sum of the bounds of the first `i` optional lists.
    up_to: Vec<f64>,
    /// The sum of all bounds.
    all: f64,
    candidates: Vec<Candidate>,
    /// How many candidates there were in the stretch before, and among how many documents.
    seen: (usize, u32),
    how: &'s Search<'s>,
    best: &'s mut TopK,
    /// The score that a document must exceed, once k are kept.
    least: Option<f32>,
}

impl<'s, 'a> Pruned<'s, 'a> {
    fn run(&mut self, documents: u32) {
        let mut window = Window::new();
        let mut start = 0;
        while start < documents {
            let end = self.stretch(start).min(documents);
            for list in &mut self.lists {
                list.bound_in(start, end);
            }
            self.divide(documents);
            self.seen = (0, end - start);
            match self.lists.len() - self.optional {
                0 => {}
                1 => self.one_list(start, end),
                _ => self.several_lists(&mut window, start, end),
            }
            start = end;
        }
    }

    /// Where the stretch from `start` ends: with the first block of an essential list, but not at once.
    fn stretch(&mut self, start: u32) -> u32 {
        let mut end = start.saturating_add(LONGEST);
        // Where no list was essential, the last one stands in.
        let essential = self.optional.min(self.lists.len().saturating_sub(1));
        for list in self.lists.get_mut(essential..).unwrap_or_default() {
            let cursor = &mut list.slot.cursor;
            cursor.shallow(start);
            end = end.min(cursor.last_of(cursor.block()).saturating_add(1));
        }
        end.max(start.saturating_add(SHORTEST + PER_LIST * self.lists.len() as u32))
    }

    /// Makes as many lists optional as the score of the worst hit allows, those of the least worth first.
    fn divide(&mut self, documents: u32) {
        self.all = self.lists.iter().map(|list| f64::from(list.bound)).sum();
        self.up_to.clear();
        self.optional = 0;
        if self.least.is_none() {
            return;
        }
        // Stable, and nearly sorted from the stretch before.
        self.lists.sort_by(|a, b| a.worth.total_cmp(&b.worth));
        let mut sum = 0.0;
        for at in 0..self.lists.len() {
            let with = sum + f64::from(self.lists[at].bound);
            if beaten(with, self.least) {
                self.lists[self.optional..=at].rotate_right(1);
                self.up_to.push(sum);
                self.optional += 1;
                sum = with;
            }
        }
        self.up_to.push(sum);
        // Asking a list for many candidates is dearer than adding all of it up.
        let crowd = ASKING * self.seen.0 as f64 / f64::from(self.seen.1) * f64::from(documents);
        while self.optional > 0 && f64::from(self.lists[self.optional - 1].slot.cursor.df()) < crowd
        {
            self.optional -= 1;
            self.up_to.pop();
        }
    }

    /// The sum of the bounds of the first `n` optional lists.
    fn bound_of_first(&self, n: usize) -> f64 {
        self.up_to.get(n).copied().unwrap_or(0.0)
    }

    fn one_list(&mut self, start: u32, end: u32) {
        let others = self.bound_of_first(self.optional);
        let mut parts = [0.0; BLOCK];
        let mut from = start;
        while from < end {
            let Some(list) = self.lists.last_mut() else {
                return;
            };
            list.slot.cursor.shallow(from);
            let block = list.slot.cursor.block();
            if block >= list.slot.cursor.blocks() {
                return;
            }
            let last = list.slot.cursor.last_of(block);
            if beaten(others + f64::from(list.block_bound()), self.least) {
                from = last.saturating_add(1);
                continue;
            }
            if list.slot.cursor.seek(from) >= end {
                return;
            }
            let (docs, tfs) = list.slot.cursor.postings();
            list.slot.scorer.parts(docs, tfs, &mut parts);
            let least = self.least;
            let scored = docs.iter().zip(&parts).take_while(|&(&doc, _)| doc < end);
            let candidates = scored.map(|(&doc, &part)| Candidate {
                doc,
                sum: f64::from(part),
            });
            self.candidates
                .extend(candidates.filter(|candidate| !beaten(candidate.sum + others, least)));
            from = docs.last().map_or(END, |&last| last.saturating_add(1));
            self.complete();
        }
    }

    fn several_lists(&mut self, window: &mut Window, start: u32, end: u32) {
        let others = self.bound_of_first(self.optional);
        let mut from = start;
        while from < end {
            let to = from.saturating_add(WIDTH).min(end);
            let least = self.least;
            window.place(from, to);
            let mut next = END;
            for list in self.lists.get_mut(self.optional..).unwrap_or_default() {
                let others = self.all - f64::from(list.bound);
                let Slot {
                    cursor,
                    scorer,
                    bound,
                    ..
                } = &mut *list.slot;
                let known = &mut list.block;
                let after = window.add(cursor, scorer, |cursor| {
                    least.is_some()
                        && cursor.block() < cursor.blocks()
                        && beaten(
                            others + f64::from(block_bound(cursor, scorer, *bound, known)),
                            least,
                        )
                });
                next = next.min(after);
            }
            let candidates = &mut self.candidates;
            window.drain(|doc, sum| {
                if !beaten(sum + others, least) {
                    candidates.push(Candidate { doc, sum });
                }
            });
            self.complete();
            from = next;
        }
    }

    /// Adds what the optional lists have for the candidates, as long as there is hope, and keeps the best.
    fn complete(&mut self) {
        let (how, least) = (self.how, self.least);
        self.seen.0 += self.candidates.len();
        if how.filter().is_some() {
            self.candidates
                .retain(|candidate| how.allows(DocNum::new(candidate.doc)));
        }
        for at in (0..self.optional).rev() {
            if self.candidates.is_empty() {
                return;
            }
            let (others, list) = (self.up_to[at], &mut self.lists[at]);
            let with = others + f64::from(list.bound);
            self.candidates.retain_mut(|candidate| {
                !beaten(candidate.sum + with, least) && list.add_to(candidate, others, least)
            });
        }
        for candidate in self.candidates.drain(..) {
            if !beaten(candidate.sum, self.least) {
                self.best
                    .push(DocNum::new(candidate.doc), candidate.sum as f32);
                self.least = self.best.worst().map(|hit| hit.score);
            }
        }
    }
}

impl<'s, 'a> List<'s, 'a> {
    fn new(slot: &'s mut Slot<'a>) -> Self {
        Self {
            slot,
            bound: 0.0,
            worth: 0.0,
            block: (usize::MAX, 0.0),
        }
    }

    /// Bounds what the list adds to documents from `start` to before `end`.
    fn bound_in(&mut self, start: u32, end: u32) {
        let cursor = &mut self.slot.cursor;
        cursor.shallow(start);
        let first = cursor.block();
        self.bound = if first < cursor.blocks() {
            self.block_bound()
        } else {
            0.0
        };
        let cursor = &self.slot.cursor;
        let mut block = first;
        while block < cursor.blocks() && cursor.last_of(block) < end - 1 {
            block += 1;
            if block - first == MANY_BLOCKS {
                self.bound = self.slot.bound;
                break;
            }
            if block < cursor.blocks() {
                let bound = self.slot.scorer.bound(cursor.points(block));
                self.bound = self.bound.max(bound);
            }
        }
        self.worth = self.bound / cursor.df() as f32;
    }

    #[inline]
    fn block_bound(&mut self) -> f32 {
        let Slot {
            cursor,
            scorer,
            bound,
            ..
        } = &*self.slot;
        block_bound(cursor, scorer, *bound, &mut self.block)
    }

    /// Adds the part of this list; `false` when the candidate is beaten for sure, given that other lists
    /// add at most `others`.
    #[inline]
    fn add_to(&mut self, candidate: &mut Candidate, others: f64, least: Option<f32>) -> bool {
        let doc = candidate.doc;
        self.slot.cursor.shallow(doc);
        if self.slot.cursor.block() >= self.slot.cursor.blocks() {
            return true;
        }
        let most = f64::from(self.block_bound());
        if beaten(candidate.sum + others + most, least) {
            return false;
        }
        if self.slot.cursor.seek(doc) == doc {
            let part = self.slot.scorer.part(doc, self.slot.cursor.tf());
            candidate.sum += f64::from(part);
        }
        true
    }
}

/// The most that the present block, which must be one, can add; `known` remembers it.
#[inline]
fn block_bound(
    cursor: &Cursor<'_>,
    scorer: &TermScorer<'_>,
    list: f32,
    known: &mut (usize, f32),
) -> f32 {
    if cursor.blocks() == 1 {
        return list;
    }
    if known.0 != cursor.block() {
        *known = (cursor.block(), scorer.bound(cursor.points(cursor.block())));
    }
    known.1
}

/// Whether a document with at most this sum cannot get in any more.
#[inline]
fn beaten(sum: f64, least: Option<f32>) -> bool {
    least.is_some_and(|least| sum as f32 <= least)
}
