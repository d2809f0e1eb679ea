//! Values of a matrix in row-major order.

use ndarray::{CowArray, Ix2};

/// Values in row-major order; copied only if they are borrowed or in another order.
pub(super) fn row_major(vectors: CowArray<'_, f32, Ix2>) -> Vec<f32> {
    let len = vectors.len();
    let owned = if vectors.is_standard_layout() {
        vectors.into_owned()
    } else {
        vectors.as_standard_layout().into_owned()
    };
    let (mut values, offset) = owned.into_raw_vec_and_offset();
    let offset = offset.unwrap_or(0);
    values.truncate(offset + len);
    values.drain(..offset);
    values
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, arr2};

    use super::row_major;

    #[test]
    fn building_copies_only_views_and_other_layouts() {
        let vectors = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let pointer = vectors.as_ptr();
        let moved = row_major(vectors.clone().into());
        assert_eq!(moved, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(row_major(vectors.view().into()), moved);
        assert_eq!(
            row_major(vectors.t().into()),
            [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]
        );
        let tail = vectors.clone().slice_move(ndarray::s![1.., ..]);
        assert_eq!(row_major(tail.into()), [3.0, 4.0, 5.0, 6.0]);
        let mut reversed = vectors.clone();
        reversed.invert_axis(Axis(0));
        assert_eq!(row_major(reversed.into()), [5.0, 6.0, 3.0, 4.0, 1.0, 2.0]);
        let moved = row_major(vectors.into());
        assert_eq!(moved.as_ptr(), pointer);
    }
}
