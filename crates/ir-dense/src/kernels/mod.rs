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
//!
//! burn is pure Rust, has automatic differentiation, and reaches GPUs by a feature. Its CPU backend
//! packs weights for every product and is slow at the small products of attention, hence these
//! kernels, in inference and in training. burn's operations remain for the lookup of embeddings, L2
//! normalization, losses and padded batches; burn's CPU backend is compiled without threads, SIMD
//! and optimization, which would take most of the build. Products use the crate pulp in safe code:
//! a tile has 12 rows with 32 vector registers and 6 with 16. AVX-512 and AVX2 sum in the same
//! order, so that they return the same bytes. ONNX Runtime is a C++ library without training.

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
