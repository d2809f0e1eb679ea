//! Term-at-a-time scoring of a window of documents.

use super::scorer::TermScorer;
use crate::postings::{BLOCK, END, PostingsCursor};

/// Documents per window: their scores just fit the L1 cache.
pub(super) const WINDOW_DOCS: u32 = 4096;

/// Score accumulators for the documents from `start` to at most `start + WINDOW_DOCS`, and a bit
/// set of the documents that contain a query term.
pub(super) struct ScoreWindow {
    start: u32,
    end: u32,
    sums: Box<[f64]>,
    matched: Box<[u64]>,
}

impl ScoreWindow {
    pub(super) fn new() -> Self {
        Self {
            start: 0,
            end: 0,
            sums: vec![0.0; WINDOW_DOCS as usize].into(),
            matched: vec![0; WINDOW_DOCS as usize / 64].into(),
        }
    }

    /// Moves an empty window to the documents `start..end`, at most [`WINDOW_DOCS`] of them.
    pub(super) fn reset(&mut self, start: u32, end: u32) {
        self.start = start;
        self.end = end;
    }

    /// Adds the scores of one term. Skips the blocks for which `skip` returns true when the cursor
    /// is at them. Returns a lower bound, at least `end`, of the next document to score.
    pub(super) fn add(
        &mut self,
        cursor: &mut PostingsCursor<'_>,
        scorer: &TermScorer<'_>,
        mut skip: impl FnMut(&PostingsCursor<'_>) -> bool,
    ) -> u32 {
        let mut scores = [0.0; BLOCK];
        let (mut from, end) = (self.start, self.end);
        loop {
            cursor.shallow(from);
            if skip(cursor) {
                let last = cursor.last_of(cursor.block());
                if last >= end - 1 {
                    return last.saturating_add(1);
                }
                from = last + 1;
                continue;
            }
            let doc = cursor.seek(from);
            if doc == END || doc >= end {
                return doc;
            }
            let (docs, tfs) = cursor.postings();
            let all_inside = docs.last().is_some_and(|&last| last < end);
            let n = if all_inside {
                docs.len()
            } else {
                docs.partition_point(|&doc| doc < end)
            };
            let next = docs.get(n).copied();
            let (docs, tfs) = (&docs[..n.min(docs.len())], &tfs[..n.min(tfs.len())]);
            let scores = &mut scores[..n.min(BLOCK)];
            scorer.scores(docs, tfs, scores);
            for (&doc, &score) in docs.iter().zip(&*scores) {
                let at = doc.wrapping_sub(self.start) as usize;
                if let (Some(sum), Some(matched)) =
                    (self.sums.get_mut(at), self.matched.get_mut(at / 64))
                {
                    *sum += f64::from(score);
                    *matched |= 1 << (at % 64);
                }
            }
            match (next, docs.last()) {
                (Some(next), _) => return next,
                (None, Some(&last)) if last + 1 < end => from = last + 1,
                _ => return end,
            }
        }
    }

    /// Visits every document that contains a query term, ascending, with its score, and empties the
    /// window.
    pub(super) fn drain(&mut self, mut visit: impl FnMut(u32, f64)) {
        let words = (self.end.saturating_sub(self.start) as usize).div_ceil(64);
        for (word_at, word) in self.matched.iter_mut().take(words).enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let at = word_at * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let sum = self.sums.get_mut(at).map_or(0.0, std::mem::take);
                visit(self.start + at as u32, sum);
            }
        }
    }
}
