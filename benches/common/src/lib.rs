//! Options, timers, tables of pages, random vectors and Python peers shared by the benchmarks.

#[cfg(feature = "npy")]
mod npy_files;
mod options;
mod page;
mod python;
mod random;
mod time;

#[cfg(feature = "npy")]
pub use npy_files::{load, save};
pub use options::Options;
pub use page::{Page, table_of};
pub use python::Python;
pub use random::{Random, normalized};
pub use time::{Clock, Seconds, median};
