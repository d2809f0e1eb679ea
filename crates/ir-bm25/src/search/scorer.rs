//! BM25 term scores and their upper bounds.
//!
//! BM25 is computed here alone ([`super::explain`] prints its formula). To add another scoring
//! function that is a sum over terms, increases with the frequency and decreases with the length,
//! replace [`FieldModel`] (the table of length factors) and the formula of [`TermScorer`]; the
//! impacts of the postings bound it too.
//!
//! Every step is one correctly rounded float operation that is monotone in the frequency and in
//! the length. So the same steps applied to an [`Impact`] give an upper bound of the *computed*
//! scores, not only of the exact ones.

use super::score_table::{Denominators, ScoreTable};
use crate::bm25::{Bm25, DocLengths};
use crate::format::FieldStats;
use crate::postings::{Impact, PostingsSlice};
use crate::small_float;

/// Exact lengths up to this have their factor in a table.
const TABLE: u32 = 1 << 14;

/// BM25 bound to the statistics of one field.
#[derive(Debug, Clone)]
pub(crate) struct FieldModel {
    pub(crate) bm25: Bm25,
    /// Number of documents with the field.
    pub(crate) documents: u64,
    /// Average length of these documents.
    pub(crate) average: f32,
    by_code: Box<[f32; 256]>,
    by_length: Box<[f32]>,
    pub(super) denominators: Denominators,
}

impl FieldModel {
    pub(crate) fn new(bm25: Bm25, stats: &FieldStats) -> Self {
        let average = match stats.docs {
            0 => 1.0,
            _ => stats.average_length() as f32,
        };
        let mut by_code = Box::new([0.0; 256]);
        for code in 0..=u8::MAX {
            by_code[usize::from(code)] = inverse_of(bm25, average, small_float::decode(code));
        }
        let mut model = Self {
            bm25,
            documents: stats.docs,
            average,
            denominators: Denominators::new(&by_code, stats.longest),
            by_code,
            by_length: Box::default(),
        };
        if bm25.lengths == DocLengths::Exact {
            let lengths = 0..=stats.longest.min(TABLE);
            model.by_length = lengths.map(|length| model.inverse_of(length)).collect();
        }
        model
    }

    fn inverse_of(&self, length: u32) -> f32 {
        inverse_of(self.bm25, self.average, length)
    }

    #[inline]
    pub(crate) fn inverse_of_code(&self, code: u8) -> f32 {
        self.by_code[usize::from(code)]
    }

    #[inline]
    fn inverse_of_exact(&self, length: u32) -> f32 {
        match self.by_length.get(length as usize) {
            Some(&inverse) => inverse,
            None => self.inverse_of(length),
        }
    }

    /// `ln(1 + (N - df + 0.5) / (df + 0.5))`, in double precision, rounded to single.
    pub(crate) fn idf(&self, df: u32) -> f32 {
        let (n, df) = (self.documents as f64, f64::from(df));
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
    }
}

/// `1 / K = 1 / (k1 · (1 - b + b · length / average))`, with the rounding steps of Lucene.
fn inverse_of(bm25: Bm25, average: f32, length: u32) -> f32 {
    let Bm25 { k1, b, .. } = bm25;
    1.0 / (k1 * ((1.0 - b) + b * length as f32 / average))
}

/// The score of `tf` occurrences, given `1 / K`.
#[inline]
pub(super) fn score_of(weight: f32, tf: u32, inverse: f32) -> f32 {
    weight - weight / (1.0 + tf as f32 * inverse)
}

/// Scorer of the postings of a query term in one field.
#[derive(Debug)]
pub(crate) struct TermScorer<'a> {
    pub(crate) model: &'a FieldModel,
    /// One-byte encoded document lengths.
    pub(crate) codes: &'a [u8],
    /// Exact document lengths; empty for [`DocLengths::OneByte`].
    pub(crate) lengths: &'a [u32],
    /// The limit of the term score as the frequency grows: boost × idf.
    pub(crate) weight: f32,
}

impl TermScorer<'_> {
    /// The document length that scoring uses.
    pub(crate) fn length(&self, doc: u32) -> u32 {
        match self.model.bm25.lengths {
            DocLengths::OneByte => small_float::decode(self.code(doc)),
            DocLengths::Exact => self.lengths.get(doc as usize).copied().unwrap_or(0),
        }
    }

    #[inline]
    fn inverse(&self, doc: u32) -> f32 {
        match self.model.bm25.lengths {
            DocLengths::OneByte => self.model.inverse_of_code(self.code(doc)),
            DocLengths::Exact => {
                let length = self.lengths.get(doc as usize).copied().unwrap_or(0);
                self.model.inverse_of_exact(length)
            }
        }
    }

    /// The term score of `tf` occurrences in a document.
    #[inline]
    pub(crate) fn score(&self, doc: u32, tf: u32) -> f32 {
        score_of(self.weight, tf, self.inverse(doc))
    }

    /// Calls `visit` with every posting's document and term score.
    #[inline]
    pub(crate) fn for_each_score(
        &self,
        table: Option<&ScoreTable>,
        postings: PostingsSlice<'_>,
        mut visit: impl FnMut(u32, f32),
    ) {
        let PostingsSlice { docs, tfs, tf_bits } = postings;
        let pairs = docs.iter().zip(tfs);
        match table.filter(|_| tf_bits <= ScoreTable::TF_BITS) {
            Some(table) => {
                for (&doc, &tf) in pairs {
                    visit(doc, table.score(self.code(doc), tf));
                }
            }
            None => {
                for (&doc, &tf) in pairs {
                    visit(doc, self.score(doc, tf));
                }
            }
        }
    }

    /// The length code of a document.
    #[inline]
    fn code(&self, doc: u32) -> u8 {
        self.codes.get(doc as usize).copied().unwrap_or(0)
    }

    /// Lower bound of the term scores of postings with at least this frequency and at most this
    /// length code.
    pub(super) fn lower_bound(&self, tf: u32, code: u8) -> f32 {
        let inverse = match self.model.bm25.lengths {
            DocLengths::OneByte => self.model.inverse_of_code(code),
            DocLengths::Exact => self.model.inverse_of_exact(small_float::largest(code)),
        };
        score_of(self.weight, tf, inverse)
    }

    /// The maximum term score of postings with these impacts.
    #[inline]
    pub(crate) fn bound(&self, impacts: impl Iterator<Item = Impact>) -> f32 {
        impacts.fold(0.0, |most: f32, impact| {
            let inverse = self.model.inverse_of_code(impact.length);
            most.max(score_of(
                self.weight,
                small_float::decode(impact.tf),
                inverse,
            ))
        })
    }
}
