//! Measures of diversity: how many subtopics of a query a list covers, how early, how often.

use std::collections::{BTreeMap, BinaryHeap};

use ir_core::{Grade, Judgments};

use crate::kind::Kind;
use crate::places::Place;
use crate::topic::discount;
use crate::{Decimal, Measure};

/// What the measures of an evaluation need to know of subtopics, each once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Need {
    /// From which grade on a document is relevant to a subtopic.
    pub(crate) level: Grade,
    /// How little a repeated document is worth.
    pub(crate) alpha: Decimal,
}

/// The subtopics of one query.
#[derive(Debug, Clone)]
pub(crate) struct Subtopics {
    /// The subtopics of each judged document, by its place, and its grade there.
    of_place: Vec<Vec<(u32, Grade)>>,
    /// By need.
    prepared: Vec<Prepared>,
}

#[derive(Debug, Clone)]
struct Prepared {
    need: Need,
    /// How many documents are relevant to each subtopic.
    relevant: Vec<u32>,
    /// How many subtopics have a relevant document.
    count: f64,
    /// The novelty of each document of the ideal list, by rank.
    ideal: Vec<f64>,
}

impl Subtopics {
    /// `None` when the judgments are not of subtopics.
    pub(crate) fn new<J: Judgments + ?Sized>(
        qrels: &J,
        query: &str,
        needs: &[Need],
    ) -> Option<Self> {
        let mut labels: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, subtopic, _) in qrels.subtopics(query)? {
            labels.insert(subtopic, 0);
        }
        for (number, at) in (0..).zip(labels.values_mut()) {
            *at = number;
        }
        let places: BTreeMap<&str, usize> = (qrels.judged(query).map(|judged| judged.0))
            .zip(0..)
            .collect();
        let mut of_place = vec![Vec::new(); places.len()];
        for (doc, subtopic, grade) in qrels.subtopics(query)? {
            if let (Some(&place), Some(&at)) = (places.get(doc), labels.get(subtopic)) {
                of_place[place].push((at, grade));
            }
        }
        for list in &mut of_place {
            list.sort_unstable();
        }
        let mut subtopics = Self {
            of_place,
            prepared: Vec::new(),
        };
        for &need in needs {
            let prepared = subtopics.prepare(need, labels.len());
            subtopics.prepared.push(prepared);
        }
        Some(subtopics)
    }

    fn prepare(&self, need: Need, subtopics: usize) -> Prepared {
        let mut relevant = vec![0; subtopics];
        for place in 0..self.of_place.len() {
            for at in self.covered(place, need.level) {
                relevant[at] += 1;
            }
        }
        let mut prepared = Prepared {
            need,
            count: relevant.iter().filter(|&&n| n > 0).count() as f64,
            relevant,
            ideal: Vec::new(),
        };
        // The most novel document each time, of equals the larger id. Novelty only falls, so that a
        // document whose novelty is unchanged at the head of the heap is the one.
        let mut worth = vec![1.0; subtopics];
        let novelty = |worth: &[f64], place: usize| -> f64 {
            total(self.covered(place, need.level).map(|at| worth[at]))
        };
        // Floats from 0 up are ordered as their bits are.
        let entry = |worth: &[f64], place: usize| (novelty(worth, place).to_bits(), place);
        let mut heap: BinaryHeap<(u64, usize)> = (0..self.of_place.len())
            .filter(|&place| self.covered(place, need.level).next().is_some())
            .map(|place| entry(&worth, place))
            .collect();
        while let Some((bits, place)) = heap.pop() {
            let now = entry(&worth, place);
            if now.0 != bits {
                heap.push(now);
                continue;
            }
            prepared.ideal.push(f64::from_bits(bits));
            for at in self.covered(place, need.level) {
                worth[at] *= need.left();
            }
        }
        prepared
    }

    /// The subtopics that the document of a place is relevant to.
    fn covered(&self, place: usize, level: Grade) -> impl Iterator<Item = usize> + '_ {
        let list = self.of_place.get(place).into_iter().flatten();
        list.filter(move |(_, grade)| *grade >= level)
            .map(|&(at, _)| at as usize)
    }

    /// The subtopics that each document of a list is relevant to.
    fn list<'a>(
        &'a self,
        places: &'a [Place],
        level: Grade,
    ) -> impl Iterator<Item = Vec<usize>> + 'a {
        let covered = move |place: &Place| self.covered(place.index(), level).collect();
        places.iter().map(covered)
    }

    /// The novelty of each document of a list.
    fn novelty(&self, places: &[Place], need: Need, subtopics: usize) -> Vec<f64> {
        let mut worth = vec![1.0; subtopics];
        let list = self.list(places, need.level);
        list.map(|covered| {
            let mut novelty = 0.0;
            for at in covered {
                novelty += worth[at];
                worth[at] *= need.left();
            }
            novelty
        })
        .collect()
    }

    /// The value of a measure of a list, given as the places of its documents, cut at the measure's
    /// cut-off. `need` is the number of what the measure needs.
    pub(crate) fn value(&self, measure: Measure, need: usize, places: &[Place]) -> f64 {
        let prepared = &self.prepared[need];
        if prepared.count == 0.0 {
            return 0.0;
        }
        let cutoff = measure.cutoff().map(|k| k as usize);
        let depth = cutoff.unwrap_or(places.len());
        let level = prepared.need.level;
        let novelty = || self.novelty(places, prepared.need, prepared.relevant.len());
        let best = || prepared.best(depth);
        let ideal = || {
            prepared
                .ideal
                .iter()
                .copied()
                .take(cutoff.unwrap_or(usize::MAX))
        };
        match measure.kind() {
            Kind::ErrIA { .. } => over(reciprocal(novelty()), reciprocal(best())),
            Kind::NErrIA { .. } => over(reciprocal(novelty()), reciprocal(ideal())),
            Kind::AlphaDCG { .. } => over(logarithmic(novelty()), logarithmic(best())),
            Kind::AlphaNDCG { .. } => over(logarithmic(novelty()), logarithmic(ideal())),
            Kind::NRBP { beta, .. } => {
                let beta = beta.to_f64();
                let scale = 1.0 - prepared.need.left() * beta;
                geometric(novelty(), beta) * scale / prepared.count
            }
            Kind::NNRBP { beta, .. } => {
                let beta = beta.to_f64();
                over(geometric(novelty(), beta), geometric(ideal(), beta))
            }
            Kind::ApIA => {
                let mut hits = vec![0.0; prepared.relevant.len()];
                let mut sums = vec![0.0; prepared.relevant.len()];
                for (rank, covered) in (1..).zip(self.list(places, level)) {
                    for at in covered {
                        hits[at] += 1.0;
                        sums[at] += hits[at] / f64::from(rank);
                    }
                }
                let each = sums.iter().zip(&prepared.relevant);
                let values = each.map(|(sum, &relevant)| over(*sum, f64::from(relevant)));
                total(values) / prepared.count
            }
            Kind::PIA => {
                let pairs: usize = self.list(places, level).map(|covered| covered.len()).sum();
                over(pairs as f64, depth as f64 * prepared.count)
            }
            _ => {
                let mut seen = vec![false; prepared.relevant.len()];
                for at in self.list(places, level).flatten() {
                    seen[at] = true;
                }
                let covered = seen.iter().filter(|&&seen| seen).count();
                covered as f64 / prepared.count
            }
        }
    }
}

impl Need {
    /// What is left of a subtopic's worth when a document has covered it.
    fn left(&self) -> f64 {
        1.0 - self.alpha.to_f64()
    }
}

impl Prepared {
    /// The novelties of a list of which every document is relevant to every subtopic.
    fn best(&self, depth: usize) -> impl Iterator<Item = f64> {
        let left = self.need.left();
        std::iter::successors(Some(self.count), move |worth| Some(worth * left)).take(depth)
    }
}

fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

fn reciprocal(novelties: impl IntoIterator<Item = f64>) -> f64 {
    let ranked = (1_u32..).zip(novelties);
    total(ranked.map(|(rank, novelty)| novelty / f64::from(rank)))
}

fn logarithmic(novelties: impl IntoIterator<Item = f64>) -> f64 {
    let ranked = (1..).zip(novelties);
    total(ranked.map(|(rank, novelty)| novelty / discount(rank)))
}

fn geometric(novelties: impl IntoIterator<Item = f64>, beta: f64) -> f64 {
    let (mut sum, mut reached) = (0.0, 1.0);
    for novelty in novelties {
        sum += novelty * reached;
        reached *= beta;
    }
    sum
}

fn over(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 {
        dividend / divisor
    } else {
        0.0
    }
}
