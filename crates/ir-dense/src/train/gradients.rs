//! Gradients of the parameters of a transformer.

use std::collections::HashMap;

use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

#[cfg(test)]
use crate::kernels::memory;
use crate::kernels::training;
use crate::transformer::Transformer;

/// Elements per task of elementwise operations.
pub(super) const TASK_ELEMENTS: usize = 1 << 14;

/// Gradients by the name of the parameter in [`Transformer::parameters`]. A parameter that the loss
/// does not depend on has none.
#[derive(Debug, Default)]
pub(super) struct ModelGradients(HashMap<String, Gradient>);

/// Gradient of a parameter.
#[derive(Debug)]
pub(super) enum Gradient {
    /// Row-major, in CPU memory.
    Values(Vec<f32>),
    /// Of some rows of an embedding table, in CPU memory.
    Rows(RowGradients),
    Tensor(Tensor<1>),
}

/// Gradients of those rows of an embedding table that the loss depends on.
#[derive(Debug)]
pub(super) struct RowGradients {
    width: usize,
    /// Index of the gradient of every row of the table, plus 1; 0 if it has none.
    slots: Vec<u32>,
    values: Vec<f32>,
}

impl RowGradients {
    fn new([rows, width]: [usize; 2]) -> Self {
        Self {
            width,
            slots: vec![0; rows],
            values: Vec::new(),
        }
    }

    /// Adds the gradient of a row.
    fn add(&mut self, row: usize, gradient: &[f32]) {
        match self.slots[row] {
            0 => {
                self.values.extend_from_slice(gradient);
                self.slots[row] = (self.values.len() / self.width) as u32;
            }
            slot => {
                let sum = &mut self.values[(slot as usize - 1) * self.width..][..self.width];
                training::add(sum, gradient);
            }
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Number of elements of the table.
    pub(super) fn table_len(&self) -> usize {
        self.slots.len() * self.width
    }

    /// Gradient of a row; `None` if it is 0.
    pub(super) fn row(&self, row: usize) -> Option<&[f32]> {
        let slot = self.slots[row].checked_sub(1)? as usize;
        Some(&self.values[slot * self.width..][..self.width])
    }
}

impl Gradient {
    /// Panics: a gradient of another variant would be lost.
    fn mismatch(&self, parameter: &str, added: &str) -> ! {
        let found = match self {
            Self::Values(_) => "values",
            Self::Rows(_) => "rows",
            Self::Tensor(_) => "a tensor",
        };
        unreachable!("gradient of {parameter}: expected {added}, found {found}")
    }

    fn squared_norm(&self) -> f64 {
        match self {
            Self::Values(values) | Self::Rows(RowGradients { values, .. }) => {
                let tasks = values.par_chunks(TASK_ELEMENTS);
                let tasks: Vec<f64> = tasks.map(training::squared_norm).collect();
                tasks.iter().sum()
            }
            Self::Tensor(tensor) => {
                let sum = (tensor.clone() * tensor.clone()).sum();
                f64::from(sum.into_scalar::<f32>())
            }
        }
    }

    #[cfg(test)]
    pub(super) fn into_vec(self) -> Vec<f32> {
        match self {
            Self::Values(values) => values,
            Self::Rows(rows) => {
                let row = |row| rows.row(row).map_or(vec![0.0; rows.width], <[f32]>::to_vec);
                (0..rows.slots.len()).flat_map(row).collect()
            }
            Self::Tensor(tensor) => memory::into_vec(tensor),
        }
    }
}

impl ModelGradients {
    /// Adds a gradient.
    ///
    /// # Panics
    /// If the gradient so far is another variant of [`Gradient`]. A model is on one device, and
    /// each parameter has gradients of one variant.
    pub(super) fn add(&mut self, name: &str, gradient: Tensor<1>) {
        let sum = match self.0.remove(name) {
            None => gradient,
            Some(Gradient::Tensor(sum)) => sum + gradient,
            Some(other) => other.mismatch(name, "a tensor"),
        };
        self.0.insert(name.to_owned(), Gradient::Tensor(sum));
    }

    /// Adds gradients in CPU memory.
    pub(super) fn add_values(&mut self, name: String, gradient: &[f32]) {
        match self.0.get_mut(&name) {
            None => {
                self.0.insert(name, Gradient::Values(gradient.to_vec()));
            }
            Some(Gradient::Values(sum)) => {
                assert_eq!(sum.len(), gradient.len(), "gradient of {name}");
                training::add(sum, gradient);
            }
            Some(other) => other.mismatch(&name, "values"),
        }
    }

    /// Adds gradients in CPU memory of some rows, which may repeat, of an embedding table of this
    /// shape.
    pub(super) fn add_row_values(
        &mut self,
        name: &str,
        shape: [usize; 2],
        rows: impl Iterator<Item = usize>,
        gradients: &[f32],
    ) {
        let mut sum = match self.0.remove(name) {
            None => RowGradients::new(shape),
            Some(Gradient::Rows(sum)) => sum,
            Some(other) => other.mismatch(name, "rows"),
        };
        for (row, gradient) in rows.zip(gradients.chunks_exact(shape[1].max(1))) {
            sum.add(row, gradient);
        }
        self.0.insert(name.to_owned(), Gradient::Rows(sum));
    }

    /// Adds gradients of all elements of a parameter, in CPU memory, to a gradient of any variant.
    pub(super) fn add_to_all(&mut self, name: &str, mut gradient: Vec<f32>) {
        let sum = match self.0.remove(name) {
            None => Gradient::Values(gradient),
            Some(Gradient::Values(other)) => {
                training::add(&mut gradient, &other);
                Gradient::Values(gradient)
            }
            Some(Gradient::Rows(rows)) => {
                let width = rows.width.max(1);
                for (row, sum) in gradient.chunks_exact_mut(width).enumerate() {
                    rows.row(row)
                        .into_iter()
                        .for_each(|own| training::add(sum, own));
                }
                Gradient::Values(gradient)
            }
            Some(Gradient::Tensor(other)) => {
                let data = TensorData::new(gradient, other.dims());
                let gradient = Tensor::from_data(data, &other.device());
                Gradient::Tensor(other + gradient)
            }
        };
        self.0.insert(name.to_owned(), sum);
    }

    /// Takes the gradient of a parameter in CPU memory, to add to it. `None` if there is none.
    pub(super) fn take_values(&mut self, name: &str) -> Option<Vec<f32>> {
        match self.0.remove(name) {
            None => None,
            Some(Gradient::Values(values)) => Some(values),
            Some(other) => other.mismatch(name, "values"),
        }
    }

    /// Sets the gradient of a parameter that has none, such as one that was taken.
    pub(super) fn set_values(&mut self, name: String, gradient: Vec<f32>) {
        let before = self.0.insert(name, Gradient::Values(gradient));
        debug_assert!(before.is_none(), "gradient was not taken");
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Gradient> {
        self.0.remove(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Squared L2 norm of all gradients, summed in the order of the parameters of the model.
    pub(super) fn squared_norm(&self, model: &Transformer) -> f64 {
        let parameters = model.parameters().into_iter();
        let gradients = parameters.filter_map(|parameter| self.0.get(&parameter.name));
        gradients.map(Gradient::squared_norm).sum()
    }
}
