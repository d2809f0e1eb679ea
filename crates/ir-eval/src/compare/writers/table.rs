//! Tables of a comparison, before formatting.

use std::cmp::Ordering;

use crate::compare::significance::{Alternative, MultipleTestingCorrection, NullDistribution};
use crate::compare::{ComparedSystem, Comparison, HypothesisFamily, PairwiseTest};
use crate::measure::{Measure, Summary};
use crate::rules::MissingQueries;

/// Table with a title, a header and rows of equal length.
pub(crate) struct ComparisonTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<TableCell>>,
    /// Number of text columns at the left; the others are numeric.
    pub(crate) text_columns: usize,
}

/// Cell of a [`ComparisonTable`].
#[derive(Clone, Default)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    pub(crate) mark: SignificanceMark,
    /// If `true`, the cell has the highest score of its column.
    pub(crate) best: bool,
}

/// Significance mark of a score or difference.
#[derive(Clone, Default)]
pub(crate) enum SignificanceMark {
    #[default]
    None,
    /// Significantly higher than the baseline: †.
    Higher,
    /// Significantly lower than the baseline: ‡.
    Lower,
    /// Significantly higher than the systems with these letters.
    HigherThan(String),
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// Letter of a system in tables of all pairs: a to z, then aa, ab, ...
fn letter(mut at: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + (at % 26) as u8));
        if at < 26 {
            return letters.into_iter().rev().collect();
        }
        at = at / 26 - 1;
    }
}

impl Comparison {
    /// Returns the notes below every table: systems, queries, evaluation rules, test and legend.
    ///
    /// ```text
    /// systems: 3; baseline: bm25
    /// queries: 392; judged without results: dense 5 (count as 0)
    /// ...
    /// ```
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let systems = self.systems.len();
        let first = match self.baseline() {
            Some(baseline) => format!("systems: {systems}; baseline: {baseline}"),
            None => format!("systems: {systems}; all pairs compared"),
        };
        let interval = format!(
            "intervals: {}, confidence {}",
            self.config.interval,
            round(1.0 - self.config.level)
        );
        let mut notes = vec![first, self.query_counts(), self.rules.to_string()];
        notes.push(format!("{}; {interval}", self.config));
        let mut measures = self.measures.iter();
        if let Some(measure) = measures.find(|m| m.summary() == Summary::GeometricMean) {
            notes.push(format!(
                "{measure}: differences are those of the scores; their intervals, Cohen's d and p are \
                 those of the logarithms"
            ));
        }
        notes.extend(self.equal_differences());
        notes.push(match self.baseline() {
            Some(baseline) => self.dagger_legend(baseline),
            None => format!(
                "a letter: significantly higher than the system of that letter; {}",
                self.dagger_legend("the other one")
            ),
        });
        notes
    }

    /// Note on tests of equal differences, which have no standard deviation to divide by.
    fn equal_differences(&self) -> Option<String> {
        let tests = self.pairwise_tests.iter();
        let constant: Vec<&PairwiseTest> = tests.filter(|t| t.effect.cohens_d.is_none()).collect();
        let missing = match constant.first()?.result.p {
            None => "Cohen's d, t and p",
            Some(_) => "Cohen's d",
        };
        let pairs = constant.iter().map(|test| {
            let PairwiseTest {
                measure,
                system,
                against,
                ..
            } = test;
            format!("{measure} of {system} against {against}")
        });
        let pairs: Vec<String> = pairs.collect();
        Some(format!(
            "no {missing}, because all differences are equal up to rounding: {}",
            pairs.join(", ")
        ))
    }

    fn query_counts(&self) -> String {
        let positive = |count: fn(&ComparedSystem) -> usize| -> Option<String> {
            let systems = self.systems.iter().filter(|system| count(system) > 0);
            let counts = systems.map(|system| format!("{} {}", system.name, count(system)));
            let counts: Vec<String> = counts.collect();
            (!counts.is_empty()).then(|| counts.join(", "))
        };
        let mut text = format!("queries: {}", self.queries.len());
        if self.rules.missing == MissingQueries::Skip {
            text += " that all systems answered";
            if self.left_out > 0 {
                text += &format!(", {} left out that only some did", self.left_out);
            }
        }
        if let Some(missing) = positive(|system| system.missing) {
            text += &format!("; judged without results: {missing}");
            if self.rules.missing == MissingQueries::Zero {
                text += " (count as 0)";
            }
        }
        if let Some(unjudged) = positive(|system| system.unjudged) {
            text += &format!("; with results not judged: {unjudged}");
        }
        text
    }

    /// Legend of the daggers: `†, ‡: significantly higher, lower than bm25`.
    pub(super) fn dagger_legend(&self, other: &str) -> String {
        let marks = match self.config.alternative {
            Alternative::Greater => "†: significantly higher",
            Alternative::Less => "‡: significantly lower",
            Alternative::TwoSided => "†, ‡: significantly higher, lower",
        };
        format!("{marks} than {other}")
    }

    /// The tables of scores, of confidence intervals, and of differences.
    pub(crate) fn tables(&self) -> [ComparisonTable; 3] {
        [
            self.score_table(),
            self.interval_table(),
            self.difference_table(),
        ]
    }

    fn systems_by_measures(
        &self,
        title: &str,
        cell: impl Fn(usize, usize) -> TableCell,
    ) -> ComparisonTable {
        let lettered = self.baseline().is_none();
        let mut header = vec!["system".to_owned()];
        header.extend(self.measures.iter().map(Measure::to_string));
        let row = |system: usize| {
            let name = &self.systems[system].name;
            let name = if lettered {
                format!("{} {name}", letter(system))
            } else {
                name.clone()
            };
            let cells = (0..self.measures.len()).map(|measure| cell(system, measure));
            std::iter::once(name.into()).chain(cells).collect()
        };
        ComparisonTable {
            title: title.to_owned(),
            header,
            rows: (0..self.systems.len()).map(row).collect(),
            text_columns: 1,
        }
    }

    fn score_table(&self) -> ComparisonTable {
        self.systems_by_measures("Scores", |system, column| {
            let scores = self.systems.iter().map(|s| s.scores[column].value);
            let best = scores.fold(f64::NEG_INFINITY, f64::max);
            let score = &self.systems[system].scores[column];
            TableCell {
                text: format!("{:.*}", decimals(score.measure), score.value),
                mark: self.mark(system, score.measure),
                best: score.value == best,
            }
        })
    }

    fn interval_table(&self) -> ComparisonTable {
        let title = format!("Confidence intervals ({})", round(1.0 - self.config.level));
        self.systems_by_measures(&title, |system, column| {
            let score = &self.systems[system].scores[column];
            format!("{:.*}", decimals(score.measure), score.interval).into()
        })
    }

    fn mark(&self, system: usize, measure: Measure) -> SignificanceMark {
        let name = &self.systems[system].name;
        let verdict = |other: &str| self.verdict(name, other, measure);
        if let Some(baseline) = self.baseline() {
            return verdict(baseline).map_or(SignificanceMark::None, SignificanceMark::from);
        }
        let others = self.systems.iter().enumerate();
        let lower: Vec<String> = others
            .filter(|(_, other)| verdict(&other.name) == Some(Ordering::Greater))
            .map(|(at, _)| letter(at))
            .collect();
        if lower.is_empty() {
            return SignificanceMark::None;
        }
        let separator = if self.systems.len() > 26 { "," } else { "" };
        SignificanceMark::HigherThan(lower.join(separator))
    }

    fn difference_table(&self) -> ComparisonTable {
        let header = [
            "measure",
            "system",
            "against",
            "difference",
            "interval",
            "relative",
            "Cohen's d",
            "wins",
            "ties",
            "losses",
            "p",
            "adjusted p",
        ];
        let tests = self.pairwise_tests.iter();
        ComparisonTable {
            title: "Differences".to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: tests.map(|test| self.difference_row(test)).collect(),
            text_columns: 3,
        }
    }

    /// Factor of the smallest p value of a family in the correction.
    fn largest_factor(&self) -> f64 {
        match (self.config.correction, self.config.family) {
            (MultipleTestingCorrection::None, _) => 1.0,
            (_, HypothesisFamily::All) => self.pairwise_tests.len() as f64,
            (_, HypothesisFamily::Measure) => {
                (self.pairwise_tests.len() / self.measures.len().max(1)) as f64
            }
        }
    }

    fn difference_row(&self, test: &PairwiseTest) -> Vec<TableCell> {
        let (measure, effect) = (test.measure, &test.effect);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let relative = test.relative.map(|r| format!("{:+.1} %", 100.0 * r));
        let cohens_d = effect.cohens_d.map(|d| format!("{d:.2}"));
        // The resolution of p: 0 of 1,000 samples means p < 0.001.
        let resolution = match test.result.null_distribution {
            NullDistribution::MonteCarlo { samples } if test.result.p == Some(0.0) => {
                1.0 / f64::from(samples)
            }
            _ => 0.0,
        };
        vec![
            measure.to_string().into(),
            test.system.clone().into(),
            test.against.clone().into(),
            format!("{:+.*}", decimals(measure), test.difference).into(),
            format!("{:.*}", decimals(measure), test.interval).into(),
            or_dash(relative).into(),
            or_dash(cohens_d).into(),
            effect.wins.to_string().into(),
            effect.ties.to_string().into(),
            effect.losses.to_string().into(),
            or_dash(test.result.p.map(|p| format_p(p, resolution))).into(),
            TableCell {
                text: or_dash(
                    test.adjusted_p
                        .map(|p| format_p(p, resolution * self.largest_factor())),
                ),
                mark: self.direction(test).into(),
                best: false,
            },
        ]
    }
}

