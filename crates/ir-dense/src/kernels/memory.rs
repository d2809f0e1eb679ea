//! Access to the elements of tensors in CPU memory.

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Returns `true` for f32 tensors in CPU memory without automatic differentiation.
pub(crate) fn on_cpu<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device();
    device == Device::flex() && !device.is_autodiff() && tensor.dtype() == DType::F32
}

/// Returns the elements as f32, row-major. Copies nothing if the tensor is f32 in CPU memory and
/// has no other owner.
pub(crate) fn data<const D: usize>(x: Tensor<D>) -> TensorData {
    x.into_data().convert::<f32>()
}

/// Returns the elements as f32, row-major. Copies nothing where [`data`] does not.
pub(crate) fn into_vec<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    data(x).try_into_vec().unwrap_or_default()
}

/// Elements of [`data`].
pub(crate) fn values(data: &TensorData) -> &[f32] {
    data.as_slice().unwrap_or_default()
}

/// Mutable elements of [`data`].
pub(crate) fn values_mut(data: &mut TensorData) -> &mut [f32] {
    data.as_mut_slice().unwrap_or_default()
}
