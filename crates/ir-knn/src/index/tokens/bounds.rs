//! Upper bounds of MaxSim scores from centroids, and exact selection of the best documents.
//!
//! Let α be the angle of a query token q and the centroid of a document token t, and β the angle of
//! t and the centroid. By the triangle inequality of angles on the sphere,
//!
//! > q·t ≤ ‖q‖ ‖t‖ cos(max(0, α − β)),
//!
//! and with x = cos α, if x < cos β, cos(α − β) = x cos β + √(1 − x²) sin β. The store has a lower
//! bound of cos β per token; x is computed once per query token and centroid. A negative x is
//! replaced by 0, which raises the bound and keeps the rounding error of x below a factor of 2.

use ir_core::{DocNum, SearchError};

use super::codebook::{TokenCodebook, norm};
use super::codec::{DocumentBytes, MAX_COSINE, MAX_LENGTH, NO_BOUND};
use super::lanes::for_each_row;
use super::query::{Maxima, QueryTokens};
use crate::simd::{Cpu, PRODUCT_LANES};

/// Maximum number of candidates with bounds that decide about the bounds of the others.
const MAX_SAMPLE: usize = 16;
/// Bounds are used if they exclude at least 1/3 of the sample.
const MIN_EXCLUDED: usize = 3;

/// The best of some candidates, and the work that it took to find them.
///
/// [`SegmentedTokenStore::top`](crate::SegmentedTokenStore::top) has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TopCandidates {
    /// Positions in the list of candidates, and scores: score descending, then position ascending.
    pub best: Vec<(usize, f32)>,
    /// Number of pairs of a query token and a token of a candidate.
    pub pairs: usize,
    /// Number of the pairs that were scored.
    pub scored_pairs: usize,
}

/// Reads the candidates of a selection.
pub(super) trait Candidates {
    /// Number of candidates, repeated ones included.
    fn len(&self) -> usize;
    /// Number of the document of a candidate.
    fn doc(&self, at: usize) -> DocNum;
    /// Parts of the document of a candidate.
    fn document(&self, at: usize) -> Result<DocumentBytes<'_>, SearchError>;
    /// Decodes the vectors of a document of the candidates.
    fn decode(&self, document: &DocumentBytes<'_>, rows: &mut Vec<f32>);
    /// Codebook of the candidates.
    fn codebook(&self) -> Option<&TokenCodebook>;
}

/// Returns the best `k` candidates: the hits of scoring all of them.
///
/// The first `k` candidates are scored. Their best score decides whether bounds are worth their
/// cost: if few bounds of a sample of the others are below it, all are scored.
pub(super) fn top(
    cpu: Cpu,
    query: &QueryTokens,
    candidates: &impl Candidates,
    k: usize,
) -> Result<TopCandidates, SearchError> {
    let documents = (0..candidates.len()).map(|at| candidates.document(at));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let tokens: usize = documents.iter().map(|document| document.tokens).sum();
    let mut search = TopSearch {
        cpu,
        query,
        candidates,
        documents: &documents,
        best: Best::new(k),
        rows: Vec::new(),
        maxima: query.maxima(),
        scored_pairs: 0,
    };
    if k > 0 {
        let first = documents.len().min(k);
        (0..first).try_for_each(|at| search.score(at, None))?;
        let rest: Vec<usize> = (first..documents.len()).collect();
        match search.bounds_of_rest(&rest) {
            None => rest.into_iter().try_for_each(|at| search.score(at, None))?,
            Some((table, order)) => {
                for (at, bound) in order {
                    if search.best.excludes(bound) {
                        break;
                    }
                    search.score(at, Some(&table))?;
                }
            }
        }
    }
    Ok(TopCandidates {
        best: search.best.hits,
        pairs: tokens * query.tokens,
        scored_pairs: search.scored_pairs,
    })
}

/// Selection of the best candidates.
struct TopSearch<'a, C> {
    cpu: Cpu,
    query: &'a QueryTokens,
    candidates: &'a C,
    documents: &'a [DocumentBytes<'a>],
    best: Best,
    rows: Vec<f32>,
    maxima: Maxima,
    scored_pairs: usize,
}

