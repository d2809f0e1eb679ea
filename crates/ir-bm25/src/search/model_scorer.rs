//! Scorer of the postings of any [`ScoringModel`].
//!
//! Term scores are computed once per frequency and length that occur in a query, and kept in a
//! table, so that a virtual call per posting is rare.
//!
//! They are rounded to multiples of 2^-36. Scores of 2^-12 or more do not change, since
//! single-precision floats have that spacing there; others change by less than 10^-11. So the sums
//! of scores and of bounds are exact in double precision up to 2^17, and independent of their
//! order. Rounding is monotone: bounds stay bounds.

use std::cell::Cell;
use std::sync::Arc;

use ir_core::Explanation;
use ir_core::store::OpenIndexError;

use super::accumulator::Accumulator;
use super::document_scores::DocumentScores;
use super::lengths::{ScoredLengths, code_of, length_of};
use super::list_scorer::{BoundModel, ListScorer, ListStatistics, QueryTerm, ScoredList};
use super::score_window::ScoreWindow;
use crate::models::{ScoringModel, TermBound, TermScorer, TermStatistics, WindowStatistics};
use crate::postings::{Impact, PostingsSlice};
use crate::{FieldStats, Index, small_float};

/// Term scores are multiples of this.
const STEP: f32 = 1.0 / (1_u64 << 36) as f32;
/// Scores from this on are multiples of the step, unrounded.
const EXACT: f32 = 1.0 / (1 << 12) as f32;
/// Sums of multiples of the step are exact below this.
const MAX_SUM: f64 = (1_u64 << 17) as f64;
/// Frequencies from 1 to this have a cell in the table.
const FREQUENCIES: usize = 8;
/// Exact lengths below this have a row in the table.
const LENGTHS: u32 = 2048;
/// Minimum number of postings per row for a table.
const POSTINGS_PER_ROW: f64 = 0.25;

/// A model bound to the statistics of every field.
#[derive(Debug)]
pub(crate) struct ModelFields {
    model: Arc<dyn ScoringModel>,
    fields: Box<[FieldStats]>,
}

impl ModelFields {
    pub(crate) fn new(model: Arc<dyn ScoringModel>, fields: &[FieldStats]) -> Self {
        Self {
            model,
            fields: fields.into(),
        }
    }

    pub(super) fn window_statistics(&self) -> WindowStatistics {
        self.model.window_statistics()
    }
}

impl BoundModel for ModelFields {
    type Scorer<'a> = ModelScorer<'a>;

    fn documents(&self, field: usize) -> Option<u64> {
        self.fields.get(field).map(|stats| stats.docs)
    }

    fn scorer<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        statistics: ListStatistics,
    ) -> Result<ModelScorer<'a>, OpenIndexError> {
        let stats = &self.fields[list.field];
        let term = term_statistics(stats, list, statistics);
        let scorer = self.model.term_scorer(&term);
        let lengths = ScoredLengths::new(index, list.field, self.model.lengths())?;
        let rows = match lengths {
            ScoredLengths::Codes(_) => u32::from(small_float::encode(stats.longest)) + 1,
            ScoredLengths::Exact(_) => stats.longest.saturating_add(1).min(LENGTHS),
        };
        let rows = if f64::from(list.postings) < f64::from(rows) * POSTINGS_PER_ROW {
            0
        } else {
            rows as usize
        };
        Ok(ModelScorer {
            bound: scorer.bound(),
            scorer,
            codes: index.codes(list.field),
            lengths,
            table: vec![[const { Cell::new(f32::NAN) }; FREQUENCIES]; rows].into(),
        })
    }

    fn document_scores<'a>(
        &'a self,
        index: &'a Index,
        terms: impl Iterator<Item = (ScoredList, ListStatistics)>,
    ) -> Result<DocumentScores<'a>, OpenIndexError> {
        let mut of_fields = vec![Vec::new(); self.fields.len()];
        for (list, statistics) in terms {
            // A field without tokens is the same in all documents.
            let stats = self.fields.get(list.field).filter(|stats| stats.tokens > 0);
            if let Some(stats) = stats {
                of_fields[list.field].push(term_statistics(stats, list, statistics));
            }
        }
        let mut scores = DocumentScores::default();
        for (field, terms) in of_fields.iter().enumerate() {
            if terms.is_empty() {
                continue;
            }
            if let Some(scorer) = self.model.document_scorer(terms) {
                scores.push(index, field, self.model.lengths(), scorer)?;
            }
        }
        Ok(scores)
    }
}

/// The statistics of a query term in a field.
fn term_statistics(
    stats: &FieldStats,
    list: ScoredList,
    statistics: ListStatistics,
) -> TermStatistics {
    TermStatistics {
        documents: stats.docs,
        tokens: stats.tokens,
        df: u64::from(statistics.df),
        cf: statistics.cf,
        count: list.count,
        weight: list.weight,
    }
}

/// Scorer of the postings of a query term in one field.
#[derive(Debug)]
pub(crate) struct ModelScorer<'a> {
    scorer: Box<dyn TermScorer + 'a>,
    bound: TermBound,
    /// One-byte encoded document lengths.
    codes: &'a [u8],
    lengths: ScoredLengths<'a>,
    /// Scores by length code or exact length, and frequency minus one. NaN is not computed yet.
    table: Box<[[Cell<f32>; FREQUENCIES]]>,
}

