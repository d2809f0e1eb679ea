//! The formulas.

use ir_core::Grade;

use crate::kind::{Kind, RbpGain};
use crate::rules::Generation;
use crate::topic::{Gained, Hits, Ideal, Ranked, Topic, UNPOOLED};
use crate::{Decimal, Gain, Measure, Rules};

/// A measure with the places of its level and gain in [`crate::topic::Needs`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) measure: Measure,
    pub(crate) level: Grade,
    pub(crate) hits: usize,
    pub(crate) gain: usize,
    /// The place of what it needs to know of subtopics, or of its own formula among the registered.
    pub(crate) own: usize,
}

/// What a formula sees: a list cut at the measure's cut-off.
struct View<'a> {
    /// The first documents.
    states: &'a [Grade],
    /// Relevant documents in the whole list and in the first `k`.
    hits: &'a Hits,
    found: usize,
    /// Relevant documents in all.
    relevant: u64,
    level: Grade,
    topic: &'a Topic<'a>,
}

/// The value of one measure.
pub(crate) fn value(step: &Step, topic: &Topic<'_>, ranked: &Ranked, rules: &Rules) -> f64 {
    let measure = step.measure;
    let retrieved = ranked.states.len();
    let cutoff = measure.cutoff.map(|k| k.get() as usize);
    let k = cutoff.unwrap_or(retrieved);
    let hits = &ranked.hits[step.hits];
    let view = View {
        states: &ranked.states[..retrieved.min(k)],
        hits,
        found: hits.within(k),
        relevant: topic.relevant(step.hits),
        level: step.level,
        topic,
    };
    let (found, relevant, n) = (view.found as f64, view.relevant as f64, view.states.len());
    let gains = || (&ranked.gained[step.gain], topic.ideal(step.gain));
    match measure.kind {
        Kind::P => ratio(found, k as f64),
        Kind::R => ratio(found, relevant),
        Kind::RelativeP => ratio(found, (k as f64).min(relevant)),
        Kind::Success => f64::from(u8::from(view.found > 0)),
        Kind::RR if view.found > 0 => 1.0 / hits.ranks[0] as f64,
        Kind::RR => 0.0,
        Kind::AP | Kind::GeometricAP => ratio(hits.precision_sum(view.found), relevant),
        Kind::SetAP => ratio(found * found, n as f64 * relevant),
        Kind::SetF { weight } => {
            let x = weight.to_f64();
            let (p, r) = (ratio(found, n as f64), ratio(found, relevant));
            ratio((x + 1.0) * p * r, x * p + r)
        }
        Kind::Rprec { multiple } => {
            let depth = multiple.to_f64() * relevant + 0.9;
            let found = hits.within((depth as usize).min(k));
            ratio(found as f64, depth.trunc())
        }
        Kind::Bpref | Kind::GeometricBpref => view.bpref(),
        Kind::InfAP => view.inferred(),
        Kind::IPrec { recall } => view.interpolated(recall.to_f64(), rules.generation),
        Kind::IPrecMean { points } => {
            let points = points.as_slice();
            let values = points
                .iter()
                .rev()
                .map(|r| view.interpolated(r.to_f64(), rules.generation));
            values.fold(0.0, |sum, value| sum + value) / points.len() as f64
        }
        Kind::NDCG { .. } => {
            let (gained, ideal) = gains();
            ratio(gained.dcg(k), ideal.at(cutoff.unwrap_or(usize::MAX)))
        }
        Kind::DCG { .. } => gains().0.dcg(k),
        Kind::IDCG { .. } => gains().1.at(cutoff.unwrap_or(usize::MAX)),
        Kind::NDCGRel { .. } => {
            let (gained, ideal) = gains();
            ndcg_rel(gained, ideal, k)
        }
        Kind::RNDCG { .. } if view.relevant > 0 => {
            let (gained, ideal) = gains();
            rndcg(gained, ideal, n)
        }
        Kind::RNDCG { .. } => 0.0,
        Kind::G { .. } => {
            let (gained, ideal) = gains();
            normalised_gain(gained, ideal, k)
        }
        Kind::BinG => {
            let gains = (1..)
                .zip(&hits.ranks[..view.found])
                .map(|(i, &rank): (usize, _)| 1.0 / ((2 + rank - i) as f64).log2());
            ratio(gains.fold(0.0, |sum, gain| sum + gain), relevant)
        }
        Kind::Yaap => {
            let sum = hits.precision_sum(view.found);
            ((1.0 + sum) / (1.0 + relevant - sum)).ln()
        }
        Kind::RBP { persistence, gain } => view.rbp(persistence.to_f64(), gain),
        Kind::RBPResidual { persistence, full } => view.residual(persistence.to_f64(), full),
        Kind::ERR { highest } => view.err(highest),
        Kind::Utility { worth } => {
            let [a, b, c, d] = worth.map(|w| w.to_f64());
            let n = n as f64;
            let rest = rules.collection as f64 + found - n - relevant;
            a * found + b * (n - found) + c * (relevant - found) + d * rest
        }
        Kind::Judged => {
            let judged = view.states.iter().filter(|&&s| s != UNPOOLED).count();
            ratio(judged as f64, n as f64)
        }
        Kind::Unjudged => {
            let unjudged = view.states.iter().filter(|&&s| s < 0).count();
            ratio(unjudged as f64, k as f64)
        }
        Kind::XinfAP
        | Kind::InfNDCG
        | Kind::InfP
        | Kind::InfIPrec { .. }
        | Kind::InfNumRel
        | Kind::InfNumRelRet => topic.strata.as_ref().map_or(0.0, |strata| {
            let most = usize::MAX;
            let limit = cutoff.unwrap_or(most).min(rules.depth.unwrap_or(most));
            strata.value(
                measure.kind,
                step.level,
                &ranked.places[..n],
                view.states,
                cutoff,
                limit,
            )
        }),
        Kind::ErrIA { .. }
        | Kind::NErrIA { .. }
        | Kind::AlphaDCG { .. }
        | Kind::AlphaNDCG { .. }
        | Kind::NRBP { .. }
        | Kind::NNRBP { .. }
        | Kind::ApIA
        | Kind::PIA
        | Kind::StRecall => topic.subtopics.as_ref().map_or(0.0, |subtopics| {
            subtopics.value(measure, step.own, &ranked.places[..n])
        }),
        // The evaluator asks its own formula.
        Kind::Custom { .. } => 0.0,
        Kind::NumQ => 1.0,
        Kind::NumRet => n as f64,
        Kind::NumRel => relevant,
        Kind::NumRelRet => found,
        Kind::NumNonRelJudgedRet => {
            let judged = |s: &&Grade| (0..step.level).contains(*s);
            view.states.iter().filter(judged).count() as f64
        }
    }
}

