//! Term-at-a-time scoring of a window of documents.

use std::cell::Cell;
use std::thread::LocalKey;

use super::list_scorer::ListScorer;
use crate::postings::{END, PostingsCursor, PostingsSlice};

/// Documents per word of the set of candidates.
const WORD: usize = 64;

thread_local! {
    /// Empty window of few documents, for the next search of the thread.
    pub(super) static NARROW_WINDOW: Cell<Option<Box<ScoreWindow<256>>>> = const { Cell::new(None) };
    /// Empty window whose sums fit into the L2 cache, for the next search of the thread.
    pub(super) static WIDE_WINDOW: Cell<Option<Box<ScoreWindow<1024>>>> = const { Cell::new(None) };
}

/// Runs a search with the window of this thread, which stays in the cache between searches.
pub(super) fn with_window<const WORDS: usize>(
    window_of_thread: &'static LocalKey<Cell<Option<Box<ScoreWindow<WORDS>>>>>,
    search: impl FnOnce(&mut ScoreWindow<WORDS>),
) {
    let mut window = window_of_thread
        .take()
        .unwrap_or_else(|| Box::new(ScoreWindow::new()));
    search(&mut window);
    window_of_thread.set(Some(window));
}

/// The documents of a window that may enter the top k.
struct CandidateSet<const WORDS: usize> {
    words: Box<[u64; WORDS]>,
    /// The words that are not zero.
    nonzero: Box<[u64]>,
}

impl<const WORDS: usize> CandidateSet<WORDS> {
    #[inline]
    fn insert(&mut self, at: usize) {
        let word = at / WORD % WORDS;
        self.words[word] |= 1 << (at % WORD);
        if let Some(nonzero) = self.nonzero.get_mut(word / WORD) {
            *nonzero |= 1 << (word % WORD);
        }
    }

    /// Empties the set. Calls `visit` with every member, ascending.
    fn drain(&mut self, mut visit: impl FnMut(usize)) {
        for (n, nonzero) in self.nonzero.iter_mut().enumerate() {
            for word in bits(std::mem::take(nonzero)) {
                let word = (n * WORD + word) % WORDS;
                for at in bits(std::mem::take(&mut self.words[word])) {
                    visit(word * WORD + at);
                }
            }
        }
    }
}

/// The positions of the ones in a word, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(at)
    })
}

/// Score accumulators of `64 * WORDS` documents. `WORDS` is a power of two.
pub(crate) struct ScoreWindow<const WORDS: usize> {
    start: u32,
    end: u32,
    sums: Box<[[f64; WORD]; WORDS]>,
    /// Documents with a higher sum may enter the top k.
    cutoff: f64,
    /// The documents of the postings added, list by list, while these are few.
    added: Vec<u32>,
    candidates: CandidateSet<WORDS>,
}

impl<const WORDS: usize> ScoreWindow<WORDS> {
    /// Number of documents of a window.
    const DOCS: u32 = {
        assert!(WORDS.is_power_of_two());
        (WORD * WORDS) as u32
    };

    /// From this number of postings on, all sums are cleared instead of those of the postings.
    const MANY: usize = WORDS * WORD / 16;

