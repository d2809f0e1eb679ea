//! Tensors whose elements lie in this process's memory.

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Whether a tensor does, in 32 bits, and takes no gradients.
pub(crate) fn here<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device();
    device == Device::flex() && !device.is_autodiff() && tensor.dtype() == DType::F32
}

/// The elements in 32 bits, row by row; not copied when they are so and nobody else holds the
/// tensor.
pub(crate) fn data<const D: usize>(x: Tensor<D>) -> TensorData {
    x.into_data().convert::<f32>()
}

/// What [`data`] holds.
pub(crate) fn values(data: &TensorData) -> &[f32] {
    data.as_slice().unwrap_or_default()
}

/// What [`data`] holds, to be changed.
pub(crate) fn values_mut(data: &mut TensorData) -> &mut [f32] {
    data.as_mut_slice().unwrap_or_default()
}
