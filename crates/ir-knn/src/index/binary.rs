//! Binary codes of a flat index: a search by Hamming distance, rescored by the vectors.

use std::sync::Arc;

use ir_core::{
    DocIds, DocNum, DocSet, Explanation, Ranking, Retriever, Search, SearchError, VectorSimilarity,
};
use rayon::prelude::*;

use super::flat::FlatIndex;

/// Minimum number of 64-bit words of codes per thread.
const MIN_WORDS_PER_THREAD: usize = 1 << 18;
/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Flat index with a binary code per vector: one bit per dimension, set if the component is
/// positive, 1/32 of the bytes.
///
/// A search reads all codes. The documents with the smallest Hamming distances to the code of the
/// query are candidates, and only their vectors are read, for the scores of the flat index.
/// Rankings are approximate. They equal the rankings of the flat index if all documents are
/// candidates.
///
/// Codes are computed when the index is built, and are not saved.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{BinaryIndex, FlatIndex, VectorSimilarity};
/// use ndarray::array;
///
/// let ids = ["north", "east", "south"].into_iter().collect();
/// let vectors = array![[0.1, 1.0], [1.0, 0.1], [0.1, -1.0]];
/// let index = BinaryIndex::new(FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?);
/// let searcher = index.searcher(2);
/// let ranking = searcher.search(&[0.2, 0.9], &Search::top(1))?;
/// assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "north");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Yamada et al., "Efficient Passage Retrieval with Hashing for Open-domain Question Answering",
/// ACL 2021.
#[derive(Debug, Clone)]
pub struct BinaryIndex {
    inner: Arc<BinaryIndexData>,
}

#[derive(Debug)]
struct BinaryIndexData {
    flat: FlatIndex,
    /// Number of 64-bit words of a code.
    words: usize,
    codes: Vec<u64>,
}

impl BinaryIndex {
    /// Computes the codes of the vectors of an index. The checksum of the vectors is not verified
    /// ([`FlatIndex::verify`]).
    #[must_use]
    pub fn new(flat: FlatIndex) -> Self {
        let words = flat.dim().div_ceil(WORD).max(1);
        let mut codes = vec![0; flat.len() * words];
        let vectors = flat.vectors();
        let rows = vectors.as_slice().unwrap_or_default();
        codes
            .par_chunks_mut(words)
            .zip(rows.par_chunks(flat.dim().max(1)))
            .for_each(|(code, row)| write_code(row, code));
        Self {
            inner: Arc::new(BinaryIndexData { flat, words, codes }),
        }
    }

    /// Searcher with a number of candidates per hit. A multiplier of 0 counts as 1.
    #[must_use]
    pub fn searcher(&self, rescore_multiplier: usize) -> BinarySearcher {
        BinarySearcher {
            index: self.clone(),
            rescore_multiplier: rescore_multiplier.max(1),
        }
    }

    /// Index with the vectors.
    #[must_use]
    pub fn flat(&self) -> &FlatIndex {
        &self.inner.flat
    }

    /// Number of indexed vectors; one per id.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flat().len()
    }

    /// Returns `true` if the index has no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.flat().dim()
    }

    /// Similarity that the scores measure.
    #[must_use]
    pub fn similarity(&self) -> VectorSimilarity {
        self.flat().similarity()
    }

    /// Hamming distances of all codes to the code of a query.
    fn distances(&self, query: &[f32]) -> Vec<u32> {
        let BinaryIndexData { words, codes, .. } = &*self.inner;
        let mut code = vec![0; *words];
        write_code(query, &mut code);
        let distance = |row: &[u64]| -> u32 {
            let words = row.iter().zip(&code);
            words.map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        let rows = (MIN_WORDS_PER_THREAD / words).max(1);
        let mut distances = vec![0; self.len()];
        distances
            .par_chunks_mut(rows)
            .zip(codes.par_chunks(rows * words))
            .for_each(|(distances, codes)| {
                let rows = codes.chunks_exact(*words);
                distances
                    .iter_mut()
                    .zip(rows)
                    .for_each(|(out, row)| *out = distance(row));
            });
        distances
    }

    /// The documents with the smallest distances that pass the filter: `count`, or all. Of equal
    /// distances, documents with lower numbers precede.
    fn nearest(&self, query: &[f32], search: &Search<'_>, count: usize) -> DocSet {
        let distances = self.distances(query);
        let passing = || {
            let documents = (0..).map(DocNum::new).zip(&distances);
            documents.filter(|(doc, _)| search.allows(*doc))
        };
        let mut counts = vec![0_usize; self.dim() + 1];
        for (_, &distance) in passing() {
            counts[distance as usize] += 1;
        }
        // Documents at the limit fill what is left.
        let (mut limit, mut left) = (0, count);
        while limit < counts.len() && counts[limit] <= left {
            left -= counts[limit];
            limit += 1;
        }
        let mut nearest = DocSet::new();
        for (doc, &distance) in passing() {
            let distance = distance as usize;
            if distance < limit {
                nearest.insert(doc);
            } else if distance == limit && left > 0 {
                left -= 1;
                nearest.insert(doc);
            }
        }
        nearest
    }
}

