//! Measures inferred from judgments of a stratified sample, as sample_eval computes them.
//!
//! A pool is divided into strata; of each, some documents were judged (grade 0 or higher) and the
//! others were not (negative grade). What is found among the judged documents of a stratum is
//! scaled up by the share of them.

use std::collections::BTreeMap;

use ir_core::{Grade, Judgments};

use crate::kind::Kind;
use crate::places::Place;

/// Added to the relevant documents so far, and thrice to the judged ones, so that a stratum of
/// which nothing was seen yet counts a third.
const EPSILON: f64 = 1e-5;

/// The strata of one query, by ascending label.
#[derive(Debug, Clone)]
pub(crate) struct Strata {
    /// The stratum of each judged document, by its place.
    of_place: Vec<usize>,
    all: Vec<Stratum>,
}

#[derive(Debug, Clone, Default)]
struct Stratum {
    /// Documents, judged or not.
    size: f64,
    /// Judged documents.
    sampled: f64,
    /// How many documents have each grade from 0 on.
    grades: BTreeMap<Grade, f64>,
}

impl Stratum {
    fn relevant(&self, level: Grade) -> f64 {
        total(self.grades.range(level..).map(|g| *g.1))
    }

    /// What a number of judged documents stands for.
    fn scaled(&self, judged: f64) -> f64 {
        if self.sampled > 0.0 {
            judged * self.size / self.sampled
        } else {
            0.0
        }
    }
}

/// A sum that begins with 0, not with −0.
fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// What was seen of a stratum on the way down a list.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    size: f64,
    sampled: f64,
    relevant: f64,
    /// The sum of the estimated precisions at its relevant documents.
    precision: f64,
    /// Its discounted gain.
    gain: f64,
}

impl Seen {
    /// The estimated number of relevant documents among those seen.
    fn estimate(&self) -> f64 {
        self.size * (self.relevant + EPSILON) / (self.sampled + 3.0 * EPSILON)
    }
}

impl Strata {
    /// Documents without a stratum share one.
    pub(crate) fn new<J: Judgments + ?Sized>(qrels: &J, query: &str) -> Self {
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        for (doc, _) in qrels.judged(query) {
            labels.insert(qrels.stratum(query, doc).unwrap_or_default(), 0);
        }
        for (number, at) in (0..).zip(labels.values_mut()) {
            *at = number;
        }
        let mut strata = Self {
            of_place: Vec::new(),
            all: vec![Stratum::default(); labels.len()],
        };
        for (doc, grade) in qrels.judged(query) {
            let label = qrels.stratum(query, doc).unwrap_or_default();
            let at = labels.get(label).copied().unwrap_or_default();
            strata.of_place.push(at);
            let stratum = &mut strata.all[at];
            stratum.size += 1.0;
            if grade >= 0 {
                stratum.sampled += 1.0;
                *stratum.grades.entry(grade).or_default() += 1.0;
            }
        }
        strata
    }

    /// The estimated number of relevant documents.
    pub(crate) fn relevant(&self, level: Grade) -> f64 {
        let strata = self.all.iter();
        total(strata.map(|s| s.scaled(s.relevant(level))))
    }

    /// The value of a measure of a list: the places of its documents and how they were judged, both
    /// cut at the measure's cut-off. `cutoff` is `None` where there is none; `limit` is how many
    /// documents a list could have.
    pub(crate) fn value(
        &self,
        kind: Kind,
        level: Grade,
        places: &[Place],
        states: &[Grade],
        cutoff: Option<usize>,
        limit: usize,
    ) -> f64 {
        let mut walk = Walk::new(self, level);
        match kind {
            Kind::InfNumRel => self.relevant(level),
            Kind::InfIPrec { tenths } => self.interpolated(walk, tenths, level, places, states),
            _ => {
                for (&place, &state) in places.iter().zip(states) {
                    walk.step(place, state);
                }
                match kind {
                    Kind::XinfAP => walk.average_precision(),
                    Kind::InfNDCG => walk.ndcg(limit),
                    Kind::InfP => walk.estimate() / cutoff.unwrap_or(states.len()).max(1) as f64,
                    _ => walk.estimate(),
                }
            }
        }
    }

