//! Inter-assessor agreement: kappa and alpha coefficients.

use std::collections::{BTreeMap, TryReserveError};
use std::fmt;

use ir_core::Qrels;
use serde::{Deserialize, Serialize};

use crate::statistics::mean;

/// Categories that coders (assessors, annotators) assigned to items, and the coefficients of their
/// agreement.
///
/// A coefficient is `None` where it is undefined: if no item has two ratings, or all ratings are of
/// one category, so that chance agreement is 1. Other tools return NaN, 1 or an error there.
///
/// ```
/// use ir_eval::assess::Ratings;
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
    /// Categories with their codes, in ascending order: numbers, then texts in byte order. Codes
    /// are numbers from 1 in order of occurrence.
    categories: Vec<(RatingCategory, u32)>,
    /// Names of the items, joined, and the end of each.
    names: String,
    ends: Vec<usize>,
    /// Code of each rating, [`MISSING`] without one, item by item.
    codes: Vec<u32>,
}

/// Code of a missing rating.
const MISSING: u32 = 0;

/// Category of a rating. Numbers have an order and distances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RatingCategory {
    /// Integer, such as a relevance grade.
    Number(i64),
    /// Category that is not an integer.
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

/// Weights of disagreements in weighted kappa, by the ranks i and j of two categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KappaWeights {
    /// Linear weights: |i − j|.
    Linear,
    /// Quadratic weights: (i − j)².
    Quadratic,
}

/// Level of measurement of the categories, for [`Ratings::krippendorff_alpha`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementLevel {
    /// Nominal: categories are equal or different. The default.
    #[default]
    Nominal,
    /// Ordinal: the difference of two categories is the squared number of ratings between them.
    Ordinal,
    /// Interval: squared difference of the numbers. Texts count by their position.
    Interval,
}

/// Confusion matrix of two coders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfusionMatrix {
    /// Categories of rows and columns.
    pub categories: Vec<RatingCategory>,
    /// Number of items by category of the first coder (rows) and of the second (columns).
    pub counts: Vec<Vec<u64>>,
}

impl ConfusionMatrix {
    /// Row sums and column sums.
    fn marginals(&self) -> (Vec<u64>, Vec<u64>) {
        let rows = self.counts.iter().map(|row| row.iter().sum()).collect();
        let column = |at: usize| self.counts.iter().map(|row| row[at]).sum();
        (rows, (0..self.categories.len()).map(column).collect())
    }

    /// Observed agreement and agreement expected by chance.
    fn agreement(&self) -> Option<(f64, f64)> {
        let (rows, columns) = self.marginals();
        let total = rows.iter().sum::<u64>() as f64;
        let same: u64 = (0..self.categories.len())
            .map(|at| self.counts[at][at])
            .sum();
        let chance: u64 = rows.iter().zip(&columns).map(|(a, b)| a * b).sum();
        (total > 0.0).then(|| (same as f64 / total, chance as f64 / (total * total)))
    }

