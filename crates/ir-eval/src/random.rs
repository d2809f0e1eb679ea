//! Random numbers that are the same everywhere and for ever.

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014. Written out so that a seed means the same for ever.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    /// The stream of a number under a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut mixer = Self(seed);
        let start = mixer.next() ^ stream.wrapping_mul(Self::STEP);
        Self(Self(start).next())
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, all equally likely: Lemire, "Fast random integer generation in an
    /// interval", ACM TOMACS 2019.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let least = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next()) * u128::from(n);
            if product as u64 >= least {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        // The first outputs for seed 1234567, as the authors' program prints them.
        let mut random = SplitMix(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
