//! Corpus of the tests of failures of Elasticsearch and OpenSearch.
#![allow(unreachable_pub, clippy::unwrap_used)]

use ir_core::{Corpus, Document, SearchError};
use ir_engines::{
    AttributeType, CollectionSchema, ElasticCollection, LoadSource, RemoteError, TextIndexing,
    VectorTable,
};

use crate::common::papers::GRAPH;
use crate::elastic_setup;

pub fn documents(n: usize) -> Vec<Document> {
    let document = |at: usize| {
        Document::new(format!("v{at:03}"))
            .with_text(format!("tea number {at}"))
            .with("year", 2000 + at as i64)
    };
    (0..n).map(document).collect()
}

pub fn schema() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_vector_index(GRAPH)
}

/// Loads texts, years and vectors.
pub fn load(
    remote: &ElasticCollection,
    schema: &CollectionSchema,
    corpus: &dyn Corpus,
    table: &VectorTable,
) -> Result<(), RemoteError> {
    let source = LoadSource::from_vectors(table).with_documents(corpus);
    let texts = TextIndexing::default();
    elastic_setup::load(remote, schema, Some(&texts), &source).map(|_| ())
}

pub fn remote_error(error: SearchError) -> RemoteError {
    match error {
        SearchError::Engine { source, .. } => *source.downcast::<RemoteError>().unwrap(),
        other => panic!("{other:?}"),
    }
}
