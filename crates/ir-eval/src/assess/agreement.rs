//! How much assessors agree beyond chance.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ir_core::Qrels;
use serde::{Deserialize, Serialize};

/// What each coder (assessor, annotator) called each item.
///
/// A coefficient is `None` where it is undefined: nothing was labelled twice, or everything has
/// the same label, so that chance agreement is 1 and there is nothing above it (others give NaN, 1
/// or an error there).
///
/// ```
/// use ir_eval::Ratings;
/// let mut ratings = Ratings::new(["Ann", "Ben"]);
/// for (item, ann, ben) in [("d1", "yes", "yes"), ("d2", "yes", "no"), ("d3", "no", "no")] {
///     ratings.push(item, [Some(ann), Some(ben)]);
/// }
/// assert_eq!(ratings.observed_agreement(), Some(2.0 / 3.0));
/// let kappa = ratings.cohen_kappa(0, 1).unwrap();
/// assert!((kappa - 0.4).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratings {
    coders: Vec<String>,
    /// By text, numbers first and in their order.
    labels: BTreeSet<RatingCategory>,
    items: Vec<(String, Vec<Option<RatingCategory>>)>,
}

/// A label: numbers have an order, and distances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RatingCategory {
    /// A whole number, such as a grade.
    Number(i64),
    /// Any other text.
    Text(String),
}

impl From<&str> for RatingCategory {
    fn from(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Text(text.to_owned()), Self::Number)
    }
}

impl From<i64> for RatingCategory {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for RatingCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// How bad a disagreement is, in weighted kappa, by the distance of two labels in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KappaWeights {
    /// |i − j|.
    Linear,
    /// (i − j)².
    Quadratic,
}

/// What labels are, for [`Ratings::krippendorff_alpha`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementLevel {
    /// Names: different or the same.
    #[default]
    Nominal,
    /// An order: what counts is how many labels lie between two of them.
    Ordinal,
    /// Numbers: what counts is the square of their difference. Labels that are texts count by their
    /// position.
    Interval,
}

/// How often one coder's label met each of another's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfusionMatrix {
    /// The labels, of rows and columns alike.
    pub labels: Vec<RatingCategory>,
    /// By label of the first coder, then of the second: how many items.
    pub counts: Vec<Vec<u64>>,
}

impl ConfusionMatrix {
    fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    fn sums(&self) -> (Vec<u64>, Vec<u64>) {
        let rows = self.counts.iter().map(|row| row.iter().sum()).collect();
        let column = |at: usize| self.counts.iter().map(|row| row[at]).sum();
        (rows, (0..self.labels.len()).map(column).collect())
    }

    /// The share of items on which the two agree, and the share that chance would give.
    fn agreement(&self) -> Option<(f64, f64)> {
        let total = self.total() as f64;
        let (rows, columns) = self.sums();
        let same: u64 = (0..self.labels.len()).map(|at| self.counts[at][at]).sum();
        let chance: u64 = rows.iter().zip(&columns).map(|(a, b)| a * b).sum();
        (total > 0.0).then(|| (same as f64 / total, chance as f64 / (total * total)))
    }

    /// 1 − Σ w·observed / Σ w·expected.
    fn weighted(&self, weight: impl Fn(usize, usize) -> f64) -> Option<f64> {
        let (rows, columns) = self.sums();
        let total = self.total() as f64;
        let (mut observed, mut expected) = (0.0, 0.0);
        for (i, row) in self.counts.iter().enumerate() {
            for (j, &count) in row.iter().enumerate() {
                observed += weight(i, j) * count as f64;
                expected += weight(i, j) * rows[i] as f64 * columns[j] as f64 / total;
            }
        }
        (expected > 0.0).then(|| 1.0 - observed / expected)
    }
}

/// (A_o − A_e) / (1 − A_e).
fn beyond_chance((observed, expected): (f64, f64)) -> Option<f64> {
    // Shares of whole numbers: below 1, chance is below by more than rounding errors.
    (expected < 1.0 - 1e-12).then(|| (observed - expected) / (1.0 - expected))
}

