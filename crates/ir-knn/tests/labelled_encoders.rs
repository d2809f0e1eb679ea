//! Recommendation by labelled queries: encoders that break their promise.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{EncodeError, Encoder, Side};
use ir_knn::{LabelledQueries, LabelledQueriesConfig, LabelledQuery};

/// An encoder that repeats a column.
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
fn columns_out_of_order_are_refused() {
    for dim in [3, 40] {
        let queries = vec![LabelledQuery::new("p", "x", ["a"])];
        let ids = ["a"].into_iter().collect();
        let config = LabelledQueriesConfig::default();
        let error = LabelledQueries::new(ids, queries, Repeats(dim), &config).unwrap_err();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        assert_eq!(
            cause.to_string(),
            "expected ascending columns, found 2 after 2"
        );
    }
}
