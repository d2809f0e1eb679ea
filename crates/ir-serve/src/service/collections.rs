//! Further retrievers, searched by name.

use ir_core::{Predicate, Search};

use super::{Service, filter};
use crate::error::ServiceError;

impl Service {
    /// Searches a collection by name, and returns ids and scores.
    ///
    /// # Errors
    /// No collection has the name, a limit is exceeded, or the retriever fails.
    pub fn search_collection(
        &self,
        name: &str,
        query: &str,
        limit: usize,
        filters: &[Predicate],
    ) -> Result<Vec<(String, f32)>, ServiceError> {
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
        Ok(hits.collect())
    }

    /// Names of the collections.
    pub fn collections(&self) -> impl Iterator<Item = &str> {
        self.collections.keys().map(String::as_str)
    }
}
