//! Measures of the ranks of relevant documents.

use std::fmt;

use super::definition::{
    CUTOFFS, Definition, MeasureInput, Properties, TrecNames, TrecSyntax, ratio,
};
use super::parameters::{MeasureText, Parameters, ParseMeasureError, braced};
use crate::decimal::Decimal;
use crate::judged::sum;
use crate::rules::TrecEvalVersion;

/// Reciprocal rank: 1 / rank of the first relevant document, 0 without one. Range: 0 to 1.
///
/// `RR`, `RR@10`; trec_eval's `recip_rank`.
///
/// Voorhees, "The TREC-8 question answering track report", TREC 1999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReciprocalRank;

impl Definition for ReciprocalRank {
    const PROPERTIES: Properties = Properties::new(&["RR", "MRR", "mrr"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("recip_rank", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        match input.relevant_ranks().ranks.first() {
            Some(&rank) if rank <= input.depth() => 1.0 / rank as f64,
            _ => 0.0,
        }
    }
}

/// Average precision: (1/R) · Σ rel(i) · hits(i) / i. Range: 0 to 1.
///
/// `AP`, `AP@100`; trec_eval's `map`, `map_cut_100`.
///
/// Buckley and Voorhees, "Retrieval system evaluation", in *TREC: Experiment and Evaluation in
/// Information Retrieval*, MIT Press 2005.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AveragePrecision;

impl Definition for AveragePrecision {
    const PROPERTIES: Properties = Properties::new(&["AP", "MAP", "map"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[
        ("map", TrecSyntax::Plain(Self)),
        ("map_cut", TrecSyntax::Cutoffs(Self, CUTOFFS)),
    ];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let precisions = input.relevant_ranks().precision_sum(input.found());
        ratio(precisions, input.relevant() as f64)
    }
}

/// [`AveragePrecision`], aggregated over queries by the geometric mean.
///
/// `GMAP`; trec_eval's `gm_map`.
///
/// Robertson, "On GMAP: and other transformations", CIKM 2006.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GeometricAveragePrecision;

impl Definition for GeometricAveragePrecision {
    const PROPERTIES: Properties = Properties::new(&["GMAP"]).geometric();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("gm_map", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        AveragePrecision.value(input)
    }
}

/// R-precision: precision in the first ⌊mR + 0.9⌋ documents. Range: 0 to 1.
///
/// `Rprec`, `Rprec(mult=0.5)`; trec_eval's `Rprec`, `Rprec_mult_0.50`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RPrecision {
    /// Multiple m of R. Range: ≥ 0. Default: 1.
    pub multiple: Decimal,
}

impl Definition for RPrecision {
    const PROPERTIES: Properties = Properties::new(&["Rprec", "RPrec", "r-precision"]);
    const DEFAULT: Self = Self {
        multiple: Decimal::ONE,
    };
    const TREC_NAMES: TrecNames<Self> = &[
        ("Rprec", TrecSyntax::Plain(Self::DEFAULT)),
        (
            "Rprec_mult",
            TrecSyntax::Fractions(
                |multiple| {
                    let range = Decimal::ZERO..=Decimal::new(1_000_000, 0);
                    range.contains(&multiple).then_some(Self { multiple })
                },
                (2, 20, 2),
            ),
        ),
    ];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let multiple = parameters.non_negative("mult", Self::DEFAULT.multiple)?;
        Ok(Self { multiple })
    }

    fn write(&self, text: &mut MeasureText) {
        text.unless_default("mult", self.multiple, Self::DEFAULT.multiple);
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(format!("{:.2}", self.multiple.to_f64()))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let depth = self.multiple.to_f64() * input.relevant() as f64 + 0.9;
        let found = input
            .relevant_ranks()
            .within((depth as usize).min(input.depth()));
        ratio(found as f64, depth.trunc())
    }
}

/// Binary preference: (1/R) · Σ over retrieved relevant documents of 1 − min(m, R) / min(N, R),
/// with m judged non-relevant documents ranked above it and N in the qrels. Range: 0 to 1.
///
/// `Bpref`; trec_eval's `bpref`.
///
/// Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bpref;

impl Definition for Bpref {
    const PROPERTIES: Properties = Properties::new(&["Bpref", "BPref"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("bpref", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let relevant = input.relevant();
        let bound = input.query.judged_below(input.level).min(relevant) as f64;
        let (mut above, mut sum) = (0_u64, 0.0);
        for &state in input.states() {
            if state >= input.level {
                sum += match above {
                    0 => 1.0,
                    _ => 1.0 - above.min(relevant) as f64 / bound,
                };
            } else if state >= 0 {
                above += 1;
            }
        }
        ratio(sum, relevant as f64)
    }
}

/// [`Bpref`], aggregated over queries by the geometric mean.
///
/// `GMBpref`; trec_eval's `gm_bpref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GeometricBpref;

impl Definition for GeometricBpref {
    const PROPERTIES: Properties = Properties::new(&["GMBpref"]).geometric();
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("gm_bpref", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        Bpref.value(input)
    }
}

/// Interpolated precision: the highest precision at or below the rank where the recall is reached.
/// Range: 0 to 1.
///
/// `IPrec@0.1`; trec_eval's `iprec_at_recall_0.10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterpolatedPrecision {
    /// Recall at which precision is interpolated. Range: 0 to 1.
    pub recall: Decimal,
}

impl Definition for InterpolatedPrecision {
    const PROPERTIES: Properties = Properties::new(&["IPrec"]).without_cutoff();
    const DEFAULT: Self = Self {
        recall: Decimal::ZERO,
    };
    const TREC_NAMES: TrecNames<Self> = &[(
        "iprec_at_recall",
        TrecSyntax::Fractions(
            |recall| recall.is_fraction().then_some(Self { recall }),
            (0, 10, 1),
        ),
    )];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        let at = parameters
            .at
            .take()
            .ok_or_else(|| parameters.missing_cutoff("IPrec@0.1"))?;
        let recall = at
            .parse()
            .ok()
            .filter(|recall: &Decimal| recall.is_fraction());
        let recall = recall.ok_or_else(|| parameters.invalid("a recall between 0 and 1", at))?;
        Ok(Self { recall })
    }

