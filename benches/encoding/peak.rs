//! Peak rate of f32 multiplication and addition of the running core.

use std::hint::black_box;

use bench_common::Clock;

/// Independent accumulators: latency of a fused multiply-add times the number of units, at least.
const ACCUMULATORS: usize = 12;

/// Returns the rate of a loop of fused multiply-adds in registers in GFLOP per second of CPU time
/// of one thread, for the widest vectors of the CPU.
pub(crate) fn gflops() -> f64 {
    // About 0.1 s: much longer than the resolution of the CPU time.
    const STEPS: usize = 32_000_000;
    let clock = Clock::thread();
    let lanes = run(black_box(STEPS));
    // The system updates the CPU time of a running thread when the thread yields.
    std::thread::yield_now();
    (2 * ACCUMULATORS * lanes * STEPS) as f64 / clock.seconds().cpu / 1e9
}

/// Runs the loop and returns the number of lanes of a vector.
fn run(steps: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has the feature.
            black_box(unsafe { x86::avx512(steps) });
            return 16;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has the features.
            black_box(unsafe { x86::avx2(steps) });
            return 8;
        }
    }
    black_box(portable(steps));
    4
}

fn portable(steps: usize) -> [[f32; 4]; ACCUMULATORS] {
    let mut sums = [[1.0_f32; 4]; ACCUMULATORS];
    for _ in 0..steps {
        for sum in sums.iter_mut().flatten() {
            *sum = *sum * 0.999 + 0.999;
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps,
    };

    use super::ACCUMULATORS;

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(steps: usize) -> [__m512; ACCUMULATORS] {
        let factor = _mm512_set1_ps(0.999);
        let mut sums = [_mm512_set1_ps(1.0); ACCUMULATORS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, factor);
            }
        }
        sums
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(steps: usize) -> [__m256; ACCUMULATORS] {
        let factor = _mm256_set1_ps(0.999);
        let mut sums = [_mm256_set1_ps(1.0); ACCUMULATORS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, factor);
            }
        }
        sums
    }
}
