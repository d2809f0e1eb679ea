//! Centroids of token vectors, and buckets of the residuals.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use ir_core::SplitMix64;
use ir_core::store::{IndexFile, IndexFileWriter, OpenIndexError};
use rayon::prelude::*;

use super::buckets::{BUCKET_VALUES, Buckets};
use super::error::TokenStoreError;
use super::file::section;
use super::lanes::{for_each_row, lane_block};
use crate::index::buffer::NumberBuffer;
use crate::simd::{Cpu, PRODUCT_LANES};

/// Maximum difference between 1 and the length of a vector that counts as a unit vector.
const UNIT_TOLERANCE: f32 = 0.01;
/// Maximum number of sample vectors per centroid that k-means reads, as in FAISS.
const SAMPLE_PER_CENTROID: usize = 256;
/// Maximum number of held-out vectors from which the buckets are computed, as in ColBERT.
const MAX_HELD_OUT: usize = 50_000;

/// Centroids of token vectors, and quantiles of the residuals: what the residual encodings of a
/// token store share. Immutable; cheap to clone.
///
/// A vector is encoded as the number of the nearest centroid and a code per dimension, the bucket
/// of the residual; it is decoded as centroid + bucket weights, normalized. Cutoffs are the
/// quantiles i/2ᵇ of the residuals of held-out sample vectors, weights the quantiles (i + ½)/2ᵇ,
/// for b = 2 and b = 4 bits.
///
/// # Examples
/// ```
/// use ir_knn::{TokenCodebook, TokenCodebookConfig};
/// // Unit vectors around two directions.
/// let sample: Vec<f32> = (0..40)
///     .flat_map(|n| {
///         let (sin, cos) = (0.02 * f32::from(n as u8)).sin_cos();
///         if n % 2 == 0 { [cos, sin] } else { [-sin, cos] }
///     })
///     .collect();
/// let config = TokenCodebookConfig::default().with_centroids(2_usize);
/// let codebook = TokenCodebook::train(2, &sample, &config)?;
/// assert_eq!((codebook.len(), codebook.dim()), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Santhanam et al., "ColBERTv2", NAACL 2022, and `CollectionIndexer` of ColBERT.
#[derive(Clone)]
pub struct TokenCodebook(Arc<CodebookData>);

struct CodebookData {
    dim: usize,
    /// Row-major `[centroids, dim]`.
    centroids: NumberBuffer<f32>,
    buckets: Buckets,
}

/// Parameters of [`TokenCodebook::train`].
///
/// ```
/// use ir_knn::TokenCodebookConfig;
/// let config = TokenCodebookConfig::default().with_tokens(80_000_usize);
/// assert_eq!((config.tokens, config.iterations), (Some(80_000), 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCodebookConfig {
    /// Number of tokens of the whole collection, from which the number of centroids follows:
    /// 16·√tokens, rounded down to a power of two. Default: the number of sample vectors.
    pub tokens: Option<usize>,
    /// Number of centroids; at most the number of sample vectors that are not held out. Default:
    /// from the number of tokens.
    pub centroids: Option<usize>,
    /// Number of iterations of k-means. Default: 4.
    pub iterations: usize,
    /// Seed of the random initial centroids and held-out vectors. Default: 123.
    pub seed: u64,
}

impl Default for TokenCodebookConfig {
    fn default() -> Self {
        Self {
            tokens: None,
            centroids: None,
            iterations: 4,
            seed: 123,
        }
    }
}

impl TokenCodebookConfig {
    ir_core::setters! {
        with_tokens: Some(tokens), impl Into<usize>;
        with_centroids: Some(centroids), impl Into<usize>;
        with_iterations: iterations, usize;
        with_seed: seed, u64;
    }

    /// Returns the number of documents of a collection that ColBERT samples to train centroids:
    /// 1 + 16·√(120 · documents), and at most all.
    ///
    /// ```
    /// # use ir_knn::TokenCodebookConfig;
    /// assert_eq!(TokenCodebookConfig::sample_documents(3633), 3633);
    /// assert_eq!(TokenCodebookConfig::sample_documents(1_000_000), 175_272);
    /// ```
    #[must_use]
    pub fn sample_documents(documents: usize) -> usize {
        let sample = 1 + (16.0 * (120.0 * documents as f64).sqrt()) as usize;
        sample.min(documents)
    }
}

/// Returns the number of centroids for a number of tokens.
fn centroids_of(tokens: usize) -> usize {
    let log2 = (16.0 * (tokens as f64).sqrt()).log2().floor();
    1 << log2.max(0.0) as u32
}

