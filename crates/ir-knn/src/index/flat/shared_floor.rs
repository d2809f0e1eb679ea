//! Floor of the scores of a query, shared by threads.

use std::sync::atomic::{AtomicU32, Ordering};

/// Largest score known to be reached by `k` rows of a query, or its floor, shared by the threads
/// that search it: rows with a lower score are no hits.
pub(super) struct SharedFloor(AtomicU32);

impl SharedFloor {
    pub(super) fn new(score: f32) -> Self {
        Self(AtomicU32::new(ascending_bits(score)))
    }

    pub(super) fn get(&self) -> f32 {
        let bits = self.0.load(Ordering::Relaxed);
        f32::from_bits(match bits >> 31 {
            0 => !bits,
            _ => bits ^ 1 << 31,
        })
    }

    pub(super) fn raise(&self, score: f32) {
        self.0.fetch_max(ascending_bits(score), Ordering::Relaxed);
    }
}

/// Bits that ascend with the score.
fn ascending_bits(score: f32) -> u32 {
    let bits = score.to_bits();
    match bits >> 31 {
        0 => bits | 1 << 31,
        _ => !bits,
    }
}
