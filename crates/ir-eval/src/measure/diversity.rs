//! Measures of diversity and novelty over the subtopics of a query.
//!
//! All of them need subtopic judgments ([`SubtopicQrels`](ir_core::SubtopicQrels)) and ignore
//! subtopics without a relevant document. The novelty ν(i) of the document at rank i is
//! Σ (1 − α)^c over the subtopics it is relevant to, each covered by c documents above it.

use super::definition::{Definition, MeasureInput, Properties, Requirement, measures, ratio};
use super::parameters::{Parameters, ParseMeasureError};
use crate::decimal::Decimal;
use crate::judged::{PreparedSubtopics, Subtopics, discount, sum};

const HALF: Decimal = Decimal::new(5, 1);

measures! {
    /// Intent-aware expected reciprocal rank: Σ ν(i) / i over its maximum: the sum of a list
    /// with documents that are all relevant to every subtopic. Range: 0 to 1.
    ///
    /// `ERR_IA@20`; ndeval's `ERR-IA@20`.
    ///
    /// Chapelle, Ji, Liao, Velipasaoglu, Lai and Wu, "Intent-based diversification of web search
    /// results: metrics and algorithms", Information Retrieval 2011.
    IntentAwareErr {
        /// Probability α that a user who has seen a document on a subtopic needs no other one.
        /// Range: 0 to 1. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
    } = Properties::new(&["ERR_IA", "ERR-IA"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        ratio(err(list.novelties()), err(list.maximum()))
    });

    /// [`IntentAwareErr`] normalized by the value of the ideal ranking, which takes the most novel
    /// document at each rank, of several the one with the largest id. Range: 0 to 1.
    ///
    /// `nERR_IA@20`; ndeval's `nERR-IA@20`.
    NormalizedIntentAwareErr {
        /// α as in [`IntentAwareErr`]. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
    } = Properties::new(&["nERR_IA", "nERR-IA"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        ratio(err(list.novelties()), err(list.ideal()))
    });

    /// α-DCG: Σ ν(i) / log₂(i + 1) over its maximum, as in [`IntentAwareErr`]. Range: 0 to 1.
    ///
    /// `alpha_DCG@20`; ndeval's `alpha-DCG@20`.
    ///
    /// Clarke et al., as for [`AlphaNdcg`].
    AlphaDcg {
        /// α as in [`IntentAwareErr`]. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
    } = Properties::new(&["alpha_DCG", "alpha-DCG", "α_DCG", "α-DCG"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        ratio(dcg(list.novelties()), dcg(list.maximum()))
    });

    /// α-nDCG: [`AlphaDcg`] normalized by the value of the ideal ranking, as in
    /// [`NormalizedIntentAwareErr`]. Range: 0 to 1.
    ///
    /// `alpha_nDCG@20`; ndeval's `alpha-nDCG@20`.
    ///
    /// Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, "Novelty and diversity
    /// in information retrieval evaluation", SIGIR 2008.
    AlphaNdcg {
        /// α as in [`IntentAwareErr`]. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
    } = Properties::new(&["alpha_nDCG", "alpha-nDCG", "α_nDCG", "α-nDCG"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        ratio(dcg(list.novelties()), dcg(list.ideal()))
    });

    /// Novelty- and rank-biased precision: (1 − (1 − α) · β) / S · Σ ν(i) · β^(i−1), with S the
    /// number of subtopics. Range: 0 to 1.
    ///
    /// `NRBP`; ndeval's `NRBP`.
    ///
    /// Clarke, Kolla and Vechtomova, "An effectiveness measure for ambiguous and underspecified
    /// queries", ICTIR 2009.
    NoveltyRbp {
        /// α as in [`IntentAwareErr`]. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
        /// Persistence β: probability that the user proceeds to the next document. Range: 0 to 1.
        /// Default: 0.5.
        beta: Decimal = HALF => fraction("beta", HALF),
    } = Properties::new(&["NRBP"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |formula, input| {
        let beta = formula.beta.to_f64();
        DiverseRanking::evaluate(input, |list| {
            let scale = 1.0 - list.prepared.settings.decay() * beta;
            rbp(list.novelties(), beta) * scale / list.prepared.subtopics
        })
    };

    /// [`NoveltyRbp`] normalized by the value of the ideal ranking, as in
    /// [`NormalizedIntentAwareErr`]. Range: 0 to 1.
    ///
    /// `nNRBP`; ndeval's `nNRBP`.
    NormalizedNoveltyRbp {
        /// α as in [`IntentAwareErr`]. Default: 0.5.
        alpha: Decimal = HALF => fraction("alpha", HALF),
        /// β as in [`NoveltyRbp`]. Default: 0.5.
        beta: Decimal = HALF => fraction("beta", HALF),
    } = Properties::new(&["nNRBP"]);
    needs |formula| Requirement::Subtopics(formula.alpha);
    value |formula, input| {
        let beta = formula.beta.to_f64();
        DiverseRanking::evaluate(input, |list| {
            ratio(rbp(list.novelties(), beta), rbp(list.ideal(), beta))
        })
    };

    /// Intent-aware average precision: average precision, averaged over the subtopics. Range: 0 to
    /// 1.
    ///
    /// `AP_IA`; ndeval's `MAP-IA`.
    ///
    /// Agrawal, Gollapudi, Halverson and Ieong, "Diversifying search results", WSDM 2009.
    IntentAwareAveragePrecision = Properties::new(&["AP_IA", "MAP_IA", "MAP-IA"]);
    needs |_| Requirement::Subtopics(Decimal::ZERO);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        let relevant = &list.prepared.relevant;
        let mut hits = vec![0.0; relevant.len()];
        let mut sums = vec![0.0; relevant.len()];
        for (rank, subtopic) in list.covered() {
            hits[subtopic] += 1.0;
            sums[subtopic] += hits[subtopic] / f64::from(rank);
        }
        let each = sums.iter().zip(relevant);
        let values = each.map(|(sum, &relevant)| ratio(*sum, f64::from(relevant)));
        sum(values) / list.prepared.subtopics
    });

    /// Intent-aware precision: precision, averaged over the subtopics. Range: 0 to 1.
    ///
    /// `P_IA@10`; ndeval's `P-IA@10`.
    ///
    /// Agrawal et al., as for [`IntentAwareAveragePrecision`].
    IntentAwarePrecision = Properties::new(&["P_IA", "P-IA"]);
    needs |_| Requirement::Subtopics(Decimal::ZERO);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        let pairs = list.covered().count() as f64;
        ratio(pairs, input.depth() as f64 * list.prepared.subtopics)
    });

    /// Subtopic recall: the fraction of the subtopics that the list covers. Range: 0 to 1.
    ///
    /// `StRecall@10`; ndeval's `strec@10`.
    ///
    /// Zhai, Cohen and Lafferty, "Beyond independent relevance: methods and evaluation metrics for
    /// subtopic retrieval", SIGIR 2003.
    SubtopicRecall = Properties::new(&["StRecall", "strec"]);
    needs |_| Requirement::Subtopics(Decimal::ZERO);
    value |_, input| DiverseRanking::evaluate(input, |list| {
        let mut is_covered = vec![false; list.prepared.relevant.len()];
        for (_, subtopic) in list.covered() {
            is_covered[subtopic] = true;
        }
        let covered = is_covered.iter().filter(|&&is_covered| is_covered).count();
        covered as f64 / list.prepared.subtopics
    });
}

