//! Encoding and decoding of the token vectors of a document.
//!
//! The bytes of a document of n tokens:
//!
//! | part | bytes | in stores |
//! |---|---|---|
//! | centroids | n × 4, u32 | with residuals |
//! | scales | n × 4, f32 | `int8` |
//! | codes | n × dim × 4, 2 or 1, or n × ⌈dim × bits / 8⌉ | all |
//! | spans | two varints per token | with spans |
//! | padding | zeros up to a multiple of 4 | all |
//!
//! The varints of a span are the zigzag distance from the end of the token before, and the length.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use ir_core::TokenVectors;
use ir_core::store::{ByteReader, write_varint};

use super::codebook::{TokenCodebook, is_unit, norm};
use super::config::TokenStoreConfig;
use super::encoding::TokenEncoding;
use super::error::TokenStoreError;
use crate::simd::Cpu;

/// Maximum magnitude of a component: no inner product of 65,536 of them overflows f32.
pub(super) const MAX_MAGNITUDE: f32 = 1e15;
/// Maximum number of tokens of a document.
const MAX_TOKENS: usize = 1 << 24;

/// Encodes and decodes documents of one configuration.
#[derive(Debug, Clone)]
pub(super) struct TokenCodec {
    cpu: Cpu,
    dim: usize,
    encoding: TokenEncoding,
    spans: bool,
    codebook: Option<TokenCodebook>,
}

/// Bytes of an encoded document, divided into the parts of the table above.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentBytes<'a> {
    pub(super) tokens: usize,
    centroids: &'a [u8],
    scales: &'a [u8],
    codes: &'a [u8],
    spans: &'a [u8],
}

impl<'a> DocumentBytes<'a> {
    /// Numbers of the centroids of the tokens; empty in a store without residuals.
    fn centroids(&self) -> impl Iterator<Item = u32> + 'a {
        let (numbers, _) = self.centroids.as_chunks();
        numbers.iter().map(|&bytes| u32::from_le_bytes(bytes))
    }
}

impl TokenCodec {
    /// Codec of a valid configuration.
    pub(super) fn new(config: &TokenStoreConfig) -> Result<Self, TokenStoreError> {
        let encoding = config.encoding;
        if encoding.needs_codebook() && config.codebook.is_none() {
            return Err(TokenStoreError::NoCodebook { encoding });
        }
        Ok(Self {
            cpu: Cpu::detect(),
            dim: config.dim,
            encoding,
            spans: config.spans,
            codebook: config.codebook.clone(),
        })
    }

    /// Lengths of centroids, scales and codes of a number of tokens.
    fn part_lengths(&self, tokens: usize) -> Option<[usize; 3]> {
        let [centroid, scale] = match self.encoding {
            TokenEncoding::F32 | TokenEncoding::F16 => [0, 0],
            TokenEncoding::Int8 => [0, 4],
            TokenEncoding::Residual4 | TokenEncoding::Residual2 => [4, 0],
        };
        let code = self.encoding.vector_bytes(self.dim) - centroid - scale;
        let [a, b, c] = [centroid, scale, code].map(|size| tokens.checked_mul(size));
        Some([a?, b?, c?])
    }

    /// Minimum length in bytes of a document of a number of tokens. `None` on overflow.
    pub(super) fn min_length(&self, tokens: usize) -> Option<usize> {
        let lengths = self.part_lengths(tokens)?;
        lengths.into_iter().try_fold(0_usize, usize::checked_add)
    }

