//! How much two rankings agree: Kendall's tau, AP correlation, rank-biased overlap.
//!
//! Tau and AP correlation take two scores for each of the same items, higher is better: two
//! measures of some systems, or a system's scores under two sets of judgments. Rank-biased overlap
//! takes two lists, which may hold different items.

use std::collections::HashSet;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// Kendall's tau-b between two scores of the same items: 1 for the same order, −1 for the reverse.
/// Ties are taken out of the denominator; without ties it is Kendall's tau.
///
/// `None` when fewer than two items are left, one of the scores is the same for all, or one is NaN.
///
/// ```
/// let map = [0.31, 0.28, 0.25, 0.19];
/// let ndcg = [0.52, 0.47, 0.49, 0.40];
/// // One of six pairs is the other way round.
/// assert_eq!(ir_eval::kendall_tau_b(&map, &ndcg), Some((5.0 - 1.0) / 6.0));
/// ```
///
/// # Panics
/// When the two are not equally long.
///
/// # Source
/// Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
/// # Complexity
/// O(n log n).
#[must_use]
pub fn kendall_tau_b(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (ranks(first)?, ranks(second)?);
    assert_eq!(first.len(), second.len(), "two scores for each item");
    let (mut concordant, mut discordant) = (0, 0);
    above(&first, &second, |seen| {
        concordant += seen.agree;
        discordant += seen.disagree;
    });
    let n = first.len() as u64;
    let pairs = |ranks: &[usize]| {
        let tied: u64 = groups(ranks).map(|t| t * t.saturating_sub(1) / 2).sum();
        (n * n.saturating_sub(1) / 2 - tied) as f64
    };
    // The root of a square is exact, so that equal orders give exactly 1.
    let whole = (pairs(&first) * pairs(&second)).sqrt();
    (whole > 0.0).then(|| ((concordant as f64 - discordant as f64) / whole).clamp(-1.0, 1.0))
}

/// AP correlation: like Kendall's tau, but differences near the top weigh more. At each item of
/// the estimated ranking but the first one asks what share of the items above it belongs there;
/// the mean of the shares, stretched to −1 ... 1.
///
/// Not symmetric: `truth` has the order that counts as right. Tied items of `estimate` are
/// averaged over all their orders; ties in `truth` belong neither above nor below each other. This
/// is τ_AP,a of Urbano and Marrero, for estimates with ties and a truth without.
///
/// `None` when there are fewer than two items or a score is NaN.
///
/// ```
/// let truth = [4.0, 3.0, 2.0, 1.0];
/// let swapped_first = ir_eval::tau_ap(&truth, &[3.0, 4.0, 2.0, 1.0]);
/// let swapped_last = ir_eval::tau_ap(&truth, &[4.0, 3.0, 1.0, 2.0]);
/// assert!(swapped_first < swapped_last);
/// ```
///
/// # Panics
/// When the two are not equally long.
///
/// # Source
/// Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for information retrieval",
/// SIGIR 2008; ties: Urbano and Marrero, "The treatment of ties in AP correlation", ICTIR 2017.
/// # Complexity
/// O(n log n).
#[must_use]
pub fn tau_ap(truth: &[f64], estimate: &[f64]) -> Option<f64> {
    let (truth, estimate) = (ranks(truth)?, ranks(estimate)?);
    assert_eq!(truth.len(), estimate.len(), "two scores for each item");
    let n = truth.len();
    if n < 2 {
        return None;
    }
    let mut sum = 0.0;
    above(&estimate, &truth, |seen| {
        // Each of the `tied` items stands at each of their places equally often. The ones that are
        // above it there are its fellows, half of which belong there.
        let places = seen.before..seen.before + seen.tied;
        let share = |at: usize| {
            let fellows = (at - seen.before) as f64 / 2.0;
            (seen.agree as f64 + fellows) / at as f64
        };
        let shares: f64 = places.filter(|&at| at > 0).map(share).sum();
        sum += shares / seen.tied as f64;
    });
    Some((2.0 * sum / (n - 1) as f64 - 1.0).clamp(-1.0, 1.0))
}

