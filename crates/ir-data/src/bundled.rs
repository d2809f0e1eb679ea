//! The bundled collection: invented dataset descriptions inside the library.

use crate::datafinder::{
    DatasetCorpus, DatasetQuery, TRAINING_PREFIX, TestAndTrain, read_test_queries,
    read_training_queries,
};
use crate::error::DataError;
use ir_core::Qrels;
use ir_core::trec::{self, HeaderLine};

const CORPUS: &str = include_str!("../bundled/corpus.jsonl");
const TEST: &str = include_str!("../bundled/test_queries.jsonl");
const TRAIN: &str = include_str!("../bundled/train_queries.jsonl");
const QRELS: &str = include_str!("../bundled/qrels.tsv");

pub(crate) fn corpus() -> DatasetCorpus {
    DatasetCorpus::embedded("bundled/corpus.jsonl", CORPUS)
}

/// Test and training queries of the bundled collection.
pub(crate) struct BundledQueries;

impl TestAndTrain for BundledQueries {
    fn source(&self) -> String {
        "bundled".to_owned()
    }

    fn test(&self) -> Result<Vec<DatasetQuery>, DataError> {
        read_test_queries(TEST.as_bytes(), "bundled/test_queries.jsonl", "q")
    }

    fn train(&self) -> Result<Vec<DatasetQuery>, DataError> {
        let source = "bundled/train_queries.jsonl";
        read_training_queries(TRAIN.as_bytes(), source, TRAINING_PREFIX)
    }

    fn test_qrels(&self) -> Result<Qrels, DataError> {
        let header = HeaderLine::AsData;
        Ok(trec::read_qrels(QRELS.as_bytes(), "bundled/qrels.tsv", header)?.data)
    }
}
