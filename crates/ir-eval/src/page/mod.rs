//! HTML pages of comparisons and systems.

mod comparison;
mod from_runs;
mod layout;
mod system;
mod tables;

pub use comparison::{ComparisonPage, QueryRankChanges, WinsAndLosses};
pub use from_runs::PageError;
pub use system::SystemPage;
