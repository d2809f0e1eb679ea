//! Documents of the data among the documents of a file of vectors.

use std::collections::HashSet;
use std::sync::Arc;

use ir_core::{
    DocIds, DocNum, Document, Explanation, Hit, Ranking, Retriever, Search, SearchError,
};

use crate::error::SystemError;
use crate::system::{OpenSystem, SharedRetriever, SystemContext};

/// Ids of the documents without title and text. Empty on an index, which has kept or dropped them
/// when it was built.
pub(super) fn blank_documents(context: &SystemContext<'_>) -> Result<HashSet<String>, SystemError> {
    if context.data.index().is_some() {
        return Ok(HashSet::new());
    }
    let reading = "reading documents";
    let mut ids = HashSet::new();
    for document in context
        .data
        .corpus()
        .docs()
        .map_err(SystemError::stage(reading))?
    {
        let Document {
            id, title, text, ..
        } = document.map_err(SystemError::stage(reading))?;
        if is_blank(&title) && is_blank(&text) {
            ids.insert(id);
        }
    }
    Ok(ids)
}

/// Returns `true` for a text that an index counts as blank.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte <= b' ')
}

/// Search of the documents of the data: vectors of other documents are left out with a warning,
/// vectors of `blank` documents without one. Documents have the numbers of the data.
///
/// # Errors
/// Returns [`SystemError::Parameter`] of the key `vectors` if no vector is of a document of the
/// data.
pub(super) fn of_the_data(
    context: &mut SystemContext<'_>,
    path: &str,
    inner: SharedRetriever,
    blank: &HashSet<String>,
) -> Result<OpenSystem, SystemError> {
    let known = context.data.ids();
    if blank.is_empty() && inner.ids() == known {
        return Ok(OpenSystem::new(inner));
    }
    let mut numbers: Vec<Option<DocNum>> = inner.ids().iter().map(|id| known.get(id)).collect();
    let unknown = || {
        let numbered = inner.ids().iter().zip(&numbers);
        numbered
            .filter(|(_, number)| number.is_none())
            .map(|(id, _)| id)
    };
    if let Some(first) = unknown().next() {
        let (count, all) = (unknown().count(), inner.ids().len());
        if count == all {
            let message =
                format!("expected vectors of documents of the collection, found {first:?}");
            return Err(SystemError::parameter("vectors", message));
        }
        context.observer.warning(&format!(
            "{path}: {count} of {all} vectors are left out, of documents that the collection \
             lacks, such as {first:?}"
        ));
    }
    for (id, number) in inner.ids().iter().zip(&mut numbers) {
        if blank.contains(id) {
            *number = None;
        }
    }
    let all_are_known = numbers.iter().all(Option::is_some);
    Ok(OpenSystem::new(Arc::new(Renumbered {
        inner,
        ids: known.clone(),
        numbers,
        all_are_known,
    })))
}

/// Maps a retriever to the document numbers of the data. Documents without a number are dropped.
struct Renumbered {
    inner: SharedRetriever,
    ids: DocIds,
    numbers: Vec<Option<DocNum>>,
    /// If `true`, every document has a number.
    all_are_known: bool,
}

impl Renumbered {
    fn number(&self, doc: DocNum) -> Option<DocNum> {
        self.numbers.get(doc.index()).copied().flatten()
    }
}

impl Retriever for Renumbered {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let filters = queries.iter().map(|&(_, how)| {
            move |doc: DocNum| self.number(doc).is_some_and(|doc| how.allows(doc))
        });
        let filters: Vec<_> = filters.collect();
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .zip(&filters)
            .map(|((query, how), filter)| match how.filter() {
                None if self.all_are_known => (*query, Search::top(how.k())),
                _ => (*query, Search::top(how.k()).within(filter)),
            })
            .collect();
        let rankings = self.inner.search_batch(&batch)?;
        let renumbered = rankings.into_iter().map(|ranking| {
            let hits = ranking
                .iter()
                .filter_map(|hit| Some(Hit::new(self.number(hit.doc)?, hit.score)));
            Ranking::from_hits(hits.collect())
        });
        renumbered.collect()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if doc.index() >= self.ids.len() || !search.allows(doc) {
            return Ok(None);
        }
        let filter = move |inner: DocNum| self.number(inner).is_some_and(|doc| search.allows(doc));
        let within = Search::top(search.k()).within(&filter);
        let mut of_id = self.inner.ids().all(self.ids.id(doc));
        of_id
            .find_map(|inner| self.inner.explain(query, inner, &within).transpose())
            .transpose()
    }
}
