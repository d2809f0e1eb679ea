//! Queries of a task: their texts, judgments, and the labeled training queries.

use std::collections::HashSet;

use ir_core::{Qrels, Query};
use ir_data::{Collection, DataError};
use ir_studies::datafinder::keyphrase_query;
use ir_system::{ContentHash, Observer, SystemEntry, TrainingSet, unknown_query_attribute};

use crate::file::TaskEntry;

/// Queries with judgments, and the hash of everything that a search depends on.
#[derive(Debug, Clone)]
pub(crate) struct JudgedSet {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
    pub(crate) hash: String,
}

impl JudgedSet {
    pub(crate) fn new(queries: Vec<Query>, qrels: Qrels) -> Self {
        let mut hash = ContentHash::default();
        for query in &queries {
            hash.text(&query.id).text(&query.text);
            hash.number(query.attributes.year().unwrap_or(i64::MIN));
        }
        Self {
            queries,
            qrels,
            hash: hash.finish(),
        }
    }

    /// Queries that `keep` accepts, and their judgments.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&Query) -> bool) -> Self {
        let queries: Vec<Query> = self.queries.iter().filter(|it| keep(it)).cloned().collect();
        let mut qrels = Qrels::new();
        for query in &queries {
            for (doc, grade) in self.qrels.get(&query.id).into_iter().flatten() {
                qrels.insert(&query.id, doc, grade);
            }
        }
        Self::new(queries, qrels)
    }
}

/// Training queries, except queries with a text in `texts`.
pub(crate) fn without_texts(set: &TrainingSet, texts: &HashSet<&str>) -> TrainingSet {
    let kept = set.queries.iter();
    let kept = kept.filter(|query| !texts.contains(query.text.trim()));
    TrainingSet::new(kept.cloned().collect())
}

/// Source of the text of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QueryText<'a> {
    /// Text of the collection.
    Text,
    Attribute(&'a str),
    /// Attributes, joined as a keyphrase query.
    Fields(&'a [String]),
}

impl<'a> QueryText<'a> {
    pub(crate) fn of_task(entry: &'a TaskEntry) -> Self {
        match (&entry.query_fields, &entry.query) {
            (Some(fields), _) => Self::Fields(fields),
            (None, Some(name)) => Self::Attribute(name),
            (None, None) => Self::Text,
        }
    }

    /// Checks that queries have the attributes. The error is a key of a task and a message.
    pub(crate) fn check(self, queries: &[Query]) -> Result<(), (String, String)> {
        let checked = |key: String, name: &str| match unknown_query_attribute(queries, name) {
            Some(message) => Err((key, message)),
            None => Ok(()),
        };
        match self {
            Self::Text => Ok(()),
            Self::Attribute(name) => checked("query".to_owned(), name),
            Self::Fields(names) => (names.iter().enumerate())
                .try_for_each(|(n, name)| checked(format!("query_fields[{n}]"), name)),
        }
    }

    pub(crate) fn of(self, query: &Query) -> String {
        let attribute = |name: &'_ str| query.attributes.text(name);
        match self {
            Self::Text => query.text.clone(),
            Self::Attribute(name) => attribute(name).unwrap_or_default().to_owned(),
            Self::Fields(fields) => {
                keyphrase_query(fields.iter().filter_map(|name| attribute(name)))
            }
        }
    }
}

/// Warns about queries with operators of Indri that a system of the type `bm25` searches as text.
pub(crate) fn warn_of_operators(
    task: &TaskEntry,
    queries: &[Query],
    systems: &[SystemEntry],
    observer: &mut dyn Observer,
) {
    // A hidden system may be a part of one of the task.
    let as_text = |system: &&SystemEntry| {
        let has_syntax = [&system.parameters, &system.grid]
            .iter()
            .any(|keys| keys.contains_key("syntax"));
        system.kind == "bm25" && (system.hidden || task.shows(system)) && !has_syntax
    };
    let Some(system) = systems.iter().find(as_text) else {
        return;
    };
    if let Some(query) = queries.iter().find(|query| has_operator(&query.text)) {
        observer.warning(&format!(
            "{}: query {:?}: operators of Indri are searched as text by {:?} (syntax = \"indri\" \
             reads them)",
            task.name(),
            query.id,
            system.name
        ));
    }
}

/// Returns `true` if a text starts with an operator of Indri, such as `#weight(`, or with
/// `weight(`.
fn has_operator(text: &str) -> bool {
    let text = text.trim_start();
    let Some((name, _)) = text.split_once('(') else {
        return false;
    };
    match name.trim_end().strip_prefix('#') {
        Some(name) => !name.is_empty() && name.chars().all(char::is_alphanumeric),
        None => name == "weight",
    }
}

/// Reads the judged queries of a split.
pub(crate) fn judged(
    collection: &Collection,
    split: &str,
    text: QueryText<'_>,
) -> Result<JudgedSet, DataError> {
    let qrels = collection.qrels(split)?;
    let mut queries = collection.queries(split)?;
    set_form(&mut queries, text);
    Ok(JudgedSet::new(queries, qrels))
}

/// Replaces the texts of queries.
pub(crate) fn set_form(queries: &mut [Query], text: QueryText<'_>) {
    for query in queries {
        query.text = text.of(query);
    }
}
