//! Messages of `milvus.proto.milvus.MilvusService`, as far as this crate uses them: names and
//! numbers of fields of milvus-io/milvus-proto 9810b92. Alternatives (`oneof`) are optional fields,
//! which have the same encoding.
//!
//! The crate milvus-sdk-rust works with milvus-lite, and its searches fail on Milvus 2.3.5. Of some
//! 200 messages, 30 are needed; a test has the bytes of protobuf. Neither protoc nor generated code
//! is needed.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValuePair {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

pub(super) fn pairs<const N: usize>(all: [(&str, String); N]) -> Vec<KeyValuePair> {
    let all = all.into_iter();
    all.map(|(key, value)| KeyValuePair {
        key: key.to_owned(),
        value,
    })
    .collect()
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub(super) error_code: i32,
    #[prost(string, tag = "2")]
    pub(super) reason: String,
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
    #[prost(bool, tag = "4")]
    pub(super) retriable: bool,
}

/// Response of `Flush`, and of other operations that wrap a status without a result.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FieldSchema {
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(bool, tag = "3")]
    pub(super) is_primary_key: bool,
    #[prost(int32, tag = "5")]
    pub(super) data_type: i32,
    #[prost(message, repeated, tag = "6")]
    pub(super) type_params: Vec<KeyValuePair>,
    #[prost(bool, tag = "13")]
    pub(super) is_partition_key: bool,
    #[prost(bool, tag = "16")]
    pub(super) is_function_output: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FunctionSchema {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int32, tag = "4")]
    pub(super) r#type: i32,
    #[prost(string, repeated, tag = "5")]
    pub(super) input_field_names: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    pub(super) output_field_names: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Schema {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(message, repeated, tag = "4")]
    pub(super) fields: Vec<FieldSchema>,
    #[prost(message, repeated, tag = "7")]
    pub(super) functions: Vec<FunctionSchema>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CreateCollectionRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    /// Encoded [`Schema`].
    #[prost(bytes = "vec", tag = "4")]
    pub(super) schema: Vec<u8>,
    #[prost(int32, tag = "5")]
    pub(super) shards_num: i32,
    #[prost(int32, tag = "6")]
    pub(super) consistency_level: i32,
    #[prost(message, repeated, tag = "7")]
    pub(super) properties: Vec<KeyValuePair>,
}

