//! Audits of tags: a sample for judges, and the precision that it estimates.

use ir_core::SplitMix64;

/// Tag of a paper: a dataset that the paper is tagged with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaperTag {
    /// Id of the paper.
    pub paper: String,
    /// Id of the dataset.
    pub dataset: String,
}

/// Draws a uniform random sample of `size` tags without replacement, in random order; all tags if
/// there are fewer. The same tags and seed give the same sample, in whatever order the tags are.
/// Viswanathan et al. judged 200 tags.
///
/// ```
/// use ir_studies::papers::{PaperTag, sample_tags};
/// let tag = |n: usize| PaperTag { paper: format!("p{n}"), dataset: "SQuAD".to_owned() };
/// let sample = sample_tags((0..1000).map(tag), 200, 0);
/// assert_eq!(sample.len(), 200);
/// assert_eq!(sample_tags((0..1000).rev().map(tag), 200, 0), sample);
/// ```
#[must_use]
pub fn sample_tags(
    tags: impl IntoIterator<Item = PaperTag>,
    size: usize,
    seed: u64,
) -> Vec<PaperTag> {
    let mut tags: Vec<PaperTag> = tags.into_iter().collect();
    tags.sort_unstable();
    tags.dedup();
    SplitMix64::new(seed, 0).partial_shuffle(&mut tags, size);
    tags.truncate(size);
    tags
}

/// Precision of tags, estimated from a judged sample.
///
/// ```
/// use ir_studies::papers::TagPrecision;
/// let found = TagPrecision { judged: 10, correct: 8 };
/// assert_eq!(found.precision(), Some(0.8));
/// let (low, high) = found.interval().unwrap();
/// assert!((low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagPrecision {
    /// Number of judged tags.
    pub judged: u64,
    /// Number of tags that are correct, at most `judged`.
    pub correct: u64,
}

impl TagPrecision {
    /// Quantile of the normal distribution for a level of 95 %.
    const Z: f64 = 1.959_963_984_540_054;

    /// Counts judgments; `true` is a correct tag.
    #[must_use]
    pub fn from_judgments(judgments: impl IntoIterator<Item = bool>) -> Self {
        let (mut judged, mut correct) = (0, 0);
        for is_correct in judgments {
            judged += 1;
            correct += u64::from(is_correct);
        }
        Self { judged, correct }
    }

    /// Returns the fraction of correct tags; [`None`] without judgments.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.correct as f64 / self.judged as f64)
    }

    /// Returns the Wilson score interval of the precision at the level of 95 %; [`None`] without
    /// judgments.
    ///
    /// # Source
    /// Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (p, n, z) = (self.precision()?, self.judged as f64, Self::Z);
        let scale = 1.0 + z * z / n;
        let center = (p + z * z / (2.0 * n)) / scale;
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / scale;
        Some(((center - half).max(0.0), (center + half).min(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_no_repetitions() {
        let tag = |n: usize| PaperTag {
            paper: format!("p{}", n % 30),
            dataset: "d".to_owned(),
        };
        let sample = sample_tags((0..90).map(tag), 50, 3);
        assert_eq!(sample.len(), 30);
        let mut distinct = sample.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 30);
        assert_ne!(
            sample_tags((0..30).map(tag), 10, 4),
            sample_tags((0..30).map(tag), 10, 5)
        );
        assert!(sample_tags(Vec::new(), 5, 0).is_empty());
    }

    #[test]
    fn precision_and_limits() {
        let found = TagPrecision::from_judgments([true, false, true, true]);
        assert_eq!((found.judged, found.correct), (4, 3));
        assert_eq!(TagPrecision::from_judgments([]).interval(), None);
        let all = TagPrecision {
            judged: 200,
            correct: 200,
        };
        let (low, high) = all.interval().unwrap();
        // n / (n + z²).
        assert!((low - 200.0 / (200.0 + 3.841_458_820_694_124)).abs() < 1e-12 && high == 1.0);
    }
}
