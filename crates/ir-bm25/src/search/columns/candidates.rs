//! Sums of bounds, and the exact scores of the documents with high ones.

use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Search, TopK};
use pulp::Arch;

use super::kernels::{AddColumns, AddScores, FindMaxima, TILE};
use super::term_column::ColumnPostings;
use super::{ColumnSegment, QueryColumn};
use crate::Index;
use crate::search::bm25_scorer::{Bm25Fields, score_of};

/// Maximum number of hits per tile for a threshold from the maxima of tiles.
const HITS_PER_TILE: f64 = 0.25;
/// Number of bits of the sums in the histogram.
const HISTOGRAM_BITS: u32 = 10;

/// The posting lists of a query, in the order in which their scores are added.
pub(super) struct Lists<'a> {
    pub(super) columns: Vec<QueryColumn<'a>>,
    /// A sum of bounds times this is not below the score of the document.
    pub(super) unit: f64,
}

/// Memory of a search.
#[derive(Default)]
pub(super) struct Scratch {
    /// Sums of bounds by document; [`u16::MAX`] for this and higher sums.
    sums: Vec<u16>,
    /// Maxima of the sums by tile.
    maxima: Vec<u16>,
    /// Maxima in another order.
    ordered: Vec<u16>,
    histogram: Vec<u32>,
    /// Documents that get exact scores, ascending.
    docs: Vec<u32>,
    /// `1 / K` of these documents by field.
    inverses: Vec<Vec<f32>>,
    /// Frequencies of a term in these documents.
    tfs: Vec<u8>,
    /// Sums of term scores of these documents.
    scores: Vec<f64>,
}

impl Scratch {
    /// Finds the top k.
    pub(super) fn search(
        &mut self,
        segment: ColumnSegment<'_>,
        model: &Bm25Fields,
        lists: &Lists<'_>,
        search: &Search<'_>,
    ) -> Result<TopK, OpenIndexError> {
        let index = segment.index;
        self.add_bounds(lists, index.len());
        for doc in segment.deleted.iter() {
            if let Some(sum) = self.sums.get_mut(doc.index()) {
                *sum = 0;
            }
        }
        if search.filter().is_some() {
            for (doc, sum) in (0..).zip(&mut self.sums) {
                if *sum > 0 && !search.allows(DocNum::new(doc)) {
                    *sum = 0;
                }
            }
        }
        self.find_maxima();
        let mut best = TopK::new(search.k());
        let least = if segment.floor > 0.0 {
            lowest_sum(segment.floor, lists.unit)
        } else {
            1
        };
        let high = self.first_threshold(search.k()).max(least);
        self.score_range((high, u16::MAX), (index, model), lists, &mut best)?;
        let low = match best.select_worst() {
            Some(worst) => lowest_sum(worst.score, lists.unit).max(least),
            None => least,
        };
        if low < high {
            self.score_range((low, high - 1), (index, model), lists, &mut best)?;
        }
        Ok(best)
    }

    /// Adds the bounds of all lists.
    fn add_bounds(&mut self, lists: &Lists<'_>, documents: usize) {
        self.sums.clear();
        self.sums.resize(documents, 0);
        let mut dense: Vec<(&[u8], u16)> = Vec::with_capacity(lists.columns.len());
        for list in &lists.columns {
            match &list.column.postings {
                ColumnPostings::Dense { bounds, .. } => dense.push((bounds, list.multiplier)),
                ColumnPostings::Sparse(postings) => {
                    for posting in postings {
                        if let Some(sum) = self.sums.get_mut(posting.doc as usize) {
                            let bound = posting.bound.saturating_mul(list.multiplier);
                            *sum = sum.saturating_add(bound);
                        }
                    }
                }
            }
        }
        // Groups of columns with the factor 1 need no multiplication.
        dense.sort_by_key(|&(_, multiplier)| multiplier);
        Arch::new().dispatch(AddColumns {
            sums: &mut self.sums,
            columns: &dense,
        });
    }

    fn find_maxima(&mut self) {
        self.maxima.clear();
        Arch::new().dispatch(FindMaxima {
            sums: &self.sums,
            maxima: &mut self.maxima,
        });
    }

