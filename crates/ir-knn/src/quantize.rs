//! Quantized vectors, int8 and binary, in the formats of sentence-transformers'
//! `quantize_embeddings` (version 6.2), with the same codes.
//!
//! | format | code of a component x |
//! |---|---|
//! | `uint8` | ⌊(x − min) / step⌋, clipped to 0 to 255 |
//! | `int8` | the same minus 128 |
//! | `ubinary` | the bit x > 0; eight dimensions in a byte, the first in the highest bit |
//! | `binary` | the bytes of `ubinary` minus 128 |
//!
//! The minimum, the maximum and step = (max − min) / 255 belong to a dimension; a step of 0 counts
//! as 1. Arithmetic is f32.
//!
//! ```
//! use ir_knn::{QuantizedFormat, QuantizedVectors, quantize_vectors};
//! use ndarray::array;
//! let vectors = array![[0.0, 510.0], [255.0, 0.0]];
//! let uint8 = quantize_vectors(vectors.view(), QuantizedFormat::Uint8, None)?;
//! assert_eq!(uint8, QuantizedVectors::Unsigned(array![[0, 255], [255, 0]]));
//! let bits = quantize_vectors(vectors.view(), QuantizedFormat::Ubinary, None)?;
//! assert_eq!(bits, QuantizedVectors::Unsigned(array![[0b0100_0000], [0b1000_0000]]));
//! # Ok::<(), ir_knn::QuantizationError>(())
//! ```

use ndarray::{Array2, ArrayView2, Axis};

/// Format of quantized vectors, by its name in sentence-transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantizedFormat {
    /// 8 bits per dimension, from −128 to 127.
    Int8,
    /// 8 bits per dimension, from 0 to 255.
    Uint8,
    /// One bit per dimension, in bytes from −128 to 127.
    Binary,
    /// One bit per dimension, in bytes from 0 to 255.
    Ubinary,
}

/// Quantized vectors, one per row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantizedVectors {
    /// [`QuantizedFormat::Int8`] and [`QuantizedFormat::Binary`].
    Signed(Array2<i8>),
    /// [`QuantizedFormat::Uint8`] and [`QuantizedFormat::Ubinary`].
    Unsigned(Array2<u8>),
}

/// Error of [`quantize_vectors`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum QuantizationError {
    /// The ranges do not have two rows, or not the dimension of the vectors.
    #[error(
        "ranges: expected the minimum and the maximum of {dim} dimensions, found the shape {found:?}"
    )]
    Ranges { dim: usize, found: [usize; 2] },
    /// A component of a vector or a range is NaN or infinite.
    #[error("expected finite numbers, found NaN or infinity")]
    NotFinite,
}

/// Minimum and maximum of every dimension, `[2, dim]`, from which 8-bit formats are computed. Zeros
/// without vectors.
///
/// ```
/// use ir_knn::quantization_ranges;
/// use ndarray::array;
/// let vectors = array![[0.0, 1.0], [2.0, -1.0]];
/// assert_eq!(quantization_ranges(vectors.view()), array![[0.0, -1.0], [2.0, 1.0]]);
/// ```
#[must_use]
pub fn quantization_ranges(vectors: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut ranges = Array2::zeros((2, vectors.ncols()));
    for (at, column) in vectors.axis_iter(Axis(1)).enumerate() {
        let mut values = column.iter().copied();
        let first = values.next().unwrap_or(0.0);
        let (low, high) = values.fold((first, first), |(low, high): (f32, f32), value| {
            (low.min(value), high.max(value))
        });
        (ranges[[0, at]], ranges[[1, at]]) = (low, high);
    }
    ranges
}

/// Quantizes vectors. `ranges`, `[2, dim]`, apply to 8-bit formats; components beyond them are
/// clipped. Default: [`quantization_ranges`] of the vectors. Queries need the ranges of the
/// documents.
///
/// # Errors
/// Returns [`QuantizationError`] if the ranges have another shape, or a number is not finite.
pub fn quantize_vectors(
    vectors: ArrayView2<'_, f32>,
    format: QuantizedFormat,
    ranges: Option<ArrayView2<'_, f32>>,
) -> Result<QuantizedVectors, QuantizationError> {
    let dim = vectors.ncols();
    if let Some((rows, columns)) = ranges.map(|ranges| ranges.dim())
        && (rows, columns) != (2, dim)
    {
        let found = [rows, columns];
        return Err(QuantizationError::Ranges { dim, found });
    }
    let mut numbers = vectors.iter().chain(ranges.iter().flatten());
    if !numbers.all(|number| number.is_finite()) {
        return Err(QuantizationError::NotFinite);
    }
    let codes = match format {
        QuantizedFormat::Int8 | QuantizedFormat::Uint8 => {
            let own = ranges.is_none().then(|| quantization_ranges(vectors));
            let ranges = ranges.or(own.as_ref().map(|ranges| ranges.view()));
            ranges.map_or_else(|| Array2::zeros((0, dim)), |ranges| scaled(vectors, ranges))
        }
        QuantizedFormat::Binary | QuantizedFormat::Ubinary => packed(vectors),
    };
    Ok(match format {
        QuantizedFormat::Uint8 | QuantizedFormat::Ubinary => QuantizedVectors::Unsigned(codes),
        // The code minus 128.
        QuantizedFormat::Int8 | QuantizedFormat::Binary => {
            QuantizedVectors::Signed(codes.mapv(|code| (code ^ 0x80).cast_signed()))
        }
    })
}

