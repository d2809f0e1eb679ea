//! Reviews, scores and decisions of the papers.

use std::collections::BTreeMap;

use ir_data::iclr::Paper;

/// Class of papers without a known keyword.
pub const UNLABELED: &str = "unlabeled";

/// Counts, reviews and decisions of papers.
///
/// For 24v2, the paper of the dataset reports 3.7 reviews per reviewed paper, 93 % of which have 3
/// or 4, a correlation of .40 over 244,226 ordered pairs of scores, and 30.7 % accepted papers.
///
/// ```
/// use ir_data::iclr::Paper;
/// use ir_studies::iclr::PaperStatistics;
/// let paper = |scores: &[i64], decision: &str| Paper {
///     scores: scores.to_vec(),
///     decision: decision.to_owned(),
///     ..Paper::default()
/// };
/// let papers = [paper(&[3, 5, 8], "Accept (poster)"), paper(&[1, 3], "Reject"), paper(&[], "")];
/// let statistics = PaperStatistics::new(&papers);
/// assert_eq!(statistics.reviews_per_paper(), Some(2.5));
/// assert_eq!(statistics.score_pairs, 8);
/// assert_eq!(statistics.acceptance(), Some(1.0 / 3.0));
/// ```
///
/// # Source
/// González-Márquez and Kobak, "Learning representations of learning representations", 2024.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct PaperStatistics {
    /// Number of papers, reviewed or not.
    pub papers: usize,
    /// Number of papers without a class.
    pub unlabeled: usize,
    /// Number of papers without keywords.
    pub without_keywords: usize,
    /// Number of papers with scores.
    pub reviewed: usize,
    /// Number of reviewed papers with 3 or 4 scores.
    pub three_or_four_reviews: usize,
    /// Number of scores of all papers.
    pub reviews: usize,
    /// Arithmetic mean of the scores of all papers; [`None`] without scores.
    pub mean_score: Option<f64>,
    /// Number of papers with a decision that starts with `Acc`.
    pub accepted: usize,
    /// Number of ordered pairs of two scores of the same paper.
    pub score_pairs: u64,
    /// Pearson correlation of the two scores over all ordered pairs, which is an intraclass
    /// correlation. [`None`] without pairs, or if all scores are equal.
    pub score_correlation: Option<f64>,
}

impl PaperStatistics {
    /// Computes the statistics of papers.
    #[must_use]
    pub fn new<'a>(papers: impl IntoIterator<Item = &'a Paper>) -> Self {
        let mut found = Self::default();
        // Exact sums over ordered pairs: of the first score, its square, and the product.
        let (mut sum, mut squares, mut products) = (0_i128, 0_i128, 0_i128);
        let mut total_score = 0_i128;
        for paper in papers {
            let scores = &paper.scores;
            found.papers += 1;
            found.unlabeled += usize::from(paper.class == UNLABELED);
            found.without_keywords += usize::from(paper.keywords.is_empty());
            found.reviewed += usize::from(!scores.is_empty());
            found.three_or_four_reviews += usize::from(matches!(scores.len(), 3 | 4));
            found.reviews += scores.len();
            found.accepted += usize::from(paper.decision.starts_with("Acc"));
            let others = scores.len().saturating_sub(1);
            found.score_pairs += (scores.len() * others) as u64;
            let total: i128 = scores.iter().map(|&score| i128::from(score)).sum();
            total_score += total;
            for &score in scores {
                let score = i128::from(score);
                sum += score * others as i128;
                squares += score * score * others as i128;
                products += score * (total - score);
            }
        }
        let pairs = i128::from(found.score_pairs);
        // Both scores of ordered pairs have the same distribution: covariance by variance.
        let variance = pairs * squares - sum * sum;
        let covariance = pairs * products - sum * sum;
        let reviews = found.reviews;
        found.mean_score = (reviews > 0).then(|| total_score as f64 / reviews as f64);
        found.score_correlation = (variance > 0).then(|| covariance as f64 / variance as f64);
        found
    }

    /// Computes the statistics of the papers of each year.
    ///
    /// ```
    /// use ir_data::iclr::Paper;
    /// use ir_studies::iclr::PaperStatistics;
    /// let paper = |year: i32, scores: &[i64]| Paper {
    ///     year,
    ///     scores: scores.to_vec(),
    ///     ..Paper::default()
    /// };
    /// let papers = [paper(2018, &[3, 6]), paper(2017, &[5]), paper(2018, &[])];
    /// let years = PaperStatistics::by_year(&papers);
    /// assert_eq!((years[&2018].papers, years[&2018].mean_score), (2, Some(4.5)));
    /// assert_eq!(years[&2017].reviewed, 1);
    /// ```
    #[must_use]
    pub fn by_year<'a>(papers: impl IntoIterator<Item = &'a Paper>) -> BTreeMap<i32, Self> {
        let mut years: BTreeMap<i32, Vec<&Paper>> = BTreeMap::new();
        for paper in papers {
            years.entry(paper.year).or_default().push(paper);
        }
        let of_year = |(year, papers): (i32, Vec<&'a Paper>)| (year, Self::new(papers));
        years.into_iter().map(of_year).collect()
    }

    /// Returns the mean number of scores of a reviewed paper; [`None`] without reviewed papers.
    #[must_use]
    pub fn reviews_per_paper(&self) -> Option<f64> {
        fraction(self.reviews, self.reviewed)
    }

    /// Returns the fraction of reviewed papers with 3 or 4 scores.
    #[must_use]
    pub fn three_or_four(&self) -> Option<f64> {
        fraction(self.three_or_four_reviews, self.reviewed)
    }

    /// Returns the fraction of papers that were accepted; [`None`] without papers.
    #[must_use]
    pub fn acceptance(&self) -> Option<f64> {
        fraction(self.accepted, self.papers)
    }
}

