//! Adding up the parts of many documents at once, term by term.

use super::score::TermScorer;
use crate::postings::{BLOCK, Cursor, END};

/// Documents in a window: their sums fill the first-level cache and no more.
pub(super) const WIDTH: u32 = 4096;

/// Sums of the documents from `start` to at most `start + WIDTH`, and which of them were met.
pub(super) struct Window {
    start: u32,
    end: u32,
    sums: Box<[f64]>,
    met: Box<[u64]>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            start: 0,
            end: 0,
            sums: vec![0.0; WIDTH as usize].into(),
            met: vec![0; WIDTH as usize / 64].into(),
        }
    }

    /// Moves an empty window to the documents from `start` to before `end`, at most [`WIDTH`] of them.
    pub(super) fn place(&mut self, start: u32, end: u32) {
        self.start = start;
        self.end = end;
    }

    /// Adds the parts of one term. Present blocks of the cursor that `skip` says so of are passed over.
    /// Gives a document, not before the end, before which the list has no further one that counts.
    pub(super) fn add(
        &mut self,
        cursor: &mut Cursor<'_>,
        scorer: &TermScorer<'_>,
        mut skip: impl FnMut(&Cursor<'_>) -> bool,
    ) -> u32 {
        let mut parts = [0.0; BLOCK];
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
            let whole = docs.last().is_some_and(|&last| last < end);
            let n = if whole {
                docs.len()
            } else {
                docs.partition_point(|&doc| doc < end)
            };
            let next = docs.get(n).copied();
            let (docs, tfs) = (&docs[..n.min(docs.len())], &tfs[..n.min(tfs.len())]);
            let parts = &mut parts[..n.min(BLOCK)];
            scorer.parts(docs, tfs, parts);
            for (&doc, &part) in docs.iter().zip(&*parts) {
                let at = doc.wrapping_sub(self.start) as usize;
                if let (Some(sum), Some(met)) = (self.sums.get_mut(at), self.met.get_mut(at / 64)) {
                    *sum += f64::from(part);
                    *met |= 1 << (at % 64);
                }
            }
            match (next, docs.last()) {
                (Some(next), _) => return next,
                (None, Some(&last)) if last + 1 < end => from = last + 1,
                _ => return end,
            }
        }
    }

    /// Gives every document that was met, ascending, with its sum, and empties the window.
    pub(super) fn drain(&mut self, mut visit: impl FnMut(u32, f64)) {
        let words = (self.end.saturating_sub(self.start) as usize).div_ceil(64);
        for (word_at, word) in self.met.iter_mut().take(words).enumerate() {
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
