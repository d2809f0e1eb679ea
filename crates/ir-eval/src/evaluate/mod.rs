//! Evaluation of runs: the evaluator, run files evaluated while they are read, and the report.

mod error;
mod evaluator;
mod report;
mod run_file;

pub use error::{EvalError, RunFileError};
pub use evaluator::Evaluator;
pub use report::{QueryValues, Report, ReportMeasure};
pub use run_file::RunFileOptions;
