//! Buffers aligned to cache lines, and prefetching.

/// Elements of a cache line.
const LINE_ELEMENTS: usize = 16;

/// Buffer of f32 whose first element is aligned to a cache line, so that no vector register is
/// loaded from two.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer {
    buffer: Vec<f32>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Replaces the content by `len` zeros. Allocates only if the buffer was smaller before.
    pub(super) fn fill_with_zeros(&mut self, len: usize) {
        self.buffer.clear();
        self.buffer.resize(len + LINE_ELEMENTS, 0.0);
        let start = self.buffer.as_ptr().align_offset(4 * LINE_ELEMENTS);
        (self.start, self.len) = (start.min(LINE_ELEMENTS), len);
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.buffer[self.start..][..self.len]
    }

    pub(super) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[self.start..][..self.len]
    }
}

/// Prefetches the cache lines of `count` elements, which begin `offset` elements after the start of
/// a slice, into the L1 cache. They need not be in the slice.
#[inline(always)]
#[allow(unsafe_code, reason = "prefetch instructions have no safe interface")]
pub(super) fn prefetch(values: &[f32], offset: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..count.div_ceil(LINE_ELEMENTS) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = values.as_ptr().wrapping_add(offset + line * LINE_ELEMENTS);
        // SAFETY: a prefetch is a hint that reads nothing and accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, offset, count);
}

#[cfg(test)]
mod tests {
    use super::AlignedBuffer;

    #[test]
    fn buffer_is_aligned_and_zero() {
        let mut buffer = AlignedBuffer::default();
        for len in [0, 1, 16, 1000, 7] {
            buffer.fill_with_zeros(len);
            assert_eq!(buffer.values(), vec![0.0; len]);
            assert_eq!(buffer.values().as_ptr().align_offset(64), 0);
            buffer.values_mut().fill(7.0);
        }
    }
}
