//! Term-at-a-time scoring of a window of documents.

use std::cell::Cell;
use std::thread::LocalKey;

use super::accumulator::Accumulator;
use crate::postings::PostingsSlice;

/// Documents per word of the set of candidates.
const WORD: usize = 64;

thread_local! {
    /// Empty window of few documents, for the next search of the thread.
    pub(super) static NARROW_WINDOW: WindowOfThread<256, f64> = const { Cell::new(None) };
    /// Empty windows for the next search of the thread. Their sums fit into the L2 cache.
    pub(super) static WIDE_WINDOW: WindowOfThread<1024, f64> = const { Cell::new(None) };
    pub(super) static INTEGER_WINDOW: WindowOfThread<1024, u32> = const { Cell::new(None) };
}

type WindowOfThread<const WORDS: usize, A> = Cell<Option<Box<ScoreWindow<WORDS, A>>>>;

/// Runs a search with the window of this thread, which stays in the cache between searches.
pub(super) fn with_window<const WORDS: usize, A: Accumulator>(
    window_of_thread: &'static LocalKey<WindowOfThread<WORDS, A>>,
    search: impl FnOnce(&mut ScoreWindow<WORDS, A>),
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
pub(crate) struct ScoreWindow<const WORDS: usize, A> {
    start: u32,
    end: u32,
    /// Factor of the scores if they are added as integers.
    scale: f64,
    sums: Box<[[A; WORD]; WORDS]>,
    /// Documents with at least this sum may enter the top k.
    cutoff: A,
    /// `true` if an integer sum has reached [`Accumulator::LIMIT`].
    overflows: bool,
    /// `true` if so many postings are expected that all sums are cleared.
    is_dense: bool,
    /// The documents of the postings added, list by list, while these are few.
    added: Vec<u32>,
    candidates: CandidateSet<WORDS>,
}

impl<const WORDS: usize, A: Accumulator> ScoreWindow<WORDS, A> {
    /// Number of documents of a window.
    const DOCS: u32 = {
        assert!(WORDS.is_power_of_two());
        (WORD * WORDS) as u32
    };

    /// From this number of postings on, all sums are cleared, not only the sums of the postings.
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
            scale: 1.0,
            cutoff: A::default(),
            overflows: false,
            sums: boxed([A::default(); WORD]),
            is_dense: false,
            added: Vec::new(),
            candidates: CandidateSet {
                words: boxed(0),
                nonzero: vec![0; WORDS.div_ceil(WORD)].into(),
            },
        }
    }

    /// Sets the factor of the scores for integer sums.
    pub(super) const fn set_scale(&mut self, scale: f64) {
        self.scale = scale;
        self.overflows = false;
    }

    /// Factor of the scores for integer sums.
    pub(super) const fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns whether integer sums may have overflowed since [`ScoreWindow::set_scale`]. Then
    /// sums are wrong.
    pub(super) const fn overflows(&self) -> bool {
        self.overflows
    }

    /// Moves an empty window to the documents from `start` on, all below `end`. A document is a
    /// candidate if its sum plus `others` is above the threshold.
    pub(super) fn reset(&mut self, start: u32, end: u32, others: f64, threshold: f64) {
        self.start = start;
        self.end = end.min(start.saturating_add(Self::DOCS));
        // Not above the exact difference: `drain` compares the sums.
        self.cutoff = A::cutoff((threshold - others).next_down(), self.scale);
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
        *sum = sum.plus(A::from_score(score, self.scale));
        if *sum >= self.cutoff {
            self.overflows |= *sum >= A::LIMIT;
            self.candidates.insert(at);
        }
        self.remember(&[doc]);
    }

    /// Sets the expected number of postings per document.
    pub(super) fn set_density(&mut self, postings_per_document: f64) {
        self.is_dense = postings_per_document * f64::from(Self::DOCS) > Self::MANY as f64;
    }

    /// Remembers documents, to clear their sums.
    #[inline]
    pub(super) fn remember(&mut self, docs: &[u32]) {
        if !self.is_dense && self.added.len() < Self::MANY {
            self.added.extend_from_slice(docs);
        }
    }

    /// Adds the scores of postings. `codes` are the length codes of all documents; `score` gets the
    /// document, its length code and the frequency, and returns what is added. Stops at the end of
    /// the window. Returns the number of postings before it.
    #[inline]
    pub(super) fn add_scores(
        &mut self,
        codes: &[u8],
        postings: PostingsSlice<'_>,
        score: impl Fn(u32, u8, u32) -> A,
    ) -> usize {
        self.add_scores_of(codes, postings.docs, postings.tfs.iter().copied(), score)
    }

    /// Does the same as [`ScoreWindow::add_scores`] for documents with these frequencies.
    // Not inlined: the loop needs all registers.
    #[inline(never)]
    pub(super) fn add_scores_of(
        &mut self,
        codes: &[u8],
        docs: &[u32],
        tfs: impl Iterator<Item = u32>,
        score: impl Fn(u32, u8, u32) -> A,
    ) -> usize {
        let (start, cutoff) = (self.start, self.cutoff);
        let codes = codes.get(start as usize..).unwrap_or_default();
        let sums = self.sums.as_flattened_mut();
        let size = (self.end.saturating_sub(start) as usize)
            .min(sums.len())
            .min(codes.len());
        let (sums, codes) = (&mut sums[..size], &codes[..size]);
        let mut inside = 0;
        for (&doc, tf) in docs.iter().zip(tfs) {
            let at = doc.wrapping_sub(start) as usize;
            if at >= size {
                break;
            }
            inside += 1;
            sums[at] = sums[at].plus(score(doc, codes[at], tf));
            if sums[at] >= cutoff {
                self.overflows |= sums[at] >= A::LIMIT;
                self.candidates.insert(at);
            }
        }
        inside
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
            let sum = sum.to_score(self.scale);
            if sum + others > threshold {
                threshold = visit(self.start + at as u32, sum);
            }
        });
        if !self.is_dense && self.added.len() < Self::MANY {
            for &doc in &self.added {
                let at = doc.wrapping_sub(self.start) as usize % Self::DOCS as usize;
                if let Some(sum) = sums.get_mut(at) {
                    *sum = A::default();
                }
            }
        } else {
            let size = self.end.saturating_sub(self.start) as usize;
            sums[..size].fill(A::default());
        }
        self.added.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of 2^31 and more are candidates, since no cutoff is higher.
    #[test]
    fn integer_sums_report_overflow() {
        let mut window = ScoreWindow::<4, u32>::new();
        let scale = 2_f64.powi(24);
        window.set_scale(scale);
        window.reset(0, 100, 0.0, f64::MAX);
        window.add_score(7, 127.5);
        window.add_score(8, 100.25);
        assert!(!window.overflows());
        window.add_score(7, 0.5);
        assert!(window.overflows());
        // Sums that have wrapped around do not hide it.
        window.add_score(7, 127.5);
        window.add_score(7, 127.5);
        assert!(window.overflows());
        window.drain(0.0, 0.0, |_, _| 0.0);
        window.set_scale(scale);
        window.reset(0, 100, 0.0, 100.0);
        window.add_score(8, 100.25);
        let mut drained = Vec::new();
        window.drain(0.0, 100.0, |doc, sum| {
            drained.push((doc, sum));
            100.0
        });
        assert_eq!(drained, [(8, 100.25)]);
        assert!(!window.overflows());
    }
}