    /// Interpolated precision at a recall. sample_eval goes up the list from its end and takes at
    /// most one recall at each rank; that is kept.
    fn interpolated(
        &self,
        mut walk: Walk<'_>,
        tenths: u8,
        level: Grade,
        places: &[Place],
        states: &[Grade],
    ) -> f64 {
        let mut estimates = Vec::with_capacity(states.len());
        for (&place, &state) in places.iter().zip(states) {
            walk.step(place, state);
            estimates.push(walk.estimate());
        }
        let Some(&last) = estimates.last() else {
            return 0.0;
        };
        let relevant = self.relevant(level);
        let needed = |tenths: u8| f64::from(tenths) / 10.0 * relevant;
        let mut points = (0..=10_u8)
            .rev()
            .skip_while(|&at| needed(at) > last)
            .peekable();
        if points.peek().is_none_or(|&first| first < tenths) {
            return 0.0;
        }
        let mut best = 0.0_f64;
        for (above, &estimate) in estimates.iter().enumerate().rev() {
            best = best.max(estimate / (above + 1) as f64);
            if points.peek().is_some_and(|&at| needed(at) > estimate)
                && points.next() == Some(tenths)
            {
                return best;
            }
        }
        best
    }
}

/// A list on the way down.
struct Walk<'s> {
    strata: &'s Strata,
    level: Grade,
    seen: Vec<Seen>,
    rank: f64,
    /// Documents so far that are in the pool.
    pooled: f64,
}

impl<'s> Walk<'s> {
    fn new(strata: &'s Strata, level: Grade) -> Self {
        Self {
            strata,
            level,
            seen: vec![Seen::default(); strata.all.len()],
            rank: 0.0,
            pooled: 0.0,
        }
    }

    fn step(&mut self, place: Place, state: Grade) {
        self.rank += 1.0;
        let Some(&at) = self.strata.of_place.get(place.index()) else {
            return;
        };
        let relevant = state >= self.level.max(0);
        if relevant {
            let mut above = 0.0;
            for seen in self.seen.iter().filter(|seen| seen.size > 0.0) {
                let share = (seen.relevant + EPSILON) / (seen.sampled + 3.0 * EPSILON);
                above += seen.size / self.pooled * share;
            }
            self.seen[at].precision += 1.0 / self.rank + self.pooled / self.rank * above;
            self.seen[at].relevant += 1.0;
        }
        let seen = &mut self.seen[at];
        if state > 0 {
            seen.gain += state as f64 / (self.rank + 1.0).log2();
        }
        if state >= 0 {
            seen.sampled += 1.0;
        }
        seen.size += 1.0;
        self.pooled += 1.0;
    }

    fn estimate(&self) -> f64 {
        total(self.seen.iter().map(Seen::estimate))
    }

    fn average_precision(&self) -> f64 {
        let all = self.strata.relevant(self.level);
        let mut value = 0.0;
        for (stratum, seen) in self.strata.all.iter().zip(&self.seen) {
            let relevant = stratum.relevant(self.level);
            if relevant > 0.0 {
                value += stratum.scaled(relevant) / all * (seen.precision / relevant);
            }
        }
        value
    }

    fn ndcg(&self, limit: usize) -> f64 {
        let ideal = self.ideal(limit);
        if ideal == 0.0 || self.pooled == 0.0 {
            return 0.0;
        }
        let mut dcg = 0.0;
        for seen in self.seen.iter().filter(|seen| seen.sampled > 0.0) {
            dcg += seen.size / self.pooled * seen.gain / seen.sampled;
        }
        self.pooled * dcg / ideal
    }

    fn ideal(&self, limit: usize) -> f64 {
        let mut grades: BTreeMap<Grade, f64> = BTreeMap::new();
        for stratum in &self.strata.all {
            for (&grade, &count) in stratum.grades.range(1..) {
                *grades.entry(grade).or_default() += stratum.scaled(count);
            }
        }
        let (mut dcg, mut start) = (0.0, 0_usize);
        for (grade, count) in grades.into_iter().rev() {
            let end = start + (count + 0.5) as usize;
            // One term even where the ranks are used up.
            for rank in start + 1..=end.min(limit.max(start + 1)) {
                dcg += grade as f64 / ((rank + 1) as f64).log2();
            }
            start = end;
        }
        dcg
    }
}
