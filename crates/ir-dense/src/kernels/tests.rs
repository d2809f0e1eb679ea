//! CPU kernels against burn's operations.

use burn::module::Param;
use burn::tensor::Tensor;
use ir_core::SplitMix64;

use super::{linear, tensor as kernels};

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

#[test]
fn cpu_kernels_equal_generic_operations() {
    let device = burn::tensor::Device::flex();
    let random = |seed: u64, shape: [usize; 2]| -> Tensor<2> {
        let mut random = SplitMix64::new(seed, 9);
        let values: Vec<f32> = (0..shape[0] * shape[1])
            .map(|_| random.below(4001) as f32 / 1000.0 - 2.0)
            .collect();
        Tensor::from_data(burn::tensor::TensorData::new(values, shape), &device)
    };
    let all = |x: Tensor<2>| x.try_into_vec_as::<f32>().unwrap();
    // A device with automatic differentiation runs the generic versions.
    let slow = |x: Tensor<2>| x.autodiff();
    let shape = [150, 37];
    let (x, dy) = (random(1, shape), random(2, shape));
    let row = |seed| -> Tensor<1> { random(seed, [1, 37]).reshape([37]) };
    let (gamma, beta) = (row(3), row(4));
    let both = [
        kernels::layer_norm(x.clone(), gamma.clone(), beta.clone(), 1e-5),
        kernels::layer_norm(
            slow(x.clone()),
            gamma.clone().autodiff(),
            beta.clone().autodiff(),
            1e-5,
        ),
    ];
    let [(fast_y, fast), (slow_y, slowly)] = both;
    assert_near(&all(fast_y), &all(slow_y), 1e-5, "layer norm");
    let (fast, [fast_gamma, fast_beta]) =
        kernels::layer_norm_backward(dy.clone(), fast, gamma.clone());
    let (slow_x, [slow_gamma, slow_beta]) =
        kernels::layer_norm_backward(slow(dy.clone()), slowly, gamma.autodiff());
    assert_near(&all(fast), &all(slow_x), 1e-5, "its rows");
    let vector = |x: Tensor<1>| x.try_into_vec_as::<f32>().unwrap();
    assert_near(&vector(fast_gamma), &vector(slow_gamma), 1e-5, "its scale");
    assert_near(&vector(fast_beta), &vector(slow_beta), 1e-5, "its shift");
    let weight = random(5, [37, 300]);
    let linear = |autodiff: bool| {
        let lifted = |x: Tensor<2>| if autodiff { slow(x) } else { x };
        let layer = burn::nn::Linear {
            weight: Param::from_tensor(lifted(weight.clone())),
            bias: Some(Param::from_tensor(
                lifted(random(6, [1, 300])).reshape([300]),
            )),
        };
        let [x, y] = linear::forward(lifted(x.clone()), &layer);
        let d = linear::backward(lifted(random(7, [150, 300])), x, &layer);
        [all(y), all(d.x), all(d.weight), vector(d.bias)]
    };
    let parts = ["linear", "its rows", "its weight", "its bias"];
    for ((fast, slowly), part) in linear(false).iter().zip(linear(true)).zip(parts) {
        assert_near(fast, &slowly, 1e-4, part);
    }
    let sums = [x.clone(), slow(x.clone())].map(|x| vector(kernels::column_sums(x)));
    assert_near(&sums[0], &sums[1], 1e-5, "sums");
    let [_, fast] = kernels::gelu(x.clone() + beta.clone().unsqueeze());
    let slowly = burn::tensor::activation::gelu(x.clone() + beta.unsqueeze());
    assert_near(&all(fast), &all(slowly), 1e-6, "gelu");
    let fast = kernels::gelu_backward(dy.clone(), x.clone());
    let slowly = kernels::gelu_backward(slow(dy.clone()), slow(x.clone()));
    assert_near(&all(fast), &all(slowly), 1e-6, "gelu, back");
    let shares = burn::tensor::activation::softmax(x.clone(), 1);
    let four = |x: Tensor<2>| -> Tensor<4> { x.reshape([5, 3, 10, 37]) };
    let fast = kernels::softmax_backward(four(dy.clone()), four(shares.clone()), 0.3);
    let slowly = kernels::softmax_backward(four(slow(dy)), four(slow(shares)), 0.3);
    let four = |x: Tensor<4>| x.try_into_vec_as::<f32>().unwrap();
    assert_near(&four(fast), &four(slowly), 1e-5, "softmax, back");
    let flat: Tensor<1> = x.reshape([150 * 37]);
    let (fast, slowly) = (
        kernels::squared_norm(&flat),
        kernels::squared_norm(&flat.clone().autodiff()),
    );
    assert!((fast - slowly).abs() < 1e-5 * fast, "{fast}, {slowly}");
}