    /// Weighted kappa: 1 − Σ w·observed / Σ w·expected.
    fn weighted(&self, weight: impl Fn(usize, usize) -> f64) -> Option<f64> {
        let (rows, columns) = self.marginals();
        let total = rows.iter().sum::<u64>() as f64;
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

/// Chance-corrected agreement: (A_o − A_e) / (1 − A_e).
fn chance_corrected((observed, expected): (f64, f64)) -> Option<f64> {
    // A ratio of integers below 1 is below 1 by more than the rounding error.
    (expected < 1.0 - 1e-12).then(|| (observed - expected) / (1.0 - expected))
}

impl Ratings {
    /// Creates ratings without items.
    #[must_use]
    pub fn new(coders: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            coders: coders.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds an item with the category of each coder, in coder order; `None` is a missing rating.
    /// Surplus ratings are dropped, absent ones are missing.
    pub fn push<L: Into<RatingCategory>>(
        &mut self,
        item: impl AsRef<str>,
        categories: impl IntoIterator<Item = Option<L>>,
    ) {
        let mut categories = categories.into_iter();
        for _ in 0..self.coders.len() {
            let code = match categories.next().flatten() {
                Some(category) => self.code(category.into()),
                None => MISSING,
            };
            self.codes.push(code);
        }
        self.names.push_str(item.as_ref());
        self.ends.push(self.names.len());
    }

    /// Adds an item as [`Ratings::push`] does, with an error instead of an abort if it does not fit
    /// into memory.
    ///
    /// # Errors
    /// Memory is exhausted. The item is not added.
    pub fn try_push<L: Into<RatingCategory>>(
        &mut self,
        item: impl AsRef<str>,
        categories: impl IntoIterator<Item = Option<L>>,
    ) -> Result<(), TryReserveError> {
        self.names.try_reserve(item.as_ref().len())?;
        self.ends.try_reserve(1)?;
        self.codes.try_reserve(self.coders.len())?;
        self.push(item, categories);
        Ok(())
    }

    /// Returns the code of a category; a new one gets the next code.
    fn code(&mut self, category: RatingCategory) -> u32 {
        let found = self
            .categories
            .binary_search_by(|(known, _)| known.cmp(&category));
        match found {
            Ok(at) => self.categories[at].1,
            Err(at) => {
                let code = self.categories.len() as u32 + 1;
                self.categories.insert(at, (category, code));
                code
            }
        }
    }

    /// Collects the judgments of several assessors. Items are the pairs of query and document that
    /// at least one assessor judged; negative grades are missing ratings.
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

    /// Names of the coders.
    #[must_use]
    pub fn coders(&self) -> &[String] {
        &self.coders
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the name of an item, by index.
    #[must_use]
    pub fn item(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.names[start..end])
    }

    /// Categories that occur: numbers in numeric order, then texts in byte order.
    pub fn categories(&self) -> impl ExactSizeIterator<Item = &RatingCategory> {
        self.categories.iter().map(|(category, _)| category)
    }

    /// Codes of the ratings of each item.
    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.codes.chunks_exact(self.coders.len().max(1))
    }

    fn complete_rows(&self) -> impl Iterator<Item = &[u32]> {
        self.rows().filter(|row| !row.contains(&MISSING))
    }

    /// Rank of each code in the order of the categories.
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.categories.len() + 1];
        for (rank, (_, code)) in self.categories.iter().enumerate() {
            ranks[*code as usize] = rank;
        }
        ranks
    }

    /// Number of items that every coder rated.
    #[must_use]
    pub fn complete_items(&self) -> usize {
        self.complete_rows().count()
    }

