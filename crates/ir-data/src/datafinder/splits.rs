use ir_core::{Qrels, Query};

use super::queries::DatasetQuery;
use crate::collection::JudgedQueries;
use crate::error::DataError;

/// Id prefix of training queries.
pub(crate) const TRAINING_PREFIX: &str = "train-";

/// Test and training queries of a dataset recommendation task.
pub(crate) trait TestAndTrain: Send + Sync {
    fn source(&self) -> String;

    fn test(&self) -> Result<Vec<DatasetQuery>, DataError>;

    fn train(&self) -> Result<Vec<DatasetQuery>, DataError>;

    fn test_qrels(&self) -> Result<Qrels, DataError> {
        Ok(DatasetQuery::qrels(&self.test()?))
    }
}

/// The splits `test` and `train` of a dataset recommendation task.
pub(crate) struct DatasetSplits<T>(pub(crate) T);

impl<T: TestAndTrain> JudgedQueries for DatasetSplits<T> {
    fn source(&self) -> String {
        self.0.source()
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned(), "train".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let rows = self.0.test()?.into_iter().chain(self.0.train()?);
        Ok(rows.map(|row| row.query).collect())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        match split {
            "train" => Ok(DatasetQuery::qrels(&self.0.train()?)),
            _ => self.0.test_qrels(),
        }
    }
}
