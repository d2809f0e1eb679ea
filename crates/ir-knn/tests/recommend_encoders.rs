//! kNN over training queries: encoders with invalid output.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{EncodeError, Encoder, Side};
use ir_knn::{TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig};

/// Encoder that repeats a column.
#[derive(Debug)]
struct Repeats(usize);

impl Encoder for Repeats {
    fn dim(&self) -> usize {
        self.0
    }

    fn encode_into(&self, _: Side, _: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        out.fill(1.0);
        Ok(())
    }

    fn encode_sparse(
        &self,
        _: Side,
        texts: &[&str],
        emit: &mut dyn FnMut(&[u32], &[f32]),
    ) -> Result<(), EncodeError> {
        texts
            .iter()
            .for_each(|_| emit(&[0, 2, 2], &[1.0, 1.0, 1.0]));
        Ok(())
    }
}

#[test]
fn unsorted_columns_are_rejected() {
    for dim in [3, 40] {
        let queries = vec![TrainingQuery::new("p", "x", ["a"])];
        let ids = ["a"].into_iter().collect();
        let config = TrainingQueryKnnConfig::default();
        let error = TrainingQueryKnn::new(ids, queries, Repeats(dim), &config).unwrap_err();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        assert_eq!(
            cause.to_string(),
            format!("row 0: expected ascending column indices below {dim}, found 2")
        );
    }
}
