//! Seeded random numbers and vectors.

/// SplitMix64 generator (Steele, Lea and Flood 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform integer below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// Uniform number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal number (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Row-major unit vectors in random directions, with a common direction of strength `shared`.
    pub fn unit_vectors(&mut self, count: usize, shared: &[f64]) -> Vec<f32> {
        let mut all = Vec::with_capacity(count * shared.len());
        for _ in 0..count {
            let direction = normalized(shared.iter().map(|_| self.normal()).collect());
            let row = direction
                .iter()
                .zip(shared)
                .map(|(value, shared)| value + shared);
            let row = normalized(row.collect());
            all.extend(row.into_iter().map(|value| value as f32));
        }
        all
    }
}

/// Normalizes a vector to unit length.
#[must_use]
pub fn normalized(row: Vec<f64>) -> Vec<f64> {
    let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
    row.into_iter().map(|value| value / length).collect()
}
