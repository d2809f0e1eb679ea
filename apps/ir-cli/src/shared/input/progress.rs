//! Progress of reading a file.

use std::io::{self, BufRead, Read};

use ir_core::{Flow, Progress};

use crate::shared::console::{Bar, one_line};
use crate::shared::signals::Interrupted;

/// Number of bytes between two reports.
const REPORT_BYTES: u64 = 1 << 20;

/// Reader that reports the number of bytes read, after decompression.
pub(super) struct ReadingProgress<R> {
    inner: R,
    bar: Bar,
    stage: String,
    read: u64,
    /// Number of bytes of the file; unknown for compressed files and pipes.
    total: Option<u64>,
    next_report: u64,
}

impl<R: BufRead> ReadingProgress<R> {
    /// Reports bytes of the file `name` to `bar`.
    pub(super) fn new(inner: R, name: &str, total: Option<u64>, bar: Bar) -> Self {
        Self {
            inner,
            bar,
            stage: format!("reading {} (bytes)", one_line(name)),
            read: 0,
            total,
            next_report: REPORT_BYTES,
        }
    }

    #[cold]
    fn report(&mut self) -> io::Result<()> {
        self.next_report = self.read + REPORT_BYTES;
        match self.bar.report(&self.stage, self.read, self.total) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(io::Error::other(Interrupted)),
        }
    }
}

impl<R: BufRead> BufRead for ReadingProgress<R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read >= self.next_report {
            self.report()?;
        }
        self.inner.fill_buf()
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        self.read += bytes as u64;
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for ReadingProgress<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= self.next_report {
            self.report()?;
        }
        let bytes = self.inner.read(buffer)?;
        self.read += bytes as u64;
        Ok(bytes)
    }
}