    fn write(&self, text: &mut MeasureText) {
        text.at(self.recall);
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(format!("{:.2}", self.recall.to_f64()))
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let needed = needed(self.recall, input);
        let found = input.found();
        if needed > found {
            return 0.0;
        }
        let first = needed.max(1);
        let ranks = input
            .relevant_ranks()
            .ranks
            .iter()
            .take(found)
            .skip(first - 1);
        (first..)
            .zip(ranks)
            .map(|(hits, &rank): (usize, _)| hits as f64 / rank as f64)
            .fold(0.0, f64::max)
    }

    fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
        needed(self.recall, input) == 0
    }
}

/// Number of relevant documents at which a recall is reached.
fn needed(recall: Decimal, input: &MeasureInput<'_>) -> usize {
    let exact = recall.to_f64() * input.relevant() as f64;
    match input.rules.trec_eval_version {
        TrecEvalVersion::V9 => (exact + 0.9) as usize,
        TrecEvalVersion::V10 => exact.round() as usize,
    }
}

/// Mean of [`InterpolatedPrecision`] over recall points. Range: 0 to 1.
///
/// `IPrecAvg`; trec_eval's `11pt_avg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeanInterpolatedPrecision {
    /// Recall points. Default: [`RecallPoints::ELEVEN`].
    pub points: RecallPoints,
}

impl MeanInterpolatedPrecision {
    fn each(&self) -> impl DoubleEndedIterator<Item = InterpolatedPrecision> + '_ {
        let points = self.points.as_slice().iter();
        points.map(|&recall| InterpolatedPrecision { recall })
    }
}

