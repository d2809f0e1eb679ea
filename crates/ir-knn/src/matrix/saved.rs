//! Serialized form of a dense matrix: `{"dim": ncols, "values": [row-major]}`.

use ndarray::Array2;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{MatrixError, check_dense};

#[derive(Serialize, Deserialize)]
struct SavedMatrix {
    dim: usize,
    values: Vec<f64>,
}

pub(crate) fn serialize<S: Serializer>(
    matrix: &Array2<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let saved = SavedMatrix {
        dim: matrix.ncols(),
        values: matrix.iter().copied().collect(),
    };
    saved.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Array2<f64>, D::Error> {
    let SavedMatrix { dim, values } = SavedMatrix::deserialize(deserializer)?;
    from_values(dim, values).map_err(D::Error::custom)
}

/// Matrix of `dim` columns from row-major values, which must be finite.
fn from_values(dim: usize, values: Vec<f64>) -> Result<Array2<f64>, MatrixError> {
    let found = values.len();
    let rows = found.checked_div(dim).ok_or(MatrixError::NoDimensions)?;
    let matrix = Array2::from_shape_vec((rows, dim), values)
        .map_err(|_| MatrixError::Length { dim, found })?;
    check_dense(matrix.view())?;
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_components_are_checked() {
        let error = |dim, values| from_values(dim, values).unwrap_err().to_string();
        let text = "expected vectors of at least one dimension, found none";
        assert_eq!(error(0, vec![]), text);
        let text = "expected a multiple of 3 values, found 4";
        assert_eq!(error(3, vec![0.0; 4]), text);
        let text = "row 0, column 0: expected a finite number, found NaN";
        assert_eq!(error(1, vec![f64::NAN]), text);
        assert_eq!(from_values(2, vec![]).unwrap().dim(), (0, 2));
    }
}