/// Sets the bits of the positive components.
fn write_code(components: &[f32], code: &mut [u64]) {
    for (at, &component) in components.iter().enumerate() {
        code[at / WORD] |= u64::from(component > 0.0) << (at % WORD);
    }
}

/// Searcher of a [`BinaryIndex`].
#[derive(Debug, Clone)]
pub struct BinarySearcher {
    index: BinaryIndex,
    rescore_multiplier: usize,
}

impl BinarySearcher {
    fn search_valid(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        let flat = self.index.flat();
        let candidates = search.k().saturating_mul(self.rescore_multiplier);
        if candidates >= self.index.len() {
            return flat.search(query, search);
        }
        let candidates = self.index.nearest(query, search, candidates);
        flat.search(query, &search.within(&candidates))
    }
}

impl Retriever for BinarySearcher {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.index.flat().ids()
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.flat().check_query(query)?;
        self.search_valid(query, search)
    }

    /// Searches on the current rayon thread pool, one query per thread.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.index.flat().check_query(query)?;
        }
        let run = |(query, search): &(&[f32], Search<'_>)| self.search_valid(query, search);
        queries.par_iter().map(run).collect()
    }

    /// Explains scores of all documents that pass the filter, also of those that a search misses.
    fn explain(
        &self,
        query: &[f32],
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.index.flat().explain(query, doc, search)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn candidates_have_the_smallest_distances() {
        let ids = ["a", "b", "c", "d"].into_iter().collect();
        // Signs: +++, ++-, ---, +-+.
        let vectors = array![
            [1.0, 1.0, 1.0],
            [1.0, 1.0, -1.0],
            [-1.0, -1.0, 0.0],
            [1.0, -1.0, 1.0],
        ];
        let flat = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct).unwrap();
        let index = BinaryIndex::new(flat);
        let query = [0.5, 0.5, 0.5];
        assert_eq!(index.distances(&query), [0, 1, 3, 1]);
        let nearest = |search: &Search<'_>, count| {
            let nearest = index.nearest(&query, search, count);
            nearest.iter().map(DocNum::get).collect::<Vec<u32>>()
        };
        let all = Search::top(1);
        for (count, expected) in [
            (0, &[][..]),
            (1, &[0]),
            // Of equal distances, the lower number.
            (2, &[0, 1]),
            (3, &[0, 1, 3]),
            (4, &[0, 1, 2, 3]),
            (9, &[0, 1, 2, 3]),
        ] {
            assert_eq!(nearest(&all, count), expected);
        }
        let not_first = |doc: DocNum| doc.get() != 0;
        assert_eq!(nearest(&all.within(&not_first), 2), [1, 3]);
    }

    #[test]
    fn codes_span_several_words() {
        let mut values = vec![-1.0; 2 * 130];
        values[64] = 1.0;
        values[130 + 129] = 1.0;
        let ids = ["a", "b"].into_iter().collect();
        let similarity = VectorSimilarity::Cosine;
        let flat = FlatIndex::from_row_major(ids, 130, values, similarity).unwrap();
        let index = BinaryIndex::new(flat);
        assert_eq!(index.inner.words, 3);
        assert_eq!(index.inner.codes, [0, 1, 0, 0, 0, 2]);
    }
}
