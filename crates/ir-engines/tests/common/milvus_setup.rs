//! Collections of the tests of Milvus, over each REST API.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use ir_core::{NoProgress, SearchError};
use ir_engines::{
    ClientConfig, CollectionSchema, Credentials, EngineAddress, LoadOptions, LoadReport,
    LoadSource, MilvusCollection, MilvusIndex, RemoteError, VectorTable,
};

use crate::common::papers::BATCH;
use crate::common::{HttpDouble, quick};
use crate::milvus_double::{self, MilvusState};

/// Schemes of addresses, and whether the server is Milvus 2.4, which does not divide hits.
pub const APIS: [(&str, bool); 3] = [("milvus", false), ("milvus+v2", false), ("milvus+v2", true)];

pub fn start(is_v2_4: bool) -> (HttpDouble, Arc<Mutex<MilvusState>>) {
    let (server, state) = milvus_double::start();
    state.lock().unwrap().is_v2_4 = is_v2_4;
    (server, state)
}

pub fn with_config(scheme: &str, port: u16, name: &str, config: &ClientConfig) -> MilvusCollection {
    let address = format!("{scheme}://127.0.0.1:{port}/{name}");
    let address: EngineAddress = address.parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), config).unwrap()
}

pub fn collection(scheme: &str, server: &HttpDouble, name: &str) -> MilvusCollection {
    with_config(scheme, server.port, name, &quick())
}

/// Loads a source in batches of 7.
pub fn load(
    remote: &MilvusCollection,
    schema: &CollectionSchema,
    source: &LoadSource<'_>,
) -> Result<LoadReport, RemoteError> {
    remote.load(schema, source, &BATCH, &mut NoProgress)
}

/// Loads vectors into a collection, and opens it.
pub fn opened(
    remote: &MilvusCollection,
    schema: &CollectionSchema,
    table: &VectorTable,
) -> MilvusIndex {
    let (source, options) = (LoadSource::from_vectors(table), LoadOptions::default());
    remote
        .load(schema, &source, &options, &mut NoProgress)
        .unwrap();
    remote.open().unwrap()
}

pub fn remote_error(error: SearchError) -> RemoteError {
    match error {
        SearchError::Engine {
            engine: "Milvus",
            source,
        } => *source.downcast::<RemoteError>().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Property in which a collection differs from what was to be loaded.
pub fn conflict(result: Result<LoadReport, RemoteError>) -> (&'static str, String, String) {
    match result {
        Err(RemoteError::Conflict {
            what,
            expected,
            found,
            ..
        }) => (what, expected, found),
        other => panic!("{other:?}"),
    }
}
