//! What a term adds to the score of a document, and what it can add at most.
//!
//! This is all that the engine knows of BM25. Another model of the form "a sum over terms of something that grows
//! with the frequency and falls with the length" needs its own [`FieldModel`] (the length table) and
//! [`TermScorer::part`], and the bounds of the postings serve it as they are.
//!
//! Every step is one correctly rounded float operation that is monotone in the frequency and in the length. So the
//! value of the same steps at a [`Point`] is an upper bound of the *computed* scores, not only of the true ones.

use crate::bm25::{Bm25, Lengths};
use crate::codec::u32_at;
use crate::file::FieldStats;
use crate::norm;
use crate::postings::Point;

/// Exact lengths below this have their factor in a table.
const TABLE: u32 = 1 << 14;

/// BM25 bound to the statistics of one field.
#[derive(Debug, Clone)]
pub(crate) struct FieldModel {
    bm25: Bm25,
    documents: u64,
    average: f32,
    by_code: Box<[f32]>,
    by_length: Box<[f32]>,
}

impl FieldModel {
    pub(crate) fn new(bm25: Bm25, stats: &FieldStats) -> Self {
        let average = if stats.docs == 0 {
            1.0
        } else {
            (stats.tokens as f64 / stats.docs as f64) as f32
        };
        let mut model = Self {
            bm25,
            documents: stats.docs,
            average,
            by_code: Box::default(),
            by_length: Box::default(),
        };
        model.by_code = (0..=u8::MAX)
            .map(|code| model.inverse_of(norm::decode(code)))
            .collect();
        if bm25.lengths == Lengths::Exact {
            let lengths = 0..=stats.longest.min(TABLE);
            model.by_length = lengths.map(|length| model.inverse_of(length)).collect();
        }
        model
    }

    /// `1 / (k1 · (1 - b + b · length / average))`, step by step as Lucene.
    fn inverse_of(&self, length: u32) -> f32 {
        let Bm25 { k1, b, .. } = self.bm25;
        1.0 / (k1 * ((1.0 - b) + b * length as f32 / self.average))
    }

    pub(crate) fn inverse_of_code(&self, code: u8) -> f32 {
        self.by_code.get(usize::from(code)).copied().unwrap_or(0.0)
    }

    #[inline]
    fn inverse_of_exact(&self, length: u32) -> f32 {
        match self.by_length.get(length as usize) {
            Some(&inverse) => inverse,
            None => self.inverse_of(length),
        }
    }

    /// `ln(1 + (N - df + 0.5) / (df + 0.5))`, in double, rounded to single.
    pub(crate) fn idf(&self, df: u32) -> f32 {
        let (n, df) = (self.documents as f64, f64::from(df));
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
    }

    pub(crate) const fn bm25(&self) -> Bm25 {
        self.bm25
    }

    pub(crate) const fn documents(&self) -> u64 {
        self.documents
    }

    pub(crate) const fn average(&self) -> f32 {
        self.average
    }
}

/// One term of a query, ready to score postings of one field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermScorer<'a> {
    pub(crate) model: &'a FieldModel,
    /// One byte a document.
    pub(crate) codes: &'a [u8],
    /// Four bytes a document.
    pub(crate) lengths: &'a [u8],
    /// What the part of the term in a score approaches as its frequency grows.
    pub(crate) weight: f32,
}

impl TermScorer<'_> {
    #[inline]
    fn formula(weight: f32, tf: u32, inverse: f32) -> f32 {
        weight - weight / (1.0 + tf as f32 * inverse)
    }

    /// The length of a document as the model takes it.
    pub(crate) fn length(&self, doc: u32) -> u32 {
        match self.model.bm25.lengths {
            Lengths::OneByte => norm::decode(self.codes.get(doc as usize).copied().unwrap_or(0)),
            Lengths::Exact => u32_at(self.lengths, doc as usize).unwrap_or(0),
        }
    }

    #[inline]
    fn inverse(&self, doc: u32) -> f32 {
        match self.model.bm25.lengths {
            Lengths::OneByte => {
                let code = self.codes.get(doc as usize).copied().unwrap_or(0);
                self.model.inverse_of_code(code)
            }
            Lengths::Exact => {
                let length = u32_at(self.lengths, doc as usize).unwrap_or(0);
                self.model.inverse_of_exact(length)
            }
        }
    }

    /// What `tf` occurrences in a document add to its score.
    #[inline]
    pub(crate) fn part(&self, doc: u32, tf: u32) -> f32 {
        Self::formula(self.weight, tf, self.inverse(doc))
    }

    /// The parts of several postings at once; the slices are equally long.
    #[inline]
    pub(crate) fn parts(&self, docs: &[u32], tfs: &[u32], parts: &mut [f32]) {
        match self.model.bm25.lengths {
            Lengths::OneByte => {
                for (part, &doc) in parts.iter_mut().zip(docs) {
                    let code = self.codes.get(doc as usize).copied().unwrap_or(0);
                    *part = self.model.inverse_of_code(code);
                }
            }
            Lengths::Exact => {
                for (part, &doc) in parts.iter_mut().zip(docs) {
                    let length = u32_at(self.lengths, doc as usize).unwrap_or(0);
                    *part = self.model.inverse_of_exact(length);
                }
            }
        }
        for (part, &tf) in parts.iter_mut().zip(tfs) {
            *part = Self::formula(self.weight, tf, *part);
        }
    }

    /// The most that a posting covered by one of these points can add.
    #[inline]
    pub(crate) fn bound(&self, points: impl Iterator<Item = Point>) -> f32 {
        points.fold(0.0, |most: f32, point| {
            let inverse = self.model.inverse_of_code(point.length);
            most.max(Self::formula(self.weight, norm::decode(point.tf), inverse))
        })
    }
}
