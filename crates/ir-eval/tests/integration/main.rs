//! Tests of measures, significance and reports. One program, which is linked once.

mod agreement;
mod common;
mod conformance;
mod curves;
mod custom;
mod diversity;
mod gdeval_sample_eval;
mod groups;
mod lists;
mod names;
mod oracle;
mod other_tools;
mod page;
mod plots;
mod pool;
mod preferences;
mod published_values;
mod pytrec_eval;
mod rules;
mod significance;
