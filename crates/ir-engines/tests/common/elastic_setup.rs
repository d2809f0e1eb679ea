//! Collections and vectors of the tests of Elasticsearch and OpenSearch.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use ir_core::NoProgress;
use ir_engines::{
    CollectionSchema, Credentials, ElasticCollection, EngineAddress, LoadReport, LoadSource,
    RemoteError, TextIndexing,
};

use crate::common::papers::BATCH;
use crate::common::{HttpDouble, quick};

pub const ENGINES: [&str; 2] = ["elasticsearch", "opensearch"];

pub fn collection(server: &HttpDouble, engine: &str, name: &str) -> ElasticCollection {
    let address: EngineAddress = format!("{engine}://127.0.0.1:{}/{name}", server.port)
        .parse()
        .unwrap();
    ElasticCollection::new(&address, &Credentials::default(), &quick()).unwrap()
}

/// Loads a source in batches of 7.
pub fn load(
    remote: &ElasticCollection,
    schema: &CollectionSchema,
    texts: Option<&TextIndexing>,
    source: &LoadSource<'_>,
) -> Result<LoadReport, RemoteError> {
    remote.load(schema, texts, source, &BATCH, &mut NoProgress)
}