    /// All pairs of coders, by index.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let coders = self.coders.len();
        (0..coders).flat_map(move |a| (a + 1..coders).map(move |b| (a, b)))
    }

    /// Confusion matrix of two coders, by index, over the items that both rated.
    ///
    /// # Panics
    /// When a coder index is out of range.
    #[must_use]
    pub fn confusion(&self, first: usize, second: usize) -> ConfusionMatrix {
        let categories: Vec<RatingCategory> = self.categories().cloned().collect();
        let ranks = self.ranks();
        let mut counts = vec![vec![0; categories.len()]; categories.len()];
        for row in self.rows() {
            let (a, b) = (row[first], row[second]);
            if a != MISSING && b != MISSING {
                counts[ranks[a as usize]][ranks[b as usize]] += 1;
            }
        }
        ConfusionMatrix { categories, counts }
    }

    fn over_pairs<T>(&self, statistic: impl Fn(&ConfusionMatrix) -> Option<T>) -> Option<Vec<T>> {
        let pairs = self.pairs();
        let values: Option<Vec<T>> = pairs
            .map(|(a, b)| statistic(&self.confusion(a, b)))
            .collect();
        values.filter(|values| !values.is_empty())
    }

    /// Observed agreement: the fraction of items on which two coders agree, over the items that
    /// both rated; the mean over all pairs of coders.
    #[must_use]
    pub fn observed_agreement(&self) -> Option<f64> {
        Some(mean(&self.over_pairs(|c| Some(c.agreement()?.0))?))
    }

    /// Cohen's kappa of two coders, by index. Chance agreement is computed from the category
    /// distribution of each coder.
    ///
    /// # Panics
    /// When a coder index is out of range.
    ///
    /// # Source
    /// Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    /// Measurement 1960.
    #[must_use]
    pub fn cohen_kappa(&self, first: usize, second: usize) -> Option<f64> {
        chance_corrected(self.confusion(first, second).agreement()?)
    }

    /// Mean of Cohen's kappa over all pairs of coders.
    #[must_use]
    pub fn mean_cohen_kappa(&self) -> Option<f64> {
        let kappa = |confusion: &ConfusionMatrix| chance_corrected(confusion.agreement()?);
        Some(mean(&self.over_pairs(kappa)?))
    }

    /// Weighted Cohen's kappa of two coders. Weights depend on the distance of two categories in
    /// their order: numbers first, then texts in byte order. As in scikit-learn, the distance is
    /// the difference of ranks: of the categories 0, 1 and 4, the last two are neighbors.
    ///
    /// # Panics
    /// When a coder index is out of range.
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

    /// Davies and Fleiss' kappa of any number of coders: chance-corrected agreement from the means
    /// of observed and chance agreement over all pairs of coders. Equal to Cohen's kappa for two
    /// coders. `multi_kappa` in NLTK.
    ///
    /// # Source
    /// Davies and Fleiss, "Measuring agreement for multinomial data", Biometrics 1982.
    #[must_use]
    pub fn davies_fleiss_kappa(&self) -> Option<f64> {
        let both = self.over_pairs(ConfusionMatrix::agreement)?;
        let (observed, expected): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        chance_corrected((mean(&observed), mean(&expected)))
    }

    /// Fleiss' kappa of any number of coders. Chance agreement is computed from the pooled category
    /// distribution of all coders. Only items that every coder rated count. Equal to Scott's pi for
    /// two coders; `pi` in NLTK.
    ///
    /// # Source
    /// Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 1971.
    #[must_use]
    pub fn fleiss_kappa(&self) -> Option<f64> {
        let coders = self.coders.len();
        // Number of ratings by code: of all items, and of one.
        let mut pooled = vec![0_u64; self.categories.len() + 1];
        let mut counts = pooled.clone();
        let (mut agreeing, mut items) = (0, 0_u64);
        for row in self.complete_rows() {
            items += 1;
            for &code in row {
                agreeing += 2 * counts[code as usize];
                counts[code as usize] += 1;
                pooled[code as usize] += 1;
            }
            row.iter().for_each(|&code| counts[code as usize] = 0);
        }
        let pairs = items as f64 * coders as f64 * (coders as f64 - 1.0);
        if pairs <= 0.0 {
            return None;
        }
        let all = (items * coders as u64) as f64;
        let ascending = self
            .categories
            .iter()
            .map(|(_, code)| pooled[*code as usize]);
        let expected: f64 = ascending.map(|n| (n as f64 / all).powi(2)).sum();
        chance_corrected((agreeing as f64 / pairs, expected))
    }

    /// Krippendorff's alpha of any number of coders, with missing ratings. Items with fewer than
    /// two ratings are ignored.
    ///
    /// # Source
    /// Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    #[must_use]
    pub fn krippendorff_alpha(&self, level: MeasurementLevel) -> Option<f64> {
        let categories: Vec<&RatingCategory> = self.categories().collect();
        let ranks = self.ranks();
        // Coincidence matrix: pairs of ratings within an item, weighted so that each rating counts
        // once.
        let mut coincidences = vec![vec![0.0; categories.len()]; categories.len()];
        let mut present = Vec::new();
        for row in self.rows() {
            let rated = row.iter().filter(|&&code| code != MISSING);
            present.clear();
            present.extend(rated.map(|&code| ranks[code as usize]));
            for (i, &a) in present.iter().enumerate() {
                for (j, &b) in present.iter().enumerate() {
                    if i != j {
                        coincidences[a][b] += 1.0 / (present.len() - 1) as f64;
                    }
                }
            }
        }
        let totals: Vec<f64> = coincidences.iter().map(|row| row.iter().sum()).collect();
        let all: f64 = totals.iter().sum();
        let value = |at: usize| match categories[at] {
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
        for a in 0..categories.len() {
            for b in 0..categories.len() {
                observed += coincidences[a][b] * distance(a, b);
                expected += totals[a] * totals[b] * distance(a, b);
            }
        }
        (expected > 0.0).then(|| 1.0 - (all - 1.0) * observed / expected)
    }
}
