//! Projections of token vectors in training: forward and backward pass in the kernels of the CPU.

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;

use super::backward::gradient_through;
use super::headed::TrainedHead;
use crate::activation::Activation;
use crate::encode::dense::{DenseLayer, Residual};
use crate::encode::modules::{TokenModule, VectorModules};
use crate::encode::{NORM_EPSILON, normalize_row};
use crate::kernels::linear::{PackedColumns, weight_gradient};
use crate::kernels::matrix::StridedRows;
use crate::kernels::{memory, training};
use crate::model_folder::NamedTensor;
use crate::transformer::BLOCK_ROWS;

impl TrainedHead for VectorModules {
    fn named_tensors(&self) -> Vec<NamedTensor> {
        crate::head_layers::named_tensors(self.parameters())
    }

    fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        self.parameter_mut(name)
    }
}

/// Forward pass from hidden states to the vectors of tokens.
pub(super) struct ProjectionPass<'a> {
    steps: Vec<Step<'a>>,
    vectors: Vec<f32>,
}

/// Module with its saved activations.
struct Step<'a> {
    module: TokenModule<'a>,
    /// `[rows, width]`.
    input: Vec<f32>,
    width: usize,
    /// Output of a linear layer before the activation function; empty without one.
    sums: Vec<f32>,
}

impl<'a> ProjectionPass<'a> {
    /// Projects hidden states, row-major `[rows, input]`, and normalizes the vectors at the end if
    /// `normalize` is set.
    pub(super) fn new(modules: &'a VectorModules, normalize: bool, states: Vec<f32>) -> Self {
        let (mut x, mut width) = (states, modules.input_dim());
        let last = normalize.then_some(TokenModule::Normalize);
        let mut steps = Vec::new();
        for module in modules.token_modules().chain(last) {
            let (y, sums, outputs) = match module {
                TokenModule::Dense(layer) => {
                    let (y, sums) = forward(layer, &x);
                    (y, sums, layer.outputs)
                }
                TokenModule::Normalize => {
                    let mut y = x.clone();
                    y.par_chunks_exact_mut(width.max(1)).for_each(normalize_row);
                    (y, Vec::new(), width)
                }
            };
            let input = std::mem::replace(&mut x, y);
            steps.push(Step {
                module,
                input,
                width,
                sums,
            });
            width = outputs;
        }
        Self { steps, vectors: x }
    }

    /// Row-major `[rows, dim]`.
    pub(super) fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// Returns the gradients of the parameters, in the order of [`TrainedHead::named_tensors`], and
    /// of the hidden states, given the gradients of the vectors.
    pub(super) fn backward(&self, d_vectors: Vec<f32>) -> (Vec<Vec<f32>>, Vec<f32>) {
        let mut d = d_vectors;
        let mut gradients = Vec::new();
        for step in self.steps.iter().rev() {
            match step.module {
                TokenModule::Dense(layer) => {
                    let of_layer;
                    (of_layer, d) = backward(layer, step, &d);
                    gradients.push(of_layer);
                }
                TokenModule::Normalize => normalize_backward(step, &mut d),
            }
        }
        (gradients.into_iter().rev().flatten().collect(), d)
    }
}

/// Returns the output of a linear layer, and its [`Step::sums`].
fn forward(layer: &DenseLayer, x: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let shape = [layer.inputs(), layer.outputs];
    let mut y = product(x, shape, &layer.weight, layer.bias.as_deref());
    let mut sums = Vec::new();
    if layer.activation != Activation::Identity {
        let values = y.par_iter().map(|x| layer.activation.value(*x));
        let values: Vec<f32> = values.collect();
        sums = std::mem::replace(&mut y, values);
    }
    match &layer.residual {
        None => {}
        Some(Residual::Input) => training::add(&mut y, x),
        Some(Residual::Projection(matrix)) => {
            training::add(&mut y, &product(x, shape, matrix, None));
        }
    }
    (y, sums)
}

