//! Buffers aligned to cache lines, and prefetching.

/// Bytes of a cache line, and its elements of 32 bits.
const LINE_BYTES: usize = 64;
const LINE_ELEMENTS: usize = LINE_BYTES / 4;

/// Buffer of f32 or u32 aligned to a cache line, so that no vector register is loaded from two.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer<T = f32> {
    buffer: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> AlignedBuffer<T> {
    /// Replaces the content by `len` zeros. Allocates only if the buffer was smaller before.
    pub(crate) fn fill_with_zeros(&mut self, len: usize) {
        self.buffer.clear();
        self.buffer.resize(len + LINE_ELEMENTS, T::default());
        let start = self.buffer.as_ptr().align_offset(LINE_BYTES);
        (self.start, self.len) = (start.min(LINE_ELEMENTS), len);
    }

    /// Sets the length, and returns the elements, which have any values. Allocates only if the
    /// buffer was smaller before.
    pub(crate) fn resize_stale(&mut self, len: usize) -> &mut [T] {
        if self.buffer.len() < len + LINE_ELEMENTS {
            self.buffer.resize(len + LINE_ELEMENTS, T::default());
        }
        let start = self.buffer.as_ptr().align_offset(LINE_BYTES);
        (self.start, self.len) = (start.min(LINE_ELEMENTS), len);
        self.values_mut()
    }

    pub(crate) fn values(&self) -> &[T] {
        &self.buffer[self.start..][..self.len]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.buffer[self.start..][..self.len]
    }
}

/// Prefetches the cache lines of `count` elements of 32 bits, which begin `offset` elements after
/// the start of a slice, into the L1 cache. They need not be in the slice.
#[inline(always)]
#[allow(unsafe_code, reason = "prefetch instructions have no safe interface")]
pub(super) fn prefetch<T>(values: &[T], offset: usize, count: usize) {
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
        let mut buffer: AlignedBuffer = AlignedBuffer::default();
        for len in [0, 1, 16, 1000, 7] {
            buffer.fill_with_zeros(len);
            assert_eq!(buffer.values(), vec![0.0; len]);
            assert_eq!(buffer.values().as_ptr().align_offset(64), 0);
            buffer.values_mut().fill(7.0);
        }
    }

    #[test]
    fn resized_buffers_are_aligned() {
        let mut buffer: AlignedBuffer<u32> = AlignedBuffer::default();
        for len in [0, 3, 1000, 16, 1000, 100_000, 1] {
            assert_eq!(buffer.resize_stale(len).len(), len);
            assert_eq!(buffer.values().as_ptr().align_offset(64), 0);
            buffer.values_mut().fill(7);
            assert_eq!(buffer.values(), vec![7; len]);
        }
    }
}
