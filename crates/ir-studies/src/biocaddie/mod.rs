//! Synthetic records of the bioCADDIE challenge (2016). [`ir_data::biocaddie`] reads the real ones.

mod synthetic;
mod words;

pub use synthetic::SyntheticRecords;