impl From<Ordering> for SignificanceMark {
    fn from(direction: Ordering) -> Self {
        match direction {
            Ordering::Greater => Self::Higher,
            Ordering::Less => Self::Lower,
            Ordering::Equal => Self::None,
        }
    }
}

/// Number of decimals: counts are integers, other values have four.
fn decimals(measure: Measure) -> usize {
    if measure.is_count() { 0 } else { 4 }
}

/// A p value with four decimals, or `<` and its resolution.
fn format_p(p: f64, resolution: f64) -> String {
    let resolution = resolution.max(0.0001);
    if p < resolution {
        format!("<{}", round(resolution))
    } else {
        format!("{p:.4}")
    }
}

/// Removes rounding errors of subtraction.
fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_continue_after_z() {
        let letters: Vec<String> = [0, 25, 26, 51, 52, 701, 702].map(letter).to_vec();
        assert_eq!(letters, ["a", "z", "aa", "az", "ba", "zz", "aaa"]);
    }

    #[test]
    fn small_p_values_are_not_zero() {
        assert_eq!(format_p(0.0, 0.0), "<0.0001");
        assert_eq!(format_p(0.00012, 0.0), "0.0001");
        assert_eq!(format_p(1.0, 0.0), "1.0000");
        // A thousand samples, three tests.
        assert_eq!(format_p(0.0, 0.001), "<0.001");
        assert_eq!(format_p(0.001, 0.001), "0.0010");
        assert_eq!(format_p(0.0, 0.001 * 3.0), "<0.003");
    }
}