    /// Divides the bytes of a document; `None` if there are too few.
    pub(super) fn split<'a>(&self, bytes: &'a [u8], tokens: usize) -> Option<DocumentBytes<'a>> {
        let [centroids, scales, codes] = self.part_lengths(tokens)?;
        let mut reader = ByteReader::new(bytes);
        Some(DocumentBytes {
            tokens,
            centroids: reader.take(centroids)?,
            scales: reader.take(scales)?,
            codes: reader.take(codes)?,
            spans: reader.rest(),
        })
    }

    /// Appends the bytes of a document to `out`, a multiple of 4 long. `out` is unchanged if the
    /// vectors are invalid.
    pub(super) fn encode(
        &self,
        id: &str,
        vectors: &TokenVectors,
        out: &mut Vec<u8>,
    ) -> Result<(), TokenStoreError> {
        self.check(id, vectors)?;
        let (dim, values) = (self.dim, &*vectors.values);
        let start = out.len();
        match self.encoding {
            TokenEncoding::F32 => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            TokenEncoding::F16 => {
                let halves = values.iter().map(|&value| f16::from_f32(value));
                out.extend(halves.flat_map(f16::to_le_bytes));
            }
            TokenEncoding::Int8 => {
                let scales: Vec<f32> = values.chunks_exact(dim).map(scale_of).collect();
                out.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
                for (row, &scale) in values.chunks_exact(dim).zip(&scales) {
                    out.extend(row.iter().map(|&value| code_of(value, scale) as u8));
                }
            }
            TokenEncoding::Residual4 => {
                self.encode_residuals(values, out, |book, mean, row, out| {
                    book.buckets().four_bits().encode(mean, row, out);
                });
            }
            TokenEncoding::Residual2 => {
                self.encode_residuals(values, out, |book, mean, row, out| {
                    book.buckets().two_bits().encode(mean, row, out);
                });
            }
        }
        if self.spans {
            write_spans(&vectors.spans, out);
        }
        let padding = (out.len() - start).next_multiple_of(4) - (out.len() - start);
        out.extend(&[0; 4][..padding]);
        Ok(())
    }

    /// Encodes residuals: `encode` appends the codes of a vector with this centroid.
    fn encode_residuals(
        &self,
        values: &[f32],
        out: &mut Vec<u8>,
        encode: impl Fn(&TokenCodebook, &[f32], &[f32], &mut Vec<u8>),
    ) {
        let Some(book) = &self.codebook else {
            return;
        };
        let numbers = book.nearest(self.cpu, values);
        out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        for (row, &number) in values.chunks_exact(self.dim).zip(&numbers) {
            let mean = book.centroid(number).unwrap_or_default();
            encode(book, mean, row, out);
        }
    }

    fn check(&self, id: &str, vectors: &TokenVectors) -> Result<(), TokenStoreError> {
        let id = || id.to_owned();
        if vectors.len() > MAX_TOKENS {
            return Err(TokenStoreError::Tokens {
                id: id(),
                max: MAX_TOKENS,
                found: vectors.len(),
            });
        }
        let values = vectors.values.len();
        let is_other_dim = !vectors.is_empty() && vectors.dim != self.dim;
        if is_other_dim || values != vectors.len() * self.dim {
            return Err(TokenStoreError::DocumentDim {
                id: id(),
                expected: self.dim,
                found: vectors.dim,
            });
        }
        let max = match self.encoding {
            TokenEncoding::F16 => f16::MAX.to_f32(),
            _ => MAX_MAGNITUDE,
        };
        if let Some((at, found)) = first_beyond(&vectors.values, max) {
            return Err(TokenStoreError::Component {
                id: id(),
                token: at / self.dim,
                component: at % self.dim,
                max,
                found,
            });
        }
        if self.encoding.needs_codebook() {
            for (token, row) in vectors.rows().enumerate() {
                let found = norm(row);
                if !is_unit(found) {
                    return Err(TokenStoreError::Length {
                        id: id(),
                        token,
                        encoding: self.encoding,
                        found,
                    });
                }
            }
        }
        match vectors.spans.iter().position(|span| span.end < span.start) {
            Some(token) => Err(TokenStoreError::Span { id: id(), token }),
            None => Ok(()),
        }
    }

    /// Decodes the vectors of a document into `out`, row-major, in place of the content.
    pub(super) fn decode(&self, document: &DocumentBytes<'_>, out: &mut Vec<f32>) {
        let count = document.tokens * self.dim;
        out.resize(count, 0.0);
        match self.encoding {
            TokenEncoding::F32 => {
                let (codes, _) = document.codes.as_chunks();
                for (value, &bytes) in out.iter_mut().zip(codes) {
                    *value = f32::from_le_bytes(bytes);
                }
            }
            TokenEncoding::F16 => {
                let halves = match bytemuck::try_cast_slice::<u8, u16>(document.codes) {
                    Ok(halves) if cfg!(target_endian = "little") => Cow::Borrowed(halves),
                    _ => {
                        let (codes, _) = document.codes.as_chunks();
                        codes
                            .iter()
                            .map(|&bytes| u16::from_le_bytes(bytes))
                            .collect()
                    }
                };
                let halves: &[f16] = halves.reinterpret_cast();
                halves.convert_to_f32_slice(out);
            }
            TokenEncoding::Int8 => self.cpu.vectorized(|| {
                let (scales, _) = document.scales.as_chunks();
                let codes = document.codes.chunks_exact(self.dim);
                let rows = out.chunks_exact_mut(self.dim).zip(codes);
                for ((row, codes), &scale) in rows.zip(scales) {
                    let scale = f32::from_le_bytes(scale);
                    for (value, &code) in row.iter_mut().zip(codes) {
                        *value = f32::from(code as i8) * scale;
                    }
                }
            }),
            TokenEncoding::Residual4 => self.decode_residuals(document, out, |book, codes, row| {
                book.buckets().four_bits().add(codes, row);
            }),
            TokenEncoding::Residual2 => self.decode_residuals(document, out, |book, codes, row| {
                book.buckets().two_bits().add(codes, row);
            }),
        }
    }

    /// Decodes residuals: `add` adds the weights of codes to a centroid.
    #[inline(always)]
    fn decode_residuals(
        &self,
        document: &DocumentBytes<'_>,
        out: &mut [f32],
        add: impl Fn(&TokenCodebook, &[u8], &mut [f32]),
    ) {
        let Some(book) = &self.codebook else {
            return;
        };
        self.cpu.vectorized(|| {
            let size = document.codes.len() / document.tokens.max(1);
            let codes = document.codes.chunks_exact(size.max(1));
            let rows = out.chunks_exact_mut(self.dim).zip(document.centroids());
            for ((row, number), codes) in rows.zip(codes) {
                match book.centroid(number) {
                    Some(centroid) => row.copy_from_slice(centroid),
                    // A damaged file: the vector is still finite.
                    None => row.fill(0.0),
                }
                add(book, codes, row);
                normalize(row);
            }
        });
    }

    /// Ranges of the tokens in the text; empty ranges in a store without spans, or if the bytes are
    /// damaged.
    pub(super) fn spans(&self, document: &DocumentBytes<'_>) -> Vec<Range<usize>> {
        let read = || {
            let mut reader = ByteReader::new(document.spans);
            let mut end = 0_usize;
            let mut spans = Vec::with_capacity(document.tokens);
            for _ in 0..document.tokens {
                let zigzag = reader.varint()?;
                let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
                let start = end.checked_add_signed(isize::try_from(distance).ok()?)?;
                end = start.checked_add(usize::try_from(reader.varint()?).ok()?)?;
                spans.push(start..end);
            }
            Some(spans)
        };
        let spans = self.spans.then(read).flatten();
        spans.unwrap_or_else(|| vec![0..0; document.tokens])
    }
}

