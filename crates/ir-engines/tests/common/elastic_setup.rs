//! Collections and vectors of the tests of Elasticsearch and OpenSearch.
#![allow(unreachable_pub, clippy::unwrap_used)]

use ir_core::DocIds;
use ir_engines::{
    Credentials, ElasticCollection, EngineAddress, LoadOptions, RemoteVectorIndex, VectorTable,
};
use ir_testkit::toy;

use crate::common::{HttpDouble, quick};

pub const ENGINES: [&str; 2] = ["elasticsearch", "opensearch"];
pub const BATCH: LoadOptions = LoadOptions { batch: 7 };
pub const GRAPH: RemoteVectorIndex = RemoteVectorIndex::Hnsw {
    m: 16,
    ef_construction: 100,
};

pub fn collection(server: &HttpDouble, engine: &str, name: &str) -> ElasticCollection {
    let address: EngineAddress = format!("{engine}://127.0.0.1:{}/{name}", server.port)
        .parse()
        .unwrap();
    ElasticCollection::new(&address, &Credentials::default(), &quick()).unwrap()
}

pub fn table(n: usize) -> VectorTable {
    let ids: DocIds = (0..n).map(|n| format!("v{n:03}")).collect();
    VectorTable::new(ids, 6, toy::vectors(n, 6).concat()).unwrap()
}
