//! The description at the head of a `.npy` file.

use std::io::Read;

use super::{NpyError, fill};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// A longer description is damaged: NumPy itself refuses more than 10,000 bytes.
const LONGEST: usize = 1 << 16;

/// What the values are.
pub(super) struct Header {
    pub(super) number: Number,
    pub(super) by_column: bool,
    pub(super) shape: Vec<u64>,
}

impl Header {
    pub(super) fn read(reader: &mut impl Read, name: &str) -> Result<Self, NpyError> {
        let path = || name.to_owned();
        let mut fill = |buffer: &mut [u8]| {
            fill(reader, buffer).map_err(|source| NpyError::Read {
                path: path(),
                source,
            })
        };
        let mut start = [0; 8];
        let found = fill(&mut start)?;
        let mut take = |buffer: &mut [u8]| fill(buffer).map(|found| found == buffer.len());
        let known = found.min(MAGIC.len());
        if found == 0 || start[..known] != MAGIC[..known] {
            let found = match start {
                _ if found == 0 => "an empty file",
                [b'P', b'K', ..] => {
                    "a zip archive, perhaps .npz: save the array alone with numpy.save"
                }
                [0x80, ..] => "a pickle",
                [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
                _ => "something else",
            };
            return Err(NpyError::Foreign {
                path: path(),
                found,
            });
        }
        let cut = || NpyError::Header {
            path: path(),
            expected: "the whole description of the array",
            found: "the end of the file".to_owned(),
        };
        if found < start.len() {
            return Err(cut());
        }
        let (major, minor) = (start[6], start[7]);
        let mut length = [0; 4];
        let width = match major {
            1 => 2,
            2 | 3 => 4,
            _ => {
                let path = path();
                return Err(NpyError::Version { path, major, minor });
            }
        };
        if !take(&mut length[..width])? {
            return Err(cut());
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(NpyError::Header {
                path: path(),
                expected: "a description of at most 65536 bytes",
                found: length.to_string(),
            });
        }
        let mut text = vec![0; length];
        if !take(&mut text)? {
            return Err(cut());
        }
        let text = String::from_utf8_lossy(&text);
        Parser { rest: &text, name }.header()
    }
}

/// Reads the literal of a Python dictionary with three known keys.
struct Parser<'a> {
    rest: &'a str,
    name: &'a str,
}

impl<'a> Parser<'a> {
    fn header(mut self) -> Result<Header, NpyError> {
        let (mut number, mut by_column, mut shape) = (None, None, None);
        self.expect('{', "a dictionary")?;
        while !self.accept('}') {
            let key = self.text()?;
            self.expect(':', "a colon")?;
            match key {
                "descr" => number = Some(self.number()?),
                "fortran_order" => by_column = Some(self.truth()?),
                "shape" => shape = Some(self.shape()?),
                _ => {
                    return Err(NpyError::Header {
                        path: self.name.to_owned(),
                        expected: "descr, fortran_order and shape",
                        found: key.to_owned(),
                    });
                }
            }
            if !self.accept(',') {
                self.expect('}', "a comma or the end of the dictionary")?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.wrong("nothing behind the dictionary"));
        }
        match (number, by_column, shape) {
            (Some(number), Some(by_column), Some(shape)) => Ok(Header {
                number,
                by_column,
                shape,
            }),
            _ => Err(self.wrong("descr, fortran_order and shape")),
        }
    }

    fn wrong(&self, expected: &'static str) -> NpyError {
        NpyError::Header {
            path: self.name.to_owned(),
            expected,
            found: self.rest.trim().chars().take(40).collect(),
        }
    }

    fn accept(&mut self, c: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char, expected: &'static str) -> Result<(), NpyError> {
        if self.accept(c) {
            Ok(())
        } else {
            Err(self.wrong(expected))
        }
    }

    /// Text in single or double quotes. Names and types need no escapes.
    fn text(&mut self) -> Result<&'a str, NpyError> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let inside = quote.and_then(|quote| rest[1..].split_once(quote));
        let (inside, rest) = inside.ok_or_else(|| self.wrong("text in quotes"))?;
        self.rest = rest;
        Ok(inside)
    }

    fn number(&mut self) -> Result<Number, NpyError> {
        if self.rest.trim_start().starts_with('[') {
            return Err(NpyError::Numbers {
                path: self.name.to_owned(),
                found: "a record of several fields".to_owned(),
            });
        }
        let descr = self.text()?;
        Number::of(descr).ok_or_else(|| NpyError::Numbers {
            path: self.name.to_owned(),
            found: descr.to_owned(),
        })
    }

    fn truth(&mut self) -> Result<bool, NpyError> {
        let rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        const EXPECTED: &str = "a tuple of whole numbers";
        let mut shape = Vec::new();
        self.expect('(', EXPECTED)?;
        while !self.accept(')') {
            let rest = self.rest.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let length = rest[..end].parse().map_err(|_| self.wrong(EXPECTED))?;
            shape.push(length);
            // Python 2 wrote long numbers with an L.
            self.rest = rest[end..].strip_prefix('L').unwrap_or(&rest[end..]);
            if !self.accept(',') {
                self.expect(')', EXPECTED)?;
                break;
            }
        }
        Ok(shape)
    }
}

/// A type of number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    kind: Kind,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Number {
    fn of(descr: &str) -> Option<Self> {
        let (order, kind) = match descr.strip_prefix(['<', '>', '|', '=']) {
            Some(kind) => (descr.as_bytes()[0], kind),
            None => (b'<', descr),
        };
        let kind = match kind {
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            _ => return None,
        };
        // "=" is the order of whoever wrote the file; all such machines are little-endian today.
        Some(Self {
            kind,
            big_endian: order == b'>',
        })
    }

    pub(super) fn size(self) -> usize {
        match self.kind {
            Kind::I8 | Kind::U8 => 1,
            Kind::F16 | Kind::I16 | Kind::U16 => 2,
            Kind::F32 | Kind::I32 | Kind::U32 => 4,
            Kind::F64 | Kind::I64 | Kind::U64 => 8,
        }
    }

    /// The number in [`Number::size`] bytes, or as an error a whole one that is not exactly one of
    /// floating point.
    pub(super) fn value(self, bytes: &[u8]) -> Result<f64, i128> {
        let mut bits = 0_u64;
        let mut push = |byte: &u8| bits = bits << 8 | u64::from(*byte);
        if self.big_endian {
            bytes.iter().for_each(&mut push);
        } else {
            bytes.iter().rev().for_each(&mut push);
        }
        let whole = match self.kind {
            Kind::I64 => i128::from(bits as i64),
            Kind::U64 => i128::from(bits),
            _ => 0,
        };
        if whole.unsigned_abs() > 1 << f64::MANTISSA_DIGITS {
            return Err(whole);
        }
        Ok(match self.kind {
            Kind::F16 => half(bits as u16),
            Kind::F32 => f64::from(f32::from_bits(bits as u32)),
            Kind::F64 => f64::from_bits(bits),
            Kind::I8 => f64::from(bits as u8 as i8),
            Kind::I16 => f64::from(bits as u16 as i16),
            Kind::I32 => f64::from(bits as u32 as i32),
            Kind::U8 | Kind::U16 | Kind::U32 => f64::from(bits as u32),
            Kind::I64 | Kind::U64 => whole as f64,
        })
    }
}

/// A number of 16 bits: sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}
