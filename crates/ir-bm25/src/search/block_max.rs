//! Top-k retrieval by block-max MaxScore.
//!
//! The document space is divided into ranges in which no essential list changes its block. In every
//! range the lists are sorted by their maximum contribution there. The first lists that together
//! cannot lift a document into the top k are *non-essential*: only documents of the other,
//! *essential* lists are candidates. Essential lists are scored term at a time in a window; then
//! each candidate that can still reach the top k is completed from the non-essential lists, the
//! one with the highest bound first. Blocks of essential lists that cannot matter are not decoded.
//! The search starts with the threshold of [`QueryPlan::floor`](super::query::QueryPlan::floor).
//!
//! Why not WAND: it moves one document at a time and keeps the lists sorted by document, which is
//! slow for long queries (an ArguAna argument has a hundred terms); here a posting of an essential
//! list costs one addition in a loop.
//!
//! The result equals exhaustive scoring bit for bit: bounds are computed by the same monotone float
//! operations as scores ([`super::bm25_scorer`], [`super::model_scorer`]), sums of scores and
//! bounds are exact ([`ListScorer::is_order_free`]; otherwise the caller scores exhaustively), and
//! rounding to single precision is monotone. So a skipped document never scores above the worst hit
//! of the top k, and since documents come in ascending order, an equal score does not enter either.
//!
//! # Source
//! Turtle and Flood, "Query Evaluation: Strategies and Optimizations", IPM 1995 (MaxScore); Ding
//! and Suel, "Faster Top-k Document Retrieval Using Block-Max Indexes", SIGIR 2011; Grand, Muir,
//! Ferenczi and Lin, "From MaxScore to Block-Max WAND: The Story of How Lucene Significantly
//! Improved Query Evaluation Performance", ECIR 2020.

use ir_core::{DocNum, Search};

use super::accumulator::Accumulator;
use super::collector::Collector;
use super::list_scorer::{ListScorer, QueryTerm};
use super::score_window::ScoreWindow;
use crate::postings::{END, PostingsCursor};

/// Minimum number of documents per range, plus [`PER_LIST`] for every list: sorting the lists does
/// not pay for less.
const MIN_RANGE: u32 = 2048;
const PER_LIST: u32 = 64;
/// Maximum number of documents per range: the partition into essential and non-essential lists must
/// follow the rising threshold.
const MAX_RANGE: u32 = 1 << 18;
/// Cost of a seek in a list, relative to scoring a posting.
const SEEK_COST: f64 = 4.0;
/// A list with more blocks in a range is bounded there by the bound of the whole list.
const MANY_BLOCKS: usize = 32;

/// Finds the top k. Stops when integer sums overflow: then the hits are wrong.
pub(super) fn search<const WORDS: usize, A: Accumulator, S: ListScorer>(
    window: &mut ScoreWindow<WORDS, A>,
    terms: &mut [QueryTerm<'_, S>],
    documents: u32,
    search: &Search<'_>,
    best: &mut Collector<'_>,
) {
    let lists = terms.iter_mut().map(BoundedList::new).collect();
    BlockMaxSearch {
        lists,
        non_essential: 0,
        prefix_bounds: Vec::new(),
        total_bound: 0.0,
        candidates: Vec::new(),
        previous: (0, 1),
        search,
        threshold: best.threshold(),
        best,
    }
    .run(window, documents);
}

/// A posting list and its bounds in the current range.
struct BoundedList<'s, 'a, S> {
    term: &'s mut QueryTerm<'a, S>,
    /// Maximum term score in the range.
    bound: f32,
    /// The bound divided by the number of postings: among lists with low bounds, long ones should
    /// be non-essential.
    bound_per_posting: f32,
    /// A block and its maximum term score.
    block: (usize, f32),
}

/// A document and the sum of its term scores so far.
#[derive(Clone, Copy)]
struct PartialScore {
    doc: u32,
    sum: f64,
}

struct BlockMaxSearch<'s, 'a, 'd, S> {
    /// First the non-essential lists by ascending bound per posting, then the essential ones.
    lists: Vec<BoundedList<'s, 'a, S>>,
    /// Number of non-essential lists: these alone cannot lift a document into the top k.
    non_essential: usize,
    /// `prefix_bounds[i]` is the sum of the bounds of the first `i` non-essential lists.
    prefix_bounds: Vec<f64>,
    /// The sum of all bounds.
    total_bound: f64,
    candidates: Vec<PartialScore>,
    /// Number of candidates in the previous range, and number of documents of that range.
    previous: (usize, u32),
    search: &'s Search<'s>,
    best: &'s mut Collector<'d>,
    /// The sum of term scores that a document must exceed now; negative infinity if any counts.
    threshold: f64,
}

