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

use std::fmt;
use std::io::{self, Read, Write};

use bytemuck::Pod;
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
    let header = read_header(&mut reader, name)?;
    let descriptor = match header.type_descriptor.as_string() {
        Some(text) => text.clone(),
        None => header.type_descriptor.to_string(),
    };
    let number = NumberType::parse(&descriptor).ok_or_else(|| {
        let expected = "numbers (f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8)";
        NpyError::format(name, expected, format_args!("{descriptor:?}"))
    })?;
    let &[rows, dim] = header.shape.as_slice() else {
        let found = format_args!("the shape {:?}", header.shape);
        let expected = "two dimensions, vectors by components";
        return Err(NpyError::format(name, expected, found));
    };
    let values = read_values(&mut reader, name, number, [rows, dim])?;
    let shape = (rows, dim).set_f(header.layout.is_fortran());
    let array = Array2::from_shape_vec(shape, values);
    let mut array = array.map_err(|_| NpyError::too_large(name))?;
    if !array.is_standard_layout() {
        array = array.as_standard_layout().into_owned();
    }
    check_dense(array.view()).map_err(|source| NpyError::Values {
        path: name.to_owned(),
        source,
    })?;
    Ok(array)
}

fn read_header(reader: &mut impl Read, name: &str) -> Result<Header, NpyError> {
    let start = read_up_to(reader, MAGIC.len() + 2, Vec::new(), name)?;
    if start.is_empty() || !start.iter().zip(MAGIC).all(|(byte, magic)| byte == magic) {
        let found = match start.as_slice() {
            [] => "an empty file",
            [b'P', b'K', ..] => "a zip archive (.npz?): save the array alone with numpy.save",
            [0x80, ..] => "a pickle",
            [b'P', b'A', b'R', b'1', ..] => "a Parquet file",
            _ => "another format",
        };
        return Err(NpyError::format(name, "a .npy file", found));
    }
    let truncated = || NpyError::format(name, "a complete header", "the end of the file");
    let &[.., major, minor] = start.as_slice().get(MAGIC.len()..).unwrap_or_default() else {
        return Err(truncated());
    };
    let width = match major {
        1 => 2,
        2 | 3 => 4,
        _ => {
            let expected = "version 1, 2 or 3 of the .npy format";
            return Err(NpyError::format(
                name,
                expected,
                format_args!("{major}.{minor}"),
            ));
        }
    };
    let mut length = read_up_to(reader, width, Vec::new(), name)?;
    if length.len() < width {
        return Err(truncated());
    }
    length.resize(4, 0);
    let length = length
        .iter()
        .rfold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > MAX_HEADER {
        let expected = format_args!("a header of at most {MAX_HEADER} bytes");
        return Err(NpyError::format(name, expected, length));
    }
    let mut dictionary = read_up_to(reader, length, Vec::new(), name)?;
    if dictionary.len() < length {
        return Err(truncated());
    }
    // Some writers omit the newline, which NumPy does not check.
    if dictionary.last() != Some(&b'\n') {
        dictionary.push(b'\n');
    }
    parse_header(major, &dictionary).map_err(|source| NpyError::Header {
        path: name.to_owned(),
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
    let size = number.size;
    let total = shape[0]
        .checked_mul(shape[1])
        .and_then(|count| count.checked_mul(size))
        .filter(|&bytes| bytes <= isize::MAX as usize / 8)
        .ok_or_else(|| NpyError::too_large(name))?;
    // A damaged header must not reserve memory for values that do not exist.
    let mut values = Vec::with_capacity((total / size).min(1 << 20));
    let mut block = Vec::new();
    let mut read = 0;
    while read < total {
        let wanted = (total - read).min(1 << 16);
        block = read_up_to(reader, wanted, block, name)?;
        read += block.len();
        if block.len() < wanted {
            let expected = format_args!("{total} bytes of values");
            return Err(NpyError::format(name, expected, read));
        }
        if number.swap_bytes {
            block.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        (number.decode)(&block, &mut values).map_err(|found| NpyError::Integer {
            path: name.to_owned(),
            index: values.len(),
            found,
        })?;
    }
    if read_up_to(reader, 1, block, name)?.is_empty() {
        return Ok(values);
    }
    let expected = format_args!("the end of the file after {total} bytes of values");
    Err(NpyError::format(name, expected, "more"))
}

/// Reads `length` bytes, or fewer if the source ends, into the memory of `bytes`.
fn read_up_to(
    reader: &mut impl Read,
    length: usize,
    mut bytes: Vec<u8>,
    name: &str,
) -> Result<Vec<u8>, NpyError> {
    bytes.clear();
    bytes.reserve_exact(length);
    match reader.take(length as u64).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(NpyError::Read {
            path: name.to_owned(),
            source,
        }),
    }
}

/// Writes a two-dimensional array of `f32`, `f64` or another number type, in C order.
///
/// On little-endian machines the bytes equal a file of `numpy.save`.
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
#[derive(Clone, Copy)]
struct NumberType {
    /// Size of a number in bytes.
    size: usize,
    /// If `true`, the byte order of the file differs from the machine's.
    swap_bytes: bool,
    decode: BlockDecoder,
}

/// Appends the values of a block of numbers in native byte order, or returns an integer that `f64`
/// cannot represent as an error.
type BlockDecoder = fn(&[u8], &mut Vec<f64>) -> Result<(), i128>;

impl NumberType {
    fn parse(descriptor: &str) -> Option<Self> {
        let orders = ['<', '>', '|', '='];
        let (size, decode): (_, BlockDecoder) =
            match descriptor.strip_prefix(orders).unwrap_or(descriptor) {
                "f2" => (2, decode_half),
                "f4" => (4, decode::<f32>),
                "f8" => (8, decode::<f64>),
                "i1" => (1, decode::<i8>),
                "i2" => (2, decode::<i16>),
                "i4" => (4, decode::<i32>),
                "i8" => (8, decode_checked::<i64>),
                "u1" => (1, decode::<u8>),
                "u2" => (2, decode::<u16>),
                "u4" => (4, decode::<u32>),
                "u8" => (8, decode_checked::<u64>),
                _ => return None,
            };
        // "=" is the native order of the writing machine, little-endian almost everywhere.
        let swap_bytes = descriptor.starts_with('>') == cfg!(target_endian = "little");
        Some(Self {
            size,
            swap_bytes,
            decode,
        })
    }
}

/// Numbers of a block in native byte order.
fn numbers<T: Pod>(block: &[u8]) -> impl Iterator<Item = T> {
    block
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
}

/// Decodes numbers that `f64` can represent.
fn decode<T: Pod + Into<f64>>(block: &[u8], values: &mut Vec<f64>) -> Result<(), i128> {
    values.extend(numbers::<T>(block).map(T::into));
    Ok(())
}

fn decode_half(block: &[u8], values: &mut Vec<f64>) -> Result<(), i128> {
    values.extend(numbers(block).map(|bits| half::f16::from_bits(bits).to_f64()));
    Ok(())
}

/// Decodes integers. An absolute value above 2⁵³ is an error.
fn decode_checked<T: Pod + Into<i128>>(block: &[u8], values: &mut Vec<f64>) -> Result<(), i128> {
    for integer in numbers::<T>(block).map(T::into) {
        if integer.unsigned_abs() > 1 << f64::MANTISSA_DIGITS {
            return Err(integer);
        }
        values.push(integer as f64);
    }
    Ok(())
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
    /// The source is not a `.npy` file of a supported version, is truncated, has trailing bytes, or
    /// is not a two-dimensional array of a supported number type.
    #[error("{path}: expected {expected}, found {found}")]
    Format {
        path: String,
        expected: String,
        found: String,
    },
    /// The header cannot be parsed.
    #[error("{path}: expected a header with descr, fortran_order and shape, found {found:?}")]
    Header {
        path: String,
        found: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An integer cannot be represented as `f64`.
    #[error(
        "{path}: value {index}: expected an integer of absolute value 2^53 at most, found {found}"
    )]
    Integer {
        path: String,
        index: usize,
        found: i128,
    },
    /// Vectors have no components, or a component is not finite.
    #[error("{path}: expected vectors of finite numbers")]
    Values {
        path: String,
        #[source]
        source: MatrixError,
    },
}

impl NpyError {
    fn format(path: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self::Format {
            path: path.to_owned(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    fn too_large(path: &str) -> Self {
        Self::format(path, "an array that fits into memory", "a larger one")
    }
}
