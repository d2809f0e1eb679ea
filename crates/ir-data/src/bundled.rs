//! The bundled collection: invented dataset descriptions inside the library.

use crate::collection::JudgedQueries;
use crate::datafinder::{
    DatasetCorpus, DatasetQuery, TRAINING_PREFIX, read_test_queries, read_training_queries,
};
use crate::error::DataError;
use ir_core::trec::{self, HeaderLine};
use ir_core::{Corpus, CorpusError, DocReader, Qrels, Query};

const CORPUS: &str = include_str!("../bundled/corpus.jsonl");
const TEST: &str = include_str!("../bundled/test_queries.jsonl");
const TRAIN: &str = include_str!("../bundled/train_queries.jsonl");
const QRELS: &str = include_str!("../bundled/qrels.tsv");

/// Corpus of the bundled collection.
pub(crate) struct BundledCorpus;

impl Corpus for BundledCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = "bundled/corpus.jsonl";
        Ok(DatasetCorpus::read(CORPUS.as_bytes(), source))
    }
}

/// Test and training queries of the bundled collection.
pub(crate) struct BundledQueries;

impl BundledQueries {
    fn train() -> Result<Vec<DatasetQuery>, DataError> {
        let source = "bundled/train_queries.jsonl";
        read_training_queries(TRAIN.as_bytes(), source, TRAINING_PREFIX)
    }
}

impl JudgedQueries for BundledQueries {
    fn source(&self) -> String {
        "bundled".to_owned()
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let test = read_test_queries(TEST.as_bytes(), "bundled/test_queries.jsonl", "q")?;
        let rows = test.into_iter().chain(Self::train()?);
        Ok(rows.map(|row| row.query).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        if split == "train" {
            return Ok(DatasetQuery::qrels(&Self::train()?));
        }
        let header = HeaderLine::AsData;
        Ok(trec::read_qrels(QRELS.as_bytes(), "bundled/qrels.tsv", header)?.data)
    }
}
