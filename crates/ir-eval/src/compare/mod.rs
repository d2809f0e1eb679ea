//! Comparing systems: significance tests, bootstrap, parameter sweeps, and tables in text,
//! Markdown, LaTeX and CSV.
//!
//! A comparison is a value that carries rules and configuration: the table in the terminal, in the
//! paper, the plot and the JSON cannot disagree, and every format prints both.

mod alignment;
mod bootstrap;
mod comparison;
mod config;
mod error;
mod paired_tests;
mod query_differences;
pub mod significance;
mod sweep;
mod writers;

pub use bootstrap::{Bootstrap, BootstrapEstimate, BootstrapScheme, PairedBootstrapResult};
pub use comparison::{ComparedSystem, Comparison, PairwiseTest, SystemScore};
pub use config::{ComparedPairs, ComparisonConfig, HypothesisFamily, SignificanceTest};
pub use error::CompareError;
pub use query_differences::QueryDifference;
pub use sweep::{HeldOutChoice, ParameterSweep, SweepSetting};
#[cfg(feature = "plots")]
pub(crate) use writers::table;
pub use writers::{escape_latex, escape_markdown};
