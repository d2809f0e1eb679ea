//! Loading of rows, over each API.

use std::ops::Range;

use serde_json::json;

use super::{Consistency, MAX_HITS, MAX_TEXT, MilvusCollection, NUMBER, expression, protocol};
use crate::connection::Connection;
use crate::loading::LoadTarget;
use crate::schema::CollectionSchema;
use crate::source::RowBatch;
use crate::{MilvusApi, RemoteError};

/// Collection into which the rows of a source are loaded.
pub(super) struct MilvusLoading<'a> {
    pub(super) collection: &'a MilvusCollection,
    pub(super) schema: &'a CollectionSchema,
}

impl LoadTarget for MilvusLoading<'_> {
    fn connection(&self) -> &Connection {
        &self.collection.connection
    }

    fn settle(&self) -> Result<(), RemoteError> {
        // A strong read waits until everything that was inserted before it is visible.
        self.collection.count("", Consistency::Strong).map(|_| ())
    }

    fn count(&self, numbers: Range<u32>) -> Result<u64, RemoteError> {
        let expression = expression::numbers(&numbers);
        self.collection.count(&expression, Consistency::Eventual)
    }

    fn existing(&self, numbers: Range<u32>) -> Result<Vec<u32>, RemoteError> {
        let expression = expression::numbers(&numbers);
        let found = self.numbers(&expression, numbers.len())?;
        let number = |found: i64| match u32::try_from(found) {
            Ok(number) if numbers.contains(&number) => Ok(number),
            _ => {
                let url = self.collection.connection.url("");
                let last = numbers.end.saturating_sub(1);
                let expected = format!("document numbers from {} to {last}", numbers.start);
                Err(RemoteError::response(url, expected, found.to_string()))
            }
        };
        found.into_iter().map(number).collect()
    }

    fn is_distinct(&self, numbers: Range<u32>) -> Result<bool, RemoteError> {
        let expected = numbers.len();
        let mut existing = self.existing(numbers)?;
        existing.sort_unstable();
        existing.dedup();
        Ok(existing.len() == expected)
    }

    fn insert(&self, batch: &RowBatch, rows: &[usize]) -> Result<(), RemoteError> {
        for &at in rows {
            batch.check_lengths(at, self.schema, MAX_TEXT)?;
            if let Some((title, text)) = batch.texts.get(at) {
                // As one text, with a space between them.
                let space = usize::from(!title.is_empty() && !text.is_empty());
                let length = title.len() + text.len() + space;
                if length > MAX_TEXT {
                    return Err(batch.too_long(at, "title and text", MAX_TEXT, length));
                }
            }
        }
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.collection.grpc {
            return grpc.insert(self.schema, batch, rows);
        }
        if self.collection.api == MilvusApi::V2 {
            return self.collection.v2_insert(self.schema, batch, rows);
        }
        let body = protocol::insert(&self.collection.name, self.schema, batch, rows);
        let response = self.collection.call_once("/entities", &body)?;
        protocol::check(&response, "insert documents")?;
        match response["insert_cnt"].as_u64() {
            Some(count) if count == rows.len() as u64 => Ok(()),
            _ => {
                let expected = format!("{} documents inserted", rows.len());
                Err(self
                    .collection
                    .unexpected("/entities", &expected, &response))
            }
        }
    }

    fn delete(&self, numbers: Range<u32>) -> Result<(), RemoteError> {
        let list: Vec<String> = numbers.map(|n| n.to_string()).collect();
        let expression = format!("{NUMBER} in [{}]", list.join(","));
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.collection.grpc {
            grpc.delete(&expression)?;
            return self.settle();
        }
        if self.collection.api == MilvusApi::V2 {
            self.collection.v2_delete(&expression)?;
            return self.settle();
        }
        let body = json!({"collection_name": self.collection.name, "expr": expression});
        let response = self.collection.call("DELETE", "/entities", &body)?;
        protocol::check(&response, "delete documents")?;
        self.settle()
    }
}

impl MilvusLoading<'_> {
    /// Numbers of the documents that satisfy an expression, at most `limit`, in any order.
    fn numbers(&self, expression: &str, limit: usize) -> Result<Vec<i64>, RemoteError> {
        let consistency = Consistency::Eventual;
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.collection.grpc {
            return grpc.numbers(expression, consistency);
        }
        if self.collection.api == MilvusApi::V2 {
            let limit = limit.clamp(1, MAX_HITS);
            let rows = self.collection.v2_rows(expression, limit, consistency)?;
            return Ok(rows.into_iter().map(|(number, _)| number).collect());
        }
        let response = self.collection.query(expression, &[NUMBER], consistency)?;
        protocol::numbers(&response).ok_or_else(|| {
            let expected = "numbers of documents";
            self.collection.unexpected("/query", expected, &response)
        })
    }
}