/// Backward pass of a linear layer: gradients of its parameters and of its input. `d`: gradients of
/// the output, row-major `[tokens, outputs]`.
fn backward(layer: &DenseLayer, step: &Step<'_>, d: &[f32]) -> (Vec<Vec<f32>>, Vec<f32>) {
    let (x, outputs) = (&step.input[..], layer.outputs);
    let shape = [layer.inputs(), outputs];
    let of_sums;
    let d_sums = if step.sums.is_empty() {
        d
    } else {
        let tensor = |values: &[f32]| {
            let shape = [values.len() / outputs.max(1), outputs];
            let data = TensorData::new(values.to_vec(), shape);
            Tensor::<2>::from_data(data, &Device::flex())
        };
        let gradient = gradient_through(tensor(&step.sums), tensor(d), |sums| {
            layer.activation.apply(sums)
        });
        of_sums = memory::into_vec(gradient);
        &of_sums[..]
    };
    let mut gradients = vec![matrix_gradient(x, d_sums, shape)];
    if layer.bias.is_some() {
        let mut of_bias = vec![0.0; outputs];
        training::add_column_sums(d_sums, &mut of_bias);
        gradients.push(of_bias);
    }
    let mut d_input = product_with_transpose(d_sums, shape, &layer.weight);
    match &layer.residual {
        None => {}
        Some(Residual::Input) => training::add(&mut d_input, d),
        Some(Residual::Projection(matrix)) => {
            gradients.push(matrix_gradient(x, d, shape));
            training::add(&mut d_input, &product_with_transpose(d, shape, matrix));
        }
    }
    (gradients, d_input)
}

/// `x · matrix + bias`, with `x`: `[rows, from]` and `matrix`: `[from, to]`.
fn product(x: &[f32], [from, to]: [usize; 2], matrix: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let mut packed = PackedColumns::default();
    packed.pack(StridedRows::new(matrix, to), to, false);
    rows_times(x, &packed, [from, to], bias)
}

/// `x · matrixᵀ`, with `x`: `[rows, to]` and `matrix`: `[from, to]`.
fn product_with_transpose(x: &[f32], [from, to]: [usize; 2], matrix: &[f32]) -> Vec<f32> {
    let mut packed = PackedColumns::default();
    packed.pack_transposed(StridedRows::new(matrix, to), to, false);
    rows_times(x, &packed, [to, from], None)
}

/// Product of rows with a packed matrix of a shape, on all threads.
fn rows_times(
    x: &[f32],
    packed: &PackedColumns,
    [from, to]: [usize; 2],
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let mut out = vec![0.0; x.len() / from.max(1) * to];
    let blocks = out.par_chunks_mut((BLOCK_ROWS * to).max(1));
    let blocks = blocks.zip(x.par_chunks((BLOCK_ROWS * from).max(1)));
    blocks.for_each(|(out, x)| packed.product(StridedRows::new(x, from), bias, (out, to)));
    out
}

/// `xᵀ · d`, the gradient of a matrix `[from, to]`.
fn matrix_gradient(x: &[f32], d: &[f32], [from, to]: [usize; 2]) -> Vec<f32> {
    let mut out = vec![0.0; from * to];
    let (left, right) = (StridedRows::new(x, from), StridedRows::new(d, to));
    let buffer = &mut PackedColumns::default();
    weight_gradient((left, from), (right, to), false, &mut out, false, buffer);
    out
}

/// Replaces the gradients of normalized rows by the gradients of the rows.
fn normalize_backward(step: &Step<'_>, d: &mut [f32]) {
    let width = step.width.max(1);
    let rows = d
        .par_chunks_exact_mut(width)
        .zip(step.input.par_chunks_exact(width));
    rows.for_each(|(d, x)| {
        let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm < NORM_EPSILON {
            d.iter_mut().for_each(|d| *d /= NORM_EPSILON);
            return;
        }
        let along = d.iter().zip(x).map(|(d, x)| *d * x).sum::<f32>() / (norm * norm);
        d.iter_mut()
            .zip(x)
            .for_each(|(d, x)| *d = (*d - x * along) / norm);
    });
}
