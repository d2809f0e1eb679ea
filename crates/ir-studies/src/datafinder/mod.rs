//! Procedures of DataFinder (Viswanathan et al., ACL 2023): queries, order and time filter of its
//! rankings, mentions, popularity and communities of datasets.
//!
//! The files are read by [`ir_data::datafinder`].

mod community;
mod keyphrase;
mod mentions;
mod popularity;
mod published;
mod usage;

pub use community::{MIN_PAPERS_OF_VENUE, community};
pub use keyphrase::{
    keyphrase_product, keyphrase_product_from_attributes, keyphrase_query,
    keyphrase_query_from_attributes,
};
pub(crate) use mentions::words;
pub use mentions::{DatasetMention, DatasetNames};
pub use popularity::GroupPopularity;
pub use published::{lexicographic_row_order, published_depth, published_filter};
pub use usage::UsageCounts;
