//! Saving and opening sparse indexes.

use std::path::Path;

use ir_core::store::{OpenIndexError, Verify};

use super::index::{CsrStorage, SparseIndex};
use super::search::CsrView;
use crate::index::buffer::{LittleEndian, NumberBuffer};
use crate::index::error::SaveVectorIndexError;
use crate::index::file::{
    SPARSE, VectorFile, VectorMetadata, section, write_file, write_ids_and_metadata,
};
use crate::index::similarity::VectorSimilarity;

/// Sections of the matrix in CSR format: row lengths, column indices, values.
const ROWS: [&str; 3] = [
    section::ROW_LENGTHS,
    section::ROW_COLUMNS,
    section::ROW_VALUES,
];
/// Sections of the matrix in CSC format: column lengths, row indices, values.
const COLUMNS: [&str; 3] = [
    section::COLUMN_LENGTHS,
    section::COLUMN_ROWS,
    section::COLUMN_VALUES,
];

impl SparseIndex {
    /// Saves the index to one file by an atomic write.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file at `path` is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveVectorIndexError> {
        let (path, inner) = (path.as_ref(), &*self.inner);
        write_file(&SPARSE, path, |writer| {
            for (matrix, names) in [(&inner.rows, ROWS), (&inner.columns, COLUMNS)] {
                let [lengths, indices, values] = names;
                let counts = matrix.starts.windows(2).map(|pair| pair[1] - pair[0]);
                let counts: Vec<u32> = counts.map(|count| count as u32).collect();
                writer.section(lengths, &NumberBuffer::Owned(counts).to_bytes())?;
                writer.section(indices, &matrix.indices.to_bytes())?;
                writer.section(values, &matrix.values.to_bytes())?;
            }
            let metadata = VectorMetadata::new(inner.similarity, inner.dim, inner.ids.len());
            write_ids_and_metadata(writer, &inner.ids, &metadata)
        })
        .map_err(SaveVectorIndexError::with_path(path))
    }

    /// Opens a saved index by mapping it into memory, without copying the vectors. Verifies all
    /// checksums. The file must not be modified in place while it is open.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format or version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        let file = VectorFile::open(&SPARSE, path.as_ref(), Verify::AllSections)?;
        read_index(&file)
    }

    /// Opens a saved index of the given similarity and dimension.
    ///
    /// # Errors
    /// As [`SparseIndex::open`], and if the similarity or the dimension differs.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: VectorSimilarity,
        dim: usize,
    ) -> Result<Self, OpenIndexError> {
        let file = VectorFile::open_as(&SPARSE, path.as_ref(), similarity, dim)?;
        read_index(&file)
    }
}

fn read_index(file: &VectorFile) -> Result<SparseIndex, OpenIndexError> {
    let VectorMetadata {
        similarity,
        dim,
        documents,
        ..
    } = file.metadata;
    let rows = read_matrix(file, documents, dim, ROWS)?;
    let columns = read_matrix(file, dim, documents, COLUMNS)?;
    if columns.values.get().len() != rows.values.get().len() {
        return Err(file.malformed(section::COLUMN_ROWS, "every value once"));
    }
    let is_zero = |pair: &[usize]| pair[0] == pair[1];
    if similarity == VectorSimilarity::Cosine && rows.starts.windows(2).any(is_zero) {
        return Err(file.malformed(section::ROW_VALUES, "nonzero vectors"));
    }
    let ids = file.ids()?;
    Ok(SparseIndex::from_matrices(
        similarity, dim, ids, rows, columns,
    ))
}

/// Reads `count` rows whose indices are below `limit`.
fn read_matrix(
    file: &VectorFile,
    count: usize,
    limit: usize,
    [lengths, indices, values]: [&str; 3],
) -> Result<CsrStorage, OpenIndexError> {
    let found = file.section(lengths, count.checked_mul(4), "a length for every row")?;
    let mut starts = vec![0];
    let mut end = 0_usize;
    for &length in found.as_ref().as_chunks().0 {
        end = end.saturating_add(<u32 as LittleEndian>::from_le(length) as usize);
        starts.push(end);
    }
    let size = end.checked_mul(4);
    let indices_section =
        file.section(indices, size, "as many indices as the lengths add up to")?;
    let values_section = file.section(values, size, "as many values as the lengths add up to")?;
    let matrix = CsrStorage {
        starts,
        indices: NumberBuffer::from_section(indices_section),
        values: NumberBuffer::from_section(values_section),
    };
    if !is_ascending(matrix.view(), limit) {
        return Err(file.malformed(indices, "ascending indices in range"));
    }
    if matrix.values.get().iter().any(|value| !value.is_finite()) {
        return Err(file.malformed(values, "finite numbers"));
    }
    Ok(matrix)
}

/// Whether the indices of every row ascend and are below `limit`.
fn is_ascending(matrix: CsrView<'_>, limit: usize) -> bool {
    (0..matrix.starts.len() - 1).all(|at| {
        let indices = matrix.row(at).columns;
        indices.windows(2).all(|pair| pair[0] < pair[1])
            && indices.last().is_none_or(|&last| (last as usize) < limit)
    })
}
