//! Random numbers, reproducible from a seed.

use crate::hash::Fnv1a;

/// SplitMix64 generator, reproducible on every platform and in every release.
///
/// Parallel work (topics, samples) takes one stream per item, so that results do not depend on
/// scheduling.
///
/// ```
/// use ir_core::SplitMix64;
/// let mut first = SplitMix64::from_name(7, "topic 1");
/// let mut again = SplitMix64::from_name(7, "topic 1");
/// assert_eq!(first.below(1000), again.below(1000));
/// ```
///
/// # Source
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// Creates the stream with the given number.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixer = Self(seed);
        let start = mixer.next_u64() ^ stream.wrapping_mul(Self::STEP);
        Self(Self(start).next_u64())
    }

    /// Creates the stream with the given name, using its FNV-1a hash as number.
    #[must_use]
    pub fn from_name(seed: u64, stream: &str) -> Self {
        Self::new(seed, Fnv1a::hash(stream.as_bytes()))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a uniform random number below `n`; 0 if `n` is 0 or 1.
    ///
    /// # Source
    /// Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u64;
        let least = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= least {
                return (product >> 64) as usize;
            }
        }
    }

    /// Moves a uniform random sample of `n` items to the front, in random order. A full shuffle if
    /// `n` is at least the length.
    pub fn partial_shuffle<T>(&mut self, items: &mut [T], n: usize) {
        for at in 0..n.min(items.len()) {
            let other = at + self.below(items.len() - at);
            items.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_outputs() {
        // The first outputs for seed 1234567, as the authors' program prints them.
        let mut random = SplitMix64(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, published);
    }

    #[test]
    fn samples_are_uniform() {
        let mut counts = [0_u32; 6];
        for stream in 0..6000 {
            let mut items = [0, 1, 2, 3, 4, 5];
            SplitMix64::new(1, stream).partial_shuffle(&mut items, 2);
            items[..2].iter().for_each(|&item| counts[item] += 1);
        }
        // 2000 expected of each; five standard deviations are 183.
        assert!(counts.iter().all(|&n| n.abs_diff(2000) < 183), "{counts:?}");
        assert_eq!(SplitMix64::from_name(0, "x").below(0), 0);
    }
}
