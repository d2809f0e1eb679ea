//! BM25 term scores and their upper bounds.
//!
//! Every step is one correctly rounded float operation that is monotone in the frequency and in
//! the length. So the same steps applied to an [`Impact`] give an upper bound of the *computed*
//! scores, not only of the exact ones.

use ir_core::Explanation;
use ir_core::store::OpenIndexError;

use super::accumulator::Accumulator;
use super::lengths::{ScoredLengths, code_of, length_of};
use super::list_scorer::{BoundModel, ListScorer, ListStatistics, QueryTerm, ScoredList};
use super::score_table::{Denominators, ScoreTables};
use super::score_window::ScoreWindow;
use crate::format::FieldStats;
use crate::models::BOOST;
use crate::postings::{Impact, PostingsSlice};
use crate::{Bm25, DocLengths, Index, small_float};

/// Exact lengths up to this have their factor in a table.
const TABLE: u32 = 1 << 14;
/// Minimum number of postings for a table of scores.
const MIN_TABLE: u32 = 256;

/// BM25 bound to the statistics of one field.
#[derive(Debug)]
pub(super) struct FieldModel {
    bm25: Bm25,
    /// Number of documents with the field.
    documents: u64,
    /// Average length of these documents.
    average: f32,
    by_code: Box<[f32; 256]>,
    by_length: Box<[f32]>,
    denominators: Denominators,
}

impl FieldModel {
    fn new(bm25: Bm25, stats: &FieldStats) -> Self {
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
    fn inverse_of_code(&self, code: u8) -> f32 {
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
    pub(super) fn idf(&self, df: u32) -> f32 {
        let (n, df) = (self.documents as f64, f64::from(df));
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
    }

    /// Number of documents with the field.
    pub(super) const fn documents(&self) -> u64 {
        self.documents
    }

    /// `1 / K` of a document, by the lengths of the field.
    #[inline]
    pub(super) fn inverse(&self, lengths: ScoredLengths<'_>, doc: u32) -> f32 {
        match lengths {
            ScoredLengths::Codes(codes) => self.inverse_of_code(code_of(codes, doc)),
            ScoredLengths::Exact(lengths) => self.inverse_of_exact(length_of(lengths, doc)),
        }
    }

    /// The lengths of the documents of an index.
    pub(super) fn lengths<'a>(
        &self,
        index: &'a Index,
        field: usize,
    ) -> Result<ScoredLengths<'a>, OpenIndexError> {
        ScoredLengths::new(index, field, self.bm25.lengths)
    }
}

/// `1 / K = 1 / (k1 · (1 - b + b · length / average))`, with the rounding steps of Lucene.
fn inverse_of(bm25: Bm25, average: f32, length: u32) -> f32 {
    let Bm25 { k1, b, .. } = bm25;
    1.0 / (k1 * ((1.0 - b) + b * length as f32 / average))
}

/// The score of `tf` occurrences, a whole number, given `1 / K`.
#[inline(always)]
pub(super) fn score_of(weight: f32, tf: f32, inverse: f32) -> f32 {
    weight - weight / (1.0 + tf * inverse)
}

/// A power of two such that all scores of these terms times it are integers; [`None`] for weights
/// near 0.
///
/// Every term score is `w - y` with `y = w / (1 + x)` rounded to single precision, `0 <= y <= w`.
/// For `y >= w/2` the difference is exact and a multiple of the spacing of floats at `w/2`;
/// otherwise it is rounded to a float of at least `w/2`. So all scores of a term, and all bounds of
/// them, are multiples of half the spacing of floats at `w`; and sums below 2^53 multiples of the
/// smallest such step are exact in double precision. That holds unless the weights of one query are
/// more than 2^28 apart.
fn exact_scale(terms: &[QueryTerm<'_, Bm25Scorer<'_>>]) -> Option<f64> {
    let weights = terms.iter().map(|term| f64::from(term.scorer.weight));
    let smallest = weights.fold(f64::INFINITY, f64::min);
    if smallest < f64::from(f32::MIN_POSITIVE) {
        return None;
    }
    // The largest power of two that is not above `smallest`.
    let power = f64::from_bits(smallest.to_bits() & !((1 << 52) - 1));
    Some(2_f64.powi(24) / power)
}