    /// A sum that about k documents reach, not fewer if so many match.
    fn first_threshold(&mut self, k: usize) -> u16 {
        if k as f64 <= HITS_PER_TILE * self.maxima.len() as f64 {
            self.ordered.clone_from(&self.maxima);
            let (_, kth, _) = self
                .ordered
                .select_nth_unstable_by(k.saturating_sub(1), |a, b| b.cmp(a));
            return *kth;
        }
        let most = self.maxima.iter().copied().max().unwrap_or(0);
        let shift = (u16::BITS - most.leading_zeros()).saturating_sub(HISTOGRAM_BITS);
        self.histogram.clear();
        self.histogram.resize(1 << HISTOGRAM_BITS, 0);
        for &sum in &self.sums {
            if let Some(count) = self.histogram.get_mut(usize::from(sum >> shift)) {
                *count += 1;
            }
        }
        let mut reached = 0;
        let counts = self.histogram.iter().enumerate().rev();
        for (bin, &count) in counts {
            reached += count as usize;
            if reached >= k {
                return (bin << shift) as u16;
            }
        }
        0
    }

    /// Computes the scores of the documents with sums in a range, both ends included.
    fn score_range(
        &mut self,
        (low, high): (u16, u16),
        (index, model): (&Index, &Bm25Fields),
        lists: &Lists<'_>,
        best: &mut TopK,
    ) -> Result<(), OpenIndexError> {
        self.find_docs(low, high);
        let docs = &*self.docs;
        self.inverses.iter_mut().for_each(Vec::clear);
        self.inverses.resize_with(model.fields().len(), Vec::new);
        self.scores.clear();
        self.scores.resize(docs.len(), 0.0);
        for list in &lists.columns {
            let Some(inverses) = self.inverses.get_mut(list.field) else {
                continue;
            };
            if inverses.is_empty() {
                let field = &model.fields()[list.field];
                let lengths = field.lengths(index, list.field)?;
                inverses.extend(docs.iter().map(|&doc| field.inverse(lengths, doc)));
            }
            match &list.column.postings {
                ColumnPostings::Dense { tfs, large, .. } => {
                    self.tfs.clear();
                    let tf = |&doc: &u32| tfs.get(doc as usize).copied().unwrap_or(0);
                    self.tfs.extend(docs.iter().map(tf));
                    for &(doc, tf) in large {
                        if let Ok(at) = docs.binary_search(&doc) {
                            self.tfs[at] = 0;
                            let score = score_of(list.weight, tf as f32, inverses[at]);
                            self.scores[at] += f64::from(score);
                        }
                    }
                    Arch::new().dispatch(AddScores {
                        sums: &mut self.scores,
                        tfs: &self.tfs,
                        inverses,
                        weight: list.weight,
                    });
                }
                ColumnPostings::Sparse(postings) => {
                    for posting in postings {
                        let sum = self.sums.get(posting.doc as usize).copied().unwrap_or(0);
                        if (low..=high).contains(&sum)
                            && let Ok(at) = docs.binary_search(&posting.doc)
                        {
                            let score = score_of(list.weight, posting.tf as f32, inverses[at]);
                            self.scores[at] += f64::from(score);
                        }
                    }
                }
            }
        }
        for (&doc, &score) in docs.iter().zip(&self.scores) {
            best.push(DocNum::new(doc), score as f32);
        }
        Ok(())
    }

    /// Finds the documents with sums in a range.
    fn find_docs(&mut self, low: u16, high: u16) {
        self.docs.clear();
        for (tile, (sums, &most)) in self.sums.chunks(TILE).zip(&self.maxima).enumerate() {
            if most >= low {
                let docs = ((tile * TILE) as u32..).zip(sums);
                let inside = docs.filter(|&(_, sum)| (low..=high).contains(sum));
                self.docs.extend(inside.map(|(doc, _)| doc));
            }
        }
    }
}

/// The lowest sum of bounds of a document that can have a score.
fn lowest_sum(score: f32, unit: f64) -> u16 {
    // Two less than the quotient: more than the rounding errors of scores and quotient.
    ((f64::from(score) / unit).floor() - 2.0).max(1.0) as u16
}