impl<C: Candidates> TopSearch<'_, C> {
    /// Scores a candidate. With a table, ends as soon as the bounds exclude it.
    fn score(&mut self, at: usize, table: Option<&CentroidTable>) -> Result<(), SearchError> {
        let (cpu, query, document) = (self.cpu, self.query, &self.documents[at]);
        self.candidates.decode(document, &mut self.rows);
        let (rows, maxima) = (&*self.rows, &mut self.maxima);
        let (scored, score) = match table.filter(|_| !rows.is_empty()) {
            None => (query.tokens, query.score(cpu, rows, maxima)),
            Some(table) => {
                table.bounds(cpu, document, maxima);
                let scored = score_above(cpu, query, rows, maxima, &self.best);
                (scored, query.sum(maxima))
            }
        };
        self.scored_pairs += scored * document.tokens;
        if score.is_nan() {
            let doc = self.candidates.doc(at);
            return Err(SearchError::NanScore { doc });
        }
        if scored == query.tokens {
            self.best.push(at, score);
        }
        Ok(())
    }

    /// Table of the remaining candidates, and these in descending order of their bounds. `None` if
    /// the bounds are not worth their cost.
    fn bounds_of_rest(&self, rest: &[usize]) -> Option<(CentroidTable, Vec<(usize, f32)>)> {
        let book = self
            .candidates
            .codebook()
            .filter(|_| self.query.tokens > 0)?;
        let size = (rest.len() / 16).min(MAX_SAMPLE);
        let step = rest.len().checked_div(size)?;
        let sample: Vec<usize> = rest.iter().copied().step_by(step).take(size).collect();
        let (_, bounds) = self.bounds(book, &sample)?;
        // The k-th score rises during the search, at most to the best one.
        let best = self.best.hits.first()?.1;
        let excluded = bounds.iter().filter(|(_, bound)| *bound < best);
        if excluded.count() * MIN_EXCLUDED < size {
            return None;
        }
        let (table, mut order) = self.bounds(book, rest)?;
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Some((table, order))
    }

    /// Upper bounds of the scores of some candidates.
    fn bounds(
        &self,
        book: &TokenCodebook,
        numbers: &[usize],
    ) -> Option<(CentroidTable, Vec<(usize, f32)>)> {
        let documents = numbers.iter().map(|&at| &self.documents[at]);
        let table = CentroidTable::new(self.cpu, self.query, book, documents.clone())?;
        let mut maxima = self.query.maxima();
        let bound = |document| {
            table.bounds(self.cpu, document, &mut maxima);
            self.query.sum(&maxima)
        };
        let bounds = numbers.iter().copied().zip(documents.map(bound)).collect();
        Some((table, bounds))
    }
}

/// Replaces the bounds in `maxima` by the maxima, block by block, until the bounds of the remaining
/// query tokens exclude the document. Returns the number of query tokens that were scored.
fn score_above(
    cpu: Cpu,
    query: &QueryTokens,
    rows: &[f32],
    maxima: &mut Maxima,
    best: &Best,
) -> usize {
    for block in 0..maxima.len() {
        query.block_maxima(cpu, block, rows, &mut maxima[block]);
        let scored = (block + 1) * PRODUCT_LANES;
        if scored < query.tokens && best.excludes(query.sum(maxima)) {
            return scored;
        }
    }
    query.tokens
}

/// The best candidates so far, in order.
struct Best {
    k: usize,
    hits: Vec<(usize, f32)>,
}

impl Best {
    fn new(k: usize) -> Self {
        let hits = Vec::new();
        Self { k, hits }
    }

    fn is_full(&self) -> bool {
        self.hits.len() >= self.k
    }

    /// Returns `true` if no candidate with a score of at most `bound` is one of the best. With a
    /// score equal to the last one, a candidate of an earlier position is.
    fn excludes(&self, bound: f32) -> bool {
        self.is_full() && self.hits.last().is_some_and(|&(_, worst)| bound < worst)
    }

    fn push(&mut self, at: usize, score: f32) {
        // The sum with 0 turns -0 into 0.
        let (at, score) = (at, score + 0.0);
        let is_before = |&(other, of_other): &(usize, f32)| {
            of_other > score || (of_other == score && other < at)
        };
        let place = self.hits.partition_point(is_before);
        if place < self.k {
            self.hits.insert(place, (at, score));
            self.hits.truncate(self.k);
        }
    }
}

