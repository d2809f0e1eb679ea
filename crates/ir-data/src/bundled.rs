//! The bundled collection: invented dataset descriptions inside the library.

use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_core::{Qrels, Query};

use crate::collection::JudgedQueries;
use crate::datafinder::{DatasetCorpus, DatasetQuery, read_test_queries, read_training_queries};
use crate::error::DataError;

const CORPUS: &str = include_str!("../bundled/corpus.jsonl");
const TEST: &str = include_str!("../bundled/test_queries.jsonl");
const TRAIN: &str = include_str!("../bundled/train_queries.jsonl");
const QRELS: &str = include_str!("../bundled/qrels.tsv");

pub(crate) fn corpus() -> DatasetCorpus {
    DatasetCorpus::embedded("bundled/corpus.jsonl", CORPUS)
}

/// Test and training queries of the bundled collection.
pub(crate) struct BundledQueries;

fn test_queries() -> Result<Vec<DatasetQuery>, DataError> {
    read_test_queries(TEST.as_bytes(), "bundled/test_queries.jsonl", "q")
}

fn training_queries() -> Result<Vec<DatasetQuery>, DataError> {
    read_training_queries(TRAIN.as_bytes(), "bundled/train_queries.jsonl", "train-")
}

impl JudgedQueries for BundledQueries {
    fn source(&self) -> String {
        "bundled".to_owned()
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let rows = test_queries()?.into_iter().chain(training_queries()?);
        Ok(rows.map(|row| row.query).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        if split == "train" {
            return Ok(DatasetQuery::qrels(&training_queries()?));
        }
        Ok(trec::read_qrels(QRELS.as_bytes(), "bundled/qrels.tsv", HeaderLine::AsData)?.data)
    }
}
