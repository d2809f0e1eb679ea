//! Further retrievers, searched by name.

use ir_core::{Predicate, Search};

use super::{Service, filter, filter_warnings};
use crate::error::ServiceError;

/// Hits in a collection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CollectionHits {
    /// Ids and scores, the best first.
    pub hits: Vec<(String, f32)>,
    /// Warnings of attributes in the filters that no document has, and of values that limits
    /// cannot be compared with.
    pub warnings: Vec<String>,
}

impl Service {
    /// Searches a collection by name.
    ///
    /// # Errors
    /// No collection has the name, a limit is exceeded, or the retriever fails.
    pub fn search_collection(
        &self,
        name: &str,
        query: &str,
        limit: usize,
        filters: &[Predicate],
    ) -> Result<CollectionHits, ServiceError> {
        self.check_query(query, limit)?;
        let Some(collection) = self.collections.get(name) else {
            return Err(ServiceError::NoCollection {
                name: name.to_owned(),
                known: self.collections.keys().cloned().collect(),
            });
        };
        let filter = filter(filters, |predicate| {
            predicate.select(&collection.attributes)
        });
        let mut search = Search::top(limit);
        if let Some(filter) = &filter {
            search = search.within(filter);
        }
        let ranking = collection.retriever.search(query, &search)?;
        let ids = collection.retriever.ids();
        let hits = ranking
            .iter()
            .map(|hit| (ids.id(hit.doc).to_owned(), hit.score));
        Ok(CollectionHits {
            hits: hits.collect(),
            warnings: filter_warnings(filters, collection.attributes.iter()),
        })
    }

    /// Names of the collections.
    pub fn collections(&self) -> impl Iterator<Item = &str> {
        self.collections.keys().map(String::as_str)
    }
}