/// Cosines of the query tokens and the centroids of the candidates.
struct CentroidTable {
    /// Row of each centroid; `u32::MAX` for centroids without candidates.
    row_of: Vec<u32>,
    /// Per row and lane block: cosines, at least 0, and sines.
    rows: Vec<[[f32; PRODUCT_LANES]; 2]>,
    /// Per lane block: norm of each query token, times the maximum length of a document token.
    norms: Maxima,
    /// Per lane block: margin for rounding errors.
    margins: Maxima,
    /// Cosine and sine of each code.
    codes: Vec<(f32, f32)>,
}

impl CentroidTable {
    /// `None` if a document has a centroid that the codebook does not have: the file is damaged.
    fn new<'a>(
        cpu: Cpu,
        query: &QueryTokens,
        book: &TokenCodebook,
        documents: impl Iterator<Item = &'a DocumentBytes<'a>>,
    ) -> Option<Self> {
        let mut row_of = vec![u32::MAX; book.len()];
        let mut used = Vec::new();
        for number in documents.flat_map(DocumentBytes::centroids) {
            let row = row_of.get_mut(number as usize)?;
            if *row == u32::MAX {
                *row = used.len() as u32;
                used.push(number);
            }
        }
        let dim = query.dim;
        let centroids = used.iter().filter_map(|&number| book.centroid(number));
        let centroids: Vec<f32> = centroids.flatten().copied().collect();
        let count = query.blocks().len();
        let mut rows = vec![[[0.0; PRODUCT_LANES]; 2]; used.len() * count];
        let (mut norms, mut margins) = (query.maxima(), query.maxima());
        for (at, block) in query.blocks().iter().enumerate() {
            let lane_norm = |lane: usize| {
                let values: Vec<f32> = block.iter().map(|values| values[lane]).collect();
                norm(&values)
            };
            let of_lanes: [f32; PRODUCT_LANES] = std::array::from_fn(lane_norm);
            norms[at] = of_lanes.map(|norm| norm * MAX_LENGTH);
            // Rounding errors of the products are below (dim + 1) 2⁻²⁴ ‖q‖ each. The error of x
            // counts twice, the error of the score once.
            let margin = (dim + 64) as f32 / (1 << 22) as f32;
            margins[at] = of_lanes.map(|norm| norm * margin);
            let factors = of_lanes.map(|norm| if norm > 0.0 { 1.0 / norm } else { 0.0 });
            for_each_row(cpu, block, &centroids, |row, products| {
                let [cosines, sines] = &mut rows[row * count + at];
                for lane in 0..PRODUCT_LANES {
                    let cosine = (products[lane] * factors[lane]).clamp(0.0, 1.0);
                    cosines[lane] = cosine;
                    sines[lane] = (1.0 - cosine * cosine).sqrt();
                }
            });
        }
        let code = |code: u8| {
            let cosine = f32::from(code) / f32::from(MAX_COSINE);
            (cosine, (1.0 - cosine * cosine).max(0.0).sqrt())
        };
        Some(Self {
            row_of,
            rows,
            norms,
            margins,
            codes: (0..=MAX_COSINE).map(code).collect(),
        })
    }

    /// Computes an upper bound of the maximum of each query token.
    fn bounds(&self, cpu: Cpu, document: &DocumentBytes<'_>, bounds: &mut Maxima) {
        let count = bounds.len();
        cpu.vectorized(|| {
            bounds.fill([0.0; PRODUCT_LANES]);
            for (number, &code) in document.centroids().zip(document.cosines) {
                if code == NO_BOUND {
                    bounds.fill([f32::MAX; PRODUCT_LANES]);
                    return;
                }
                let (cosine, sine) = self.codes[usize::from(code)];
                let row = self.row_of[number as usize] as usize;
                for ([cosines, sines], bounds) in self.rows[row * count..].iter().zip(&mut *bounds)
                {
                    for lane in 0..PRODUCT_LANES {
                        let x = cosines[lane];
                        let apart = x * cosine + sines[lane] * sine;
                        let bound = if x < cosine { apart } else { 1.0 };
                        bounds[lane] = if bound > bounds[lane] {
                            bound
                        } else {
                            bounds[lane]
                        };
                    }
                }
            }
            for ((bounds, norms), margins) in bounds.iter_mut().zip(&self.norms).zip(&self.margins)
            {
                for lane in 0..PRODUCT_LANES {
                    bounds[lane] = bounds[lane] * norms[lane] + margins[lane];
                }
            }
        });
    }
}
