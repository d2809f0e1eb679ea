//! NumPy's `.npy` files as [`ndarray`] arrays.
//!
//! Headers are parsed by the crate `ndarray-npy`. Its element types are fixed at compile time, so
//! values of any number type are decoded here, in blocks: a damaged shape allocates no memory.
//!
//! ```
//! use ir_knn::npy;
//! use ndarray::array;
//! let rows = array![[0.5, 1.5], [2.0, 3.0]];
//! let mut file = Vec::new();
//! npy::write(rows.mapv(|value| value as f32).view(), &mut file)?;
//! assert_eq!(npy::read(&file[..], "x.npy")?, rows);
//! let error = npy::read(&file[..file.len() - 1], "x.npy").unwrap_err();
//! assert_eq!(error.to_string(), "x.npy: expected 16 bytes of values, found 15");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays"; versions 1, 2 and 3.

use std::io::{self, Read, Write};

use ndarray::{Array2, ArrayView2, ShapeBuilder};
use ndarray_npy::npy::header::Header;
use ndarray_npy::{WritableElement, WriteDataError};

use crate::matrix::{MatrixError, check_dense};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum header length in bytes. NumPy itself rejects more than 10,000.
const MAX_HEADER: usize = 1 << 16;
/// Maximum nesting of brackets in a header. The header of a numeric array needs 2; the time of the
/// parser grows exponentially with the nesting.
const MAX_NESTING: usize = 4;

/// Reads a two-dimensional array, one vector per row, in standard (C) layout.
///
/// Supports floating-point numbers of 16, 32 and 64 bits and integers of 8 to 64 bits (absolute
/// values up to 2⁵³), both byte orders, and C and Fortran order. `name` is the file name in error
/// messages.
///
/// # Errors
/// When the source cannot be read, is not a `.npy` file, is truncated or has trailing bytes, or is
/// not a two-dimensional array of finite numbers.
pub fn read(mut reader: impl Read, name: &str) -> Result<Array2<f64>, NpyError> {
    let path = || name.to_owned();
    let header = read_header(&mut reader, name)?;
    let descriptor = &header.type_descriptor;
    let number = descriptor
        .as_string()
        .and_then(|text| NumberType::parse(text));
    let number = number.ok_or_else(|| NpyError::Numbers {
        path: path(),
        found: match descriptor.as_string() {
            Some(text) => text.clone(),
            None => descriptor.to_string(),
        },
    })?;
    let &[rows, dim] = header.shape.as_slice() else {
        return Err(NpyError::Shape {
            path: path(),
            found: header.shape,
        });
    };
    let values = read_values(&mut reader, name, number, [rows, dim])?;
    let shape = (rows, dim).set_f(header.layout.is_fortran());
    let array = Array2::from_shape_vec(shape, values);
    let mut array = array.map_err(|_| NpyError::TooLarge { path: path() })?;
    if !array.is_standard_layout() {
        array = array.as_standard_layout().into_owned();
    }
    check_dense(array.view()).map_err(|source| NpyError::Values {
        path: path(),
        source,
    })?;
    Ok(array)
}

