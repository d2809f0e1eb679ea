//! Scorer of BM25F: the term score of a document's normalized frequencies in all fields.
//!
//! Term scores are rounded to multiples of 2^-36. So the sums of scores and of bounds are exact in
//! double precision up to 2^16, and independent of their order.

use ir_core::Explanation;

use super::lengths::{ScoredLengths, code_of};
use crate::models::Bm25F;
use crate::{DocLengths, FieldStats, Index, small_float};
use ir_core::store::OpenIndexError;

/// Sums of term scores are exact below this.
pub(super) const MAX_SUM: f64 = (1_u64 << 16) as f64;
/// Term scores are multiples of this.
const STEP: f64 = 1.0 / (1_u64 << 36) as f64;
/// A double in this binade is a multiple of the step.
const ROUNDER: f64 = 1.5 * (1_u64 << 16) as f64;

/// BM25F bound to the statistics of a collection.
#[derive(Debug)]
pub(crate) struct CombinedFields {
    k1: f64,
    lengths: DocLengths,
    /// Number of documents in the collection.
    documents: u64,
    fields: Box<[FieldNorm]>,
}

/// Length normalization of a field.
#[derive(Debug)]
struct FieldNorm {
    b: f64,
    /// Average over the documents with at least one token.
    average: f64,
    /// The inverse norms of all length codes.
    by_code: Box<[f64; 256]>,
}

impl FieldNorm {
    fn new(b: f64, stats: &FieldStats) -> Self {
        let average = match stats.docs {
            0 => 1.0,
            docs => stats.tokens as f64 / docs as f64,
        };
        let mut norm = Self {
            b,
            average,
            by_code: Box::new([0.0; 256]),
        };
        let codes = (0..=u8::MAX).map(|code| norm.inverse(small_float::decode(code)));
        let codes: Vec<f64> = codes.collect();
        norm.by_code.copy_from_slice(&codes);
        norm
    }

    /// `1 / (1 - b + b · length / average)`. A field with a term is not empty.
    fn inverse(&self, length: u32) -> f64 {
        let Self { b, average, .. } = self;
        1.0 / (1.0 - b + b * f64::from(length.max(1)) / average)
    }
}

/// Normalized frequencies in a field of an index: `weight · tf / (1 - b + b · length / average)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldFrequencies<'a> {
    norm: &'a FieldNorm,
    weight: f64,
    lengths: ScoredLengths<'a>,
}

impl FieldFrequencies<'_> {
    /// The normalized frequency of `tf` occurrences in a document.
    #[inline]
    pub(super) fn of(&self, doc: u32, tf: u32) -> f64 {
        let inverse = match self.lengths {
            ScoredLengths::Codes(codes) => self.norm.by_code[usize::from(code_of(codes, doc))],
            ScoredLengths::Exact(_) => self.norm.inverse(self.lengths.of(doc)),
        };
        self.weight * inverse * f64::from(tf)
    }

    /// The normalized frequency of `tf` occurrences in the shortest documents with a length code.
    pub(super) fn of_code(&self, code: u8, tf: u32) -> f64 {
        self.weight * self.norm.by_code[usize::from(code)] * f64::from(tf)
    }

    /// A lower bound of the normalized frequency of `tf` occurrences in documents with a length
    /// code.
    pub(super) fn least_of_code(&self, code: u8, tf: u32) -> f64 {
        match self.lengths {
            ScoredLengths::Codes(_) => self.of_code(code, tf),
            ScoredLengths::Exact(_) => {
                let inverse = self.norm.inverse(small_float::largest(code));
                self.weight * inverse * f64::from(tf)
            }
        }
    }

    pub(super) fn explain(&self, name: &str, doc: u32, tf: u32) -> Explanation {
        let formula = "weight × tf / (1 - b + b × length / average)";
        let FieldNorm { b, average, .. } = self.norm;
        let mut tree = Explanation::new(self.of(doc, tf), format!("{name}: {formula}"));
        tree.details = vec![
            Explanation::new(self.weight, "weight of the field"),
            Explanation::new(*b, "b"),
            Explanation::new(*average, "average length of the documents with the field"),
            Explanation::new(f64::from(tf), "tf: occurrences in the field"),
            Explanation::new(f64::from(self.lengths.of(doc)), self.lengths.description()),
        ];
        tree
    }
}

/// Term of a query, scored over all fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CombinedTerm {
    k1: f64,
    /// Weight in the query.
    count: f64,
    idf: f64,
    documents: u64,
    /// Number of documents with the term in any field.
    df: u64,
}

impl CombinedFields {
    pub(crate) fn new(
        model: &Bm25F,
        names: &[&'static str],
        fields: &[FieldStats],
        documents: usize,
    ) -> Self {
        let fields = names.iter().zip(fields);
        let norm = |(name, stats): (&&str, _)| FieldNorm::new(f64::from(model.b_of(name)), stats);
        Self {
            k1: f64::from(model.k1),
            lengths: model.lengths,
            documents: documents as u64,
            fields: fields.map(norm).collect(),
        }
    }

    /// The scorer of a term with a weight in the query and a document frequency.
    pub(crate) fn term(&self, count: f32, df: u64) -> CombinedTerm {
        let df = df.min(self.documents);
        let (n, of_term) = (self.documents as f64, df as f64);
        CombinedTerm {
            k1: self.k1,
            count: f64::from(count),
            idf: (1.0 + (n - of_term + 0.5) / (of_term + 0.5)).ln(),
            documents: self.documents,
            df,
        }
    }

    /// The normalized frequencies in a field of an index, which exists.
    pub(super) fn frequencies<'a>(
        &'a self,
        index: &'a Index,
        field: usize,
        weight: f32,
    ) -> Result<FieldFrequencies<'a>, OpenIndexError> {
        Ok(FieldFrequencies {
            norm: &self.fields[field],
            weight: f64::from(weight),
            lengths: ScoredLengths::new(index, field, self.lengths)?,
        })
    }
}

impl CombinedTerm {
    /// The term score of a normalized frequency above 0.
    #[inline]
    pub(crate) fn score(&self, frequency: f64) -> f64 {
        let score = self.count * self.idf * (frequency / (self.k1 + frequency));
        if score < MAX_SUM {
            ((score + ROUNDER) - ROUNDER).max(STEP)
        } else {
            score
        }
    }

    /// Explains a term score by the explanations of the normalized frequencies in the fields.
    pub(super) fn explain(&self, text: &str, details: Vec<Explanation>) -> Explanation {
        let sum = details.iter().map(|field| field.value).sum();
        let mut frequency =
            Explanation::new(sum, "x: sum of the normalized frequencies in the fields");
        frequency.details = details;
        let Self {
            k1,
            count,
            idf,
            documents,
            df,
        } = *self;
        let idf = Explanation::new(idf, "idf = ln(1 + (N - df + 0.5) / (df + 0.5))")
            .with_detail(Explanation::new(documents as f64, "N: number of documents"))
            .with_detail(Explanation::new(
                df as f64,
                "df: number of documents with the term in a field",
            ));
        let what = format!("{text}: count × idf × x / (k1 + x)");
        Explanation::new(self.score(sum), what)
            .with_detail(Explanation::new(
                count,
                "count: weight in the query, by default the count",
            ))
            .with_detail(idf)
            .with_detail(Explanation::new(k1, "k1"))
            .with_detail(frequency)
    }
}
