//! Byte buffers aligned to cache lines.

/// Size of a cache line, and of the widest vector register.
pub(crate) const CACHE_LINE: usize = 64;

/// Buffer aligned to [`CACHE_LINE`].
#[derive(Debug)]
pub(crate) struct AlignedBytes {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    pub(crate) fn zeros(len: usize) -> Self {
        let buffer = vec![0; len + CACHE_LINE];
        let start = buffer.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
        Self { buffer, start, len }
    }

    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..][..self.len]
    }
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[self.start..][..self.len]
    }
}
