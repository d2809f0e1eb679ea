//! Measures of the ranks of relevant documents.

use std::fmt;

use super::definition::{Definition, MeasureInput, Properties, Summary, measures, ratio};
use super::parameters::{Parameters, ParseMeasureError, braced};
use super::trec_syntax::{CUTOFFS, TrecSyntax};
use crate::decimal::Decimal;
use crate::judged::sum;
use crate::rules::TrecEvalVersion;

measures! {
    /// Reciprocal rank: 1 / rank of the first relevant document, 0 without one. Range: 0 to 1.
    ///
    /// `RR`, `RR@10`; trec_eval's `recip_rank`.
    ///
    /// Voorhees, "The TREC-8 question answering track report", TREC 1999.
    ReciprocalRank = Properties::new(&["RR", "MRR", "mrr"])
        .with_trec_names(&[("recip_rank", "RR", TrecSyntax::Plain)]);
    value |_, input| {
        match input.relevant_ranks().ranks.first() {
            Some(&rank) if rank <= input.depth() => 1.0 / rank as f64,
            _ => 0.0,
        }
    };

    /// Average precision: (1/R) · Σ rel(i) · hits(i) / i. Range: 0 to 1.
    ///
    /// `AP`, `AP@100`; trec_eval's `map`, `map_cut_100`.
    ///
    /// Buckley and Voorhees, "Retrieval system evaluation", in *TREC: Experiment and Evaluation in
    /// Information Retrieval*, MIT Press 2005.
    AveragePrecision = Properties::new(&["AP", "MAP", "map"])
        .with_trec_names(&[
            ("map", "AP", TrecSyntax::Plain),
            ("map_cut", "AP@{}", CUTOFFS),
        ]);
    value |_, input| {
        let precisions = input.relevant_ranks().precision_sum(input.found());
        ratio(precisions, input.relevant() as f64)
    };

    /// [`AveragePrecision`], aggregated over queries by the geometric mean.
    ///
    /// `GMAP`; trec_eval's `gm_map`.
    ///
    /// Robertson, "On GMAP: and other transformations", CIKM 2006.
    GeometricAveragePrecision = Properties::new(&["GMAP"])
        .with_summary(Summary::GeometricMean)
        .with_trec_names(&[("gm_map", "GMAP", TrecSyntax::Plain)]);
    value |_, input| AveragePrecision.value(input);

    /// R-precision: precision in the first ⌊mR + 0.9⌋ documents. Range: 0 to 1.
    ///
    /// `Rprec`, `Rprec(mult=0.5)`; trec_eval's `Rprec`, `Rprec_mult_0.50`.
    RPrecision {
        /// Multiple m of R. Range: ≥ 0. Default: 1.
        multiple: Decimal = Decimal::ONE => non_negative("mult", Decimal::ONE),
    } = Properties::new(&["Rprec", "RPrec", "r-precision", "r_precision"])
        .with_trec_names(&[
            ("Rprec", "Rprec", TrecSyntax::Plain),
            ("Rprec_mult", "Rprec(mult={})", TrecSyntax::Fractions(2, 20, 2)),
        ]);
    value |formula, input| {
        let depth = formula.multiple.to_f64() * input.relevant() as f64 + 0.9;
        let found = input.relevant_ranks().within((depth as usize).min(input.depth()));
        ratio(found as f64, depth.trunc())
    };

    /// Binary preference: (1/R) · Σ over retrieved relevant documents of 1 − min(m, R) / min(N, R),
    /// with m judged non-relevant documents ranked above it and N in the qrels. Range: 0 to 1.
    ///
    /// `Bpref`; trec_eval's `bpref`.
    ///
    /// Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004.
    Bpref = Properties::new(&["Bpref", "BPref"])
        .with_trec_names(&[("bpref", "Bpref", TrecSyntax::Plain)]);
    value |_, input| {
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
    };

    /// [`Bpref`], aggregated over queries by the geometric mean.
    ///
    /// `GMBpref`; trec_eval's `gm_bpref`.
    GeometricBpref = Properties::new(&["GMBpref"])
        .with_summary(Summary::GeometricMean)
        .with_trec_names(&[("gm_bpref", "GMBpref", TrecSyntax::Plain)]);
    value |_, input| Bpref.value(input);

    /// Interpolated precision: the highest precision at or below the rank where the recall is
    /// reached. Range: 0 to 1.
    ///
    /// `IPrec@0.1`; trec_eval's `iprec_at_recall_0.10`.
    InterpolatedPrecision {
        /// Recall at which precision is interpolated. Range: 0 to 1.
        recall: Decimal = Decimal::ZERO => recall_after_at(),
    } = Properties::new(&["IPrec"])
        .without_cutoff()
        .require_cutoff("IPrec@0.1")
        .with_trec_names(&[("iprec_at_recall", "IPrec@{}", TrecSyntax::Fractions(0, 10, 1))]);
    impl {
        fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
            needed(self.recall, input) == 0
        }
    }
    value |formula, input| {
        let needed = needed(formula.recall, input);
        let found = input.found();
        if needed > found {
            return 0.0;
        }
        let first = needed.max(1);
        let ranks = input.relevant_ranks().ranks.iter().take(found).skip(first - 1);
        (first..)
            .zip(ranks)
            .map(|(hits, &rank): (usize, _)| hits as f64 / rank as f64)
            .fold(0.0, f64::max)
    };

    /// Mean of [`InterpolatedPrecision`] over recall points. Range: 0 to 1.
    ///
    /// `IPrecAvg`; trec_eval's `11pt_avg`.
    MeanInterpolatedPrecision {
        /// Recall points, at most eleven, as in `points={0.25,0.5,0.75}`. Default: 0, 0.1, …, 1.
        points: RecallPoints = RecallPoints::ELEVEN => recall_points(),
    } = Properties::new(&["IPrecAvg"])
        .without_cutoff()
        .with_trec_names(&[(
            "11pt_avg",
            "IPrecAvg(points={{}})",
            TrecSyntax::Numbers("up to eleven recalls between 0 and 1"),
        )]);
    impl {
        fn is_undefined(&self, input: &MeasureInput<'_>) -> bool {
            self.each().any(|point| point.is_undefined(input))
        }
    }
    value |formula, input| {
        // In the order in which trec_eval adds them.
        let values = formula.each().rev().map(|point| point.value(input));
        sum(values) / formula.points.as_slice().len() as f64
    };

    /// Average precision on a log-odds scale: ln((1 + S) / (1 + R − S)), where
    /// S = Σ rel(i) · hits(i) / i.
    ///
    /// `YAAP`; trec_eval's `yaap`.
    ///
    /// Robertson, "On smoothing average precision", ECIR 2012.
    Yaap = Properties::new(&["YAAP"]).with_trec_names(&[("yaap", "YAAP", TrecSyntax::Plain)]);
    value |_, input| {
        let sum = input.relevant_ranks().precision_sum(input.found());
        ((1.0 + sum) / (1.0 + input.relevant() as f64 - sum)).ln()
    };
}