impl ModelScorer<'_> {
    /// The term score of a frequency and a length.
    fn compute(&self, tf: u32, length: u32) -> f32 {
        let score = self.scorer.score(tf, length);
        if score.abs() < EXACT {
            (score / STEP).round() * STEP
        } else {
            score
        }
    }

    /// The term score, from row `row` of the table if it has one.
    #[inline]
    fn look_up(&self, row: usize, tf: u32, length: impl Fn() -> u32) -> f32 {
        let row = self.table.get(row);
        match row.and_then(|row| row.get(tf.wrapping_sub(1) as usize)) {
            Some(cell) => {
                if cell.get().is_nan() {
                    cell.set(self.compute(tf, length()));
                }
                cell.get()
            }
            None => self.compute(tf, length()),
        }
    }

    #[inline]
    fn score_by_code(&self, code: u8, tf: u32) -> f32 {
        self.look_up(usize::from(code), tf, || small_float::decode(code))
    }

    /// The term score of a length code; `length` returns an exact length with that code.
    #[inline]
    fn score_of_code(&self, code: u8, tf: u32, length: impl Fn(u8) -> u32) -> f32 {
        match self.lengths {
            ScoredLengths::Codes(_) => self.score_by_code(code, tf),
            ScoredLengths::Exact(_) => self.score_by_length(length(code), tf),
        }
    }

    #[inline]
    fn score_by_length(&self, length: u32, tf: u32) -> f32 {
        self.look_up(length as usize, tf, || length)
    }
}

impl ListScorer for ModelScorer<'_> {
    #[inline]
    fn score(&self, doc: u32, tf: u32) -> f32 {
        match self.lengths {
            ScoredLengths::Codes(codes) => self.score_by_code(code_of(codes, doc), tf),
            ScoredLengths::Exact(lengths) => self.score_by_length(length_of(lengths, doc), tf),
        }
    }

    fn bound(&self, impacts: impl Iterator<Item = Impact>) -> f32 {
        match self.bound {
            TermBound::Unknown => f32::INFINITY,
            TermBound::AtMost(most) => most.max(0.0),
            TermBound::Monotone => impacts.fold(0.0, |most: f32, impact| {
                let tf = small_float::decode(impact.tf);
                most.max(self.score_of_code(impact.length, tf, small_float::decode))
            }),
        }
    }

    fn bound_of_posting(&self, doc: u32, tf: u32) -> f32 {
        match self.bound {
            TermBound::Unknown => f32::INFINITY,
            TermBound::Monotone | TermBound::AtMost(_) => self.score(doc, tf).max(0.0),
        }
    }

    fn bound_up_to(&self, doc: u32, tf: u32) -> f32 {
        match self.bound {
            TermBound::Unknown => f32::INFINITY,
            TermBound::AtMost(most) => most.max(0.0),
            TermBound::Monotone => self.score(doc, tf).max(0.0),
        }
    }

    fn lower_bound(&self, tf: u32, code: u8) -> f32 {
        match self.bound {
            TermBound::Monotone => self.score_of_code(code, tf, small_float::largest),
            TermBound::AtMost(_) | TermBound::Unknown => f32::NEG_INFINITY,
        }
    }

    fn for_each_score<A: Accumulator>(
        &self,
        postings: PostingsSlice<'_>,
        scale: f64,
        mut visit: impl FnMut(u32, A),
    ) {
        let mut visit = |doc, score| visit(doc, A::from_score(f64::from(score), scale));
        let pairs = postings.docs.iter().zip(postings.tfs);
        match self.lengths {
            ScoredLengths::Codes(codes) => pairs.for_each(|(&doc, &tf)| {
                visit(doc, self.score_by_code(code_of(codes, doc), tf));
            }),
            ScoredLengths::Exact(lengths) => pairs.for_each(|(&doc, &tf)| {
                visit(doc, self.score_by_length(length_of(lengths, doc), tf));
            }),
        }
    }

    fn add_to<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        postings: PostingsSlice<'_>,
    ) -> usize {
        let scale = window.scale();
        let number = |score: f32| A::from_score(f64::from(score), scale);
        match self.lengths {
            ScoredLengths::Codes(_) => window.add_scores(self.codes, postings, |_, code, tf| {
                number(self.score_by_code(code, tf))
            }),
            ScoredLengths::Exact(lengths) => {
                window.add_scores(self.codes, postings, |doc, _, tf| {
                    number(self.score_by_length(length_of(lengths, doc), tf))
                })
            }
        }
    }

    fn is_order_free(terms: &[QueryTerm<'_, Self>]) -> bool {
        let bounds = terms.iter().map(|term| f64::from(term.bound));
        bounds.sum::<f64>() < MAX_SUM
    }

    fn has_floor(terms: &[QueryTerm<'_, Self>]) -> bool {
        let mut bounds = terms.iter().map(|term| term.scorer.bound);
        bounds.all(|bound| bound != TermBound::Unknown)
    }

    fn explain(&self, term: &str, doc: u32, tf: u32) -> Explanation {
        let length = self.lengths.of(doc);
        let formula = self.scorer.formula();
        let mut node = Explanation::new(self.score(doc, tf), format!("{term}: {formula}"));
        node.details = self.scorer.details(tf, length);
        let length = Explanation::new(length as f32, self.lengths.description());
        node.with_detail(Explanation::new(tf as f32, "tf: occurrences in the field"))
            .with_detail(length)
    }
}
