//! Compute kernels.
//!
//! - [`elementwise`]: softmax, activations and layer normalization over slices, for CPU inference
//! - [`matrix`]: matrix products with a packed right matrix, for CPU inference
//! - [`tensor`]: the same functions on burn tensors with their backward passes, for training; each
//!   has a CPU version with a fixed order of summation and one in burn operations for GPUs
//! - [`memory`]: access to the elements of CPU tensors

pub(crate) mod elementwise;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod tensor;
