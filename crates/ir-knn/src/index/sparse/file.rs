//! Saving and opening sparse indexes.

use std::path::Path;

use ir_core::VectorSimilarity;
use ir_core::store::{OpenIndexError, Verify};

use super::index::SparseIndex;
use super::search::CsrStorage;
use super::search::CsrView;
use crate::index::buffer::NumberBuffer;
use crate::index::error::SaveVectorIndexError;
use crate::index::file::{SPARSE, VectorFile, section, write_file, write_ids_and_metadata};

impl SparseIndex {
    /// Saves the index to one file by an atomic write.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file at `path` is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveVectorIndexError> {
        let inner = &*self.inner;
        write_file(&SPARSE, path.as_ref(), |writer| {
            let matrices = [
                (&inner.rows, section::ROWS),
                (&inner.columns, section::COLUMNS),
            ];
            for (matrix, [lengths, indices, values]) in matrices {
                let counts = matrix.starts.windows(2).map(|pair| pair[1] - pair[0]);
                let counts: Vec<u32> = counts.map(|count| count as u32).collect();
                writer.section(lengths, &NumberBuffer::Owned(counts).to_bytes())?;
                writer.section(indices, &matrix.indices.to_bytes())?;
                writer.section(values, &matrix.values.to_bytes())?;
            }
            let (ids, count) = (inner.ids.iter(), inner.ids.len());
            write_ids_and_metadata(writer, ids, count, inner.similarity, inner.dim)
        })
    }

    /// Opens a saved index by mapping it into memory, without copying the vectors. Verifies all
    /// checksums and values: unlike the other indexes, opening takes time proportional to the size
    /// of the file. The file must not be modified in place while it is open.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format or version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        let file = VectorFile::open(&SPARSE, path.as_ref(), Verify::AllSections)?;
        read_index(&file)
    }
}

fn read_index(file: &VectorFile) -> Result<SparseIndex, OpenIndexError> {
    let metadata = &file.metadata;
    let (dim, documents) = (metadata.dim, metadata.documents);
    let rows = read_matrix(file, documents, dim, section::ROWS)?;
    let columns = read_matrix(file, dim, documents, section::COLUMNS)?;
    if columns.values.get().len() != rows.values.get().len() {
        return Err(file.malformed(section::COLUMNS[1], "every value once"));
    }
    let is_zero = |pair: &[usize]| pair[0] == pair[1];
    if metadata.similarity == VectorSimilarity::Cosine && rows.starts.windows(2).any(is_zero) {
        return Err(file.malformed(section::ROWS[2], "nonzero vectors"));
    }
    let (ids, similarity) = (file.ids()?, metadata.similarity);
    Ok(SparseIndex::from_matrices(
        similarity, dim, ids, rows, columns,
    ))
}

/// Reads `count` rows. All indices must be below `limit`.
fn read_matrix(
    file: &VectorFile,
    count: usize,
    limit: usize,
    [lengths, indices, values]: [&str; 3],
) -> Result<CsrStorage, OpenIndexError> {
    let size = count.checked_mul(4);
    let found = file.section_with_len(lengths, size, "a length for every row")?;
    let mut starts = vec![0];
    let mut end = 0_usize;
    for &length in found.as_ref().as_chunks().0 {
        end = end.saturating_add(u32::from_le_bytes(length) as usize);
        starts.push(end);
    }
    let size = end.checked_mul(4);
    let section = |name, expected| file.section_with_len(name, size, expected);
    let found_indices = section(indices, "as many indices as the lengths add up to")?;
    let found_values = section(values, "as many values as the lengths add up to")?;
    let matrix = CsrStorage {
        starts,
        indices: NumberBuffer::from_section(found_indices),
        values: NumberBuffer::from_section(found_values),
    };
    if !is_ascending(matrix.view(), limit) {
        return Err(file.malformed(indices, "ascending indices in range"));
    }
    if matrix.values.get().iter().any(|value| !value.is_finite()) {
        return Err(file.malformed(values, "finite numbers"));
    }
    Ok(matrix)
}

/// Returns `true` if the indices of every row ascend and are below `limit`.
fn is_ascending(matrix: CsrView<'_>, limit: usize) -> bool {
    (0..matrix.starts.len() - 1).all(|at| {
        let indices = matrix.row(at).columns;
        indices.windows(2).all(|pair| pair[0] < pair[1])
            && indices.last().is_none_or(|&last| (last as usize) < limit)
    })
}
