//! NumPy's `.npy` files: the vectors that everybody has.
//!
//! ```
//! use ir_knn::{DenseRows, npy};
//! let rows = DenseRows::of(&[[0.5, 1.5], [2.0, 3.0]])?;
//! let mut file = Vec::new();
//! npy::write(&rows, npy::Float::F32, &mut file)?;
//! assert_eq!(npy::read(&file[..], "x.npy")?, rows);
//! let error = npy::read(&file[..file.len() - 1], "x.npy").unwrap_err();
//! assert_eq!(error.to_string(), "x.npy: expected 16 bytes of values, found 15");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays"; versions 1, 2 and 3.

mod header;

use std::io::{self, Read, Write};

use self::header::Header;
use crate::{DenseRows, RowsError};

/// The width of the numbers that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Float {
    /// 32 bits: half the size, and what most encoders give.
    F32,
    /// 64 bits: exactly what is held.
    #[default]
    F64,
}

/// Reads an array of two dimensions, one vector a row. `name` is what errors call the source.
///
/// Numbers may be floating point of 16, 32 or 64 bits or whole of 8 to 64 bits (up to 2⁵³), in
/// either byte order, by row or by column (`fortran_order`).
///
/// # Errors
/// When the source cannot be read or is no such file, is cut short or goes on behind the array, or
/// holds something else than two dimensions of finite numbers.
pub fn read(mut reader: impl Read, name: &str) -> Result<DenseRows, NpyError> {
    let header = Header::read(&mut reader, name)?;
    let path = || name.to_owned();
    let &[rows, dim] = header.shape.as_slice() else {
        return Err(NpyError::Shape {
            path: path(),
            found: header.shape,
        });
    };
    let size = header.number.size();
    let too_large = || NpyError::TooLarge { path: path() };
    let total = rows
        .checked_mul(dim)
        .and_then(|n| n.checked_mul(size as u64));
    let total = total.filter(|&n| isize::try_from(n).is_ok_and(|n| n <= isize::MAX / 8));
    let total = total.ok_or_else(too_large)?;
    // What a header promises is not reserved before it is seen.
    let mut values = Vec::with_capacity((total as usize / size).min(1 << 20));
    let mut buffer = vec![0; 1 << 16];
    let mut read = 0;
    while read < total {
        let wanted = (total - read).min(buffer.len() as u64) as usize;
        let found = fill(&mut reader, &mut buffer[..wanted]).map_err(|source| NpyError::Read {
            path: path(),
            source,
        })?;
        read += found as u64;
        if found < wanted {
            return Err(NpyError::Truncated {
                path: path(),
                expected: total,
                found: read,
            });
        }
        let numbers = buffer[..wanted].chunks_exact(size);
        for bytes in numbers {
            let value = header.number.value(bytes);
            values.push(value.map_err(|found| NpyError::Whole {
                path: path(),
                at: values.len(),
                found,
            })?);
        }
    }
    match fill(&mut reader, &mut buffer[..1]) {
        Ok(0) => {}
        Ok(_) => {
            let expected = total;
            return Err(NpyError::Trailing {
                path: path(),
                expected,
            });
        }
        Err(source) => {
            return Err(NpyError::Read {
                path: path(),
                source,
            });
        }
    }
    let (rows, dim) = (rows as usize, dim as usize);
    if header.by_column {
        let by_column = values;
        values = Vec::with_capacity(by_column.len());
        for row in 0..rows {
            values.extend((0..dim).map(|column| by_column[column * rows + row]));
        }
    }
    DenseRows::new(dim, values).map_err(|source| NpyError::Rows {
        path: path(),
        source,
    })
}

/// Fills the buffer as far as the source goes.
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