/// Request about a collection: to describe or remove it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CollectionRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DescribeCollectionResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub(super) schema: Option<Schema>,
    #[prost(message, repeated, tag = "13")]
    pub(super) properties: Vec<KeyValuePair>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LoadCollectionRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(int32, tag = "4")]
    pub(super) replica_number: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CreateIndexRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(string, tag = "4")]
    pub(super) field_name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) extra_params: Vec<KeyValuePair>,
    #[prost(string, tag = "6")]
    pub(super) index_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DescribeIndexRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    /// Milvus ignores it, and returns all indexes of the collection.
    #[prost(string, tag = "4")]
    pub(super) field_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IndexDescription {
    #[prost(string, tag = "4")]
    pub(super) field_name: String,
    #[prost(int64, tag = "5")]
    pub(super) indexed_rows: i64,
    #[prost(int64, tag = "6")]
    pub(super) total_rows: i64,
    #[prost(int64, tag = "9")]
    pub(super) pending_index_rows: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DescribeIndexResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub(super) index_descriptions: Vec<IndexDescription>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FlushRequest {
    #[prost(string, repeated, tag = "3")]
    pub(super) collection_names: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Booleans {
    #[prost(bool, repeated, tag = "1")]
    pub(super) data: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Longs {
    #[prost(int64, repeated, tag = "1")]
    pub(super) data: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Floats {
    #[prost(float, repeated, tag = "1")]
    pub(super) data: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Doubles {
    #[prost(double, repeated, tag = "1")]
    pub(super) data: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Strings {
    #[prost(string, repeated, tag = "1")]
    pub(super) data: Vec<String>,
}

/// One of its fields is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ScalarField {
    #[prost(message, optional, tag = "1")]
    pub(super) booleans: Option<Booleans>,
    #[prost(message, optional, tag = "3")]
    pub(super) longs: Option<Longs>,
    #[prost(message, optional, tag = "5")]
    pub(super) doubles: Option<Doubles>,
    #[prost(message, optional, tag = "6")]
    pub(super) strings: Option<Strings>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct VectorField {
    #[prost(int64, tag = "1")]
    pub(super) dim: i64,
    #[prost(message, optional, tag = "2")]
    pub(super) floats: Option<Floats>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FieldData {
    #[prost(int32, tag = "1")]
    pub(super) r#type: i32,
    #[prost(string, tag = "2")]
    pub(super) field_name: String,
    #[prost(message, optional, tag = "3")]
    pub(super) scalars: Option<ScalarField>,
    #[prost(message, optional, tag = "4")]
    pub(super) vectors: Option<VectorField>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InsertRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) fields_data: Vec<FieldData>,
    #[prost(uint32, tag = "7")]
    pub(super) num_rows: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MutationResult {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(int64, tag = "6")]
    pub(super) insert_cnt: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(string, tag = "5")]
    pub(super) expr: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(string, tag = "4")]
    pub(super) expr: String,
    #[prost(string, repeated, tag = "5")]
    pub(super) output_fields: Vec<String>,
    #[prost(uint64, tag = "8")]
    pub(super) guarantee_timestamp: u64,
    #[prost(int32, tag = "11")]
    pub(super) consistency_level: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct QueryResults {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub(super) fields_data: Vec<FieldData>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PlaceholderValue {
    #[prost(string, tag = "1")]
    pub(super) tag: String,
    #[prost(int32, tag = "2")]
    pub(super) r#type: i32,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(super) values: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PlaceholderGroup {
    #[prost(message, repeated, tag = "1")]
    pub(super) placeholders: Vec<PlaceholderValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::milvus) struct SearchRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(string, tag = "5")]
    pub(super) dsl: String,
    /// Encoded [`PlaceholderGroup`].
    #[prost(bytes = "vec", tag = "6")]
    pub(super) placeholder_group: Vec<u8>,
    #[prost(int32, tag = "7")]
    pub(super) dsl_type: i32,
    #[prost(message, repeated, tag = "9")]
    pub(super) search_params: Vec<KeyValuePair>,
    #[prost(uint64, tag = "11")]
    pub(super) guarantee_timestamp: u64,
    #[prost(int64, tag = "12")]
    pub(super) nq: i64,
    #[prost(int32, tag = "14")]
    pub(super) consistency_level: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::milvus) struct HybridSearchRequest {
    #[prost(string, tag = "3")]
    pub(super) collection_name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) requests: Vec<SearchRequest>,
    #[prost(message, repeated, tag = "6")]
    pub(super) rank_params: Vec<KeyValuePair>,
    #[prost(uint64, tag = "8")]
    pub(super) guarantee_timestamp: u64,
    #[prost(int32, tag = "11")]
    pub(super) consistency_level: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Ids {
    #[prost(message, optional, tag = "1")]
    pub(super) integers: Option<Longs>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchResultData {
    #[prost(float, repeated, tag = "4")]
    pub(super) scores: Vec<f32>,
    #[prost(message, optional, tag = "5")]
    pub(super) ids: Option<Ids>,
    #[prost(int64, repeated, tag = "6")]
    pub(super) topks: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SearchResults {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub(super) results: Option<SearchResultData>,
}

/// Response with the status of the operation.
pub(super) trait Checked: Message + Default + 'static {
    fn status(&self) -> Option<&Status>;
}

impl Checked for Status {
    fn status(&self) -> Option<&Status> {
        Some(self)
    }
}

macro_rules! checked {
    ($($name:ident),*) => {
        $(impl Checked for $name {
            fn status(&self) -> Option<&Status> {
                self.status.as_ref()
            }
        })*
    };
}
checked!(
    StatusResponse,
    DescribeCollectionResponse,
    DescribeIndexResponse,
    MutationResult,
    QueryResults,
    SearchResults
);
