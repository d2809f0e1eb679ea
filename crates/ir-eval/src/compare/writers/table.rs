//! The tables of a comparison, before they are set in any format.

use std::cmp::Ordering;

use crate::significance::{
    Alternative, ConfidenceInterval, MultipleTestingCorrection, NullDistribution,
};
use crate::{Comparison, HypothesisFamily, Measure, Missing, PairwiseTest, Summary};

/// One table.
pub(crate) struct Sheet {
    /// What it shows.
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// How many columns, from the left, hold words; the others hold numbers.
    pub(crate) words: usize,
}

/// One cell of a table.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// What is significant about it.
    pub(crate) mark: Mark,
    /// Whether it is the highest figure of its column.
    pub(crate) best: bool,
}

/// A mark of significance.
#[derive(Clone, Default)]
pub(crate) enum Mark {
    #[default]
    None,
    /// Significantly better than the baseline: a dagger.
    Better,
    /// Significantly worse than the baseline: a double dagger.
    Worse,
    /// Significantly better than the systems with these letters.
    Beats(String),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// The letter of a system in tables of all pairs: a to z, then aa, ab, ...
pub(crate) fn letter(mut at: usize) -> String {
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
    /// What every table says below it: who was compared, on what, by which rules and which test.
    ///
    /// ```text
    /// systems: 3; baseline: bm25
    /// queries: 392; without results: dense 5 (they count as 0)
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
        let mut notes = vec![first, self.counts(), self.rules.to_string()];
        notes.push(format!("{}; {interval}", self.config));
        let mut geometric = self.measures.iter();
        if let Some(measure) = geometric.find(|m| m.summary() == Summary::GeometricMean) {
            notes.push(format!(
                "{measure}: differences are those of the scores; their intervals, Cohen's d and p are \
                 those of the logarithms"
            ));
        }
        notes.extend(self.key());
        notes
    }

    /// How many queries count, and which systems did not answer some.
    fn counts(&self) -> String {
        let of = |what: fn(&crate::ComparedSystem) -> usize| -> Vec<String> {
            let some = self.systems.iter().filter(|system| what(system) > 0);
            some.map(|system| format!("{} {}", system.name, what(system)))
                .collect()
        };
        let mut text = format!("queries: {}", self.queries.len());
        if self.rules.missing == Missing::Skip {
            text += " that all systems answered";
            if self.left_out > 0 {
                text += &format!(", {} left out that only some did", self.left_out);
            }
        }
        let missing = of(|system| system.missing);
        if !missing.is_empty() {
            text += &format!("; judged without results: {}", missing.join(", "));
            if self.rules.missing == Missing::Zero {
                text += " (count as 0)";
            }
        }
        let unjudged = of(|system| system.unjudged);
        if !unjudged.is_empty() {
            text += &format!("; with results not judged: {}", unjudged.join(", "));
        }
        text
    }

    /// What the marks mean.
    fn key(&self) -> Option<String> {
        let Some(baseline) = self.baseline() else {
            let letter = "a letter: significantly higher than the system of that letter";
            let dagger = match self.config.alternative {
                Alternative::Greater => "†: significantly higher than the other one",
                Alternative::Less => "‡: significantly lower than the other one",
                Alternative::TwoSided => "†, ‡: significantly higher, lower than the other one",
            };
            return Some(format!("{letter}; {dagger}"));
        };
        Some(match self.config.alternative {
            Alternative::Greater => format!("†: significantly higher than {baseline}"),
            Alternative::Less => format!("‡: significantly lower than {baseline}"),
            Alternative::TwoSided => {
                format!("†, ‡: significantly higher, lower than {baseline}")
            }
        })
    }

    /// The tables: figures, their confidence intervals, contrasts.
    pub(crate) fn sheets(&self) -> [Sheet; 3] {
        [self.scores(), self.intervals(), self.differences()]
    }