/// BM25 bound to the statistics of every field.
#[derive(Debug)]
pub(crate) struct Bm25Fields {
    fields: Box<[FieldModel]>,
}

impl Bm25Fields {
    pub(crate) fn new(bm25: Bm25, fields: &[FieldStats]) -> Self {
        let models = fields.iter().map(|stats| FieldModel::new(bm25, stats));
        Self {
            fields: models.collect(),
        }
    }

    pub(super) fn fields(&self) -> &[FieldModel] {
        &self.fields
    }
}

impl BoundModel for Bm25Fields {
    type Scorer<'a> = Bm25Scorer<'a>;

    fn documents(&self, field: usize) -> Option<u64> {
        self.fields.get(field).map(|model| model.documents)
    }

    fn scorer<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        statistics: ListStatistics,
    ) -> Result<Bm25Scorer<'a>, OpenIndexError> {
        let idf = self.fields[list.field].idf(statistics.df);
        self.scorer_with(index, list, idf, Some(statistics.df))
    }

    /// One scorer with the sum of the idf, as in Lucene.
    fn window_scorers<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        terms: &[ListStatistics],
    ) -> Result<Vec<Bm25Scorer<'a>>, OpenIndexError> {
        let model = &self.fields[list.field];
        let idf = terms.iter().map(|term| f64::from(model.idf(term.df)));
        let idf = idf.sum::<f64>() as f32;
        Ok(vec![self.scorer_with(index, list, idf, None)?])
    }
}

impl Bm25Fields {
    /// `df` is the document frequency of a term; [`None`] if the idf is a sum.
    fn scorer_with<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        idf: f32,
        df: Option<u32>,
    ) -> Result<Bm25Scorer<'a>, OpenIndexError> {
        let model = &self.fields[list.field];
        let lengths = model.lengths(index, list.field)?;
        let boost = list.boost();
        let weight = boost * idf;
        let one_byte = model.bm25.lengths == DocLengths::OneByte;
        Ok(Bm25Scorer {
            model,
            codes: index.codes(list.field),
            lengths,
            weight,
            has_table: one_byte && list.postings >= MIN_TABLE,
            tables: ScoreTables::default(),
            df,
            idf,
            boost,
        })
    }
}

/// BM25 scorer of the postings of a query term in one field.
#[derive(Debug)]
pub(crate) struct Bm25Scorer<'a> {
    model: &'a FieldModel,
    /// One-byte encoded document lengths.
    codes: &'a [u8],
    lengths: ScoredLengths<'a>,
    /// The limit of the term score as the frequency grows: boost × idf.
    weight: f32,
    /// `true` if the list is long enough to pay for a table.
    has_table: bool,
    /// Scores of small frequencies, after [`ListScorer::prepare`].
    tables: ScoreTables,
    /// Document frequency of the term in the collection; [`None`] if the idf is the sum over the
    /// terms of a window.
    df: Option<u32>,
    idf: f32,
    boost: f32,
}

impl Bm25Scorer<'_> {
    /// The length code of a document.
    #[inline]
    fn code(&self, doc: u32) -> u8 {
        code_of(self.codes, doc)
    }
}

