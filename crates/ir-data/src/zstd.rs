//! Zstandard streams: any number of frames, each with its checksum verified.

use std::io::{self, BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::Compression;
use crate::open::StreamError;

/// The largest window that is accepted, in bytes: what `zstd --ultra -22 --long=27` needs.
const MAX_WINDOW: u64 = 1 << 27;

/// Decompresses; reads the source only as far as the frames go.
pub(crate) struct ZstdReader<R> {
    source: Watched<R>,
    decoder: FrameDecoder,
    path: String,
    state: State,
    /// Bytes given out of the present frame.
    given: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Between,
    Inside,
    Failed,
}

/// Remembers whether the source has ended or failed: the decoder's errors do not tell.
struct Watched<R> {
    reader: R,
    ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
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
    pub(crate) fn new(reader: R, path: &str) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self {
            source: Watched {
                reader,
                ended: false,
                failure: None,
            },
            decoder,
            path: path.to_owned(),
            state: State::Between,
            given: 0,
        }
    }

    fn fail(&mut self, found: String) -> io::Error {
        self.state = State::Failed;
        match self.source.failure.take() {
            Some(error) => error,
            None if self.source.ended => StreamError::truncated(&self.path, Compression::Zstd),
            None => StreamError::damaged(&self.path, Compression::Zstd, found),
        }
    }

    /// Goes on to the next frame; `false` at the end of the source.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.reader.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let Self {
                decoder, source, ..
            } = self;
            match fenced(|| decoder.reset(&mut *source)) {
                Ok(()) => {
                    self.state = State::Inside;
                    self.given = 0;
                    return Ok(true);
                }
                Err(Fault::Decoder(FrameDecoderError::ReadFrameHeaderError(
                    ReadFrameHeaderError::SkipFrame { length, .. },
                ))) => {
                    let mut skipped = self.source.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(self.fail(String::new()));
                    }
                }
                Err(fault) => return Err(self.fail(fault.to_string())),
            }
        }
    }

    /// Checks a frame that has been given out whole.
    fn end_frame(&mut self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(self.fail("another checksum than stated".to_owned()));
        }
        let size = self.decoder.content_size();
        if size != 0 && size != self.given {
            return Err(self.fail(format!("{} bytes where {size} are stated", self.given)));
        }
        self.state = State::Between;
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::Failed => {
                    return Err(StreamError::truncated(&self.path, Compression::Zstd));
                }
                State::Between => {
                    if !self.next_frame()? {
                        return Ok(0);
                    }
                }
                State::Inside if self.decoder.can_collect() > 0 => {
                    let count = self.decoder.read(buf)?;
                    self.given += count as u64;
                    return Ok(count);
                }
                State::Inside if self.decoder.is_finished() => self.end_frame()?,
                State::Inside => {
                    let Self {
                        decoder, source, ..
                    } = self;
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    if let Err(fault) =
                        fenced(|| decoder.decode_blocks(&mut *source, one).map(|_| ()))
                    {
                        return Err(self.fail(fault.to_string()));
                    }
                }
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Decoder(#[from] FrameDecoderError),
    #[error("an impossible block")]
    Panic,
}

/// The decoder asserts a few things that damaged data can break; those become errors like the
/// others. The decoder is not used again afterwards.
fn fenced(step: impl FnOnce() -> Result<(), FrameDecoderError>) -> Result<(), Fault> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(result) => result.map_err(Fault::Decoder),
        Err(_) => Err(Fault::Panic),
    }
}

/// Compresses; every 4 MiB become a frame of their own, which readers join again. (The encoder
/// looks back 128 KiB, so nothing is lost by that.)
#[derive(Debug)]
pub(crate) struct ZstdWriter<W> {
    out: W,
    pending: Vec<u8>,
    empty: bool,
}

const FRAME: usize = 4 << 20;

impl<W: Write> ZstdWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            pending: Vec::new(),
            empty: true,
        }
    }

    fn frame(&mut self) -> io::Result<()> {
        let frame = compress_to_vec(self.pending.as_slice(), CompressionLevel::Fastest);
        self.out.write_all(&frame)?;
        self.pending.clear();
        self.empty = false;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        if self.empty || !self.pending.is_empty() {
            self.frame()?;
        }
        Ok(self.out)
    }
}

impl<W: Write> Write for ZstdWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = data.len().min(FRAME - self.pending.len());
        self.pending.extend_from_slice(&data[..count]);
        if self.pending.len() == FRAME {
            self.frame()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