impl Ratings {
    /// No items yet.
    #[must_use]
    pub fn new(coders: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            coders: coders.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds an item with a label of each coder, in their order; `None` where there is none.
    /// Labels beyond the last coder are dropped, those that lack are `None`.
    pub fn push<L: Into<RatingCategory>>(
        &mut self,
        item: impl Into<String>,
        labels: impl IntoIterator<Item = Option<L>>,
    ) {
        let mut row: Vec<Option<RatingCategory>> =
            labels.into_iter().map(|l| l.map(Into::into)).collect();
        row.resize(self.coders.len(), None);
        self.labels.extend(row.iter().flatten().cloned());
        self.items.push((item.into(), row));
    }

    /// The judgments of several assessors on the same queries: an item is a query and a document
    /// that at least one of them judged. A negative grade is no label.
    #[must_use]
    pub fn from_qrels<'a>(assessors: impl IntoIterator<Item = (&'a str, &'a Qrels)>) -> Self {
        let (names, qrels): (Vec<&str>, Vec<&Qrels>) = assessors.into_iter().unzip();
        let mut all: BTreeMap<(&str, &str), Vec<Option<i64>>> = BTreeMap::new();
        for (number, qrels) in qrels.iter().enumerate() {
            for (query, judged) in qrels.iter() {
                for (doc, grade) in judged.iter().filter(|judged| judged.1 >= 0) {
                    let empty = || vec![None; names.len()];
                    all.entry((query, doc)).or_insert_with(empty)[number] = Some(grade);
                }
            }
        }
        let mut ratings = Self::new(names);
        for ((query, doc), grades) in all {
            ratings.push(format!("{query} {doc}"), grades);
        }
        ratings
    }

    /// The coders.
    #[must_use]
    pub fn coders(&self) -> &[String] {
        &self.coders
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The labels that occur: numbers in their order, then texts by their bytes.
    pub fn categories(&self) -> impl ExactSizeIterator<Item = &RatingCategory> {
        self.labels.iter()
    }

    /// The items that every coder labelled.
    #[must_use]
    pub fn complete_items(&self) -> usize {
        self.complete_rows().count()
    }

    fn complete_rows(&self) -> impl Iterator<Item = Vec<&RatingCategory>> {
        let rows = self.items.iter();
        rows.filter_map(|(_, row)| row.iter().map(Option::as_ref).collect())
    }

    /// All pairs of coders.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let coders = self.coders.len();
        (0..coders).flat_map(move |a| (a + 1..coders).map(move |b| (a, b)))
    }

    /// The labels of two coders, by their numbers, against each other, over the items that both
    /// labelled.
    ///
    /// # Panics
    /// When there is no such coder.
    #[must_use]
    pub fn confusion(&self, first: usize, second: usize) -> ConfusionMatrix {
        let labels: Vec<RatingCategory> = self.labels.iter().cloned().collect();
        let mut counts = vec![vec![0; labels.len()]; labels.len()];
        for (_, row) in &self.items {
            if let (Some(a), Some(b)) = (&row[first], &row[second])
                && let (Ok(a), Ok(b)) = (labels.binary_search(a), labels.binary_search(b))
            {
                counts[a][b] += 1;
            }
        }
        ConfusionMatrix { labels, counts }
    }

