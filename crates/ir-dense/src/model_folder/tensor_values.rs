//! Elements of a tensor.

use std::fmt;
use std::ops::Deref;

use ir_core::store::SectionBytes;
use pulp::bytemuck;

/// Elements of a tensor, row-major, in memory or in a memory-mapped file.
#[derive(Clone)]
pub(crate) enum TensorValues {
    InMemory(Vec<f32>),
    /// f32 in the byte order and alignment of the CPU.
    InFile(SectionBytes),
}

impl TensorValues {
    /// Little-endian f32 elements of a file. Copies them if they are not aligned or the CPU is
    /// big-endian.
    pub(super) fn from_file(bytes: SectionBytes) -> Self {
        let in_place = cfg!(target_endian = "little")
            && bytemuck::try_cast_slice::<u8, f32>(bytes.as_ref()).is_ok();
        if in_place {
            return Self::InFile(bytes);
        }
        let (elements, _) = bytes.as_ref().as_chunks::<4>();
        let values = elements.iter().map(|&it| f32::from_le_bytes(it)).collect();
        bytes.release();
        Self::InMemory(values)
    }

    /// Returns the elements in memory.
    pub(crate) fn into_vec(self) -> Vec<f32> {
        match self {
            Self::InMemory(values) => values,
            Self::InFile(_) => {
                let values = self.to_vec();
                self.release();
                values
            }
        }
    }

    /// Removes elements of a memory-mapped file from the resident memory of the process; the next
    /// access reads them again.
    pub(crate) fn release(&self) {
        if let Self::InFile(bytes) = self {
            bytes.release();
        }
    }
}

impl Deref for TensorValues {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::InMemory(values) => values,
            Self::InFile(bytes) => bytemuck::try_cast_slice(bytes.as_ref()).unwrap_or_default(),
        }
    }
}

impl fmt::Debug for TensorValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::InMemory(_) => "InMemory",
            Self::InFile(_) => "InFile",
        };
        f.debug_tuple(name).field(&self.len()).finish()
    }
}

/// Rows that are transposed together: they and a row of the result are in the L1 cache.
const TRANSPOSED_ROWS: usize = 8;

/// Transposes matrices of `from` columns (PyTorch's layout is `[out, in]`) and concatenates them
/// along the output dimension.
pub(crate) fn transposed(matrices: &[&[f32]], from: usize) -> Vec<f32> {
    let from = from.max(1);
    let to: usize = matrices.iter().map(|matrix| matrix.len() / from).sum();
    let mut out = vec![0.0; from * to];
    let mut first = 0;
    for matrix in matrices {
        for rows in matrix.chunks(TRANSPOSED_ROWS * from) {
            let count = rows.len() / from;
            for (column, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                let cells = out[first..][..count].iter_mut();
                for (cell, value) in cells.zip(rows[column..].iter().step_by(from)) {
                    *cell = *value;
                }
            }
            first += count;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ir_core::store::IndexBytes;

    use super::*;

    #[test]
    fn aligned_elements_are_not_copied() {
        let expected: Vec<f32> = (0..9).map(|n| n as f32 / 3.0).collect();
        let elements: Vec<u8> = expected.iter().flat_map(|x| x.to_le_bytes()).collect();
        // One of the four starts is aligned.
        let starts = [0, 41, 82, 123];
        let mut all = vec![0; 160];
        for start in starts {
            all[start..][..36].copy_from_slice(&elements);
        }
        let all = IndexBytes::from(all);
        let mut in_file = 0;
        for start in starts {
            let values = TensorValues::from_file(all.range(start..start + 36));
            in_file += usize::from(matches!(values, TensorValues::InFile(_)));
            assert_eq!(&values[..], &expected[..]);
            assert_eq!(values.into_vec(), expected);
        }
        assert_eq!(in_file, usize::from(cfg!(target_endian = "little")));
    }

    #[test]
    fn matrices_of_any_shape_are_transposed_and_concatenated() {
        for (shapes, from) in [([3, 8, 21], 5), ([16, 1, 1], 33), ([2, 2, 2], 1)] {
            let matrix = |rows: usize, number: usize| {
                let values = (0..rows * from).map(|at| (1000 * number + at) as f32);
                values.collect::<Vec<f32>>()
            };
            let all = [0, 1, 2].map(|number| matrix(shapes[number], number));
            let to: usize = shapes.iter().sum();
            let found = transposed(&all.each_ref().map(|matrix| &matrix[..]), from);
            assert_eq!(found.len(), from * to);
            let rows: Vec<&[f32]> = all.iter().flat_map(|all| all.chunks(from)).collect();
            for (at, value) in found.iter().enumerate() {
                assert_eq!(*value, rows[at % to][at / to], "{shapes:?}");
            }
        }
    }
}