/// A ranking and the subtopics of its query.
struct DiverseRanking<'i, 'a> {
    input: &'i MeasureInput<'a>,
    subtopics: &'a Subtopics,
    prepared: &'a PreparedSubtopics,
}

impl DiverseRanking<'_, '_> {
    /// Evaluates a query; 0 if no subtopic has a relevant document.
    fn evaluate(
        input: &MeasureInput<'_>,
        value: impl FnOnce(&DiverseRanking<'_, '_>) -> f64,
    ) -> f64 {
        match input.subtopics() {
            Some((subtopics, prepared)) if prepared.subtopics > 0.0 => value(&DiverseRanking {
                input,
                subtopics,
                prepared,
            }),
            _ => 0.0,
        }
    }

    /// Novelty of each document.
    fn novelties(&self) -> Vec<f64> {
        self.subtopics
            .novelties(self.input.ordinals(), self.prepared)
    }

    /// Novelties of a list of documents that are all relevant to every subtopic.
    fn maximum(&self) -> impl Iterator<Item = f64> {
        let decay = self.prepared.settings.decay();
        let novelty = move |novelty: &f64| Some(novelty * decay);
        std::iter::successors(Some(self.prepared.subtopics), novelty).take(self.input.depth())
    }

    /// Novelties of the ideal ranking.
    fn ideal(&self) -> impl Iterator<Item = f64> {
        let cutoff = self.input.cutoff.unwrap_or(usize::MAX);
        self.prepared.ideal.iter().copied().take(cutoff)
    }

    /// Ranks and the subtopics that the document there is relevant to.
    fn covered(&self) -> impl Iterator<Item = (u32, usize)> {
        let level = self.prepared.settings.level;
        (1..)
            .zip(self.input.ordinals())
            .flat_map(move |(rank, &ordinal)| {
                let subtopics = self.subtopics.covered_by(ordinal, level);
                subtopics.map(move |subtopic| (rank, subtopic))
            })
    }
}

/// Σ ν(i) / i.
fn err(novelties: impl IntoIterator<Item = f64>) -> f64 {
    let ranked = (1_u32..).zip(novelties);
    sum(ranked.map(|(rank, novelty)| novelty / f64::from(rank)))
}

/// Σ ν(i) / log₂(i + 1).
fn dcg(novelties: impl IntoIterator<Item = f64>) -> f64 {
    let ranked = (1..).zip(novelties);
    sum(ranked.map(|(rank, novelty)| novelty / discount(rank)))
}

/// Σ ν(i) · β^(i−1).
fn rbp(novelties: impl IntoIterator<Item = f64>, beta: f64) -> f64 {
    let (mut sum, mut weight) = (0.0, 1.0);
    for novelty in novelties {
        sum += novelty * weight;
        weight *= beta;
    }
    sum
}