/// Writes vectors as an array of two dimensions, by row, in little-endian order.
///
/// # Errors
/// When it cannot be written.
pub fn write(rows: &DenseRows, float: Float, mut out: impl Write) -> io::Result<()> {
    let descr = match float {
        Float::F32 => "<f4",
        Float::F64 => "<f8",
    };
    begin(descr, rows.len(), rows.dim(), &mut out)?;
    let mut buffer = Vec::new();
    for row in rows {
        buffer.clear();
        for &value in row {
            match float {
                Float::F32 => buffer.extend_from_slice(&(value as f32).to_le_bytes()),
                Float::F64 => buffer.extend_from_slice(&value.to_le_bytes()),
            }
        }
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Writes 32-bit vectors of `dim` values that lie one after another, as [`write()`] does.
///
/// ```
/// use ir_knn::{DenseRows, npy};
/// let mut file = Vec::new();
/// npy::write_flat(&[0.5, 1.5, 2.0, 3.0], 2, &mut file)?;
/// assert_eq!(npy::read(&file[..], "x.npy")?, DenseRows::of(&[[0.5, 1.5], [2.0, 3.0]])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When it cannot be written, or the values are no whole number of vectors.
pub fn write_flat(values: &[f32], dim: usize, mut out: impl Write) -> io::Result<()> {
    if dim == 0 || !values.len().is_multiple_of(dim) {
        let wrong = format!("{} values are no vectors of {dim}", values.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
    }
    begin("<f4", values.len() / dim, dim, &mut out)?;
    let mut buffer = Vec::new();
    for row in values.chunks_exact(dim) {
        buffer.clear();
        buffer.extend(row.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Writes what stands before the values.
fn begin(descr: &str, len: usize, dim: usize, out: &mut impl Write) -> io::Result<()> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len}, {dim}), }}");
    // The values begin at a multiple of 64 bytes: 10 bytes come before the header, one ends it.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    out.write_all(header::MAGIC)?;
    out.write_all(&[1, 0])?;
    // The header is far shorter than 64 KiB.
    out.write_all(&(padded as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())
}

/// Why a source is not the array that is wanted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// It could not be read.
    #[error("{path}: could not be read")]
    Read {
        /// The source.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It does not begin as a `.npy` file does.
    #[error("{path}: expected a .npy file, found {found}")]
    Foreign {
        /// The source.
        path: String,
        /// What it looks like.
        found: &'static str,
    },
    /// A version of the format that is not known.
    #[error("{path}: expected version 1, 2 or 3 of the .npy format, found {major}.{minor}")]
    Version {
        /// The source.
        path: String,
        /// The version before the point.
        major: u8,
        /// The version behind it.
        minor: u8,
    },
    /// The description of the array is damaged.
    #[error("{path}: expected {expected} in the header, found {found:?}")]
    Header {
        /// The source.
        path: String,
        /// What is wanted at that place.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// It holds something else than numbers, or numbers that 64-bit floating point cannot hold.
    #[error(
        "{path}: expected numbers (f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8), found {found:?}"
    )]
    Numbers {
        /// The source.
        path: String,
        /// The type, as NumPy spells it.
        found: String,
    },
    /// A whole number that 64-bit floating point does not hold.
    #[error("{path}: value {at}: expected a whole number of size 2^53 at most, found {found}")]
    Whole {
        /// The file.
        path: String,
        /// How many values of the array stand before it.
        at: usize,
        /// What stands there.
        found: i128,
    },
    /// It has another number of dimensions than two.
    #[error("{path}: expected two dimensions, vectors by values, found the shape {found:?}")]
    Shape {
        /// The source.
        path: String,
        /// The lengths of its dimensions.
        found: Vec<u64>,
    },
    /// It promises more than memory can address.
    #[error("{path}: expected an array that fits into memory, found a larger one")]
    TooLarge {
        /// The source.
        path: String,
    },
    /// It ends too early.
    #[error("{path}: expected {expected} bytes of values, found {found}")]
    Truncated {
        /// The source.
        path: String,
        /// How many bytes the shape needs.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// It goes on behind the array.
    #[error("{path}: expected the end of the file after {expected} bytes of values, found more")]
    Trailing {
        /// The source.
        path: String,
        /// How many bytes the shape needs.
        expected: u64,
    },
    /// Its values are no vectors.
    #[error("{path}: the values cannot be used")]
    Rows {
        /// The source.
        path: String,
        /// Why.
        #[source]
        source: RowsError,
    },
}