    pub(super) fn new() -> Self {
        // Not `Box::new([...])`, which would build the array on the stack.
        fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
            let values = vec![value; N].into_boxed_slice();
            values.try_into().unwrap_or_else(|_| unreachable!())
        }
        Self {
            start: 0,
            end: 0,
            cutoff: 0.0,
            sums: boxed([0.0; WORD]),
            added: Vec::new(),
            candidates: CandidateSet {
                words: boxed(0),
                nonzero: vec![0; WORDS.div_ceil(WORD)].into(),
            },
        }
    }

    /// Moves an empty window to the documents from `start` on, all below `end`. Documents whose sum
    /// plus `others` is above the threshold are candidates.
    pub(super) fn reset(&mut self, start: u32, end: u32, others: f64, threshold: f64) {
        self.start = start;
        self.end = end.min(start.saturating_add(Self::DOCS));
        // Not above the exact difference: `drain` compares the sums.
        self.cutoff = (threshold - others).next_down();
    }

    /// The documents of the window.
    pub(super) const fn range(&self) -> (u32, u32) {
        (self.start, self.end)
    }

    /// Adds the score of a term in a document of the window.
    #[inline]
    pub(super) fn add_score(&mut self, doc: u32, score: f64) {
        let at = doc.wrapping_sub(self.start) as usize;
        let Some(sum) = self.sums.as_flattened_mut().get_mut(at) else {
            return;
        };
        *sum += score;
        if *sum > self.cutoff {
            self.candidates.insert(at);
        }
        if self.added.len() < Self::MANY {
            self.added.push(doc);
        }
    }

    /// Adds the scores of one term. Skips the blocks for which `skip` returns true when the cursor
    /// is at them. Returns a lower bound, at least `end`, of the next document to score.
    pub(super) fn add<S: ListScorer>(
        &mut self,
        cursor: &mut PostingsCursor<'_>,
        scorer: &S,
        mut skip: impl FnMut(&PostingsCursor<'_>) -> bool,
    ) -> u32 {
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
            let (inside, next) = cursor.take_below(end);
            if self.added.len() < Self::MANY {
                self.added.extend_from_slice(inside.docs);
            }
            scorer.add_to(self, inside);
            match (next, inside.docs.last()) {
                (Some(next), _) => return next,
                (None, Some(&last)) if last + 1 < end => from = last + 1,
                _ => return end,
            }
        }
    }

    /// Adds the scores of postings. `codes` are the length codes of all documents; `score` gets the
    /// document, its length code and the frequency.
    #[inline]
    pub(super) fn add_scores(
        &mut self,
        codes: &[u8],
        postings: PostingsSlice<'_>,
        score: impl Fn(u32, u8, u32) -> f32,
    ) {
        self.add_scores_of(codes, postings.docs, postings.tfs.iter().copied(), score);
    }

    /// As [`ScoreWindow::add_scores`], of documents with these frequencies.
    // Not inlined: the loop needs all registers.
    #[inline(never)]
    pub(super) fn add_scores_of(
        &mut self,
        codes: &[u8],
        docs: &[u32],
        tfs: impl Iterator<Item = u32>,
        score: impl Fn(u32, u8, u32) -> f32,
    ) {
        let (start, cutoff) = (self.start, self.cutoff);
        let codes = codes.get(start as usize..).unwrap_or_default();
        let sums = self.sums.as_flattened_mut();
        let size = sums.len().min(codes.len());
        let (sums, codes) = (&mut sums[..size], &codes[..size]);
        for (&doc, tf) in docs.iter().zip(tfs) {
            let at = doc.wrapping_sub(start) as usize;
            if at >= size {
                continue;
            }
            sums[at] += f64::from(score(doc, codes[at], tf));
            if sums[at] > cutoff {
                self.candidates.insert(at);
            }
        }
    }

    /// Empties the window. Calls `visit` with every document that contains a query term and can
    /// have a score above the threshold if `others` is added to its sum, ascending, and with the
    /// sum. `visit` returns the new threshold.
    pub(super) fn drain(
        &mut self,
        others: f64,
        mut threshold: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        let sums = self.sums.as_flattened_mut();
        self.candidates.drain(|at| {
            let Some(&sum) = sums.get(at) else { return };
            if sum + others > threshold {
                threshold = visit(self.start + at as u32, sum);
            }
        });
        if self.added.len() < Self::MANY {
            for &doc in &self.added {
                let at = doc.wrapping_sub(self.start) as usize % Self::DOCS as usize;
                if let Some(sum) = sums.get_mut(at) {
                    *sum = 0.0;
                }
            }
        } else {
            let size = self.end.saturating_sub(self.start) as usize;
            sums[..size].fill(0.0);
        }
        self.added.clear();
    }
}
