//! Comparing systems: significance tests, the bootstrap, parameter sweeps, and tables in text,
//! Markdown, LaTeX and CSV.

mod bootstrap;
mod comparison;
mod config;
mod error;
mod paired_tests;
mod query_differences;
pub mod significance;
mod sweep;
mod writers;

pub use bootstrap::{Bootstrap, BootstrapError, Paired, Sampling, Spread};
pub use comparison::{Comparison, Contrast, Figure, System};
pub use config::{Against, Family, Plan, Test};
pub use error::CompareError;
pub use query_differences::TopicDifference;
pub use sweep::{Choice, Setting, Sweep};
#[cfg(feature = "plots")]
pub(crate) use writers::table;