/// Codes from 0 to 255 in the ranges of the dimensions.
fn scaled(vectors: ArrayView2<'_, f32>, ranges: ArrayView2<'_, f32>) -> Array2<u8> {
    let steps: Vec<(f32, f32)> = ranges
        .axis_iter(Axis(1))
        .map(|range| {
            let (low, step) = (range[0], (range[1] - range[0]) / 255.0);
            (low, if step == 0.0 { 1.0 } else { step })
        })
        .collect();
    Array2::from_shape_fn(vectors.dim(), |(row, column)| {
        let (low, step) = steps[column];
        let code = ((vectors[[row, column]] - low) / step).floor();
        code.clamp(0.0, 255.0) as u8
    })
}

/// Bits of the positive components, from the highest bit of a byte to the lowest.
fn packed(vectors: ArrayView2<'_, f32>) -> Array2<u8> {
    let (rows, dim) = vectors.dim();
    let mut codes = Array2::zeros((rows, dim.div_ceil(8)));
    for ((row, column), &component) in vectors.indexed_iter() {
        let bit: &mut u8 = &mut codes[[row, column / 8]];
        *bit |= u8::from(component > 0.0) << (7 - column % 8);
    }
    codes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ndarray::array;

    use super::*;

    /// Steps are 1/255, 2 and 1. In f32, 1 / (1 / 255) is below 255.
    #[test]
    fn codes_of_8_bits_are_floors_in_the_ranges_of_dimensions() {
        let vectors = array![[-0.5, 0.0, 7.0], [0.5, 510.0, 7.0], [0.0, 255.0, 7.0]];
        let uint8 = array![[0, 0, 0], [254, 255, 0], [127, 127, 0]];
        let found = quantize_vectors(vectors.view(), QuantizedFormat::Uint8, None).unwrap();
        assert_eq!(found, QuantizedVectors::Unsigned(uint8));
        let int8 = array![[-128, -128, -128], [126, 127, -128], [-1, -1, -128]];
        let found = quantize_vectors(vectors.view(), QuantizedFormat::Int8, None).unwrap();
        assert_eq!(found, QuantizedVectors::Signed(int8));
    }

    #[test]
    fn given_ranges_clip_components() {
        let ranges = array![[0.0, -1.0], [255.0, 1.0]];
        let vectors = array![[-3.0, 0.0], [300.0, 2.0], [254.9, -1.0]];
        let format = QuantizedFormat::Uint8;
        let found = quantize_vectors(vectors.view(), format, Some(ranges.view())).unwrap();
        let expected = array![[0, 127], [255, 255], [254, 0]];
        assert_eq!(found, QuantizedVectors::Unsigned(expected));
    }

    #[test]
    fn bits_are_packed_from_the_highest() {
        let vectors = array![
            [1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0],
            [-1.0; 9],
            [1.0; 9],
        ];
        let bits = array![[0b1001_0001, 0b1000_0000], [0, 0], [255, 0b1000_0000]];
        let found = quantize_vectors(vectors.view(), QuantizedFormat::Ubinary, None).unwrap();
        assert_eq!(found, QuantizedVectors::Unsigned(bits));
        // 145 - 128, 128 - 128, 0 - 128, 255 - 128.
        let signed = array![[17, 0], [-128, -128], [127, 0]];
        let found = quantize_vectors(vectors.view(), QuantizedFormat::Binary, None).unwrap();
        assert_eq!(found, QuantizedVectors::Signed(signed));
    }

    #[test]
    fn no_vectors_have_no_codes() {
        let none = Array2::<f32>::zeros((0, 9));
        let codes = |format| match quantize_vectors(none.view(), format, None).unwrap() {
            QuantizedVectors::Signed(codes) => codes.dim(),
            QuantizedVectors::Unsigned(codes) => codes.dim(),
        };
        assert_eq!(codes(QuantizedFormat::Int8), (0, 9));
        assert_eq!(codes(QuantizedFormat::Ubinary), (0, 2));
    }

    #[test]
    fn other_ranges_and_infinite_numbers_are_errors() {
        let vectors = array![[1.0, 2.0]];
        let ranges = Array2::zeros((2, 3));
        let format = QuantizedFormat::Int8;
        let error = quantize_vectors(vectors.view(), format, Some(ranges.view())).unwrap_err();
        let expected =
            "ranges: expected the minimum and the maximum of 2 dimensions, found the shape [2, 3]";
        assert_eq!(error.to_string(), expected);
        for number in [f32::NAN, f32::INFINITY] {
            let vectors = array![[1.0, number]];
            let error = quantize_vectors(vectors.view(), format, None).unwrap_err();
            assert_eq!(error, QuantizationError::NotFinite);
        }
    }
}
