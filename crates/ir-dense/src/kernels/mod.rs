//! Compute kernels.
//!
//! - [`elementwise`]: softmax, activations and layer normalization over slices
//! - [`matrix`]: matrix products with a packed right matrix
//! - [`linear`]: matrix products of linear layers, for training
//! - [`training`]: the functions of [`elementwise`] with saved values and their backward passes
//! - [`low_precision`]: matrix products in 8-bit integers and in bf16, for inference
//! - [`microkernels`]: their inner loops, for several instruction sets
//! - [`team`]: threads that compute a short text together
//! - [`aligned`]: buffers aligned to cache lines; [`buffers`]: buffers that are used again
//! - [`memory`]: access to the elements of CPU tensors

pub(crate) mod aligned;
pub(crate) mod buffers;
pub(crate) mod elementwise;
pub(crate) mod linear;
pub(crate) mod low_precision;
pub(crate) mod matrix;
pub(crate) mod memory;
mod microkernels;
pub(crate) mod team;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod training;