fn write_spans(spans: &[Range<usize>], out: &mut Vec<u8>) {
    let mut end = 0;
    for span in spans {
        let distance = span.start as i64 - end;
        write_varint(out, ((distance << 1) ^ (distance >> 63)) as u64);
        write_varint(out, (span.end - span.start) as u64);
        end = span.end as i64;
    }
}

/// First value that is NaN, infinite or of a magnitude above `max`, and its index.
pub(super) fn first_beyond(values: &[f32], max: f32) -> Option<(usize, f32)> {
    let is_valid = |value: f32| value.abs() <= max;
    let at = values.iter().position(|&value| !is_valid(value))?;
    Some((at, values[at]))
}

fn scale_of(row: &[f32]) -> f32 {
    row.iter().fold(0.0_f32, |max, value| max.max(value.abs())) / 127.0
}

/// Nearest multiple of the scale; ties to even.
fn code_of(value: f32, scale: f32) -> i8 {
    if scale == 0.0 {
        return 0;
    }
    (value / scale).round_ties_even() as i8
}

/// Divides a vector by the length. A zero vector stays.
#[inline(always)]
fn normalize(row: &mut [f32]) {
    let square = squared_length(row);
    if square > 0.0 {
        let factor = 1.0 / square.sqrt();
        row.iter_mut().for_each(|value| *value *= factor);
    }
}

/// Sum of the squares. The order of summation is fixed, so that every CPU returns the same bits.
#[inline(always)]
pub(super) fn squared_length(row: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value * value;
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += value * value;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Codes, cutoffs and decoded vectors of ColBERT's formulas (`testdata/token_codes.py`).
    #[test]
    fn residuals_equal_those_of_torch() {
        let golden = include_str!("../../../testdata/token_codes.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        let numbers = |value: &Value| -> Vec<f32> {
            let values = value.as_array().unwrap().iter();
            values.map(|value| value.as_f64().unwrap() as f32).collect()
        };
        let dim = golden["dim"].as_u64().unwrap() as usize;
        let mut residuals = numbers(&golden["residuals"]);
        residuals.sort_unstable_by(f32::total_cmp);
        let codebook = TokenCodebook::from_parts(dim, numbers(&golden["centroids"]), &residuals);
        let values = numbers(&golden["vectors"]);
        let nearest: Vec<u32> = serde_json::from_value(golden["nearest"].clone()).unwrap();
        assert_eq!(codebook.nearest(Cpu::detect(), &values), nearest);
        let vectors = TokenVectors::new(dim, values, vec![0..0; nearest.len()]);
        let is_near = |found: &[f32], expected: &[f32], tolerance: f32| {
            let pairs = found.iter().zip(expected);
            let is_near = pairs.into_iter().all(|(a, b)| (a - b).abs() <= tolerance);
            assert!(
                found.len() == expected.len() && is_near,
                "{found:?} {expected:?}"
            );
        };
        let all = codebook.buckets().to_bytes();
        let (all, _) = all.as_chunks();
        let all: Vec<f32> = all.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let (mut expected, mut decoded) = (Vec::new(), Vec::new());
        for encoding in [TokenEncoding::Residual2, TokenEncoding::Residual4] {
            let golden = &golden["encodings"][encoding.to_string()];
            expected.extend(numbers(&golden["cutoffs"]));
            expected.extend(numbers(&golden["weights"]));
            let config = TokenStoreConfig::new(dim)
                .with_encoding(encoding)
                .with_codebook(codebook.clone());
            let codec = TokenCodec::new(&config).unwrap();
            let mut bytes = Vec::new();
            codec.encode("d", &vectors, &mut bytes).unwrap();
            let document = codec.split(&bytes, vectors.len()).unwrap();
            assert!(document.centroids().eq(nearest.iter().copied()));
            codec.decode(&document, &mut decoded);
            is_near(&decoded, &numbers(&golden["decoded"]), 1e-6);
        }
        is_near(&all, &expected, 1e-6);
    }
}