fn fraction(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn papers(scores: &[Vec<i64>]) -> Vec<Paper> {
        let paper = |scores: &Vec<i64>| Paper {
            scores: scores.clone(),
            ..Paper::default()
        };
        scores.iter().map(paper).collect()
    }

    /// Pearson correlation over pairs that are written out.
    fn pearson(scores: &[Vec<i64>]) -> (u64, f64) {
        let mut pairs = Vec::new();
        for scores in scores {
            for (i, &a) in scores.iter().enumerate() {
                let others = scores.iter().enumerate().filter(|(j, _)| *j != i);
                pairs.extend(others.map(|(_, &b)| (a as f64, b as f64)));
            }
        }
        let n = pairs.len() as f64;
        let mean = pairs.iter().map(|pair| pair.0).sum::<f64>() / n;
        let covariance: f64 = pairs.iter().map(|(a, b)| (a - mean) * (b - mean)).sum();
        let variance: f64 = pairs.iter().map(|(a, _)| (a - mean) * (a - mean)).sum();
        (pairs.len() as u64, covariance / variance)
    }

    proptest! {
        #[test]
        fn correlation_equals_the_definition(
            scores in prop::collection::vec(prop::collection::vec(1_i64..11, 0..7), 0..40),
        ) {
            let found = PaperStatistics::new(&papers(&scores));
            let (pairs, expected) = pearson(&scores);
            prop_assert_eq!(found.score_pairs, pairs);
            match found.score_correlation {
                Some(correlation) => prop_assert!((correlation - expected).abs() < 1e-12),
                None => prop_assert!(expected.is_nan()),
            }
        }
    }

    #[test]
    fn perfect_and_opposite_reviewers() {
        let correlation =
            |scores: &[Vec<i64>]| PaperStatistics::new(&papers(scores)).score_correlation;
        assert_eq!(correlation(&[vec![3, 3], vec![8, 8]]), Some(1.0));
        assert_eq!(correlation(&[vec![3, 8], vec![8, 3]]), Some(-1.0));
        assert_eq!(correlation(&[vec![5, 5]]), None);
        assert_eq!(correlation(&[vec![5], vec![]]), None);
        let extreme = [vec![i64::from(i32::MAX); 9], vec![i64::from(i32::MIN); 9]];
        assert_eq!(correlation(&extreme), Some(1.0));
    }
}