/// The value of a query nothing was retrieved for, as release 9 of trec_eval counts it: as 0,
/// whatever the formula gives for an empty list.
pub(crate) fn missing(step: &Step, topic: &Topic<'_>) -> f64 {
    match step.measure.kind {
        Kind::NumQ => 1.0,
        Kind::NumRel => topic.relevant(step.hits) as f64,
        Kind::InfNumRel => {
            let strata = topic.strata.as_ref();
            strata.map_or(0.0, |strata| strata.relevant(step.level))
        }
        _ => 0.0,
    }
}

/// Whether trec_eval divides 0 by 0: interpolated precision of an empty list at a recall that needs
/// no relevant document.
pub(crate) fn undefined(step: &Step, topic: &Topic<'_>, rules: &Rules) -> bool {
    let relevant = topic.relevant(step.hits);
    let none = |recall: &Decimal| needed(recall.to_f64(), relevant, rules.generation) == 0;
    match step.measure.kind {
        Kind::IPrec { recall } => none(&recall),
        Kind::IPrecMean { points } => points.as_slice().iter().any(none),
        _ => false,
    }
}

/// How many of the relevant documents make up a recall.
fn needed(recall: f64, relevant: u64, generation: Generation) -> usize {
    let share = recall * relevant as f64;
    match generation {
        Generation::V9 => (share + 0.9) as usize,
        Generation::V10 => share.round() as usize,
    }
}

/// A quotient, 0 when the divisor is.
fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor == 0.0 {
        0.0
    } else {
        dividend / divisor
    }
}

