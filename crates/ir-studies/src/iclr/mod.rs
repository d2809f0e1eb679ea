//! Procedures of the ICLR dataset (berenslab/iclr-dataset): cleaning of keywords, and statistics of
//! reviews. [`ir_data::iclr`] reads its files.

mod keywords;
mod statistics;

pub use keywords::clean_keywords;
pub use statistics::{PaperStatistics, UNLABELED};
