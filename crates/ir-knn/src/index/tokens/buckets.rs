//! Buckets of residuals: cutoffs and weights.

/// Numbers of values of the section: cutoffs and weights of 2 bits, then of 4 bits.
pub(super) const BUCKET_VALUES: usize = 3 + 4 + 15 + 16;

/// Cutoffs and weights of 2 and 4 bits, and the weights of all codes in a byte. The code of the
/// first dimension is in the low bits.
#[derive(Clone)]
pub(super) struct Buckets {
    two: BucketTable<4>,
    four: BucketTable<2>,
}

/// Buckets of `8 / PER_BYTE` bits.
#[derive(Clone)]
pub(super) struct BucketTable<const PER_BYTE: usize> {
    cutoffs: Vec<f32>,
    weights: Vec<f32>,
    /// Weights of the codes in each byte.
    of_byte: Vec<[f32; PER_BYTE]>,
}

impl<const PER_BYTE: usize> BucketTable<PER_BYTE> {
    const BITS: usize = 8 / PER_BYTE;

    fn new(cutoffs: Vec<f32>, weights: Vec<f32>) -> Self {
        let weight =
            |byte: usize, at: usize| weights[byte >> (at * Self::BITS) & (weights.len() - 1)];
        let of_byte = (0..256).map(|byte| std::array::from_fn(|at| weight(byte, at)));
        let of_byte = of_byte.collect();
        Self {
            cutoffs,
            weights,
            of_byte,
        }
    }

    /// Quantiles i/2ᵇ and (i + ½)/2ᵇ of sorted residuals.
    fn from_sorted(residuals: &[f32]) -> Self {
        let count = 1 << Self::BITS;
        let cutoffs = (1..count).map(|n| quantile(residuals, f64::from(n) / f64::from(count)));
        let weights =
            (0..count).map(|n| quantile(residuals, (f64::from(n) + 0.5) / f64::from(count)));
        Self::new(cutoffs.collect(), weights.collect())
    }

    /// Appends the codes of the residuals of a vector to `codes`. A residual equal to a cutoff
    /// belongs to the bucket below, as in `torch.bucketize`.
    pub(super) fn encode(&self, centroid: &[f32], vector: &[f32], codes: &mut Vec<u8>) {
        for (centroid, vector) in centroid.chunks(PER_BYTE).zip(vector.chunks(PER_BYTE)) {
            let mut byte = 0;
            for (at, (mean, value)) in centroid.iter().zip(vector).enumerate() {
                let residual = value - mean;
                let code = self.cutoffs.partition_point(|&cutoff| cutoff < residual);
                byte |= (code as u8) << (at * Self::BITS);
            }
            codes.push(byte);
        }
    }

    /// Adds the weights of the codes to a centroid.
    #[inline(always)]
    pub(super) fn add(&self, codes: &[u8], vector: &mut [f32]) {
        let (whole, rest) = vector.as_chunks_mut::<PER_BYTE>();
        let mut codes = codes.iter().map(|&byte| &self.of_byte[usize::from(byte)]);
        for (values, weights) in whole.iter_mut().zip(codes.by_ref()) {
            for (value, weight) in values.iter_mut().zip(weights) {
                *value += weight;
            }
        }
        for (value, weight) in rest.iter_mut().zip(codes.next().into_iter().flatten()) {
            *value += weight;
        }
    }
}

impl Buckets {
    pub(super) fn from_sorted(residuals: &[f32]) -> Self {
        Self {
            two: BucketTable::from_sorted(residuals),
            four: BucketTable::from_sorted(residuals),
        }
    }

    /// Reads the bytes of [`Buckets::to_bytes`]. `None` if cutoffs or weights do not ascend.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (values, _) = bytes.as_chunks();
        let values: Vec<f32> = values
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect();
        let mut rest = &*values;
        let mut take = |count: usize| {
            let taken = rest.split_off(..count)?;
            (taken.is_sorted() && taken.iter().all(|value| value.is_finite()))
                .then(|| taken.to_vec())
        };
        Some(Self {
            two: BucketTable::new(take(3)?, take(4)?),
            four: BucketTable::new(take(15)?, take(16)?),
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let two = self.two.cutoffs.iter().chain(&self.two.weights);
        let four = self.four.cutoffs.iter().chain(&self.four.weights);
        two.chain(four)
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    pub(super) fn two_bits(&self) -> &BucketTable<4> {
        &self.two
    }

    pub(super) fn four_bits(&self) -> &BucketTable<2> {
        &self.four
    }
}

/// Quantile of sorted values, interpolated linearly between the two nearest, as in
/// `torch.quantile`.
fn quantile(sorted: &[f32], fraction: f64) -> f32 {
    let at = fraction * (sorted.len().saturating_sub(1)) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    let (low_value, high_value) = (f64::from(sorted[low]), f64::from(sorted[high]));
    (low_value + (high_value - low_value) * (at - low as f64)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        // torch.tensor([0., 1., 2., 4., 8.]).quantile(torch.arange(1, 4) / 4)
        let sorted = [0.0, 1.0, 2.0, 4.0, 8.0];
        let found = [0.25, 0.5, 0.75, 0.125].map(|fraction| quantile(&sorted, fraction));
        assert_eq!(found, [1.0, 2.0, 4.0, 0.5]);
    }

    #[test]
    fn codes_are_packed_from_the_low_bits() {
        let table = BucketTable::<4>::new(vec![-1.0, 0.0, 1.0], vec![-2.0, -0.5, 0.5, 2.0]);
        let (centroid, vector) = ([0.0; 5], [-3.0, -1.0, 0.5, 1.5, 0.25]);
        let mut codes = Vec::new();
        table.encode(&centroid, &vector, &mut codes);
        // -1 is a cutoff: the bucket below.
        assert_eq!(codes, [0b11_10_00_00, 0b10]);
        let mut decoded = centroid;
        table.add(&codes, &mut decoded);
        assert_eq!(decoded, [-2.0, -2.0, 0.5, 2.0, 0.5]);
    }
}
