//! Extension module `irrs._irrs`: the parts of the Python package `irrs` that compute. Conversions
//! of data frames and of objects of other packages are in the Python files beside it.

mod closable;
mod document;
mod encoder;
mod error;
mod evaluation;
mod experiment;
mod filter;
mod hits;
mod ids;
mod index;
mod judgments;
mod run;
mod search;
mod system;
mod training;
mod vectors;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _irrs {
    #[pymodule_export]
    use crate::encoder::{CrossEncoder, Encoder};
    #[pymodule_export]
    use crate::error::IrError;
    #[pymodule_export]
    use crate::evaluation::{
        Comparison, Report, compare_reports, evaluate_file, evaluate_run, measure_name,
    };
    #[pymodule_export]
    use crate::experiment::{ExperimentResults, run_experiment};
    #[pymodule_export]
    use crate::filter::DocFilter;
    #[pymodule_export]
    use crate::hits::{Hits, Results};
    #[pymodule_export]
    use crate::index::Index;
    #[pymodule_export]
    use crate::judgments::Qrels;
    #[pymodule_export]
    use crate::run::{Run, fuse_runs};
    #[pymodule_export]
    use crate::system::{Retriever, check_system, system_schema, system_types};
    #[pymodule_export]
    use crate::training::{mine_negatives, train_encoder};
    #[pymodule_export]
    use crate::vectors::{FlatIndex, HnswIndex};
    #[pymodule_export]
    use crate::work::set_threads;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::remember_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
