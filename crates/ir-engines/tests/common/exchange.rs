//! Exchange with Milvus that is recorded and replayed: creation, loading, opening, searches with
//! and without filters, HNSW, errors, removal.
#![allow(unreachable_pub, clippy::unwrap_used)]

use ir_core::{DocIds, DocNum, DocSet, Document, NoProgress, Predicate, Retriever, Search};
use ir_engines::{
    AttributeType, CollectionSchema, Consistency, LoadOptions, LoadSource, MilvusCollection,
    RemoteError, RemoteVectorIndex, VectorTable,
};
use ir_knn::{FlatIndex, VectorSimilarity};

const DIM: usize = 4;

/// Invented documents with a year, a venue and a flag; some have none.
fn documents() -> Vec<Document> {
    let venues = ["Tea Letters", "Journal of \"Leaves\"", "Flüsse"];
    let document = |at: usize| {
        let mut document = Document::new(format!("paper-{at:02}"));
        if !at.is_multiple_of(4) {
            document = document.with("year", 2001 + at as i64);
        }
        if !at.is_multiple_of(5) {
            document = document.with("venue", venues[at % 3]);
        }
        document.with("open", at.is_multiple_of(2))
    };
    (0..24).map(document).collect()
}

/// Vectors whose products with the queries are exact in f32, and all different.
fn vectors() -> Vec<f32> {
    let row = |at: usize| {
        let x = at as f32;
        [x / 8.0, 3.0 - x / 4.0, ((at * 7) % 24) as f32 / 16.0, 0.5]
    };
    (0..24).flat_map(row).collect()
}

const QUERIES: [[f32; DIM]; 2] = [[1.0, 0.5, 0.03125, 0.25], [-0.5, 1.0, 2.0, 0.0]];

/// Runs the exchange, and compares all results with the embedded index.
pub fn run(open: &dyn Fn(&str) -> MilvusCollection) {
    let (corpus, values) = (documents(), vectors());
    let ids: DocIds = corpus.iter().map(|document| document.id.as_str()).collect();
    let table = VectorTable::new(ids.clone(), DIM, values.clone()).unwrap();
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let options = LoadOptions { batch: 10 };
    let schema = CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
        .with_attribute("open", AttributeType::Boolean);
    let exact = open("recorded_exact");
    exact.remove().unwrap();
    let error = exact.open().unwrap_err();
    assert!(
        matches!(error, RemoteError::NoCollection { .. }),
        "{error:?}"
    );
    let load = |collection: &MilvusCollection, schema: &CollectionSchema| {
        let loaded = collection.load(schema, &source, &options, &mut NoProgress);
        loaded.map(|report| (report.created, report.inserted))
    };
    assert_eq!(load(&exact, &schema).unwrap(), (true, 24));
    // Complete: nothing is inserted again.
    assert_eq!(load(&exact, &schema).unwrap(), (false, 0));
    let cosine = schema.clone().with_similarity(VectorSimilarity::Cosine);
    let error = load(&exact, &cosine).unwrap_err();
    assert!(
        matches!(
            error,
            RemoteError::Conflict {
                what: "similarity",
                ..
            }
        ),
        "{error:?}"
    );
    let index = exact
        .open()
        .unwrap()
        .with_consistency(Consistency::Eventual);
    assert_eq!(index.ids(), &ids);
    let embedded =
        FlatIndex::from_row_major(ids, DIM, values, VectorSimilarity::InnerProduct).unwrap();
    let batch: Vec<(&[f32], Search<'_>)> = QUERIES
        .iter()
        .map(|query| (query.as_slice(), Search::top(5)))
        .collect();
    let expected = embedded.search_batch(&batch).unwrap();
    assert_eq!(index.search_batch(&batch).unwrap(), expected);
    let chosen: DocSet = [3, 5, 21].into_iter().map(DocNum::new).collect();
    let within = Search::top(5).within(&chosen);
    assert_eq!(
        index.search(&QUERIES[0], &within).unwrap(),
        embedded.search(&QUERIES[0], &within).unwrap()
    );
    for condition in ["venue=Journal of \"Leaves\"", "venue=Flüsse", "open=true"] {
        let condition: Predicate = condition.parse().unwrap();
        let passes = |doc: DocNum| condition.matches(&corpus[doc.index()].attributes);
        let filtered = Search::top(5).within(&passes);
        let expected = embedded.search(&QUERIES[1], &filtered).unwrap();
        let found = index.search_where(&[(&QUERIES[1], 5, Some(&condition))]);
        assert_eq!(found.unwrap(), [expected], "{condition:?}");
    }
    exact.remove().unwrap();

    let graph = open("recorded_graph");
    graph.remove().unwrap();
    let hnsw = RemoteVectorIndex::Hnsw {
        m: 8,
        ef_construction: 64,
    };
    let hnsw = CollectionSchema::default().with_vector_index(hnsw);
    assert_eq!(load(&graph, &hnsw).unwrap(), (true, 24));
    let index = graph.open().unwrap().with_ef(50);
    // More candidates than documents: exact.
    assert_eq!(index.search_batch(&batch).unwrap(), expected);
    graph.remove().unwrap();
}
