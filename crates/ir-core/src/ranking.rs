//! Hits, rankings and exact top-k selection.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::error::SearchError;
use crate::ids::DocNum;

/// Retrieved document and its score. Higher is better for every retriever.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Document number within the index.
    pub doc: DocNum,
    /// Score; never NaN inside a [`Ranking`].
    pub score: f32,
}

impl Hit {
    /// Creates a hit from a document and its score.
    #[must_use]
    pub const fn new(doc: DocNum, score: f32) -> Self {
        Self { doc, score }
    }

    /// Compares two hits in ranking order: score descending, then document number ascending. `Less`
    /// means that `self` ranks before `other`.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .partial_cmp(&self.score)
            .unwrap_or(Ordering::Equal)
            .then(self.doc.cmp(&other.doc))
    }
}

/// Ranked list of hits: score descending, document number ascending, without repeated documents and
/// without NaN.
///
/// May be shorter than requested; never padded.
///
/// ```
/// use ir_core::{DocNum, Hit, Ranking};
/// let ranking = Ranking::from_hits(vec![
///     Hit::new(DocNum::new(4), 1.5),
///     Hit::new(DocNum::new(2), 1.5),
///     Hit::new(DocNum::new(9), 2.0),
/// ])?;
/// let docs: Vec<u32> = ranking.iter().map(|hit| hit.doc.get()).collect();
/// assert_eq!(docs, [9, 2, 4]); // equal scores: the lower number first
/// # Ok::<(), ir_core::SearchError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Hit>", into = "Vec<Hit>")]
#[must_use]
pub struct Ranking {
    hits: Vec<Hit>,
}

impl Ranking {
    /// Sorts hits, given in any order, into a ranking.
    ///
    /// # Errors
    /// If a score is NaN or a document occurs twice.
    pub fn from_hits(mut hits: Vec<Hit>) -> Result<Self, SearchError> {
        if let Some(hit) = hits.iter().find(|hit| hit.score.is_nan()) {
            return Err(SearchError::NanScore { doc: hit.doc });
        }
        hits.sort_unstable_by(Hit::order);
        let mut docs: Vec<DocNum> = hits.iter().map(|hit| hit.doc).collect();
        docs.sort_unstable();
        if let Some(pair) = docs.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SearchError::RepeatedHit { doc: pair[0] });
        }
        Ok(Self { hits })
    }

    /// Returns the hits, best first.
    #[must_use]
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// Iterates over the hits, best first.
    pub fn iter(&self) -> std::slice::Iter<'_, Hit> {
        self.hits.iter()
    }

    /// Returns the number of hits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Returns whether there are no hits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Truncates the ranking to the best `k` hits.
    pub fn top(mut self, k: usize) -> Self {
        self.hits.truncate(k);
        self
    }

    /// Keeps the hits that `keep` accepts, in order.
    pub fn retain(mut self, keep: impl FnMut(&Hit) -> bool) -> Self {
        self.hits.retain(keep);
        self
    }
}

impl TryFrom<Vec<Hit>> for Ranking {
    type Error = SearchError;

    fn try_from(hits: Vec<Hit>) -> Result<Self, SearchError> {
        Self::from_hits(hits)
    }
}

impl From<Ranking> for Vec<Hit> {
    fn from(ranking: Ranking) -> Self {
        ranking.hits
    }
}

impl<'a> IntoIterator for &'a Ranking {
    type Item = &'a Hit;
    type IntoIter = std::slice::Iter<'a, Hit>;

    fn into_iter(self) -> Self::IntoIter {
        self.hits.iter()
    }
}

impl IntoIterator for Ranking {
    type Item = Hit;
    type IntoIter = std::vec::IntoIter<Hit>;

    fn into_iter(self) -> Self::IntoIter {
        self.hits.into_iter()
    }
}

