//! CPU kernels against burn's operations and automatic differentiation.

use burn::module::Param;
use burn::nn::LayerNormConfig;
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use ir_core::SplitMix64;

use super::linear::{PackedColumns, weight_gradient};
use super::matrix::StridedRows;
use super::{elementwise, training};
use crate::activation::Activation;

pub(crate) fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// Asserts that differences are within `tolerance` times the largest element.
pub(crate) fn assert_near(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let most = largest(expected).max(1e-6);
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * most,
            "{what}[{at}]: {a}, expected {b} (of {most})"
        );
    }
}

fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(seed, 9);
    let number = |_| random.below(4001) as f32 / 1000.0 - 2.0;
    (0..count).map(number).collect()
}

fn matrix(values: &[f32], width: usize) -> Tensor<2> {
    let shape = [values.len() / width, width];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), &Device::flex())
}

fn vector(values: &[f32]) -> Tensor<1> {
    Tensor::from_floats(values, &Device::flex())
}

fn elements<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.try_into_vec_as::<f32>().unwrap()
}

const ROWS: usize = 150;
const WIDTH: usize = 37;

#[test]
fn layer_norm_equals_tensor_operations() {
    let (x, residual) = (random(1, ROWS * WIDTH), random(2, ROWS * WIDTH));
    let (scale, shift) = (random(3, WIDTH), random(4, WIDTH));
    let dy = random(5, ROWS * WIDTH);
    let sum = (matrix(&x, WIDTH) + matrix(&residual, WIDTH))
        .autodiff()
        .require_grad();
    let norm = LayerNormConfig::new(WIDTH).with_epsilon(1e-5);
    let mut norm = norm.init(&Device::flex().autodiff());
    let [gamma, beta] = [&scale, &shift].map(|values| vector(values).autodiff());
    (norm.gamma, norm.beta) = (Param::from_tensor(gamma), Some(Param::from_tensor(beta)));
    let expected = norm.forward(sum.clone());
    let loss = (expected.clone() * matrix(&dy, WIDTH).autodiff()).sum();
    let mut gradients = loss.backward();
    let (mut standardized, mut y) = (x, vec![0.0; ROWS * WIDTH]);
    let mut inverses = vec![0.0; ROWS];
    let weights = (&scale[..], &shift[..], 1e-5);
    training::add_layer_norm(&mut standardized, &residual, weights, &mut y, &mut inverses);
    assert_near(&y, &elements(expected), 1e-5, "layer norm");
    let dx = sum.grad_remove(&mut gradients).unwrap();
    let d_scale = norm.gamma.val().grad_remove(&mut gradients).unwrap();
    let d_shift = norm
        .beta
        .unwrap()
        .val()
        .grad_remove(&mut gradients)
        .unwrap();
    let (mut found, mut sums) = (dy, vec![1.0; 2 * WIDTH]);
    training::layer_norm_backward(&mut found, &standardized, &inverses, &scale, &mut sums);
    assert_near(&found, &elements(dx), 1e-5, "its rows");
    let sums: Vec<f32> = sums.iter().map(|sum| sum - 1.0).collect();
    assert_near(&sums[..WIDTH], &elements(d_scale), 1e-5, "its scale");
    assert_near(&sums[WIDTH..], &elements(d_shift), 1e-5, "its shift");
}

#[test]
fn activations_equal_automatic_differentiation() {
    for activation in Activation::ALL {
        let (mut x, dy) = (random(6, ROWS * WIDTH), random(7, ROWS * WIDTH));
        // Some functions have no derivative at integers.
        x.iter_mut()
            .filter(|x| x.fract() == 0.0)
            .for_each(|x| *x = 0.5);
        let name = format!("{activation:?}");
        let tensor = matrix(&x, WIDTH).autodiff().require_grad();
        let y = activation.apply(tensor.clone());
        let loss = (y.clone() * matrix(&dy, WIDTH).autodiff()).sum();
        let expected = tensor.grad_remove(&mut loss.backward()).unwrap();
        let mut found = vec![7.0; ROWS * (WIDTH + 3)];
        training::activate(activation, &x, WIDTH, (&mut found, WIDTH + 3));
        let y = elements(y);
        for (found, y) in found.chunks(WIDTH + 3).zip(y.chunks(WIDTH)) {
            assert_near(&found[..WIDTH], y, 1e-6, &name);
            assert_eq!(found[WIDTH..], [7.0; 3]);
        }
        let (mut values, mut d) = (x, dy);
        training::activation_backward(activation, &mut d, &mut values);
        assert_near(&values, &y, 1e-6, &name);
        assert_near(&d, &elements(expected), 2e-6, &name);
    }
}