fn read_header(reader: &mut impl Read, name: &str) -> Result<Header, NpyError> {
    let path = || name.to_owned();
    let mut fill = |buffer: &mut [u8]| {
        fill(reader, buffer).map_err(|source| NpyError::Read {
            path: path(),
            source,
        })
    };
    let mut start = [0; 8];
    let found = fill(&mut start)?;
    let known = found.min(MAGIC.len());
    if found == 0 || start[..known] != MAGIC[..known] {
        let found = match start {
            _ if found == 0 => "an empty file",
            [b'P', b'K', ..] => "a zip archive (.npz?): save the array alone with numpy.save",
            [0x80, ..] => "a pickle",
            [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
            _ => "another format",
        };
        return Err(NpyError::Foreign {
            path: path(),
            found,
        });
    }
    let truncated = || NpyError::TruncatedHeader { path: path() };
    if found < start.len() {
        return Err(truncated());
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
    if fill(&mut length[..width])? < width {
        return Err(truncated());
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(NpyError::LongHeader {
            path: path(),
            found: length,
        });
    }
    let mut dictionary = vec![0; length];
    if fill(&mut dictionary)? < length {
        return Err(truncated());
    }
    // Some writers omit the newline, which NumPy does not check.
    if dictionary.last() != Some(&b'\n') {
        dictionary.push(b'\n');
    }
    parse_header(major, &dictionary).map_err(|source| NpyError::Header {
        path: path(),
        found: String::from_utf8_lossy(&dictionary).trim().to_owned(),
        source,
    })
}

/// Parses the dictionary of a header, which ends with a newline.
fn parse_header(
    major: u8,
    dictionary: &[u8],
) -> Result<Header, Box<dyn std::error::Error + Send + Sync>> {
    let (mut open, mut nesting) = (0_usize, 0);
    for byte in dictionary {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        nesting = nesting.max(open);
    }
    if nesting > MAX_NESTING {
        return Err(
            format!("expected at most {MAX_NESTING} nested brackets, found {nesting}").into(),
        );
    }
    // Version 1 has a length of 16 bits, which an added newline may exceed.
    let mut bytes = MAGIC.to_vec();
    bytes.extend([major.max(2), 0]);
    bytes.extend((dictionary.len() as u32).to_le_bytes());
    bytes.extend(dictionary);
    Ok(Header::from_reader(&mut &bytes[..])?)
}

/// Reads the values of an array of this shape, which must end the source.
fn read_values(
    reader: &mut impl Read,
    name: &str,
    number: NumberType,
    shape: [usize; 2],
) -> Result<Vec<f64>, NpyError> {
    let path = || name.to_owned();
    let read_error = |source| NpyError::Read {
        path: path(),
        source,
    };
    let size = number.size();
    let total = shape[0]
        .checked_mul(shape[1])
        .and_then(|count| count.checked_mul(size))
        .filter(|&bytes| bytes <= isize::MAX as usize / 8)
        .ok_or_else(|| NpyError::TooLarge { path: path() })?;
    // A damaged header must not reserve memory for values that do not exist.
    let mut values = Vec::with_capacity((total / size).min(1 << 20));
    let mut buffer = vec![0; 1 << 16];
    let mut read = 0;
    while read < total {
        let wanted = (total - read).min(buffer.len());
        let found = fill(reader, &mut buffer[..wanted]).map_err(read_error)?;
        read += found;
        if found < wanted {
            return Err(NpyError::Truncated {
                path: path(),
                expected: total,
                found: read,
            });
        }
        for bytes in buffer[..wanted].chunks_exact(size) {
            let value = number.decode(bytes);
            values.push(value.map_err(|found| NpyError::Integer {
                path: path(),
                index: values.len(),
                found,
            })?);
        }
    }
    match fill(reader, &mut buffer[..1]).map_err(read_error)? {
        0 => Ok(values),
        _ => Err(NpyError::Trailing {
            path: path(),
            expected: total,
        }),
    }
}

/// Reads until the buffer is full or the source ends. Returns the number of bytes read.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes a two-dimensional array of `f32`, `f64` or another number type, in C order.
///
/// On little-endian machines the bytes are those of `numpy.save`.
///
/// ```
/// use ir_knn::npy;
/// use ndarray::{ArrayView2, array};
/// let mut file = Vec::new();
/// let rows = ArrayView2::from_shape((2, 2), &[0.5_f32, 1.5, 2.0, 3.0])?;
/// npy::write(rows, &mut file)?;
/// assert_eq!(npy::read(&file[..], "x.npy")?, array![[0.5, 1.5], [2.0, 3.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When writing to `out` fails.
pub fn write<T: WritableElement>(rows: ArrayView2<'_, T>, mut out: impl Write) -> io::Result<()> {
    // `ndarray-npy` pads headers differently from NumPy.
    let (descriptor, (nrows, ncols)) = (T::type_descriptor(), rows.dim());
    let mut header =
        format!("{{'descr': {descriptor}, 'fortran_order': False, 'shape': ({nrows}, {ncols}), }}");
    // The values begin at a multiple of 64 bytes, after 10 bytes, the header and a newline.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    // The header is far shorter than 64 KiB.
    out.write_all(&(padded as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let written = match rows.as_slice() {
        Some(values) => T::write_slice(values, &mut out),
        None => rows.iter().try_for_each(|value| value.write(&mut out)),
    };
    written.map_err(|error| match error {
        WriteDataError::Io(error) => error,
        WriteDataError::FormatData(error) => io::Error::other(error),
    })
}

/// Number type of an array.
#[derive(Debug, Clone, Copy)]
struct NumberType {
    format: NumberFormat,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy)]
enum NumberFormat {
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

impl NumberType {
    fn parse(descriptor: &str) -> Option<Self> {
        let (order, format) = match descriptor.strip_prefix(['<', '>', '|', '=']) {
            Some(format) => (descriptor.as_bytes()[0], format),
            None => (b'<', descriptor),
        };
        let format = match format {
            "f2" => NumberFormat::F16,
            "f4" => NumberFormat::F32,
            "f8" => NumberFormat::F64,
            "i1" => NumberFormat::I8,
            "i2" => NumberFormat::I16,
            "i4" => NumberFormat::I32,
            "i8" => NumberFormat::I64,
            "u1" => NumberFormat::U8,
            "u2" => NumberFormat::U16,
            "u4" => NumberFormat::U32,
            "u8" => NumberFormat::U64,
            _ => return None,
        };
        // "=" is the native order of the writing machine, little-endian almost everywhere.
        Some(Self {
            format,
            big_endian: order == b'>',
        })
    }

    fn size(self) -> usize {
        match self.format {
            NumberFormat::I8 | NumberFormat::U8 => 1,
            NumberFormat::F16 | NumberFormat::I16 | NumberFormat::U16 => 2,
            NumberFormat::F32 | NumberFormat::I32 | NumberFormat::U32 => 4,
            NumberFormat::F64 | NumberFormat::I64 | NumberFormat::U64 => 8,
        }
    }

    /// Returns the number in [`NumberType::size`] bytes, or an integer that `f64` cannot represent
    /// as an error.
    fn decode(self, bytes: &[u8]) -> Result<f64, i128> {
        let mut bits = 0_u64;
        let mut push = |byte: &u8| bits = bits << 8 | u64::from(*byte);
        if self.big_endian {
            bytes.iter().for_each(&mut push);
        } else {
            bytes.iter().rev().for_each(&mut push);
        }
        let integer = match self.format {
            NumberFormat::I64 => i128::from(bits as i64),
            NumberFormat::U64 => i128::from(bits),
            _ => 0,
        };
        if integer.unsigned_abs() > 1 << f64::MANTISSA_DIGITS {
            return Err(integer);
        }
        Ok(match self.format {
            NumberFormat::F16 => half::f16::from_bits(bits as u16).to_f64(),
            NumberFormat::F32 => f64::from(f32::from_bits(bits as u32)),
            NumberFormat::F64 => f64::from_bits(bits),
            NumberFormat::I8 => f64::from(bits as u8 as i8),
            NumberFormat::I16 => f64::from(bits as u16 as i16),
            NumberFormat::I32 => f64::from(bits as u32 as i32),
            NumberFormat::U8 | NumberFormat::U16 | NumberFormat::U32 => f64::from(bits as u32),
            NumberFormat::I64 | NumberFormat::U64 => integer as f64,
        })
    }
}

/// Error reading a `.npy` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum NpyError {
    /// The source returned an error.
    #[error("{path}: cannot be read")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The source is not a `.npy` file.
    #[error("{path}: expected a .npy file, found {found}")]
    Foreign { path: String, found: &'static str },
    /// The version of the format is not supported.
    #[error("{path}: expected version 1, 2 or 3 of the .npy format, found {major}.{minor}")]
    Version { path: String, major: u8, minor: u8 },
    /// The source ends within the header.
    #[error("{path}: expected a complete header, found the end of the file")]
    TruncatedHeader { path: String },
    /// The header is longer than any that NumPy writes.
    #[error("{path}: expected a header of at most {MAX_HEADER} bytes, found {found}")]
    LongHeader { path: String, found: usize },
    /// The header cannot be parsed.
    #[error("{path}: expected a header with descr, fortran_order and shape, found {found:?}")]
    Header {
        path: String,
        found: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The element type is not a supported number type.
    #[error(
        "{path}: expected numbers (f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8), found {found:?}"
    )]
    Numbers { path: String, found: String },
    /// An integer cannot be represented as `f64`.
    #[error(
        "{path}: value {index}: expected an integer of absolute value 2^53 at most, found {found}"
    )]
    Integer {
        path: String,
        index: usize,
        found: i128,
    },
    /// The array does not have two dimensions.
    #[error("{path}: expected two dimensions, vectors by components, found the shape {found:?}")]
    Shape { path: String, found: Vec<usize> },
    /// The array does not fit into the address space.
    #[error("{path}: expected an array that fits into memory, found a larger one")]
    TooLarge { path: String },
    /// The source ends before the array.
    #[error("{path}: expected {expected} bytes of values, found {found}")]
    Truncated {
        path: String,
        expected: usize,
        found: usize,
    },
    /// Bytes follow the array.
    #[error("{path}: expected the end of the file after {expected} bytes of values, found more")]
    Trailing { path: String, expected: usize },
    /// Vectors have no components, or a component is not finite.
    #[error("{path}: expected vectors of finite numbers")]
    Values {
        path: String,
        #[source]
        source: MatrixError,
    },
}
