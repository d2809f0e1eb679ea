//! The vectors of the labelled queries, and the distances of a new one to all of them.

use ir_core::{EncodeError, Encoder, Side};

use crate::{Metric, SparseRows, SparseVectorError};

/// A vector without its zeros.
#[derive(Debug, Default)]
pub(super) struct Sparse {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
}

impl Sparse {
    /// The first component that is no number, or not one of the vector's.
    pub(super) fn wrong(&self, dim: usize) -> Option<(usize, f32)> {
        let pairs = self.columns.iter().zip(&self.values);
        let mut wrong =
            pairs.filter(|(column, value)| **column as usize >= dim || !value.is_finite());
        wrong
            .next()
            .map(|(&column, &value)| (column as usize, value))
    }

    fn square(&self) -> f64 {
        self.values
            .iter()
            .map(|&v| f64::from(v) * f64::from(v))
            .sum()
    }
}

/// The vectors of texts that are asked.
pub(super) fn encode<E: Encoder>(encoder: &E, texts: &[&str]) -> Result<Vec<Sparse>, EncodeError> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut order = None;
    encoder.encode_sparse(Side::Query, texts, &mut |columns, values| {
        let unordered = columns.windows(2).find(|pair| pair[0] >= pair[1]);
        if let (None, Some(pair)) = (&order, unordered) {
            let (before, found) = (pair[0], pair[1]);
            order = Some(SparseVectorError::Order { before, found });
        }
        vectors.push(Sparse {
            columns: columns.to_vec(),
            values: values.to_vec(),
        });
    })?;
    match order {
        Some(error) => Err(EncodeError::Model {
            model: "the encoder of queries".to_owned(),
            source: error.into(),
        }),
        None => Ok(vectors),
    }
}

/// The vectors of the labelled queries.
#[derive(Debug)]
pub(super) struct Vectors {
    dim: usize,
    /// The square of the length of each.
    squares: Vec<f64>,
    rows: Kept,
}

#[derive(Debug)]
enum Kept {
    /// `[rows, dim]`
    Dense(Vec<f32>),
    /// For every column, the rows that have it: `[dim, rows]`.
    Lists(SparseRows),
}

impl Vectors {
    /// Vectors of which [`Sparse::wrong`] finds nothing. Those that are mostly zeros are kept
    /// without them.
    pub(super) fn new(dim: usize, rows: &[Sparse]) -> Self {
        let stored: usize = rows.iter().map(|row| row.values.len()).sum();
        let squares = rows.iter().map(Sparse::square).collect();
        let rows = if stored > rows.len() * dim / 4 {
            let mut values = vec![0.0; rows.len() * dim];
            for (row, values) in rows.iter().zip(values.chunks_exact_mut(dim.max(1))) {
                for (&column, &value) in row.columns.iter().zip(&row.values) {
                    values[column as usize] = value;
                }
            }
            Kept::Dense(values)
        } else {
            let mut starts = vec![0];
            let (mut columns, mut values) =
                (Vec::with_capacity(stored), Vec::with_capacity(stored));
            for row in rows {
                columns.extend_from_slice(&row.columns);
                values.extend(row.values.iter().map(|&value| f64::from(value)));
                starts.push(columns.len());
            }
            Kept::Lists(SparseRows::trusted(dim, starts, columns, values).transposed())
        };
        Self { dim, squares, rows }
    }

    /// How far each row is from a vector. A vector of zeros has cosine 0 with every other. A cosine
    /// distance that rounding alone may have made is 0, so that votes see what is the same.
    ///
    /// Products are summed in 64 bits by column, so equal rows are equally far, and a row's
    /// distance depends on nothing but the two vectors.
    pub(super) fn distances(&self, query: &Sparse, metric: Metric) -> Vec<f64> {
        let mut products = vec![0.0; self.squares.len()];
        match &self.rows {
            Kept::Dense(values) => {
                let rows = values.chunks_exact(self.dim.max(1));
                for (product, row) in products.iter_mut().zip(rows) {
                    for (&column, &value) in query.columns.iter().zip(&query.values) {
                        *product += f64::from(value) * f64::from(row[column as usize]);
                    }
                }
            }
            Kept::Lists(lists) => {
                for (&column, &value) in query.columns.iter().zip(&query.values) {
                    let (rows, weights) = lists.parts(column as usize);
                    for (&row, &weight) in rows.iter().zip(weights) {
                        products[row as usize] += f64::from(value) * weight;
                    }
                }
            }
        }
        let own = query.square();
        let rounding = (query.values.len() + 4) as f64 * f64::EPSILON;
        for (product, &square) in products.iter_mut().zip(&self.squares) {
            *product = match metric {
                // Rounding may lead below zero.
                Metric::Euclidean => (own - 2.0 * *product + square).max(0.0),
                Metric::Cosine if own == 0.0 || square == 0.0 => 1.0,
                Metric::Cosine => {
                    let distance = 1.0 - *product / (own.sqrt() * square.sqrt());
                    if distance < rounding {
                        0.0
                    } else {
                        distance.min(2.0)
                    }
                }
            };
        }
        products
    }
}
