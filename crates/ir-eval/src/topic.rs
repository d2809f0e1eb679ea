//! One query: its judgments, prepared once, and a ranked list seen through them.

use ir_core::Grade;

use crate::Gain;
use crate::diversity::{self, Subtopics};
use crate::places::{Place, Places};
use crate::sampled::Strata;

/// The state of a retrieved document that is not in the qrels.
pub(crate) const UNPOOLED: Grade = -1;
/// The state of a retrieved document that has a negative grade.
pub(crate) const UNJUDGED: Grade = -2;

/// Which levels and gains the measures of an evaluation need, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    pub(crate) levels: Vec<Grade>,
    pub(crate) gains: Vec<Gain>,
    pub(crate) novelties: Vec<diversity::Need>,
    /// Whether strata are asked for.
    pub(crate) strata: bool,
    /// Whether a list of judged documents alone is asked for.
    pub(crate) condensed: bool,
}

/// The judgments of one query.
#[derive(Debug, Clone)]
pub(crate) struct Topic<'q> {
    pub(crate) id: &'q str,
    places: Places<'q>,
    /// By [`Place`].
    states: Vec<Grade>,
    /// Grades from 0 on that occur, ascending, and how often.
    grades: Vec<(Grade, u64)>,
    /// By level of [`Needs`]: how many documents reach it.
    relevant: Vec<u64>,
    /// By gain of [`Needs`].
    ideals: Vec<Ideal>,
    /// Where [`Needs`] asks for them.
    pub(crate) strata: Option<Strata>,
    /// Where [`Needs`] asks for them and the judgments have them.
    pub(crate) subtopics: Option<Subtopics>,
}

/// The list of a query that could not be better: positive gains, descending.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ideal {
    /// Runs of equal gains: the gain, and the rank of the last document that has it.
    pub(crate) steps: Vec<(f64, usize)>,
    /// DCG of the first i + 1 documents.
    pub(crate) dcg: Vec<f64>,
}

impl Ideal {
    /// The DCG of the first `k` documents.
    pub(crate) fn at(&self, k: usize) -> f64 {
        match k.min(self.dcg.len()) {
            0 => 0.0,
            k => self.dcg[k - 1],
        }
    }

    /// How many documents have a positive gain.
    pub(crate) fn len(&self) -> usize {
        self.dcg.len()
    }

    fn new(gain: Gain, grades: &[(Grade, u64)]) -> Self {
        let mut levels: Vec<(f64, u64)> = grades.iter().map(|&(g, n)| (gain.of(g), n)).collect();
        levels.retain(|level| level.0 > 0.0);
        levels.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut ideal = Self::default();
        let mut sum = 0.0;
        for (gain, count) in levels {
            for _ in 0..count {
                sum += gain / discount(ideal.dcg.len() + 1);
                ideal.dcg.push(sum);
            }
            match ideal.steps.last_mut() {
                Some(step) if step.0 == gain => step.1 = ideal.dcg.len(),
                _ => ideal.steps.push((gain, ideal.dcg.len())),
            }
        }
        ideal
    }
}

/// log₂(rank + 1).
pub(crate) fn discount(rank: usize) -> f64 {
    ((rank + 1) as f64).log2()
}

impl<'q> Topic<'q> {
    pub(crate) fn new(
        id: &'q str,
        judged: impl Iterator<Item = (&'q str, Grade)>,
        needs: &Needs,
    ) -> Self {
        let mut places = Places::default();
        let mut states = Vec::new();
        let mut list = Vec::new();
        for (doc, grade) in judged {
            // -1 in the qrels is "pooled, not judged" just as -2 is.
            let state = if grade < 0 { UNJUDGED } else { grade };
            match places.insert(doc) {
                None => states.push(state),
                Some(there) => states[there.index()] = state,
            }
            list.push(grade);
        }
        list.retain(|&grade| grade >= 0);
        list.sort_unstable();
        let mut grades: Vec<(Grade, u64)> = Vec::new();
        for grade in list {
            match grades.last_mut() {
                Some(last) if last.0 == grade => last.1 += 1,
                _ => grades.push((grade, 1)),
            }
        }
        let reach = |level: Grade| {
            let there = grades.iter().filter(|g| g.0 >= level);
            there.map(|g| g.1).sum()
        };
        Self {
            id,
            relevant: needs.levels.iter().map(|&level| reach(level)).collect(),
            ideals: needs
                .gains
                .iter()
                .map(|&g| Ideal::new(g, &grades))
                .collect(),
            places,
            states,
            grades,
            strata: None,
            subtopics: None,
        }
    }

    /// The judged documents.
    pub(crate) fn places(&self) -> &Places<'q> {
        &self.places
    }