impl ListScorer for Bm25Scorer<'_> {
    #[inline]
    fn score(&self, doc: u32, tf: u32) -> f32 {
        score_of(
            self.weight,
            tf as f32,
            self.model.inverse(self.lengths, doc),
        )
    }

    #[inline]
    fn bound(&self, impacts: impl Iterator<Item = Impact>) -> f32 {
        impacts.fold(0.0, |most: f32, impact| {
            let inverse = self.model.inverse_of_code(impact.length);
            most.max(score_of(
                self.weight,
                small_float::decode(impact.tf) as f32,
                inverse,
            ))
        })
    }

    fn bound_of_posting(&self, doc: u32, tf: u32) -> f32 {
        self.score(doc, tf)
    }

    fn bound_up_to(&self, doc: u32, tf: u32) -> f32 {
        self.score(doc, tf)
    }

    fn lower_bound(&self, tf: u32, code: u8) -> f32 {
        let inverse = match self.model.bm25.lengths {
            DocLengths::OneByte => self.model.inverse_of_code(code),
            DocLengths::Exact => self.model.inverse_of_exact(small_float::largest(code)),
        };
        score_of(self.weight, tf as f32, inverse)
    }

    #[inline]
    fn for_each_score<A: Accumulator>(
        &self,
        postings: PostingsSlice<'_>,
        scale: f64,
        mut visit: impl FnMut(u32, A),
    ) {
        let PostingsSlice { docs, tfs, tf_bits } = postings;
        let pairs = docs.iter().zip(tfs);
        match A::table(&self.tables) {
            Some(table) if tf_bits == 0 => {
                for &doc in docs {
                    visit(doc, A::from_entry(table.score(self.code(doc), 1)));
                }
            }
            Some(table) if tf_bits <= ScoreTables::TF_BITS => {
                for (&doc, &tf) in pairs {
                    visit(doc, A::from_entry(table.score(self.code(doc), tf)));
                }
            }
            _ => {
                for (&doc, &tf) in pairs {
                    visit(doc, A::from_score(f64::from(self.score(doc, tf)), scale));
                }
            }
        }
    }

    #[inline]
    fn add_to<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        postings: PostingsSlice<'_>,
    ) -> usize {
        let (codes, scale) = (self.codes, window.scale());
        let number = |score: f32| A::from_score(f64::from(score), scale);
        match A::table(&self.tables) {
            Some(table) if postings.tf_bits == 0 => {
                let score = |_, code, _| A::from_entry(table.score(code, 1));
                window.add_scores_of(codes, postings.docs, std::iter::repeat(1), score)
            }
            Some(table) if postings.tf_bits <= ScoreTables::TF_BITS => {
                let score = |_, code, tf| A::from_entry(table.score(code, tf));
                window.add_scores(codes, postings, score)
            }
            Some(table) => {
                window.add_scores(codes, postings, |_, code, tf| match table.get(code, tf) {
                    Some(entry) => A::from_entry(entry),
                    None => {
                        let inverse = self.model.inverse_of_code(code);
                        number(score_of(self.weight, tf as f32, inverse))
                    }
                })
            }
            None => window.add_scores(codes, postings, |doc, _, tf| number(self.score(doc, tf))),
        }
    }

    fn is_order_free(terms: &[QueryTerm<'_, Self>]) -> bool {
        let weights = terms.iter().map(|term| f64::from(term.scorer.weight));
        let sum: f64 = weights.sum();
        exact_scale(terms).is_some_and(|scale| sum * scale < 2_f64.powi(53))
    }

    fn scale(terms: &[QueryTerm<'_, Self>]) -> Option<f64> {
        let weights = terms.iter().map(|term| term.scorer.weight);
        let largest = f64::from(weights.fold(0.0, f32::max));
        // The scale is multiplied in single precision, too.
        let is_float = |&scale: &f64| scale <= f64::from(f32::MAX);
        exact_scale(terms)
            .filter(is_float)
            .filter(|scale| largest * scale < 2_f64.powi(31))
    }

    fn prepare(&mut self, scale: Option<f64>) {
        if self.has_table {
            self.tables = ScoreTables::new(self.weight, &self.model.denominators, scale);
        }
    }

    fn has_floor(_: &[QueryTerm<'_, Self>]) -> bool {
        true
    }

    fn explain(&self, term: &str, doc: u32, tf: u32) -> Explanation {
        let model = self.model;
        let Bm25 { k1, b, .. } = model.bm25;
        let boost = Explanation::new(self.boost, BOOST);
        let formula = "ln(1 + (N - df + 0.5) / (df + 0.5))";
        let n = model.documents;
        let idf = match self.df {
            Some(df) => format!("idf = {formula}, N = {n}, df = {df}"),
            None => format!("idf: sum of {formula} over the terms, N = {n}"),
        };
        let idf = Explanation::new(self.idf, idf);
        let weight = Explanation::new(self.weight, "w = boost × idf")
            .with_detail(boost)
            .with_detail(idf);
        Explanation::new(
            self.score(doc, tf),
            format!("{term}: w - w / (1 + tf / (k1 × (1 - b + b × length / average)))"),
        )
        .with_detail(weight)
        .with_detail(Explanation::new(tf as f32, "tf: occurrences in the field"))
        .with_detail(Explanation::new(k1, "k1"))
        .with_detail(Explanation::new(b, "b"))
        .with_detail(Explanation::new(
            self.lengths.of(doc) as f32,
            self.lengths.description(),
        ))
        .with_detail(Explanation::new(
            model.average,
            "average length of the documents with the field",
        ))
    }
}
