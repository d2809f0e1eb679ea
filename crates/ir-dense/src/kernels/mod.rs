//! Compute kernels.
//!
//! - [`elementwise`]: softmax, activations and layer normalization over slices
//! - [`matrix`]: matrix products with a packed right matrix
//! - [`linear`]: linear layers on burn tensors, for training
//! - [`tensor`]: the functions of [`elementwise`] on burn tensors with their backward passes, for
//!   training; each has a CPU version with a fixed order of summation and one in burn operations
//!   for GPUs
//! - [`low_precision`]: matrix products in 8-bit integers and in bf16, for inference
//! - [`word_tiles`]: their inner loops, for several instruction sets
//! - [`aligned`]: buffers aligned to cache lines
//! - [`memory`]: access to the elements of CPU tensors

mod aligned;
pub(crate) mod elementwise;
pub(crate) mod linear;
pub(crate) mod low_precision;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod tensor;
#[cfg(test)]
pub(crate) mod tests;
mod word_tiles;
