//! Subtopic judgments of one query, and the ideal ranking by novelty.

use std::collections::{BTreeMap, BinaryHeap};

use ir_core::{Grade, Judgments};

use super::documents::DocOrdinal;
use super::sum;
use crate::decimal::Decimal;

/// Parameters of novelty: the relevance level, and the probability α that a user who has seen a
/// document on a subtopic needs no other one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoveltySettings {
    pub(crate) level: Grade,
    pub(crate) alpha: Decimal,
}

impl NoveltySettings {
    /// Factor by which a subtopic's value falls with each document that covers it: 1 − α.
    pub(crate) fn decay(&self) -> f64 {
        1.0 - self.alpha.to_f64()
    }
}

/// Subtopic judgments of one query.
#[derive(Debug, Clone)]
pub(crate) struct Subtopics {
    /// Subtopics of each judged document and its grades there, by the document's ordinal.
    of_doc: Vec<Vec<(u32, Grade)>>,
    /// By novelty of [`Requirements`](super::Requirements).
    prepared: Vec<PreparedSubtopics>,
}

/// Subtopic judgments of one query under one [`NoveltySettings`].
#[derive(Debug, Clone)]
pub(crate) struct PreparedSubtopics {
    pub(crate) settings: NoveltySettings,
    /// Number of relevant documents of each subtopic.
    pub(crate) relevant: Vec<u32>,
    /// Number of subtopics with a relevant document.
    pub(crate) subtopics: f64,
    /// Novelty of each document of the ideal ranking, by rank.
    pub(crate) ideal: Vec<f64>,
}

impl Subtopics {
    /// Returns `None` if the judgments have no subtopics.
    pub(crate) fn new<J: Judgments + ?Sized>(
        qrels: &J,
        query: &str,
        novelties: &[NoveltySettings],
    ) -> Option<Self> {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, subtopic, _) in qrels.subtopics(query)? {
            numbers.insert(subtopic, 0);
        }
        for (next, number) in (0..).zip(numbers.values_mut()) {
            *number = next;
        }
        let ordinals: BTreeMap<&str, usize> =
            (qrels.judged(query).map(|(doc, _)| doc)).zip(0..).collect();
        let mut of_doc = vec![Vec::new(); ordinals.len()];
        for (doc, subtopic, grade) in qrels.subtopics(query)? {
            if let (Some(&ordinal), Some(&number)) = (ordinals.get(doc), numbers.get(subtopic)) {
                of_doc[ordinal].push((number, grade));
            }
        }
        for subtopics in &mut of_doc {
            subtopics.sort_unstable();
        }
        let mut subtopics = Self {
            of_doc,
            prepared: Vec::new(),
        };
        for &settings in novelties {
            let prepared = subtopics.prepare(settings, numbers.len());
            subtopics.prepared.push(prepared);
        }
        Some(subtopics)
    }

    fn prepare(&self, settings: NoveltySettings, subtopics: usize) -> PreparedSubtopics {
        let level = settings.level;
        let mut relevant = vec![0; subtopics];
        for doc in 0..self.of_doc.len() {
            for subtopic in self.covered(doc, level) {
                relevant[subtopic] += 1;
            }
        }
        PreparedSubtopics {
            settings,
            subtopics: relevant.iter().filter(|&&count| count > 0).count() as f64,
            ideal: self.ideal(settings, subtopics),
            relevant,
        }
    }

    /// Novelties of the greedy ideal ranking: the most novel document at each rank, of several the
    /// one with the largest id.
    fn ideal(&self, settings: NoveltySettings, subtopics: usize) -> Vec<f64> {
        let level = settings.level;
        let mut values = vec![1.0; subtopics];
        // Non-negative floats compare like their bits.
        let entry = |values: &[f64], doc: usize| {
            let novelty = sum(self.covered(doc, level).map(|subtopic| values[subtopic]));
            (novelty.to_bits(), doc)
        };
        let mut heap: BinaryHeap<(u64, usize)> = (0..self.of_doc.len())
            .filter(|&doc| self.covered(doc, level).next().is_some())
            .map(|doc| entry(&values, doc))
            .collect();
        let mut ideal = Vec::new();
        // Lazy greedy selection: novelty never rises, so a document at the top of the heap
        // with a current novelty is the maximum.
        while let Some((bits, doc)) = heap.pop() {
            let current = entry(&values, doc);
            if current.0 != bits {
                heap.push(current);
                continue;
            }
            ideal.push(f64::from_bits(bits));
            for subtopic in self.covered(doc, level) {
                values[subtopic] *= settings.decay();
            }
        }
        ideal
    }

    /// Judgments prepared for a novelty of [`Requirements`](super::Requirements).
    pub(crate) fn prepared(&self, novelty: usize) -> &PreparedSubtopics {
        &self.prepared[novelty]
    }

    fn covered(&self, doc: usize, level: Grade) -> impl Iterator<Item = usize> + '_ {
        let subtopics = self.of_doc.get(doc).into_iter().flatten();
        subtopics
            .filter(move |(_, grade)| *grade >= level)
            .map(|&(subtopic, _)| subtopic as usize)
    }

    /// Subtopics that a document is relevant to.
    pub(crate) fn covered_by(
        &self,
        doc: DocOrdinal,
        level: Grade,
    ) -> impl Iterator<Item = usize> + '_ {
        self.covered(doc.index(), level)
    }

    /// Novelty of each document of a ranking.
    pub(crate) fn novelties(
        &self,
        ranking: &[DocOrdinal],
        prepared: &PreparedSubtopics,
    ) -> Vec<f64> {
        let mut values = vec![1.0; prepared.relevant.len()];
        let novelty = |&doc: &DocOrdinal| {
            let mut novelty = 0.0;
            for subtopic in self.covered_by(doc, prepared.settings.level) {
                novelty += values[subtopic];
                values[subtopic] *= prepared.settings.decay();
            }
            novelty
        };
        ranking.iter().map(novelty).collect()
    }
}