impl Definition for MeanInterpolatedPrecision {
    const PROPERTIES: Properties = Properties::new(&["IPrecAvg"]).without_cutoff();
    const DEFAULT: Self = Self {
        points: RecallPoints::ELEVEN,
    };
    const TREC_NAMES: TrecNames<Self> = &[(
        "11pt_avg",
        TrecSyntax::Numbers(
            |numbers| {
                Some(Self {
                    points: RecallPoints::new(numbers)?,
                })
            },
            "up to eleven recalls between 0 and 1",
        ),
    )];

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
        const EXPECTED: &str = "up to eleven recalls between 0 and 1, as in {0.25,0.5,0.75}";
        let Some(list) = parameters.take("points") else {
            return Ok(Self::DEFAULT);
        };
        let read = || {
            let numbers = braced(list)?.split(',').map(|number| number.trim().parse());
            RecallPoints::new(&numbers.collect::<Result<Vec<Decimal>, _>>().ok()?)
        };
        let points = read().ok_or_else(|| parameters.invalid(EXPECTED, list))?;
        Ok(Self { points })
    }

    fn write(&self, text: &mut MeasureText) {
        if *self != Self::DEFAULT {
            text.parameter("points", format_args!("{{{}}}", self.points));
        }
    }

    fn trec_parameters(&self) -> Option<String> {
        Some(self.points.to_string())
    }

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        // In the order in which trec_eval adds them.
        let values = self.each().rev().map(|point| point.value(input));
        sum(values) / self.points.as_slice().len() as f64
    }

    fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
        self.each().any(|point| point.is_undefined(input))
    }
}

/// Up to eleven recall points, over which [`MeanInterpolatedPrecision`] averages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecallPoints {
    len: u8,
    values: [Decimal; Self::CAPACITY],
}

impl RecallPoints {
    /// Maximum number of points.
    pub const CAPACITY: usize = 11;

    /// 0, 0.1, 0.2, …, 1.
    pub const ELEVEN: Self = {
        let mut values = [Decimal::ZERO; Self::CAPACITY];
        let mut at = 0;
        while at < Self::CAPACITY {
            values[at] = Decimal::new(at as i64, 1);
            at += 1;
        }
        Self {
            len: Self::CAPACITY as u8,
            values,
        }
    };

    /// Creates points. Returns `None` if there are none or too many, or if one is not between 0
    /// and 1.
    #[must_use]
    pub fn new(points: &[Decimal]) -> Option<Self> {
        let all_valid = points.iter().all(|point| point.is_fraction());
        if points.is_empty() || points.len() > Self::CAPACITY || !all_valid {
            return None;
        }
        let mut values = [Decimal::ZERO; Self::CAPACITY];
        values[..points.len()].copy_from_slice(points);
        values[..points.len()].sort_unstable();
        Some(Self {
            len: points.len() as u8,
            values,
        })
    }

    /// The points in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[Decimal] {
        &self.values[..usize::from(self.len)]
    }
}

impl Default for RecallPoints {
    fn default() -> Self {
        Self::ELEVEN
    }
}

impl fmt::Display for RecallPoints {
    /// Writes the points, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points: Vec<String> = self.as_slice().iter().map(Decimal::to_string).collect();
        f.write_str(&points.join(","))
    }
}

impl fmt::Debug for RecallPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// Average precision on a log-odds scale: ln((1 + S) / (1 + R − S)), where
/// S = Σ rel(i) · hits(i) / i.
///
/// `YAAP`; trec_eval's `yaap`.
///
/// Robertson, "On smoothing average precision", ECIR 2012.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Yaap;

impl Definition for Yaap {
    const PROPERTIES: Properties = Properties::new(&["YAAP"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("yaap", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let sum = input.relevant_ranks().precision_sum(input.found());
        ((1.0 + sum) / (1.0 + input.relevant() as f64 - sum)).ln()
    }
}