/// Exact top-k selection from scored documents, in the order of [`Hit::order`].
///
/// Push every document at most once. The result does not depend on the order of the calls.
///
/// ```
/// use ir_core::{DocNum, TopK};
/// let mut best = TopK::new(2);
/// for (doc, score) in [(0, 0.1), (1, 0.7), (2, 0.7), (3, 0.7)] {
///     best.push(DocNum::new(doc), score);
/// }
/// let ranking = best.finish()?;
/// assert_eq!(ranking.hits()[1].doc, DocNum::new(2));
/// # Ok::<(), ir_core::SearchError>(())
/// ```
/// # Complexity
/// A small `k` has a heap: O(log k) per document that enters, O(1) per other document. For a large
/// one, up to `2k` hits are held, from which the best `k` are selected when these are full: O(1)
/// per document, amortized. Memory is proportional to the hits held, not to `k`.
#[derive(Debug, Clone)]
pub struct TopK {
    k: usize,
    held: Held,
    nan: Option<DocNum>,
}

/// Maximum `k` with a heap.
const MAX_HEAP: usize = 128;

#[derive(Debug, Clone)]
enum Held {
    /// At most `k` hits, the worst on top.
    Heap(BinaryHeap<RankKey>),
    /// Less than `2k` hits.
    Buffer {
        keys: Vec<RankKey>,
        /// The worst of the best `k` when these were last selected, which only hits that rank
        /// before it can replace. [`None`] before `k` were pushed.
        worst: Option<RankKey>,
    },
}

/// A hit as one number, ascending in ranking order: the score, descending, in the upper half, the
/// document in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankKey(u64);

impl RankKey {
    const SIGN: u32 = 1 << 31;

    #[inline]
    fn new(doc: DocNum, score: f32) -> Self {
        // The sum with 0 turns -0 into 0.
        let bits = (score + 0.0).to_bits();
        // Descends as scores ascend: larger floats of one sign have larger bits.
        let descending = if bits & Self::SIGN == 0 {
            !bits & !Self::SIGN
        } else {
            bits
        };
        Self(u64::from(descending) << 32 | u64::from(doc.get()))
    }

    #[inline]
    fn hit(self) -> Hit {
        let descending = (self.0 >> 32) as u32;
        let bits = if descending & Self::SIGN == 0 {
            !descending & !Self::SIGN
        } else {
            descending
        };
        Hit::new(DocNum::new(self.0 as u32), f32::from_bits(bits))
    }
}

impl TopK {
    /// Creates an empty selection of the best `k`.
    #[must_use]
    pub fn new(k: usize) -> Self {
        let held = match k {
            ..=MAX_HEAP => Held::Heap(BinaryHeap::with_capacity(k)),
            _ => Held::Buffer {
                keys: Vec::new(),
                worst: None,
            },
        };
        Self { k, held, nan: None }
    }

    /// Adds a document. A score of -0 becomes 0; a NaN score makes [`TopK::finish`] fail.
    #[inline]
    pub fn push(&mut self, doc: DocNum, score: f32) {
        if score.is_nan() {
            self.nan.get_or_insert(doc);
            return;
        }
        let key = RankKey::new(doc, score);
        match &mut self.held {
            Held::Heap(heap) if heap.len() < self.k => heap.push(key),
            Held::Heap(heap) => {
                if let Some(mut worst) = heap.peek_mut()
                    && key < *worst
                {
                    *worst = key;
                }
            }
            Held::Buffer { keys, worst } => {
                if worst.is_none_or(|worst| key < worst) {
                    keys.push(key);
                    let is_full = keys.len() == self.k.saturating_mul(2);
                    if is_full || keys.len() == self.k {
                        *worst = select(keys, self.k);
                    }
                }
            }
        }
    }

    /// Returns a hit which only documents that rank before it can replace: the worst, once `k` are
    /// held; for `k` above 128 it may be a hit that was the worst before. `None` while fewer than
    /// `k` are held.
    #[inline]
    #[must_use]
    pub fn worst(&self) -> Option<Hit> {
        let worst = match &self.held {
            Held::Heap(heap) if heap.len() < self.k => None,
            Held::Heap(heap) => heap.peek().copied(),
            Held::Buffer { worst, .. } => *worst,
        };
        worst.map(RankKey::hit)
    }

    /// Returns the worst hit, once `k` are held, for any `k`. O(k).
    pub fn select_worst(&mut self) -> Option<Hit> {
        if let Held::Buffer { keys, worst } = &mut self.held
            && keys.len() >= self.k
        {
            *worst = select(keys, self.k);
        }
        self.worst()
    }

