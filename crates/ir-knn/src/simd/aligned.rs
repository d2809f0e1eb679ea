//! Bytes that begin at a line of the cache.

/// What processors load at once, at most.
pub(crate) const LINE: usize = 64;

/// A buffer of bytes whose first is at a multiple of [`LINE`].
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Lines {
    pub(crate) fn zeros(len: usize) -> Self {
        let buffer = vec![0; len + LINE];
        let start = buffer.as_ptr().align_offset(LINE).min(LINE);
        Self { buffer, start, len }
    }

    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..][..self.len]
    }
}

impl AsRef<[u8]> for Lines {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[self.start..][..self.len]
    }
}
