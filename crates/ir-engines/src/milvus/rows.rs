//! Loading of rows, over each API.

use std::ops::Range;

use serde_json::json;

use super::{Consistency, MAX_TEXT, MilvusCollection, NUMBER, expression, index, protocol};
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
            _ => Err(RemoteError::Response {
                url: self.collection.connection.url(""),
                expected: format!(
                    "document numbers from {} to {}",
                    numbers.start,
                    numbers.end.saturating_sub(1)
                ),
                found: found.to_string(),
            }),
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
            check_lengths(batch, at, self.schema)?;
        }
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.collection.grpc {
            return grpc.insert(self.collection, self.schema, batch, rows);
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
            grpc.delete(self.collection, &expression)?;
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
            return grpc.numbers(self.collection, expression, consistency);
        }
        if self.collection.api == MilvusApi::V2 {
            let limit = limit.clamp(1, index::MAX_HITS);
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

fn check_lengths(
    batch: &RowBatch,
    at: usize,
    schema: &CollectionSchema,
) -> Result<(), RemoteError> {
    let too_long = |what: String, length: usize| RemoteError::Document {
        number: batch.first as usize + at + 1,
        id: batch.ids[at].chars().take(80).collect(),
        what,
        expected: format!("at most {MAX_TEXT} bytes"),
        found: length.to_string(),
    };
    if batch.ids[at].len() > MAX_TEXT {
        return Err(too_long("id".to_owned(), batch.ids[at].len()));
    }
    if let Some((title, text)) = batch.texts.get(at) {
        // As one text, with a space between them.
        let length = title.len() + text.len() + usize::from(!title.is_empty() && !text.is_empty());
        if length > MAX_TEXT {
            return Err(too_long("title and text".to_owned(), length));
        }
    }
    for attribute in &schema.attributes {
        if let Some(text) = batch.attributes[at].text(&attribute.name)
            && text.len() > MAX_TEXT
        {
            return Err(too_long(
                format!("attribute {:?}", attribute.name),
                text.len(),
            ));
        }
    }
    Ok(())
}