    /// Returns the best `k`, best first.
    ///
    /// # Errors
    /// If a score was NaN.
    pub fn finish(self) -> Result<Ranking, SearchError> {
        if let Some(doc) = self.nan {
            return Err(SearchError::NanScore { doc });
        }
        let mut keys = match self.held {
            Held::Heap(heap) => heap.into_vec(),
            Held::Buffer { mut keys, .. } => {
                select(&mut keys, self.k);
                keys
            }
        };
        keys.sort_unstable();
        Ok(Ranking {
            hits: keys.into_iter().map(RankKey::hit).collect(),
        })
    }
}

/// Removes all but the best `k`, a positive number. Returns the worst of these, if there are `k`.
fn select(keys: &mut Vec<RankKey>, k: usize) -> Option<RankKey> {
    let at = k.checked_sub(1).filter(|&at| at < keys.len())?;
    let (_, &mut worst, _) = keys.select_nth_unstable(at);
    keys.truncate(k);
    Some(worst)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits() -> impl Strategy<Value = Vec<Hit>> {
        prop::collection::vec(-3i8..3, 0..40).prop_map(|scores| {
            let hit = |(n, s): (usize, i8)| Hit::new(DocNum::new(n as u32), f32::from(s) / 2.0);
            scores.into_iter().enumerate().map(hit).collect()
        })
    }

    proptest! {
        #[test]
        fn keys_are_in_ranking_order(a: (u32, f32), b: (u32, f32)) {
            let hit = |(doc, score): (u32, f32)| Hit::new(DocNum::new(doc), score);
            for (a, b) in [(a, b), ((b.0, a.1), a)] {
                if a.1.is_nan() || b.1.is_nan() {
                    continue;
                }
                let (key_a, key_b) = (RankKey::new(hit(a).doc, a.1), RankKey::new(hit(b).doc, b.1));
                prop_assert_eq!(key_a.cmp(&key_b), hit(a).order(&hit(b)));
                prop_assert_eq!(key_a.hit(), hit(a));
            }
        }
    }

    proptest! {
        #[test]
        fn top_k_equals_sorting(hits in hits().prop_shuffle(), k in 0usize..45) {
            let mut best = TopK::new(k);
            for hit in &hits {
                best.push(hit.doc, hit.score);
            }
            let oracle = Ranking::from_hits(hits).unwrap().top(k);
            prop_assert_eq!(best.finish().unwrap(), oracle);
        }

        /// Around the change from a heap to a buffer. Every worst hit is one that `k` hits do not
        /// rank after.
        #[test]
        fn top_of_large_k_equals_sorting(
            scores in prop::collection::vec(-9i8..9, 0..700),
            k in MAX_HEAP - 1..MAX_HEAP + 60,
            selects in prop::collection::vec(any::<bool>(), 700),
        ) {
            let mut best = TopK::new(k);
            let mut pushed = Vec::new();
            for ((n, score), is_selected) in scores.into_iter().enumerate().zip(selects) {
                let hit = Hit::new(DocNum::new(n as u32), f32::from(score));
                best.push(hit.doc, hit.score);
                pushed.push(hit);
                pushed.sort_by(Hit::order);
                let worst = pushed.get(k - 1).copied();
                prop_assert_eq!(best.worst().is_some(), worst.is_some());
                let lags = best.worst().zip(worst).is_some_and(|(found, worst)| worst.order(&found).is_gt());
                prop_assert!(!lags);
                if is_selected {
                    prop_assert_eq!(best.select_worst(), worst);
                }
            }
            prop_assert_eq!(best.finish().unwrap(), Ranking::from_hits(pushed).unwrap().top(k));
        }
    }

    #[test]
    fn nan_is_an_error_and_zeros_are_equal() {
        let mut best = TopK::new(3);
        best.push(DocNum::new(1), 0.0);
        best.push(DocNum::new(0), -0.0);
        assert_eq!(best.clone().finish().unwrap().hits()[0].doc, DocNum::new(0));
        best.push(DocNum::new(5), f32::NAN);
        assert!(matches!(best.finish(), Err(SearchError::NanScore { doc }) if doc.get() == 5));
    }

    #[test]
    fn repeated_documents_are_an_error() {
        let hit = Hit::new(DocNum::new(3), 1.0);
        assert!(Ranking::from_hits(vec![hit, hit]).is_err());
    }
}
