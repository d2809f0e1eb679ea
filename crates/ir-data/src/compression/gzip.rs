use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use crate::compression_format::{Compression, StreamFailure};

/// Decompresses one gzip member after another.
pub(super) struct GzipReader<R> {
    /// `None` only while one member replaces another.
    decoder: Option<GzDecoder<R>>,
    path: String,
    failure: Option<StreamFailure>,
}

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(reader: R, path: &str) -> Self {
        Self {
            decoder: Some(GzDecoder::new(reader)),
            path: path.to_owned(),
            failure: None,
        }
    }

    fn next(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buf)?;
            if count > 0 || buf.is_empty() {
                return Ok(count);
            }
            match decoder.get_mut().fill_buf()?.first() {
                None => break,
                Some(0x1f) => {
                    let decoder = self.decoder.take().map(GzDecoder::into_inner);
                    self.decoder = decoder.map(GzDecoder::new);
                }
                Some(_) => {
                    let behind = "other data after the end";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, behind));
                }
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = &self.failure {
            return Err(failure.error(&self.path, Compression::Gzip));
        }
        self.next(buf).map_err(|error| {
            let failure = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => StreamFailure::Truncated,
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    StreamFailure::Corrupt(error.to_string())
                }
                kind => StreamFailure::Source(kind, error.to_string()),
            };
            let error = failure.error(&self.path, Compression::Gzip);
            self.failure = Some(failure);
            error
        })
    }
}
