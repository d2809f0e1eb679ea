//! Measures of cumulative gain: the nDCG family.

use super::definition::{Definition, MeasureInput, Properties, Requirement, measures, ratio};
use super::parameters::{Parameters, ParseMeasureError};
use super::trec_syntax::{CUTOFFS, TrecSyntax};
use crate::judged::{Gain, sum};

measures! {
    /// Normalized discounted cumulative gain: [`Dcg`] / [`IdealDcg`]. Range: 0 to 1.
    ///
    /// `nDCG`, `nDCG@10`, `nDCG(dcg='exp-log2')@10`; trec_eval's `ndcg`, `ndcg_cut_10`. ranx's
    /// `ndcg_burges@10` is `nDCG(dcg='exp-log2')@10`.
    ///
    /// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.
    Ndcg {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["nDCG", "NDCG", "ndcg", "ndcg_burges"])
        .without_level()
        .with_trec_names(&[
            ("ndcg", "nDCG(gains={{}})", TrecSyntax::Gains),
            ("ndcg_cut", "nDCG@{}", CUTOFFS),
        ]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| ratio(dcg(input), ideal_dcg(input));

    /// Discounted cumulative gain: Σ g(i) / log₂(i + 1).
    ///
    /// `DCG`; trec_eval's `dcg`. ranx's `dcg_burges` is `DCG(dcg='exp-log2')`.
    ///
    /// Järvelin and Kekäläinen, as for [`Ndcg`].
    Dcg {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["DCG", "dcg_burges"])
        .without_level()
        .with_trec_names(&[("dcg", "DCG(gains={{}})", TrecSyntax::Gains)]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| dcg(input);

    /// [`Dcg`] of the ideal ranking: all judged documents by descending gain.
    ///
    /// `IDCG`; trec_eval's `ideal_dcg`.
    IdealDcg {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["IDCG"])
        .without_level()
        .without_judged_only()
        .with_trec_names(&[("ideal_dcg", "IDCG(gains={{}})", TrecSyntax::Gains)]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| ideal_dcg(input);

    /// [`Ndcg`] at the rank of each relevant document, averaged over the relevant documents; one
    /// that is not retrieved counts with the final DCG. Experimental in trec_eval.
    ///
    /// `nDCGrel`; trec_eval's `ndcg_rel`.
    NdcgAtRelevant {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["nDCGrel"])
        .without_level()
        .with_trec_names(&[("ndcg_rel", "nDCGrel(gains={{}})", TrecSyntax::Gains)]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| {
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
    };

    /// [`Ndcg`] at the ranks where the gain of the ideal ranking changes, and at the end of the
    /// list, averaged. Experimental in trec_eval.
    ///
    /// `Rndcg`; trec_eval's `Rndcg`.
    NdcgAtGainSteps {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["Rndcg"])
        .with_trec_names(&[("Rndcg", "Rndcg(gains={{}})", TrecSyntax::Gains)]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| {
        if input.relevant() == 0 {
            return 0.0;
        }
        let (ranking, ideal, n) = (input.gains(), input.ideal(), input.retrieved);
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
    };

    /// Normalized gain: Σ g(i) / log₂(2 + c(i) − s(i)) over the sum of the ideal gains, with s the
    /// cumulative gain, and c the ideal cumulative gain with at least 1 per rank. Experimental in
    /// trec_eval.
    ///
    /// `G`; trec_eval's `G`.
    NormalizedGain {
        /// Gain of a grade: the grade (`dcg=log2`), 2^grade − 1 (`dcg='exp-log2'`), or the value in
        /// a table (`gains={1:3.5,2:9}`). Default: the grade.
        gain: Gain = Gain::Linear => gain(),
    } = Properties::new(&["G"])
        .without_level()
        .with_trec_names(&[("G", "G(gains={{}})", TrecSyntax::Gains)]);
    needs |formula| Requirement::Gain(formula.gain);
    value |_, input| {
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
    };

    /// Binary [`NormalizedGain`]: (1/R) · Σ rel(i) / log₂(2 + i − hits(i)). Range: 0 to 1.
    ///
    /// `binG`; trec_eval's `binG`.
    BinaryNormalizedGain = Properties::new(&["binG"])
        .with_trec_names(&[("binG", "binG", TrecSyntax::Plain)]);
    value |_, input| {
        let gains = (1..)
            .zip(&input.relevant_ranks().ranks[..input.found()])
            .map(|(hits, &rank): (usize, _)| 1.0 / ((2 + rank - hits) as f64).log2());
        ratio(sum(gains), input.relevant() as f64)
    };
}

fn dcg(input: &MeasureInput<'_>) -> f64 {
    input.gains().dcg(input.depth())
}

fn ideal_dcg(input: &MeasureInput<'_>) -> f64 {
    input.ideal().dcg(input.cutoff.unwrap_or(usize::MAX))
}