impl TokenCodebook {
    /// Trains centroids by spherical k-means over a sample of the token vectors, and buckets over a
    /// held-out twentieth of the sample. Runs on the current rayon thread pool. Equal samples and
    /// parameters give equal codebooks, for any number of threads.
    ///
    /// # Shapes
    /// `sample`: row-major `[vectors, dim]`, unit vectors.
    ///
    /// # Errors
    /// If the dimension is 0, or the sample is empty, is not a whole number of vectors, or contains
    /// a vector without unit length.
    pub fn train(
        dim: usize,
        sample: &[f32],
        config: &TokenCodebookConfig,
    ) -> Result<Self, TokenStoreError> {
        check_sample(dim, sample)?;
        let cpu = Cpu::detect();
        let count = sample.len() / dim;
        let row = |n: usize| &sample[n * dim..][..dim];
        let mut order: Vec<usize> = (0..count).collect();
        SplitMix64::new(config.seed, 0).partial_shuffle(&mut order, count);
        let (held_out, training) = order.split_at((count / 20).min(MAX_HELD_OUT));
        let centroids = config
            .centroids
            .unwrap_or_else(|| centroids_of(config.tokens.unwrap_or(count)));
        let centroids = centroids.clamp(1, training.len());
        let training = &training[..training.len().min(centroids * SAMPLE_PER_CENTROID)];
        let gather = |rows: &[usize]| rows.iter().flat_map(|&n| row(n)).copied().collect();
        let vectors: Vec<f32> = gather(training);
        let mut means = vectors[..centroids * dim].to_vec();
        normalize_rows(dim, &mut means);
        for _ in 0..config.iterations {
            let nearest = nearest(cpu, dim, &means, &vectors);
            update(dim, &mut means, &vectors, &nearest);
        }
        // A small sample has no held-out vectors.
        let held_out = gather(if held_out.is_empty() {
            training
        } else {
            held_out
        });
        let nearest = nearest(cpu, dim, &means, &held_out);
        let mut residuals = held_out;
        for (residual, &centroid) in residuals.chunks_exact_mut(dim).zip(&nearest) {
            let centroid = &means[centroid as usize * dim..][..dim];
            for (value, mean) in residual.iter_mut().zip(centroid) {
                *value -= mean;
            }
        }
        residuals.par_sort_unstable_by(f32::total_cmp);
        Ok(Self::new(
            dim,
            NumberBuffer::Owned(means),
            Buckets::from_sorted(&residuals),
        ))
    }

    fn new(dim: usize, centroids: NumberBuffer<f32>, buckets: Buckets) -> Self {
        Self(Arc::new(CodebookData {
            dim,
            centroids,
            buckets,
        }))
    }

    /// Codebook of these centroids and the buckets of sorted residuals.
    #[cfg(test)]
    pub(super) fn from_parts(dim: usize, centroids: Vec<f32>, residuals: &[f32]) -> Self {
        let buckets = Buckets::from_sorted(residuals);
        Self::new(dim, NumberBuffer::Owned(centroids), buckets)
    }

    /// Reads the sections that [`TokenCodebook::write`] wrote. `None` if the file has no codebook.
    pub(super) fn open(file: &IndexFile, dim: usize) -> Result<Option<Self>, OpenIndexError> {
        let Some(centroids) = file.section(section::CENTROIDS) else {
            return Ok(None);
        };
        let len = centroids.as_ref().len();
        if len == 0 || !len.is_multiple_of(4 * dim) {
            return Err(file.malformed(section::CENTROIDS, "a vector for every centroid"));
        }
        let size = Some(4 * BUCKET_VALUES);
        let expected = "cutoffs and weights of 2 and 4 bits";
        let buckets = file.section_with_len(section::BUCKETS, size, expected)?;
        let buckets = Buckets::from_bytes(buckets.as_ref())
            .ok_or_else(|| file.malformed(section::BUCKETS, expected))?;
        let centroids = NumberBuffer::from_section(centroids);
        Ok(Some(Self::new(dim, centroids, buckets)))
    }

    /// Writes centroids and buckets as sections.
    pub(super) fn write<W: Write>(&self, writer: &mut IndexFileWriter<W>) -> io::Result<()> {
        writer.section(section::CENTROIDS, &self.0.centroids.to_bytes())?;
        writer.section(section::BUCKETS, &self.0.buckets.to_bytes())
    }