    fn over_pairs<T>(&self, of: impl Fn(&ConfusionMatrix) -> Option<T>) -> Option<Vec<T>> {
        let pairs = self.pairs();
        let values: Option<Vec<T>> = pairs.map(|(a, b)| of(&self.confusion(a, b))).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The share of items on which two coders agree, over the items that both labelled; the mean
    /// over all pairs of coders.
    #[must_use]
    pub fn observed_agreement(&self) -> Option<f64> {
        Some(mean(&self.over_pairs(|c| Some(c.agreement()?.0))?))
    }

    /// Cohen's kappa of two coders, by their numbers: chance agrees as often as two people do who
    /// keep their own shares of labels.
    ///
    /// # Panics
    /// When there is no such coder.
    ///
    /// # Source
    /// Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    /// Measurement 1960.
    #[must_use]
    pub fn cohen_kappa(&self, first: usize, second: usize) -> Option<f64> {
        beyond_chance(self.confusion(first, second).agreement()?)
    }

    /// The mean of Cohen's kappa over all pairs of coders.
    #[must_use]
    pub fn mean_cohen_kappa(&self) -> Option<f64> {
        let kappa = |confusion: &ConfusionMatrix| beyond_chance(confusion.agreement()?);
        Some(mean(&self.over_pairs(kappa)?))
    }

    /// Cohen's kappa with disagreements weighed by how far apart two labels are: numbers in their
    /// order, then texts by their bytes. The distance is that of positions, as in scikit-learn: of
    /// the labels 0, 1 and 4, the last two are neighbours.
    ///
    /// # Panics
    /// When there is no such coder.
    ///
    /// # Source
    /// Cohen, "Weighted kappa", Psychological Bulletin 1968.
    #[must_use]
    pub fn weighted_cohen_kappa(
        &self,
        first: usize,
        second: usize,
        weights: KappaWeights,
    ) -> Option<f64> {
        let weight = |i: usize, j: usize| {
            let distance = i.abs_diff(j) as f64;
            match weights {
                KappaWeights::Linear => distance,
                KappaWeights::Quadratic => distance * distance,
            }
        };
        self.confusion(first, second).weighted(weight)
    }

    /// Davies and Fleiss' kappa of any number of coders: observed and chance agreement are each
    /// averaged over the pairs of coders, and then combined. Of two coders it is Cohen's kappa.
    /// NLTK calls it `multi_kappa`.
    ///
    /// # Source
    /// Davies and Fleiss, "Measuring agreement for multinomial data", Biometrics 1982.
    #[must_use]
    pub fn davies_fleiss_kappa(&self) -> Option<f64> {
        let both = self.over_pairs(ConfusionMatrix::agreement)?;
        let (observed, expected): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        beyond_chance((mean(&observed), mean(&expected)))
    }

    /// Fleiss' kappa of any number of coders: chance draws labels from what all coders together
    /// used. Of two coders it is Scott's pi; NLTK calls it `pi`. Only items that every coder
    /// labelled count.
    ///
    /// # Source
    /// Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 1971.
    #[must_use]
    pub fn fleiss_kappa(&self) -> Option<f64> {
        let coders = self.coders.len();
        let mut pooled: BTreeMap<&RatingCategory, u64> = BTreeMap::new();
        let (mut agreeing, mut items) = (0, 0_u64);
        for row in self.complete_rows() {
            items += 1;
            let mut counts: BTreeMap<&RatingCategory, u64> = BTreeMap::new();
            row.iter()
                .for_each(|label| *counts.entry(label).or_default() += 1);
            for (label, count) in counts {
                agreeing += count * (count - 1);
                *pooled.entry(label).or_default() += count;
            }
        }
        let pairs = items as f64 * coders as f64 * (coders as f64 - 1.0);
        if pairs <= 0.0 {
            return None;
        }
        let all = (items * coders as u64) as f64;
        let expected: f64 = pooled.values().map(|&n| (n as f64 / all).powi(2)).sum();
        beyond_chance((agreeing as f64 / pairs, expected))
    }

    /// Krippendorff's alpha of any number of coders, any of whose labels may be missing. Items with
    /// fewer than two labels do not count.
    ///
    /// # Source
    /// Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    #[must_use]
    pub fn krippendorff_alpha(&self, level: MeasurementLevel) -> Option<f64> {
        let labels: Vec<&RatingCategory> = self.labels.iter().collect();
        let number = |label: &RatingCategory| labels.binary_search(&label).ok();
        // How often two labels stand together in an item, weighed so that each label counts once.
        let mut together = vec![vec![0.0; labels.len()]; labels.len()];
        for (_, row) in &self.items {
            let there: Vec<usize> = row.iter().flatten().filter_map(number).collect();
            for (i, &a) in there.iter().enumerate() {
                for (j, &b) in there.iter().enumerate() {
                    if i != j {
                        together[a][b] += 1.0 / (there.len() - 1) as f64;
                    }
                }
            }
        }
        let totals: Vec<f64> = together.iter().map(|row| row.iter().sum()).collect();
        let all: f64 = totals.iter().sum();
        let value = |at: usize| match labels[at] {
            RatingCategory::Number(number) => *number as f64,
            RatingCategory::Text(_) => at as f64,
        };
        let distance = |a: usize, b: usize| match level {
            MeasurementLevel::Nominal => f64::from(u8::from(a != b)),
            MeasurementLevel::Ordinal => {
                let (low, high) = (a.min(b), a.max(b));
                let between: f64 = totals[low..=high].iter().sum();
                (between - (totals[a] + totals[b]) / 2.0).powi(2)
            }
            MeasurementLevel::Interval => (value(a) - value(b)).powi(2),
        };
        let (mut observed, mut expected) = (0.0, 0.0);
        for a in 0..labels.len() {
            for b in 0..labels.len() {
                observed += together[a][b] * distance(a, b);
                expected += totals[a] * totals[b] * distance(a, b);
            }
        }
        (expected > 0.0).then(|| 1.0 - (all - 1.0) * observed / expected)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
