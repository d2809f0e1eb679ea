//! The bundled collection: invented dataset descriptions inside the library.

use crate::collection::{InMemoryJudgedQueries, collect_documents};
use crate::datafinder::{
    DatasetCorpus, DatasetIdStyle, DatasetQuery, TRAINING_PREFIX, read_test_queries,
    read_training_queries,
};
use crate::error::DataError;
use ir_core::Document;
use ir_core::trec::{self, HeaderLine};

const CORPUS: &str = include_str!("../bundled/corpus.jsonl");
const TEST: &str = include_str!("../bundled/test_queries.jsonl");
const TRAIN: &str = include_str!("../bundled/train_queries.jsonl");
const QRELS: &str = include_str!("../bundled/qrels.tsv");

pub(crate) fn corpus() -> Result<Vec<Document>, DataError> {
    let (source, ids) = ("bundled/corpus.jsonl", DatasetIdStyle::default());
    let mut docs = DatasetCorpus::read(CORPUS.as_bytes(), source, ids);
    collect_documents(|doc| Ok(docs.read(doc)?))
}

/// Test and training queries of the bundled collection.
pub(crate) fn judged_queries() -> Result<InMemoryJudgedQueries, DataError> {
    let test = read_test_queries(TEST.as_bytes(), "bundled/test_queries.jsonl", "q")?;
    let source = "bundled/train_queries.jsonl";
    let train = read_training_queries(TRAIN.as_bytes(), source, TRAINING_PREFIX)?;
    let header = HeaderLine::AsData;
    let qrels = trec::read_qrels(QRELS.as_bytes(), "bundled/qrels.tsv", header)?.data;
    Ok(InMemoryJudgedQueries {
        qrels: [
            ("test".to_owned(), qrels),
            ("train".to_owned(), DatasetQuery::qrels(&train)),
        ]
        .into(),
        queries: test.into_iter().chain(train).map(|row| row.query).collect(),
    })
}
