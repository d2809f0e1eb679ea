//! Messages of the format, as its Protocol Buffers definition lists them.

use prost::Message;

/// First message of a file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HeaderMessage {
    #[prost(int32, tag = "1")]
    pub(super) version: i32,
    #[prost(int32, tag = "2")]
    pub(super) num_postings_lists: i32,
    #[prost(int32, tag = "3")]
    pub(super) num_docs: i32,
    #[prost(int32, tag = "4")]
    pub(super) total_postings_lists: i32,
    #[prost(int32, tag = "5")]
    pub(super) total_docs: i32,
    #[prost(int64, tag = "6")]
    pub(super) total_terms_in_collection: i64,
    #[prost(double, tag = "7")]
    pub(super) average_doclength: f64,
    #[prost(string, tag = "8")]
    pub(super) description: String,
}

/// Posting list of a term.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PostingsListMessage {
    #[prost(string, tag = "1")]
    pub(super) term: String,
    #[prost(int64, tag = "2")]
    pub(super) df: i64,
    #[prost(int64, tag = "3")]
    pub(super) cf: i64,
    #[prost(message, repeated, tag = "4")]
    pub(super) postings: Vec<PostingMessage>,
}

/// Posting. `docid` is the document number of the first posting of a list, and then the difference
/// from the number of the posting before.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct PostingMessage {
    #[prost(int32, tag = "1")]
    pub(super) docid: i32,
    #[prost(int32, tag = "2")]
    pub(super) tf: i32,
}

/// Id and length of a document.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct DocRecordMessage {
    #[prost(int32, tag = "1")]
    pub(super) docid: i32,
    #[prost(string, tag = "2")]
    pub(super) collection_docid: String,
    #[prost(int32, tag = "3")]
    pub(super) doclength: i32,
}