impl<S: ListScorer> BlockMaxSearch<'_, '_, '_, S> {
    fn run<const WORDS: usize, A: Accumulator>(
        &mut self,
        window: &mut ScoreWindow<WORDS, A>,
        documents: u32,
    ) {
        window.set_density(0.0);
        let mut start = 0;
        while start < documents {
            let end = self.range_end(start).min(documents);
            for list in &mut self.lists {
                list.update_bounds(start, end);
            }
            self.partition(documents);
            self.previous = (0, end - start);
            match self.lists.len() - self.non_essential {
                0 => {}
                1 => self.score_one_list::<A>(window.scale(), start, end),
                _ => self.score_lists(window, start, end),
            }
            if window.overflows() {
                return;
            }
            start = end;
        }
    }

    /// The end of the range from `start`: the first end of a block of an essential list, but
    /// at least the minimum range.
    fn range_end(&mut self, start: u32) -> u32 {
        let mut end = start.saturating_add(MAX_RANGE);
        // If no list was essential, the last one stands in.
        let essential = self.non_essential.min(self.lists.len().saturating_sub(1));
        for list in self.lists.get_mut(essential..).unwrap_or_default() {
            let cursor = &mut list.term.cursor;
            cursor.shallow(start);
            end = end.min(cursor.last_of(cursor.block()).saturating_add(1));
        }
        end.max(start.saturating_add(MIN_RANGE + PER_LIST * self.lists.len() as u32))
    }

    /// Makes as many lists non-essential as the threshold allows, those with the lowest bound per
    /// posting first.
    fn partition(&mut self, documents: u32) {
        self.total_bound = self.lists.iter().map(|list| f64::from(list.bound)).sum();
        self.prefix_bounds.clear();
        self.non_essential = 0;
        if self.threshold == f64::NEG_INFINITY {
            return;
        }
        // Stable; nearly sorted from the previous range.
        self.lists
            .sort_by(|a, b| a.bound_per_posting.total_cmp(&b.bound_per_posting));
        let mut sum = 0.0;
        for at in 0..self.lists.len() {
            let with = sum + f64::from(self.lists[at].bound);
            if is_pruned(with, self.threshold) {
                self.lists[self.non_essential..=at].rotate_right(1);
                self.prefix_bounds.push(sum);
                self.non_essential += 1;
                sum = with;
            }
        }
        self.prefix_bounds.push(sum);
        // For many candidates, scoring a whole list is cheaper than seeking in it.
        let seeks =
            SEEK_COST * self.previous.0 as f64 / f64::from(self.previous.1) * f64::from(documents);
        while self.non_essential > 0
            && f64::from(self.lists[self.non_essential - 1].term.cursor.df) < seeks
        {
            self.non_essential -= 1;
            self.prefix_bounds.pop();
        }
    }

    /// The sum of the bounds of the first `n` non-essential lists.
    fn bound_of_first(&self, n: usize) -> f64 {
        self.prefix_bounds.get(n).copied().unwrap_or(0.0)
    }

    fn score_one_list<A: Accumulator>(&mut self, scale: f64, start: u32, end: u32) {
        let others = self.bound_of_first(self.non_essential);
        let mut from = start;
        while from < end {
            let Some(list) = self.lists.last_mut() else {
                return;
            };
            list.term.cursor.shallow(from);
            let block = list.term.cursor.block();
            if block >= list.term.cursor.blocks() {
                return;
            }
            let last = list.term.cursor.last_of(block);
            if is_pruned(others + f64::from(list.block_bound()), self.threshold) {
                from = last.saturating_add(1);
                continue;
            }
            if list.term.cursor.seek(from) >= end {
                return;
            }
            let QueryTerm { cursor, scorer, .. } = &mut *list.term;
            let (inside, _) = cursor.take_below(end);
            let (threshold, candidates) = (self.threshold, &mut self.candidates);
            let cutoff = A::cutoff((threshold - others).next_down(), scale);
            scorer.for_each_score(inside, scale, |doc, number: A| {
                if number >= cutoff {
                    let sum = number.to_score(scale);
                    if !is_pruned(sum + others, threshold) {
                        candidates.push(PartialScore { doc, sum });
                    }
                }
            });
            from = inside
                .docs
                .last()
                .map_or(END, |&last| last.saturating_add(1));
            self.complete();
        }
    }

    fn score_lists<const WORDS: usize, A: Accumulator>(
        &mut self,
        window: &mut ScoreWindow<WORDS, A>,
        start: u32,
        end: u32,
    ) {
        let others = self.bound_of_first(self.non_essential);
        let mut from = start;
        while from < end {
            let threshold = self.threshold;
            window.reset(from, end, others, threshold);
            let mut next = END;
            for list in self.lists.get_mut(self.non_essential..).unwrap_or_default() {
                let others = self.total_bound - f64::from(list.bound);
                let QueryTerm {
                    cursor,
                    scorer,
                    bound,
                    ..
                } = &mut *list.term;
                let block_bound_cache = &mut list.block;
                let after = scorer.add_blocks(window, cursor, |cursor| {
                    threshold != f64::NEG_INFINITY
                        && cursor.block() < cursor.blocks()
                        && is_pruned(
                            others
                                + f64::from(block_bound(cursor, scorer, *bound, block_bound_cache)),
                            threshold,
                        )
                });
                next = next.min(after);
            }
            let candidates = &mut self.candidates;
            window.drain(others, threshold, |doc, sum| {
                candidates.push(PartialScore { doc, sum });
                threshold
            });
            self.complete();
            from = next;
        }
    }

    /// Completes the scores of the candidates that can still reach the top k from the non-essential
    /// lists, and collects them.
    fn complete(&mut self) {
        self.previous.0 += self.candidates.len();
        let optional = &mut self.lists[..self.non_essential];
        'candidates: for &PartialScore { doc, mut sum } in &self.candidates {
            if !self.search.allows(DocNum::new(doc)) {
                continue;
            }
            for (list, others) in optional.iter_mut().zip(&self.prefix_bounds).rev() {
                if is_pruned(sum + others + f64::from(list.bound), self.threshold)
                    || is_pruned(sum + others + f64::from(list.bound_of(doc)), self.threshold)
                {
                    continue 'candidates;
                }
                sum += f64::from(list.score(doc));
            }
            if !is_pruned(sum, self.threshold) {
                self.best.push(DocNum::new(doc), sum);
                self.threshold = self.best.threshold();
            }
        }
        self.candidates.clear();
    }
}

