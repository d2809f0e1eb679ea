//! Rank correlation: Kendall's tau and AP correlation.
//!
//! Both take two scores for each of the same items, higher is better: two measures of some systems,
//! or the scores of systems under two sets of judgments.

/// Kendall's tau-b between two scorings of the same items: 1 for the same order, −1 for the
/// reverse. Without ties equal to Kendall's tau.
///
/// Returns `None` for fewer than two items, if all items of one scoring are tied, or for NaN.
///
/// ```
/// let map = [0.31, 0.28, 0.25, 0.19];
/// let ndcg = [0.52, 0.47, 0.49, 0.40];
/// // One of six pairs is discordant.
/// assert_eq!(ir_eval::runs::kendall_tau_b(&map, &ndcg), Some((5.0 - 1.0) / 6.0));
/// ```
///
/// # Panics
/// When the slices differ in length.
///
/// # Source
/// Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
/// # Complexity
/// O(n log n).
#[must_use]
pub fn kendall_tau_b(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (dense_ranks(first)?, dense_ranks(second)?);
    assert_eq!(first.len(), second.len(), "two scores for each item");
    let (mut concordant, mut discordant) = (0, 0);
    for_each_item(&first, &second, |item| {
        concordant += item.concordant;
        discordant += item.discordant;
    });
    let n = first.len() as u64;
    let pairs = |ranks: &[usize]| {
        let mut tie_sizes = vec![0_u64; ranks.len()];
        ranks.iter().for_each(|&rank| tie_sizes[rank] += 1);
        let tied: u64 = tie_sizes.iter().map(|t| t * t.saturating_sub(1) / 2).sum();
        (n * n.saturating_sub(1) / 2 - tied) as f64
    };
    // The square root of a square is exact, so that equal orders give exactly 1.
    let denominator = (pairs(&first) * pairs(&second)).sqrt();
    (denominator > 0.0)
        .then(|| ((concordant as f64 - discordant as f64) / denominator).clamp(-1.0, 1.0))
}

/// AP correlation (τ_AP): like Kendall's tau, but with more weight on the top of the ranking.
///
/// For every item of the estimated ranking but the first, the fraction of the items above it that
/// are above it in the true ranking too; the mean of these fractions, scaled to −1..=1. Not
/// symmetric: `truth` is the correct ranking. With ties in `estimate`, the mean over all their
/// orders; ties in `truth` count as incorrect. This is τ_AP,a of Urbano and Marrero.
///
/// Returns `None` for fewer than two items, or for NaN.
///
/// ```
/// let truth = [4.0, 3.0, 2.0, 1.0];
/// let swapped_first = ir_eval::runs::tau_ap(&truth, &[3.0, 4.0, 2.0, 1.0]);
/// let swapped_last = ir_eval::runs::tau_ap(&truth, &[4.0, 3.0, 1.0, 2.0]);
/// assert!(swapped_first < swapped_last);
/// ```
///
/// # Panics
/// When the slices differ in length.
///
/// # Source
/// Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for information retrieval",
/// SIGIR 2008; ties: Urbano and Marrero, "The treatment of ties in AP correlation", ICTIR 2017.
/// # Complexity
/// O(n log n).
#[must_use]
pub fn tau_ap(truth: &[f64], estimate: &[f64]) -> Option<f64> {
    let (truth, estimate) = (dense_ranks(truth)?, dense_ranks(estimate)?);
    assert_eq!(truth.len(), estimate.len(), "two scores for each item");
    let n = truth.len();
    if n < 2 {
        return None;
    }
    let mut sum = 0.0;
    for_each_item(&estimate, &truth, |item| {
        // Over all orders of a tie, each tied item is at each of their positions equally often, and
        // half of the tied items above it belong there.
        let positions = item.above..item.above + item.tied;
        let fraction_correct = |position: usize| {
            let tied_correct = (position - item.above) as f64 / 2.0;
            (item.concordant as f64 + tied_correct) / position as f64
        };
        let fractions: f64 = positions.filter(|&p| p > 0).map(fraction_correct).sum();
        sum += fractions / item.tied as f64;
    });
    Some((2.0 * sum / (n - 1) as f64 - 1.0).clamp(-1.0, 1.0))
}

/// Symmetric AP correlation of two rankings with ties, neither of which is the truth: τ_AP,b of
/// Urbano and Marrero. Items tied with the item in question are ignored. Without ties, the mean of
/// [`tau_ap`] in both directions.
///
/// Returns `None` if all items of one ranking are tied, or for NaN.
///
/// # Panics
/// When the slices differ in length.
///
/// # Source
/// Urbano and Marrero, "The treatment of ties in AP correlation", ICTIR 2017.
#[must_use]
pub fn tau_ap_b(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (dense_ranks(first)?, dense_ranks(second)?);
    assert_eq!(first.len(), second.len(), "two scores for each item");
    let one_way = |truth: &[usize], estimate: &[usize]| {
        let (mut sum, mut items) = (0.0, 0_usize);
        for_each_item(estimate, truth, |item| {
            if item.above > 0 {
                sum += item.concordant as f64 / item.above as f64;
                items += 1;
            }
        });
        (items > 0).then(|| 2.0 * sum / items as f64 - 1.0)
    };
    let both = (one_way(&first, &second)? + one_way(&second, &first)?) / 2.0;
    Some(both.clamp(-1.0, 1.0))
}

/// Items above one item of a ranking.
struct ItemPairs {
    /// Number of items strictly above.
    above: usize,
    /// Number of tied items, including the item itself.
    tied: usize,
    /// Number of items above that are strictly above in the other ranking too.
    concordant: u64,
    /// Number of items above that are strictly below in the other ranking.
    discordant: u64,
}

/// Visits the items in the order of `ranking` and counts concordant and discordant pairs with the
/// items above in `other`.
fn for_each_item(ranking: &[usize], other: &[usize], mut visit: impl FnMut(ItemPairs)) {
    let mut order: Vec<usize> = (0..ranking.len()).collect();
    order.sort_by_key(|&item| ranking[item]);
    let mut counts = FenwickTree::new(ranking.len());
    let mut above = 0;
    for group in order.chunk_by(|&a, &b| ranking[a] == ranking[b]) {
        for &item in group {
            visit(ItemPairs {
                above,
                tied: group.len(),
                concordant: counts.count_below(other[item]),
                discordant: above as u64 - counts.count_below(other[item] + 1),
            });
        }
        group.iter().for_each(|&item| counts.add(other[item]));
        above += group.len();
    }
}

/// Fenwick tree: counts added numbers below a bound in logarithmic time.
struct FenwickTree(Vec<u64>);

impl FenwickTree {
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

    fn count_below(&self, number: usize) -> u64 {
        let (mut at, mut sum) = (number.min(self.0.len() - 1), 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

/// Dense ranks from 0, highest score first; ties share a rank. `None` for NaN.
fn dense_ranks(scores: &[f64]) -> Option<Vec<usize>> {
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
