//! Measures of cumulative gain: the nDCG family.

use super::definition::{
    CUTOFFS, Definition, MeasureInput, Properties, TrecNames, TrecSyntax, ratio,
};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use crate::judged::{Gain, sum};

/// The methods of a definition whose only parameter is `gain`.
macro_rules! gain_parameter {
    () => {
        const DEFAULT: Self = Self { gain: Gain::Linear };

        fn read(parameters: &mut Parameters<'_>) -> Result<Self, ParseMeasureError> {
            let gain = parameters.gain()?;
            Ok(Self { gain })
        }

        fn write(&self, text: &mut MeasureText) {
            text.gain(self.gain);
        }

        fn trec_parameters(&self) -> Option<String> {
            let Gain::Table(table) = self.gain else {
                return None;
            };
            let pairs: Vec<String> = table.iter().map(|(g, x)| format!("{g}={x}")).collect();
            Some(pairs.join(","))
        }

        fn gain(&self) -> Option<Gain> {
            Some(self.gain)
        }
    };
}

/// Normalized discounted cumulative gain: [`Dcg`] / [`IdealDcg`]. Range: 0 to 1.
///
/// `nDCG`, `nDCG@10`, `nDCG(dcg='exp-log2')@10`; trec_eval's `ndcg`, `ndcg_cut_10`.
///
/// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ndcg {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for Ndcg {
    const PROPERTIES: Properties = Properties::new(&["nDCG", "NDCG", "ndcg"]).without_level();
    const TREC_NAMES: TrecNames<Self> = &[
        ("ndcg", TrecSyntax::Gains(|gain| Self { gain })),
        ("ndcg_cut", TrecSyntax::Cutoffs(Self::DEFAULT, CUTOFFS)),
    ];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        ratio(dcg(input), ideal_dcg(input))
    }
}

fn dcg(input: &MeasureInput<'_>) -> f64 {
    input.gains().dcg(input.depth())
}

fn ideal_dcg(input: &MeasureInput<'_>) -> f64 {
    input.ideal().dcg(input.cutoff.unwrap_or(usize::MAX))
}

/// Discounted cumulative gain: Σ g(i) / log₂(i + 1).
///
/// `DCG`; trec_eval's `dcg`.
///
/// Järvelin and Kekäläinen, as for [`Ndcg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dcg {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for Dcg {
    const PROPERTIES: Properties = Properties::new(&["DCG"]).without_level();
    const TREC_NAMES: TrecNames<Self> = &[("dcg", TrecSyntax::Gains(|gain| Self { gain }))];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        dcg(input)
    }
}

/// [`Dcg`] of the ideal ranking: all judged documents by descending gain.
///
/// `IDCG`; trec_eval's `ideal_dcg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdealDcg {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for IdealDcg {
    const PROPERTIES: Properties = Properties::new(&["IDCG"])
        .without_level()
        .without_judged_only();
    const TREC_NAMES: TrecNames<Self> = &[("ideal_dcg", TrecSyntax::Gains(|gain| Self { gain }))];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        ideal_dcg(input)
    }
}

/// [`Ndcg`] at the rank of each relevant document, averaged over the relevant documents; one that
/// is not retrieved counts with the final DCG. Experimental in trec_eval.
///
/// `nDCGrel`; trec_eval's `ndcg_rel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NdcgAtRelevant {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for NdcgAtRelevant {
    const PROPERTIES: Properties = Properties::new(&["nDCGrel"]).without_level();
    const TREC_NAMES: TrecNames<Self> = &[("ndcg_rel", TrecSyntax::Gains(|gain| Self { gain }))];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let (ranking, ideal, k) = (input.gains(), input.ideal(), input.depth());
        let (mut sum, mut found) = (0.0, 0_usize);
        for &(rank, gain) in ranking.gains.iter().take_while(|(rank, _)| *rank <= k) {
            if gain > 0.0 {
                sum += ratio(ranking.dcg(rank), ideal.dcg(rank));
                found += 1;
            }
        }
        let missed = ideal.len().saturating_sub(found) as f64;
        sum += ratio(missed * ranking.dcg(k), ideal.dcg(usize::MAX));
        ratio(sum.max(0.0), ideal.len() as f64)
    }
}