impl<'s, 'a, S: ListScorer> BoundedList<'s, 'a, S> {
    fn new(term: &'s mut QueryTerm<'a, S>) -> Self {
        Self {
            term,
            bound: 0.0,
            bound_per_posting: 0.0,
            block: (usize::MAX, 0.0),
        }
    }

    /// Computes the bounds of the list for the documents `start..end`.
    fn update_bounds(&mut self, start: u32, end: u32) {
        let cursor = &mut self.term.cursor;
        cursor.shallow(start);
        let first = cursor.block();
        self.bound = if first < cursor.blocks() {
            self.block_bound()
        } else {
            0.0
        };
        let cursor = &self.term.cursor;
        let mut block = first;
        while block < cursor.blocks() && cursor.last_of(block) < end - 1 {
            block += 1;
            if block - first == MANY_BLOCKS {
                self.bound = self.term.bound;
                break;
            }
            if block < cursor.blocks() {
                let bound = self.term.scorer.bound(cursor.impacts(block));
                self.bound = self.bound.max(bound);
            }
        }
        self.bound_per_posting = self.bound / cursor.df as f32;
    }

    #[inline]
    fn block_bound(&mut self) -> f32 {
        let QueryTerm {
            cursor,
            scorer,
            bound,
            ..
        } = &*self.term;
        block_bound(cursor, scorer, *bound, &mut self.block)
    }

    /// Moves to the block of a document, and returns the maximum term score there.
    #[inline]
    fn bound_of(&mut self, doc: u32) -> f32 {
        let cursor = &mut self.term.cursor;
        cursor.shallow(doc);
        if cursor.block() < cursor.blocks() {
            self.block_bound()
        } else {
            0.0
        }
    }

    /// The term score of a document.
    #[inline]
    fn score(&mut self, doc: u32) -> f32 {
        if self.term.cursor.seek(doc) == doc {
            self.term.scorer.score(doc, self.term.cursor.tf())
        } else {
            0.0
        }
    }
}

/// Maximum term score of the current block; `cached` holds the last block and its bound. The cursor
/// must not be at the end.
#[inline]
fn block_bound<S: ListScorer>(
    cursor: &PostingsCursor<'_>,
    scorer: &S,
    list: f32,
    cached: &mut (usize, f32),
) -> f32 {
    if cursor.blocks() == 1 {
        return list;
    }
    if cached.0 != cursor.block() {
        *cached = (cursor.block(), scorer.bound(cursor.impacts(cursor.block())));
    }
    cached.1
}

/// Returns whether a document with a score of at most `sum` cannot enter the top k. A sum that only
/// rounds to the threshold is not pruned; [`TopK::push`] rejects it.
#[inline]
fn is_pruned(sum: f64, threshold: f64) -> bool {
    sum <= threshold
}
