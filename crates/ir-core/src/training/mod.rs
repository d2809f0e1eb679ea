//! Training data for encoders: examples, hard negatives, held-out queries.
//!
//! | task | item |
//! |---|---|
//! | a query with positive and negative texts | [`TrainingExample`] |
//! | examples in memory or in a file, by index | [`TrainingSet`] |
//! | hard negatives from any retriever | [`mining`] |
//! | a validation set chosen by query text and seed | [`HeldOut`] |

mod example;
mod fingerprint;
mod held_out;
pub mod mining;
mod set;
#[cfg(test)]
mod tests;

pub use example::{InvalidExample, TrainingExample, TrainingText};
pub use fingerprint::Fingerprint;
pub use held_out::HeldOut;
pub use set::{TrainingSet, TrainingSetError};
