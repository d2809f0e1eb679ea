use std::io::{self, BufRead, Read, Write};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::compression_format::{Compression, StreamFailure};
use crate::panics::catch_panic;

/// Largest accepted window in bytes, as of `zstd --ultra -22 --long=27`.
const MAX_WINDOW: u64 = 1 << 27;

/// Message for a panic of the decoder.
const PANIC: &str = "invalid block";

/// Start of the message of the decoder's panic if its buffer cannot grow.
const ALLOCATION_PANIC: &str = "Allocating";

/// Decompresses zstd frames and verifies their checksums. Reads no byte beyond the last frame.
pub(super) struct ZstdReader<R> {
    source: SourceMonitor<R>,
    decoder: FrameDecoder,
    path: String,
    state: FrameState,
    /// Decompressed bytes of the current frame.
    decompressed: u64,
}

enum FrameState {
    Between,
    Inside,
    Failed(StreamFailure),
}

/// Records whether the source has ended or failed, which the decoder's errors do not distinguish.
struct SourceMonitor<R> {
    reader: R,
    ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Read for SourceMonitor<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buf) {
            Ok(0) if !buf.is_empty() => {
                self.ended = true;
                Ok(0)
            }
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(kind.into())
            }
            other => other,
        }
    }
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(reader: R, path: &str) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self {
            source: SourceMonitor {
                reader,
                ended: false,
                failure: None,
            },
            decoder,
            path: path.to_owned(),
            state: FrameState::Between,
            decompressed: 0,
        }
    }

    fn fail(&mut self, found: String) -> io::Error {
        let failure = match self.source.failure.take() {
            Some(error) => StreamFailure::Source(error.kind(), error.to_string()),
            None if self.source.ended => StreamFailure::Truncated,
            None => StreamFailure::Corrupt(found),
        };
        self.fail_with(failure)
    }

    /// Fails after a panic of the decoder, which is not used afterwards.
    fn fail_after_panic(&mut self, message: &str) -> io::Error {
        if message.starts_with(ALLOCATION_PANIC) {
            return self.fail_with(StreamFailure::OutOfMemory);
        }
        self.fail(PANIC.to_owned())
    }

    fn fail_with(&mut self, failure: StreamFailure) -> io::Error {
        let error = failure.error(&self.path, Compression::Zstd);
        self.state = FrameState::Failed(failure);
        error
    }

    /// Starts the next frame; `false` at the end of the source.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.reader.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let Self {
                decoder, source, ..
            } = self;
            // Corrupt data can violate assertions of the decoder.
            match catch_panic(|| decoder.reset(&mut *source)) {
                Ok(Ok(())) => {
                    self.state = FrameState::Inside;
                    self.decompressed = 0;
                    return Ok(true);
                }
                Ok(Err(FrameDecoderError::ReadFrameHeaderError(
                    ReadFrameHeaderError::SkipFrame { length, .. },
                ))) => {
                    let mut skipped = self.source.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(self.fail(String::new()));
                    }
                }
                Ok(Err(error)) => return Err(self.fail(error.to_string())),
                Err(message) => return Err(self.fail_after_panic(&message)),
            }
        }
    }

    /// Verifies checksum and size of a completely decompressed frame.
    fn end_frame(&mut self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(self.fail("wrong checksum".to_owned()));
        }
        let size = self.decoder.content_size();
        if size != 0 && size != self.decompressed {
            return Err(self.fail(format!("{} bytes, {size} expected", self.decompressed)));
        }
        self.state = FrameState::Between;
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            match &self.state {
                FrameState::Failed(failure) => {
                    return Err(failure.error(&self.path, Compression::Zstd));
                }
                FrameState::Between => {
                    if !self.next_frame()? {
                        return Ok(0);
                    }
                }
                FrameState::Inside if self.decoder.can_collect() > 0 => {
                    let count = self.decoder.read(buf)?;
                    self.decompressed += count as u64;
                    return Ok(count);
                }
                FrameState::Inside if self.decoder.is_finished() => self.end_frame()?,
                FrameState::Inside => {
                    let Self {
                        decoder, source, ..
                    } = self;
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    match catch_panic(|| decoder.decode_blocks(&mut *source, one)) {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return Err(self.fail(error.to_string())),
                        Err(message) => return Err(self.fail_after_panic(&message)),
                    }
                }
            }
        }
    }
}

/// Compresses into frames of 4 MiB of input. The encoder's window is 128 KiB, so that separate
/// frames do not reduce compression.
#[derive(Debug)]
pub(super) struct ZstdWriter<W> {
    out: W,
    pending: Vec<u8>,
    empty: bool,
}

const FRAME_BYTES: usize = 4 << 20;

impl<W: Write> ZstdWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            pending: Vec::new(),
            empty: true,
        }
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = compress_to_vec(self.pending.as_slice(), CompressionLevel::Fastest);
        self.out.write_all(&frame)?;
        self.pending.clear();
        self.empty = false;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.empty || !self.pending.is_empty() {
            self.write_frame()?;
        }
        Ok(self.out)
    }
}

impl<W: Write> Write for ZstdWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = data.len().min(FRAME_BYTES - self.pending.len());
        self.pending.extend_from_slice(&data[..count]);
        if self.pending.len() == FRAME_BYTES {
            self.write_frame()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic is an error, which later reads return again.
    #[test]
    fn panics_of_the_decoder_are_persistent_errors() {
        for (message, kind, expected) in [
            (
                "Allocating new space for the ringbuffer failed",
                io::ErrorKind::OutOfMemory,
                "not enough memory to decompress zstd data",
            ),
            (
                "index out of bounds",
                io::ErrorKind::InvalidData,
                "file: expected zstd data, found it corrupt (invalid block)",
            ),
        ] {
            let mut reader = ZstdReader::new(&b""[..], "file");
            let error = reader.fail_after_panic(message);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, expected));
            for _ in 0..2 {
                let error = reader.read(&mut [0]).unwrap_err();
                assert_eq!((error.kind(), error.to_string().as_str()), (kind, expected));
            }
        }
    }
}