    /// Returns the number of centroids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.centroids().len() / self.0.dim
    }

    /// Returns `true` if there are no centroids, which does not occur.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.centroids().is_empty()
    }

    /// Returns the dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.0.dim
    }

    /// Returns the centroids, row-major `[len, dim]`.
    #[must_use]
    pub fn centroids(&self) -> &[f32] {
        self.0.centroids.get()
    }

    /// Returns a centroid; `None` if there is no such number.
    pub(super) fn centroid(&self, number: u32) -> Option<&[f32]> {
        let start = (number as usize).checked_mul(self.0.dim)?;
        self.centroids().get(start..)?.get(..self.0.dim)
    }

    pub(super) fn buckets(&self) -> &Buckets {
        &self.0.buckets
    }

    /// Returns the number of the nearest centroid of each vector: the first of the largest inner
    /// products.
    pub(super) fn nearest(&self, cpu: Cpu, vectors: &[f32]) -> Vec<u32> {
        nearest(cpu, self.0.dim, self.centroids(), vectors)
    }

    /// CRC-32 of the codebook, which identifies it in the journal of an interrupted writer.
    pub(super) fn checksum(&self) -> u32 {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&self.0.centroids.to_bytes());
        checksum.update(&self.0.buckets.to_bytes());
        checksum.finalize()
    }
}

/// Equal centroids and buckets.
impl PartialEq for TokenCodebook {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (&*self.0, &*other.0);
        Arc::ptr_eq(&self.0, &other.0)
            || (one.dim == two.dim
                && one.centroids.to_bytes() == two.centroids.to_bytes()
                && one.buckets.to_bytes() == two.buckets.to_bytes())
    }
}

impl fmt::Debug for TokenCodebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenCodebook({} × {})", self.len(), self.dim())
    }
}

fn check_sample(dim: usize, sample: &[f32]) -> Result<(), TokenStoreError> {
    let error = |expected: String, found: String| Err(TokenStoreError::Sample { expected, found });
    if dim == 0 || sample.is_empty() || !sample.len().is_multiple_of(dim) {
        let expected = format!("at least one vector of dimension {dim}, which is positive");
        return error(expected, format!("{} values", sample.len()));
    }
    for (n, row) in sample.chunks_exact(dim).enumerate() {
        let length = norm(row);
        if !is_unit(length) {
            return error(
                "vectors of length 1".to_owned(),
                format!("vector {n} of length {length}"),
            );
        }
    }
    Ok(())
}

/// Returns `true` if a vector of this length counts as a unit vector.
pub(super) fn is_unit(length: f32) -> bool {
    (length - 1.0).abs() <= UNIT_TOLERANCE
}

pub(super) fn norm(row: &[f32]) -> f32 {
    let squares = row.iter().map(|&value| f64::from(value) * f64::from(value));
    squares.sum::<f64>().sqrt() as f32
}

fn normalize_rows(dim: usize, rows: &mut [f32]) {
    for row in rows.chunks_exact_mut(dim) {
        let length = norm(row);
        row.iter_mut().for_each(|value| *value /= length);
    }
}

/// Number of the row of `centroids` with the largest inner product, per vector.
fn nearest(cpu: Cpu, dim: usize, centroids: &[f32], vectors: &[f32]) -> Vec<u32> {
    let of_lanes = |vectors: &[f32]| {
        let block = lane_block(dim, vectors);
        let mut best = [(f32::NEG_INFINITY, 0_u32); PRODUCT_LANES];
        for_each_row(cpu, &block, centroids, |centroid, products| {
            for (best, &product) in best.iter_mut().zip(products) {
                if product > best.0 {
                    *best = (product, centroid as u32);
                }
            }
        });
        best.map(|(_, centroid)| centroid)[..vectors.len() / dim].to_vec()
    };
    let chunks = vectors.par_chunks(dim * PRODUCT_LANES);
    chunks.flat_map_iter(of_lanes).collect()
}

/// Replaces each mean by the normalized sum of its vectors, summed in order in f64. A mean without
/// vectors stays.
fn update(dim: usize, means: &mut [f32], vectors: &[f32], nearest: &[u32]) {
    let mut sums = vec![0.0_f64; means.len()];
    for (vector, &mean) in vectors.chunks_exact(dim).zip(nearest) {
        let sum = &mut sums[mean as usize * dim..][..dim];
        for (sum, &value) in sum.iter_mut().zip(vector) {
            *sum += f64::from(value);
        }
    }
    for (mean, sum) in means.chunks_exact_mut(dim).zip(sums.chunks_exact(dim)) {
        let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length > 0.0 {
            for (mean, &value) in mean.iter_mut().zip(sum) {
                *mean = (value / length) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_centroids() {
        // `int(2 ** np.floor(np.log2(16 * np.sqrt(n))))`
        let expected = [(1, 16), (100, 128), (80_000, 4096), (100_000_000, 131_072)];
        for (tokens, centroids) in expected {
            assert_eq!(centroids_of(tokens), centroids, "{tokens}");
        }
    }

    #[test]
    fn nearest_is_the_first_of_the_largest_products() {
        let centroids = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        let vectors = [0.8, 0.6, 0.6, 0.8, 1.0, 0.0];
        for cpu in Cpu::all() {
            assert_eq!(nearest(cpu, 2, &centroids, &vectors), [0, 1, 0]);
        }
    }
}