#[test]
fn sums_and_softmax_equal_tensor_operations() {
    let (x, dy) = (random(8, ROWS * WIDTH), random(9, ROWS * WIDTH));
    let mut sums = vec![0.0; WIDTH];
    training::add_column_sums(&x, &mut sums);
    let expected = elements(matrix(&x, WIDTH).sum_dim(0));
    assert_near(&sums, &expected, 1e-5, "sums");
    let squares: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    assert!((training::squared_norm(&x) - squares).abs() < 1e-5 * squares);
    let four = |x: &[f32]| -> Tensor<4> { matrix(x, WIDTH).reshape([5, 3, 10, WIDTH]) };
    let scores = four(&x).autodiff().require_grad();
    let probabilities = softmax(scores.clone().mul_scalar(0.3), 3);
    let loss = (probabilities.clone() * four(&dy).autodiff()).sum();
    let expected = scores.grad_remove(&mut loss.backward()).unwrap();
    let (probabilities, mut d) = (elements(probabilities), dy);
    let mut found = x;
    elementwise::softmax(&mut found, WIDTH, WIDTH, 0.3);
    assert_near(&found, &probabilities, 1e-5, "softmax");
    elementwise::softmax_backward(&mut d, WIDTH, &probabilities, &[], WIDTH, 0.3);
    assert_near(&d, &elements(expected), 1e-5, "softmax, back");
}

/// Products of linear layers in f64, and with factors rounded to bf16.
#[test]
fn linear_products_equal_f64_reference() {
    for [tokens, from, to] in [[150, 37, 300], [1, 12, 1], [500, 130, 33], [769, 5, 128]] {
        let (x, weight) = (random(1, tokens * from), random(2, from * to));
        let (dy, bias) = (random(3, tokens * to), random(4, to));
        for bf16 in [false, true] {
            let name = |part| format!("{part} {tokens}x{from}x{to} {bf16}");
            let round = |x: &f32| {
                if bf16 {
                    f64::from(half::bf16::from_f32(*x).to_f32())
                } else {
                    f64::from(*x)
                }
            };
            let rounded = |values: &[f32]| values.iter().map(round).collect::<Vec<f64>>();
            let (rx, rw, rdy) = (rounded(&x), rounded(&weight), rounded(&dy));
            let product = |m: usize, n: usize, k: usize, f: &dyn Fn(usize, usize, usize) -> f64| {
                let cell = |at: usize| (0..k).map(|k| f(at / n, at % n, k)).sum::<f64>() as f32;
                (0..m * n).map(cell).collect::<Vec<f32>>()
            };
            let mut packed = PackedColumns::default();
            let (rows, cells) = (StridedRows::new(&x, from), StridedRows::new(&weight, to));
            let mut found = vec![f32::NAN; tokens * to];
            packed.pack(cells, to, bf16);
            packed.product(rows, Some(&bias), (&mut found, to));
            let mut expected = product(tokens, to, from, &|row, column, k| {
                rx[row * from + k] * rw[k * to + column]
            });
            for row in expected.chunks_mut(to) {
                row.iter_mut().zip(&bias).for_each(|(x, bias)| *x += bias);
            }
            assert_near(&found, &expected, 1e-5, &name("forward"));

            let mut found = vec![f32::NAN; tokens * from];
            packed.pack_transposed(cells, to, bf16);
            let d_rows = StridedRows::new(&dy, to);
            packed.product(d_rows, None, (&mut found, from));
            let expected = product(tokens, from, to, &|row, column, k| {
                rdy[row * to + k] * rw[column * to + k]
            });
            assert_near(&found, &expected, 1e-5, &name("rows"));

            let expected = product(from, to, tokens, &|row, column, k| {
                rx[k * from + row] * rdy[k * to + column]
            });
            let mut found = vec![f32::NAN; from * to];
            let operands = ((rows, from), (d_rows, to));
            weight_gradient(operands.0, operands.1, bf16, &mut found, false, &mut packed);
            assert_near(&found, &expected, 1e-5, &name("weight"));
            let once = found.clone();
            weight_gradient(operands.0, operands.1, bf16, &mut found, true, &mut packed);
            let twice: Vec<f32> = once.iter().map(|x| 2.0 * x).collect();
            assert_near(&found, &twice, 1e-5, &name("added weight"));
        }
    }
}