/// The symmetric AP correlation of two rankings of which neither is the truth, and both may have
/// ties: items that are tied with the item in question count neither above it nor below.
/// τ_AP,b of Urbano and Marrero; without ties the mean of [`tau_ap`] in both directions.
///
/// `None` when all items of one are tied, or a score is NaN.
///
/// # Panics
/// When the two are not equally long.
///
/// # Source
/// Urbano and Marrero, "The treatment of ties in AP correlation", ICTIR 2017.
#[must_use]
pub fn tau_ap_b(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (ranks(first)?, ranks(second)?);
    assert_eq!(first.len(), second.len(), "two scores for each item");
    let one_way = |truth: &[usize], estimate: &[usize]| {
        let (mut sum, mut counted) = (0.0, 0_usize);
        above(estimate, truth, |seen| {
            if seen.before > 0 {
                sum += seen.agree as f64 / seen.before as f64;
                counted += 1;
            }
        });
        (counted > 0).then(|| 2.0 * sum / counted as f64 - 1.0)
    };
    let both = (one_way(&first, &second)? + one_way(&second, &first)?) / 2.0;
    Some(both.clamp(-1.0, 1.0))
}

/// What stands above an item in a ranking.
struct Above {
    /// How many items stand strictly above it.
    before: usize,
    /// How many share its place, itself included.
    tied: usize,
    /// How many of those before stand strictly above it in the other ranking too.
    agree: u64,
    /// How many of those before stand strictly below it there.
    disagree: u64,
}

/// Goes over the items by their rank in `ranking`, and tells of each how the items above it stand
/// in `other`.
fn above(ranking: &[usize], other: &[usize], mut each: impl FnMut(Above)) {
    let mut order: Vec<usize> = (0..ranking.len()).collect();
    order.sort_by_key(|&item| ranking[item]);
    let mut counts = Counts::new(ranking.len());
    let mut before = 0;
    for group in order.chunk_by(|&a, &b| ranking[a] == ranking[b]) {
        for &item in group {
            let agree = counts.below(other[item]);
            let disagree = before as u64 - counts.below(other[item] + 1);
            let tied = group.len();
            each(Above {
                before,
                tied,
                agree,
                disagree,
            });
        }
        group.iter().for_each(|&item| counts.add(other[item]));
        before += group.len();
    }
}

/// How many numbers below some number were added: a Fenwick tree.
struct Counts(Vec<u64>);

impl Counts {
    fn new(n: usize) -> Self {
        Self(vec![0; n + 1])
    }

