//! One module per subcommand; none imports another.

pub(crate) mod agree;
pub(crate) mod buckets;
pub(crate) mod compare;
pub(crate) mod datasets;
pub(crate) mod diff;
#[cfg(feature = "dense")]
pub(crate) mod encode;
pub(crate) mod eval;
pub(crate) mod frames;
pub(crate) mod fuse;
pub(crate) mod import_results;
pub(crate) mod index;
pub(crate) mod interleave;
pub(crate) mod knn_accuracy;
pub(crate) mod mine;
#[cfg(feature = "dense")]
pub(crate) mod models;
pub(crate) mod overlap;
pub(crate) mod pool;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod stats;
pub(crate) mod sweep;
#[cfg(feature = "dense")]
pub(crate) mod train;
