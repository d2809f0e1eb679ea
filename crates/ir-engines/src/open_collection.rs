//! What the searches of an open collection have in common over all engines.

use std::sync::Arc;

use ir_core::{DocIds, Predicate, Search, SearchError, VectorSimilarity};

use crate::clause::Clause;
use crate::ranking::{RankedQuery, SearchLimits};
use crate::schema::CollectionRecord;
use crate::vector_query::check_query;
use crate::{RemoteError, ResultCache};

/// Record and ids of an open collection, the condition of all its searches, and the cache of
/// their responses.
#[derive(Debug, Clone)]
pub(crate) struct OpenCollection {
    engine: &'static str,
    name: String,
    pub(crate) record: CollectionRecord,
    pub(crate) ids: Arc<DocIds>,
    condition: Option<Predicate>,
    pub(crate) cache: Option<ResultCache>,
}

impl OpenCollection {
    /// Opens a collection with `found` documents; `read_ids` reads their ids.
    pub(crate) fn new(
        engine: &'static str,
        name: &str,
        record: CollectionRecord,
        found: u64,
        read_ids: impl FnOnce(usize) -> Result<DocIds, RemoteError>,
    ) -> Result<Self, RemoteError> {
        let expected = record.documents as u64;
        if found != expected {
            return Err(RemoteError::Incomplete {
                collection: name.to_owned(),
                expected,
                found,
            });
        }
        Ok(Self {
            engine,
            name: name.to_owned(),
            ids: Arc::new(read_ids(record.documents)?),
            record,
            condition: None,
            cache: None,
        })
    }

    /// Adds a condition to all searches, and returns the clause of all conditions.
    pub(crate) fn add_condition(&mut self, condition: Predicate) -> Result<Clause, RemoteError> {
        let condition = match &self.condition {
            Some(other) => Predicate::All(vec![other.clone(), condition]),
            None => condition,
        };
        let clause = Clause::from_predicate(&condition, &self.record.schema)?;
        self.condition = Some(condition);
        Ok(clause)
    }

    /// Adds the condition of all searches to the condition of a search.
    pub(crate) fn with_fixed(&self, own: Clause) -> Result<Clause, RemoteError> {
        match &self.condition {
            Some(condition) => {
                let fixed = Clause::from_predicate(condition, &self.record.schema)?;
                Ok(Clause::all([fixed, own]))
            }
            None => Ok(own),
        }
    }

    /// Queries with the clauses of their filters and of the condition of all searches.
    pub(crate) fn queries<'q, Q: ?Sized>(
        &self,
        queries: &[(&'q Q, Search<'_>)],
    ) -> Result<Vec<RankedQuery<'q, Q>>, RemoteError> {
        let queries = queries.iter().map(|&(query, ref search)| {
            let own = match search.filter() {
                Some(filter) => Clause::from_filter(filter, self.ids.len(), &self.record.schema)?,
                None => Clause::Always,
            };
            let (k, clause) = (search.k(), self.with_fixed(own)?);
            Ok(RankedQuery { query, k, clause })
        });
        queries.collect()
    }

    pub(crate) fn limits(&self, max_hits: usize) -> SearchLimits {
        SearchLimits {
            engine: self.engine,
            documents: self.ids.len(),
            max_hits,
        }
    }

    /// Dimension of the vectors; 0 without vectors.
    pub(crate) fn dim(&self) -> usize {
        self.record.dim.unwrap_or(0)
    }

    /// Checks a query vector. Every vector suits a collection without documents.
    pub(crate) fn check_vector(&self, query: &[f32]) -> Result<(), SearchError> {
        let must_be_nonzero = self.record.schema.similarity == VectorSimilarity::Cosine;
        if self.ids.is_empty() {
            Ok(())
        } else {
            check_query(query, self.dim(), must_be_nonzero)
        }
    }

    /// Key of cached responses: what they depend on besides the request.
    pub(crate) fn cache_key(&self) -> String {
        let record = serde_json::to_string(&self.record).unwrap_or_default();
        format!("{} {} {record}", self.engine, self.name)
    }
}