impl View<'_> {
    fn bpref(&self) -> f64 {
        let relevant = self.relevant;
        let most = self.topic.judged_below(self.level).min(relevant) as f64;
        let (mut above, mut sum) = (0_u64, 0.0);
        for &state in self.states {
            if state >= self.level {
                sum += match above {
                    0 => 1.0,
                    _ => 1.0 - above.min(relevant) as f64 / most,
                };
            } else if state >= 0 {
                above += 1;
            }
        }
        ratio(sum, relevant as f64)
    }

    fn inferred(&self) -> f64 {
        const EPSILON: f64 = 1e-5;
        let (mut relevant, mut other, mut unjudged, mut sum) = (0.0, 0.0, 0.0, 0.0);
        for (above, &state) in self.states.iter().enumerate() {
            if state == UNPOOLED {
                continue;
            }
            if state < 0 {
                unjudged += 1.0;
            } else if state < self.level {
                other += 1.0;
            } else if above == 0 {
                sum += 1.0;
                relevant += 1.0;
            } else {
                let above = above as f64;
                let pooled = (relevant + other + unjudged) / above;
                let share = (relevant + EPSILON) / (relevant + other + 2.0 * EPSILON);
                sum += 1.0 / (above + 1.0) + above / (above + 1.0) * pooled * share;
                relevant += 1.0;
            }
        }
        ratio(sum, self.relevant as f64)
    }

    fn interpolated(&self, recall: f64, generation: Generation) -> f64 {
        let needed = needed(recall, self.relevant, generation);
        let first = needed.max(1);
        if needed > self.found {
            return 0.0;
        }
        let ranks = (first..).zip(self.hits.ranks.iter().take(self.found).skip(first - 1));
        ranks
            .map(|(hits, &rank): (usize, _)| hits as f64 / rank as f64)
            .fold(0.0, f64::max)
    }

    fn rbp(&self, p: f64, gain: RbpGain) -> f64 {
        let highest = self.topic.highest().max(1) as f64;
        let (mut sum, mut reached) = (0.0, 1.0);
        for &state in self.states {
            let worth = match gain {
                RbpGain::Binary => f64::from(u8::from(state >= self.level)),
                RbpGain::Graded => state.max(0) as f64 / highest,
            };
            if worth > 0.0 {
                sum += worth * reached;
            }
            reached *= p;
        }
        (1.0 - p) * sum
    }

    fn err(&self, highest: u8) -> f64 {
        let most = 2.0_f64.powi(i32::from(highest));
        let (mut sum, mut reached) = (0.0, 1.0);
        for (rank, &state) in (1_u32..).zip(self.states) {
            let stop = Gain::Exponential.of(state) / most;
            sum += stop * reached / f64::from(rank);
            reached *= 1.0 - stop;
        }
        sum
    }

    fn residual(&self, p: f64, full: bool) -> f64 {
        let (mut sum, mut reached, mut any) = (0.0, 1.0, full);
        for &state in self.states {
            if state < 0 {
                sum += reached;
                any = true;
            }
            reached *= p;
        }
        if any { reached + (1.0 - p) * sum } else { 0.0 }
    }
}

/// nDCG at each document with a positive gain; the missed ones count with the DCG of the end over
/// the whole ideal.
fn ndcg_rel(gained: &Gained, ideal: &Ideal, k: usize) -> f64 {
    let (mut sum, mut found) = (0.0, 0_usize);
    for &(rank, gain) in gained.gains.iter().take_while(|g| g.0 <= k) {
        if gain > 0.0 {
            sum += ratio(gained.dcg(rank), ideal.at(rank));
            found += 1;
        }
    }
    let missed = ideal.len().saturating_sub(found) as f64;
    sum += ratio(missed * gained.dcg(k), ideal.at(usize::MAX));
    ratio(sum.max(0.0), ideal.len() as f64)
}

/// nDCG where the ideal gain changes, and at the end of a list of `n` that goes on beyond the
/// first document without an ideal counterpart.
fn rndcg(gained: &Gained, ideal: &Ideal, n: usize) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for &(_, last) in &ideal.steps {
        sum += ratio(gained.dcg(last.min(n)), ideal.at(last));
        count += 1;
    }
    if n > ideal.len() + 1 {
        sum += ratio(gained.dcg(n), ideal.at(usize::MAX));
        count += 1;
    }
    ratio(sum, f64::from(count))
}

fn normalised_gain(gained: &Gained, ideal: &Ideal, k: usize) -> f64 {
    let mut steps = ideal.steps.iter().peekable();
    let (mut cost, mut at) = (0.0, 0);
    let (mut so_far, mut sum) = (0.0, 0.0);
    for &(rank, gain) in gained.gains.iter().take_while(|g| g.0 <= k) {
        // What an ideal list would have gained by this rank, at least 1 for each.
        while at < rank {
            at += 1;
            while steps.peek().is_some_and(|step| step.1 < at) {
                steps.next();
            }
            cost += steps.peek().map_or(1.0, |step| step.0.max(1.0));
        }
        so_far += gain;
        sum += gain / (2.0_f64 + cost - so_far).log2();
    }
    let mut start = 0;
    let total = ideal.steps.iter().fold(0.0, |total, &(gain, last)| {
        let count = last - start;
        start = last;
        total + gain * count as f64
    });
    ratio(sum, total)
}