    /// The grade of a document, or [`UNPOOLED`], or [`UNJUDGED`].
    pub(crate) fn state(&self, place: Place) -> Grade {
        self.states.get(place.index()).copied().unwrap_or(UNPOOLED)
    }

    /// How many documents are relevant at a level of [`Needs`].
    pub(crate) fn relevant(&self, level: usize) -> u64 {
        self.relevant[level]
    }

    /// Grades from 0 on that occur, ascending, and how often.
    pub(crate) fn grades(&self) -> &[(Grade, u64)] {
        &self.grades
    }

    /// How many documents are judged and below a grade.
    pub(crate) fn judged_below(&self, level: Grade) -> u64 {
        let below = self.grades.iter().filter(|g| g.0 < level);
        below.map(|g| g.1).sum()
    }

    /// How many documents have a grade above 0.
    pub(crate) fn positive(&self) -> u64 {
        let above = self.grades.iter().filter(|g| g.0 > 0);
        above.map(|g| g.1).sum()
    }

    /// The highest grade, at least 0.
    pub(crate) fn highest(&self) -> Grade {
        self.grades.last().map_or(0, |g| g.0)
    }

    pub(crate) fn ideal(&self, gain: usize) -> &Ideal {
        &self.ideals[gain]
    }
}

/// A ranked list as the measures see it: where each document stands among the judged ones, its
/// state, and what follows from one pass over them.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    /// By rank − 1; [`Place::NOWHERE`] for documents that are not in the qrels.
    pub(crate) places: Vec<Place>,
    /// By rank − 1.
    pub(crate) states: Vec<Grade>,
    /// By level of [`Needs`].
    pub(crate) hits: Vec<Hits>,
    /// By gain of [`Needs`].
    pub(crate) gained: Vec<Gained>,
}

/// The relevant documents of a list.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// Their ranks, ascending.
    pub(crate) ranks: Vec<usize>,
    /// The sum of precisions at the first i + 1 of them.
    pub(crate) precisions: Vec<f64>,
}

impl Hits {
    /// How many there are in the first `k`.
    pub(crate) fn within(&self, k: usize) -> usize {
        self.ranks.partition_point(|&rank| rank <= k)
    }

    /// The sum of precisions at the first `hits`.
    pub(crate) fn precision_sum(&self, hits: usize) -> f64 {
        match hits {
            0 => 0.0,
            hits => self.precisions[hits - 1],
        }
    }
}

/// The documents of a list that have a gain other than 0.
#[derive(Debug, Default)]
pub(crate) struct Gained {
    /// Rank and gain.
    pub(crate) gains: Vec<(usize, f64)>,
    /// DCG up to and with it.
    dcg: Vec<f64>,
}

impl Gained {
    /// The DCG of the first `k` documents.
    pub(crate) fn dcg(&self, k: usize) -> f64 {
        match self.gains.partition_point(|&(rank, _)| rank <= k) {
            0 => 0.0,
            n => self.dcg[n - 1],
        }
    }
}

impl Ranked {
    /// An empty list.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.states.clear();
    }

    /// Appends a document.
    pub(crate) fn push(&mut self, place: Place, state: Grade) {
        self.places.push(place);
        self.states.push(state);
    }

    /// Goes over `states` once.
    pub(crate) fn fill(&mut self, needs: &Needs) {
        self.hits.resize_with(needs.levels.len(), Hits::default);
        self.gained.resize_with(needs.gains.len(), Gained::default);
        for (hits, &level) in self.hits.iter_mut().zip(&needs.levels) {
            hits.ranks.clear();
            hits.precisions.clear();
            let mut sum = 0.0;
            for (rank, &state) in (1..).zip(&self.states) {
                if state >= level {
                    hits.ranks.push(rank);
                    sum += hits.ranks.len() as f64 / rank as f64;
                    hits.precisions.push(sum);
                }
            }
        }
        for (gained, gain) in self.gained.iter_mut().zip(&needs.gains) {
            gained.gains.clear();
            gained.dcg.clear();
            let mut sum = 0.0;
            for (rank, &state) in (1..).zip(&self.states) {
                let worth = if state < 0 { 0.0 } else { gain.of(state) };
                if worth != 0.0 {
                    sum += worth / discount(rank);
                    gained.gains.push((rank, worth));
                    gained.dcg.push(sum);
                }
            }
        }
    }
}
