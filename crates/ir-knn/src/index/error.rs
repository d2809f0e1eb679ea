//! What can go wrong.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use super::Similarity;

/// Why vectors are not an index. Rows and columns count from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// Vectors of length 0.
    #[error("expected vectors of at least one dimension, found none")]
    NoDimensions,
    /// Sparse vectors of more columns than an inverted file is made for.
    #[error("expected at most {most} columns, found {found}")]
    Columns {
        /// The most.
        most: usize,
        /// How many there are.
        found: usize,
    },
    /// The values are not one vector an id.
    #[error("expected {documents} vectors of {dim} values, found {found} values")]
    Values {
        /// How many ids there are.
        documents: usize,
        /// The length of a vector.
        dim: usize,
        /// How many values there are.
        found: usize,
    },
    /// More or fewer vectors than ids.
    #[error("expected a vector for each of {documents} ids, found {found}")]
    Documents {
        /// How many ids there are.
        documents: usize,
        /// How many vectors there are.
        found: usize,
    },
    /// One vector has another length than the first.
    #[error("row {row}: expected {expected} dimensions, found {found}")]
    Dimensions {
        /// The row.
        row: usize,
        /// The length of the first.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column}: expected a finite number, found {found}")]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What stands there.
        found: f32,
    },
    /// A value that 16 bits cannot hold.
    #[error(
        "row {row}, column {column}: expected a number of size 65504 at most for 16 bits, found {found}"
    )]
    TooLarge {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What stands there.
        found: f32,
    },
    /// A vector of zeros under cosine.
    #[error("row {row}: expected a vector with a direction for cosine, found zeros")]
    Zero {
        /// The row.
        row: usize,
    },
}

/// Why an index could not be saved. Nothing appeared, and what stood at the path is still there.
#[derive(Debug, thiserror::Error)]
#[error("{}: could not be written", path.display())]
pub struct SaveError {
    /// The file that was to be.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl SaveError {
    /// For the errors of what writes a file.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// Why a saved index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system could not open or read the file.
    #[error("{}: could not be read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A directory was given.
    #[error("{}: expected an index file, found a directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The file does not begin as an index does.
    #[error("{}: not {kind}: expected it to begin with {expected:?}, found {found:?}", path.display())]
    NotAnIndex {
        /// The file.
        path: PathBuf,
        /// What it should be, as "a flat index".
        kind: &'static str,
        /// How that begins.
        expected: String,
        /// How the file begins.
        found: String,
    },
    /// The file is in a version of the format that this crate does not know.
    #[error("{}: expected version {expected} of the format, found {found}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that can be read.
        expected: u32,
        /// The version of the file.
        found: u32,
    },
    /// The end is missing.
    #[error("{}: cut short, or damaged at the end: no closing mark in the last of its {found} bytes", path.display())]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
    },
    /// Bytes have changed since the index was written.
    #[error("{}: damaged: section {section} has checksum {found:08x}, expected {expected:08x}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The damaged section.
        section: String,
        /// The checksum that was written.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// A part of the index is missing or does not fit the rest.
    #[error("{}: damaged: section {section} does not hold {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The section.
        section: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// The description of the index cannot be understood.
    #[error("{}: the description of the index cannot be read", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The index is of another similarity.
    #[error("{}: expected an index of {expected} similarity, found {found}", path.display())]
    Similarity {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: Similarity,
        /// That of the index.
        found: Similarity,
    },
    /// The index is of vectors of another length.
    #[error("{}: expected an index of {expected} dimensions, found {found}", path.display())]
    Dimensions {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: usize,
        /// Those of the index.
        found: usize,
    },
}
