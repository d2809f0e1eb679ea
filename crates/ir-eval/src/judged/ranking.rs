//! Ranking of one query joined with its judgments.

use ir_core::Grade;

use super::discount;
use super::documents::DocOrdinal;
use super::query::Requirements;

/// Ranking as the measures see it: the judgment of each document, and the ranks and cumulative
/// sums that one pass over them yields for every level, gain and cutoff.
#[derive(Debug, Default)]
pub(crate) struct JudgedRanking {
    /// By rank − 1; [`DocOrdinal::NOT_IN_QRELS`] for documents that are not in the qrels.
    pub(crate) ordinals: Vec<DocOrdinal>,
    /// By rank − 1: grade, [`UNPOOLED`](super::UNPOOLED) or [`UNJUDGED`](super::UNJUDGED).
    pub(crate) states: Vec<Grade>,
    /// Rank and grade of the documents with a grade of at least 0, by ascending rank.
    judged: Vec<(usize, Grade)>,
    /// By level of [`Requirements`].
    pub(crate) relevant: Vec<RelevantRanks>,
    /// By gain of [`Requirements`].
    pub(crate) gains: Vec<CumulativeGain>,
}

/// Ranks of the relevant documents, ascending.
#[derive(Debug, Default)]
pub(crate) struct RelevantRanks {
    pub(crate) ranks: Vec<usize>,
    /// Sum of the precisions at the first i + 1 relevant ranks.
    precision_sums: Vec<f64>,
}

impl RelevantRanks {
    /// Number of relevant documents in the first `k` ranks.
    pub(crate) fn within(&self, k: usize) -> usize {
        self.ranks.partition_point(|&rank| rank <= k)
    }

    /// Sum of the precisions at the first `count` relevant ranks.
    pub(crate) fn precision_sum(&self, count: usize) -> f64 {
        match count {
            0 => 0.0,
            count => self.precision_sums[count - 1],
        }
    }
}

/// Ranks with a gain other than 0.
#[derive(Debug, Default)]
pub(crate) struct CumulativeGain {
    /// Rank and gain, by ascending rank.
    pub(crate) gains: Vec<(usize, f64)>,
    /// DCG up to and including that rank.
    dcg: Vec<f64>,
}

impl CumulativeGain {
    /// DCG at rank `k`.
    pub(crate) fn dcg(&self, k: usize) -> f64 {
        match self.gains.partition_point(|&(rank, _)| rank <= k) {
            0 => 0.0,
            n => self.dcg[n - 1],
        }
    }
}

impl JudgedRanking {
    pub(crate) fn clear(&mut self) {
        self.ordinals.clear();
        self.states.clear();
        self.judged.clear();
    }

    pub(crate) fn push(&mut self, ordinal: DocOrdinal, state: Grade) {
        self.ordinals.push(ordinal);
        self.states.push(state);
        if state >= 0 {
            self.judged.push((self.states.len(), state));
        }
    }

    /// Computes `relevant` and `gains` from the judged documents.
    pub(crate) fn accumulate(&mut self, requirements: &Requirements) {
        let Requirements { levels, gains, .. } = requirements;
        self.relevant
            .resize_with(levels.len(), RelevantRanks::default);
        self.gains.resize_with(gains.len(), CumulativeGain::default);
        for (relevant, &level) in self.relevant.iter_mut().zip(levels) {
            relevant.ranks.clear();
            relevant.precision_sums.clear();
            let mut sum = 0.0;
            for &(rank, state) in &self.judged {
                if state >= level {
                    relevant.ranks.push(rank);
                    sum += relevant.ranks.len() as f64 / rank as f64;
                    relevant.precision_sums.push(sum);
                }
            }
        }
        for (cumulative, gain) in self.gains.iter_mut().zip(gains) {
            cumulative.gains.clear();
            cumulative.dcg.clear();
            let mut sum = 0.0;
            for &(rank, grade) in &self.judged {
                let gain = gain.of_grade(grade);
                if gain != 0.0 {
                    sum += gain / discount(rank);
                    cumulative.gains.push((rank, gain));
                    cumulative.dcg.push(sum);
                }
            }
        }
    }
}