/// Number of relevant documents at which a recall is reached.
fn needed(recall: Decimal, input: &MeasureInput<'_>) -> usize {
    let exact = recall.to_f64() * input.relevant() as f64;
    match input.rules.trec_eval_version {
        TrecEvalVersion::V9 => (exact + 0.9) as usize,
        TrecEvalVersion::V10 => exact.round() as usize,
    }
}

impl MeanInterpolatedPrecision {
    fn each(&self) -> impl DoubleEndedIterator<Item = InterpolatedPrecision> + '_ {
        let points = self.points.as_slice().iter();
        points.map(|&recall| InterpolatedPrecision { recall })
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

impl Parameters<'_> {
    /// [`InterpolatedPrecision::recall`], the text after `@`.
    fn recall_after_at(&mut self, recall: &mut Decimal) -> Result<(), ParseMeasureError> {
        let printed = (*recall, true);
        self.parameter(recall, "@", printed, |at| {
            let recall = at
                .parse()
                .ok()
                .filter(|recall: &Decimal| recall.is_fraction());
            recall.ok_or("a recall between 0 and 1")
        })
    }

    /// [`MeanInterpolatedPrecision::points`]: `points={0.25,0.5,0.75}`.
    fn recall_points(&mut self, points: &mut RecallPoints) -> Result<(), ParseMeasureError> {
        const EXPECTED: &str = "up to eleven recalls between 0 and 1, as in {0.25,0.5,0.75}";
        let printed = (format!("{{{points}}}"), *points != RecallPoints::ELEVEN);
        self.parameter(points, "points", printed, |list| {
            let read = || {
                let numbers = braced(list)?.split(',').map(|number| number.trim().parse());
                RecallPoints::new(&numbers.collect::<Result<Vec<Decimal>, _>>().ok()?)
            };
            read().ok_or(EXPECTED)
        })
    }
}