    /// Systems by measures.
    fn by_measure(&self, title: &str, cell: impl Fn(usize, usize) -> Cell) -> Sheet {
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
            let scores = (0..self.measures.len()).map(|measure| cell(system, measure));
            std::iter::once(Cell::from(name)).chain(scores).collect()
        };
        Sheet {
            title: title.to_owned(),
            header,
            rows: (0..self.systems.len()).map(row).collect(),
            words: 1,
        }
    }

    fn scores(&self) -> Sheet {
        self.by_measure("Scores", |system, at| {
            let best = self.systems.iter().map(|s| s.scores[at].value);
            let best = best.fold(f64::NEG_INFINITY, f64::max);
            let score = &self.systems[system].scores[at];
            Cell {
                text: value(score.value, score.measure),
                mark: self.mark(system, score.measure),
                best: score.value == best,
            }
        })
    }

    fn intervals(&self) -> Sheet {
        let title = format!("Confidence intervals ({})", round(1.0 - self.config.level));
        self.by_measure(&title, |system, at| {
            let score = &self.systems[system].scores[at];
            Cell::from(interval(score.interval, score.measure))
        })
    }

    fn mark(&self, system: usize, measure: Measure) -> Mark {
        let name = &self.systems[system].name;
        let verdict = |other: &str| self.verdict(name, other, measure);
        if let Some(baseline) = self.baseline() {
            return match verdict(baseline) {
                Some(Ordering::Greater) => Mark::Better,
                Some(Ordering::Less) => Mark::Worse,
                _ => Mark::None,
            };
        }
        let others = self.systems.iter().enumerate();
        let beaten: Vec<String> = others
            .filter(|(_, other)| verdict(&other.name) == Some(Ordering::Greater))
            .map(|(at, _)| letter(at))
            .collect();
        if beaten.is_empty() {
            return Mark::None;
        }
        let apart = if self.systems.len() > 26 { "," } else { "" };
        Mark::Beats(beaten.join(apart))
    }

    /// A line for each test.
    fn differences(&self) -> Sheet {
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
        Sheet {
            title: "Differences".to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: self.pairwise_tests.iter().map(|c| self.line(c)).collect(),
            words: 3,
        }
    }

    /// What the smallest p of a family is multiplied with.
    fn times(&self) -> f64 {
        match (self.config.correction, self.config.family) {
            (MultipleTestingCorrection::None, _) => 1.0,
            (_, HypothesisFamily::All) => self.pairwise_tests.len() as f64,
            (_, HypothesisFamily::Measure) => {
                (self.pairwise_tests.len() / self.measures.len().max(1)) as f64
            }
        }
    }

    fn line(&self, pairwise: &PairwiseTest) -> Vec<Cell> {
        let measure = pairwise.measure;
        let relative = pairwise
            .relative
            .map_or_else(|| "-".to_owned(), |r| format!("{:+.1} %", 100.0 * r));
        let cohens_d = pairwise
            .effect
            .cohens_d
            .map_or_else(|| "-".to_owned(), |d| format!("{d:.2}"));
        // None of a thousand samples shows a p below 0.001, not a p of 0.
        let least = match pairwise.result.null_distribution {
            NullDistribution::MonteCarlo { samples } if pairwise.result.p == 0.0 => {
                1.0 / f64::from(samples)
            }
            _ => 0.0,
        };
        let mark = match self.shown(pairwise) {
            Ordering::Greater => Mark::Better,
            Ordering::Less => Mark::Worse,
            Ordering::Equal => Mark::None,
        };
        vec![
            measure.to_string().into(),
            pairwise.system.as_str().into(),
            pairwise.against.as_str().into(),
            signed(pairwise.difference, measure).into(),
            interval(pairwise.interval, measure).into(),
            relative.into(),
            cohens_d.into(),
            pairwise.effect.wins.to_string().into(),
            pairwise.effect.ties.to_string().into(),
            pairwise.effect.losses.to_string().into(),
            p(pairwise.result.p, least).into(),
            Cell {
                text: p(pairwise.adjusted_p, least * self.times()),
                mark,
                best: false,
            },
        ]
    }
}

/// Counts as whole numbers, all else with four decimals.
fn value(value: f64, measure: Measure) -> String {
    match measure.is_count() {
        true => format!("{value:.0}"),
        false => format!("{value:.4}"),
    }
}

fn signed(value: f64, measure: Measure) -> String {
    match measure.is_count() {
        true => format!("{value:+.0}"),
        false => format!("{value:+.4}"),
    }
}

fn interval(interval: ConfidenceInterval, measure: Measure) -> String {
    match measure.is_count() {
        true => format!("{interval:.0}"),
        false => format!("{interval:.4}"),
    }
}

/// A p value with four decimals, or how small it is: below `least`, too, it is not known better.
pub(crate) fn p(p: f64, least: f64) -> String {
    let least = least.max(0.0001);
    if p < least {
        format!("<{}", round(least))
    } else {
        format!("{p:.4}")
    }
}

/// A share without the dust of subtraction.
fn round(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        let letters: Vec<String> = [0, 25, 26, 51, 52, 701, 702].map(letter).to_vec();
        assert_eq!(letters, ["a", "z", "aa", "az", "ba", "zz", "aaa"]);
    }

    #[test]
    fn small_p_values_are_not_zero() {
        assert_eq!(p(0.0, 0.0), "<0.0001");
        assert_eq!(p(0.00012, 0.0), "0.0001");
        assert_eq!(p(1.0, 0.0), "1.0000");
        // A thousand samples, three tests.
        assert_eq!(p(0.0, 0.001), "<0.001");
        assert_eq!(p(0.001, 0.001), "0.0010");
        assert_eq!(p(0.0, 0.001 * 3.0), "<0.003");
    }
}