    fn add(&mut self, number: usize) {
        let mut at = number + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn below(&self, number: usize) -> u64 {
        let (mut at, mut sum) = (number.min(self.0.len() - 1), 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

/// Dense ranks from 0, the highest score first; equal scores share one. `None` for NaN.
fn ranks(scores: &[f64]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    if scores.iter().any(|score| score.is_nan()) {
        return None;
    }
    order.sort_by(|&a, &b| (scores[b] + 0.0).total_cmp(&(scores[a] + 0.0)));
    let mut ranks = vec![0; scores.len()];
    let groups = order.chunk_by(|&a, &b| scores[a] == scores[b]);
    for (rank, group) in groups.enumerate() {
        group.iter().for_each(|&item| ranks[item] = rank);
    }
    Some(ranks)
}

/// The sizes of groups of equal ranks.
fn groups(ranks: &[usize]) -> impl Iterator<Item = u64> {
    let mut sizes = vec![0_u64; ranks.len()];
    ranks.iter().for_each(|&rank| sizes[rank] += 1);
    sizes.into_iter()
}

/// Rank-biased overlap of two lists of which only the beginnings are known.
///
/// ```
/// use ir_eval::RankBiasedOverlap;
/// let rbo = RankBiasedOverlap::new(&["a", "b", "c"], &["b", "a", "d"], 0.9).unwrap();
/// assert!(rbo.min < rbo.ext && rbo.ext < rbo.max());
/// ```
///
/// # Source
/// Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 2010.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankBiasedOverlap {
    /// The least it can be: what follows has nothing in common.
    pub min: f64,
    /// How much larger it can be: what follows has as much in common as possible.
    pub residual: f64,
    /// The best guess: what follows agrees as the deepest known places do. Equation 32 of the paper.
    pub ext: f64,
}

impl RankBiasedOverlap {
    /// The three figures for lists without ties, best item first, of any lengths. `p` is the
    /// probability to look at one more place: with .9 the first ten carry 86 % of the weight.
    /// Whoever has equal scores decides on an order first, as trec_eval does. An item that
    /// repeats counts at its first place.
    ///
    /// `None` when both lists are empty, or `p` is not above 0 and below 1. An empty list has
    /// nothing in common with any other one: `ext` is 0.
    /// # Complexity
    /// O(n) hash look-ups.
    #[must_use]
    pub fn new<T: Eq + Hash>(first: &[T], second: &[T], p: f64) -> Option<Self> {
        let (first, second) = (distinct(first), distinct(second));
        let (short, long) = if first.len() <= second.len() {
            (first, second)
        } else {
            (second, first)
        };
        let (s, l) = (short.len(), long.len());
        if l == 0 || !(p > 0.0 && p < 1.0) {
            return None;
        }
        // Overlap X at each depth d; the short list ends at s.
        let (mut in_short, mut in_long) = (HashSet::new(), HashSet::new());
        let mut overlap = 0_u64;
        let (mut at_s, mut base, mut beyond) = (0.0, 0.0, 0.0);
        // Σ p^d / d, and p^d.
        let (mut harmonic, mut power) = (0.0, 1.0);
        let mut most = Most::new(s, l);
        for d in 1..=l {
            power *= p;
            let depth = d as f64;
            harmonic += power / depth;
            let longer = long[d - 1];
            if let Some(&shorter) = short.get(d - 1) {
                in_long.insert(longer);
                overlap += u64::from(in_long.contains(shorter));
                overlap += u64::from(shorter != longer && in_short.contains(longer));
                in_short.insert(shorter);
            } else {
                overlap += u64::from(in_short.contains(longer));
            }
            let x = overlap as f64;
            base += power * x / depth;
            if d == s {
                at_s = x;
            } else if d > s && s > 0 {
                beyond += power * at_s * (d - s) as f64 / (s as f64 * depth);
            }
            most.add(d, x, power / depth);
        }
        let x = overlap as f64;
        let scale = (1.0 - p) / p;
        // Σ p^d / d over all d is −ln(1 − p).
        let rest = (-(-p).ln_1p() - harmonic).max(0.0);
        let min = scale * (base + x * rest);
        let max = scale * most.finish(p, power, x);
        let agreement = if s == 0 {
            0.0
        } else {
            (x - at_s) / l as f64 + at_s / s as f64
        };
        let ext = if s == 0 {
            0.0
        } else {
            scale * (base + beyond) + agreement * power
        };
        Some(Self {
            min: min.clamp(0.0, 1.0),
            residual: (max - min).clamp(0.0, 1.0),
            ext: ext.clamp(0.0, 1.0),
        })
    }

    /// The most it can be.
    #[must_use]
    pub fn max(&self) -> f64 {
        (self.min + self.residual).min(1.0)
    }
}

/// The sum of p^d · X_d / d where everything unknown agrees as far as possible: every unknown item
/// of the short list is one that the long list shows and the short one does not yet, and beyond
/// both all new items are common.
struct Most {
    short: usize,
    long: usize,
    sum: f64,
}

impl Most {
    fn new(short: usize, long: usize) -> Self {
        Self {
            short,
            long,
            sum: 0.0,
        }
    }

    fn add(&mut self, d: usize, overlap: f64, weight: f64) {
        let unknown = d.saturating_sub(self.short) as f64;
        self.sum += weight * (overlap + unknown).min(d as f64);
    }

    /// Beyond both lists two items become common at each depth, until all are.
    fn finish(mut self, p: f64, mut power: f64, overlap: f64) -> f64 {
        let start = overlap + (self.long - self.short) as f64;
        let mut d = self.long;
        loop {
            let common = start + 2.0 * (d - self.long) as f64;
            if common >= d as f64 {
                break;
            }
            d += 1;
            power *= p;
            let common = (start + 2.0 * (d - self.long) as f64).min(d as f64);
            self.sum += power / d as f64 * common;
        }
        // From here on X_d = d: what is left is Σ p^d.
        self.sum + power * p / (1.0 - p)
    }
}

/// The items without repeats.
fn distinct<T: Eq + Hash>(list: &[T]) -> Vec<&T> {
    let mut seen = HashSet::new();
    list.iter().filter(|item| seen.insert(*item)).collect()
}
