//! Files of vectors: a vector index, or a .npy file that is converted from one.

use std::ffi::OsString;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::store::{AtomicFile, Verify};
use ir_knn::{
    FlatIndex, QuantizedFormat, QuantizedVectors, npy, quantization_ranges, quantize_vectors,
};
use ndarray::Array2;

use crate::shared::output::{create, failed, follow_links};

/// Quantization of the vectors of a .npy file.
#[derive(Debug)]
pub(crate) struct Quantization {
    format: QuantizedFormat,
    /// Ranges of the dimensions, `[2, dim]`; the vectors' own without them.
    ranges: Option<Array2<f32>>,
}

impl Quantization {
    /// Quantization with the ranges of the vectors in a .npy file, `[vectors, dim]`.
    pub(crate) fn new(
        format: QuantizedFormat,
        calibration: Option<&Path>,
        dim: usize,
    ) -> Result<Self> {
        let ranges = calibration.map(|path| {
            let name = path.display().to_string();
            let vectors = npy::read(ir_data::open_bytes(path)?, &name)?;
            if vectors.ncols() != dim || vectors.nrows() == 0 {
                bail!(
                    "{name}: expected vectors of {dim} dimensions, found the shape {:?}",
                    vectors.shape()
                );
            }
            let vectors = vectors.mapv(|value| value as f32);
            Ok(quantization_ranges(vectors.view()))
        });
        Ok(Self {
            format,
            ranges: ranges.transpose()?,
        })
    }
}

/// Writes the vectors of an index as a .npy file, atomically.
pub(crate) fn write_npy(
    index: &Path,
    path: &Path,
    quantization: Option<&Quantization>,
) -> Result<()> {
    let index = FlatIndex::open_with(index, Verify::AllSections)?;
    let mut out = BufWriter::new(create(path)?);
    let written = match quantization {
        None => npy::write(index.vectors(), &mut out),
        Some(Quantization { format, ranges }) => {
            let ranges = ranges.as_ref().map(|ranges| ranges.view());
            match quantize_vectors(index.vectors(), *format, ranges)? {
                QuantizedVectors::Signed(codes) => npy::write(codes.view(), &mut out),
                QuantizedVectors::Unsigned(codes) => npy::write(codes.view(), &mut out),
                _ => bail!("{format:?}: expected codes of 8 bits"),
            }
        }
    };
    let file = written.and_then(|()| out.into_inner().map_err(|error| error.into_error()));
    file.and_then(AtomicFile::commit)
        .with_context(|| failed(path.display()))
}

pub(crate) fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("npy"))
}

/// Path of the index that is written: the output, or a temporary index that becomes the .npy file.
pub(crate) fn index_path(path: &Path) -> PathBuf {
    if is_npy(path) {
        with_suffix(path, ".vectors")
    } else {
        follow_links(path)
    }
}

pub(crate) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