/// [`Ndcg`] at the ranks where the gain of the ideal ranking changes, and at the end of the list,
/// averaged. Experimental in trec_eval.
///
/// `Rndcg`; trec_eval's `Rndcg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NdcgAtGainSteps {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for NdcgAtGainSteps {
    const PROPERTIES: Properties = Properties::new(&["Rndcg"]);
    const TREC_NAMES: TrecNames<Self> = &[("Rndcg", TrecSyntax::Gains(|gain| Self { gain }))];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        if input.relevant() == 0 {
            return 0.0;
        }
        let (ranking, ideal, n) = (input.gains(), input.ideal(), input.retrieved());
        let (mut sum, mut count) = (0.0, 0_u32);
        for &(_, last) in &ideal.steps {
            sum += ratio(ranking.dcg(last.min(n)), ideal.dcg(last));
            count += 1;
        }
        // trec_eval adds the end of the list if it is more than one rank beyond the ideal ranking.
        if n > ideal.len() + 1 {
            sum += ratio(ranking.dcg(n), ideal.dcg(usize::MAX));
            count += 1;
        }
        ratio(sum, f64::from(count))
    }
}

/// Normalized gain: Σ g(i) / log₂(2 + c(i) − s(i)) over the sum of the ideal gains, with s the
/// cumulative gain, and c that of the ideal ranking with at least 1 per rank. Experimental in
/// trec_eval.
///
/// `G`; trec_eval's `G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NormalizedGain {
    /// Gain of a grade. Default: linear.
    pub gain: Gain,
}

impl Definition for NormalizedGain {
    const PROPERTIES: Properties = Properties::new(&["G"]).without_level();
    const TREC_NAMES: TrecNames<Self> = &[("G", TrecSyntax::Gains(|gain| Self { gain }))];
    gain_parameter!();

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let (ranking, ideal, k) = (input.gains(), input.ideal(), input.depth());
        let mut steps = ideal.steps.iter().peekable();
        let (mut ideal_gain, mut at) = (0.0, 0);
        let (mut cumulative, mut sum) = (0.0, 0.0);
        for &(rank, gain) in ranking.gains.iter().take_while(|(rank, _)| *rank <= k) {
            while at < rank {
                at += 1;
                while steps.peek().is_some_and(|step| step.1 < at) {
                    steps.next();
                }
                ideal_gain += steps.peek().map_or(1.0, |step| step.0.max(1.0));
            }
            cumulative += gain;
            sum += gain / (2.0_f64 + ideal_gain - cumulative).log2();
        }
        let mut start = 0;
        let total = ideal.steps.iter().fold(0.0, |total, &(gain, last)| {
            let count = last - start;
            start = last;
            total + gain * count as f64
        });
        ratio(sum, total)
    }
}

/// Binary [`NormalizedGain`]: (1/R) · Σ rel(i) / log₂(2 + i − hits(i)). Range: 0 to 1.
///
/// `binG`; trec_eval's `binG`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BinaryNormalizedGain;

impl Definition for BinaryNormalizedGain {
    const PROPERTIES: Properties = Properties::new(&["binG"]);
    const DEFAULT: Self = Self;
    const TREC_NAMES: TrecNames<Self> = &[("binG", TrecSyntax::Plain(Self))];

    fn value(&self, input: &MeasureInput<'_>) -> f64 {
        let gains = (1..)
            .zip(&input.relevant_ranks().ranks[..input.found()])
            .map(|(hits, &rank): (usize, _)| 1.0 / ((2 + rank - hits) as f64).log2());
        ratio(sum(gains), input.relevant() as f64)
    }
}
