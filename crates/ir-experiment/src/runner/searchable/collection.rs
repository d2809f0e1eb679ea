//! Collections and queries of a search: the queries need no judgments.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocIds, DocReader, Qrels, Query, Skipped};
use ir_data::{Collection, DataError, JudgedQueries};
use ir_system::{SystemData, SystemError};

use crate::task::TaskData;

/// Collection that has a split, with no queries if it is a new one.
pub(super) fn with_split(collection: Collection, split: &str) -> Collection {
    if collection.splits().iter().any(|known| known == split) {
        return collection;
    }
    let collection = Arc::new(collection);
    let judged = WithSplit {
        collection: collection.clone(),
        split: split.to_owned(),
    };
    Collection::new(collection.name(), DocumentsOf(collection.clone()), judged)
}

/// Queries of a collection, and a split without queries.
struct WithSplit {
    collection: Arc<Collection>,
    split: String,
}

impl JudgedQueries for WithSplit {
    fn source(&self) -> String {
        self.collection.name().to_owned()
    }

    fn splits(&self) -> Vec<String> {
        self.collection.splits()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        self.collection.all_queries()
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        if split == self.split {
            return Ok(Qrels::new());
        }
        self.collection.qrels(split)
    }

    fn relevant_in_file_order(
        &self,
        split: &str,
    ) -> Result<HashMap<String, Vec<String>>, DataError> {
        if split == self.split {
            return Ok(HashMap::new());
        }
        self.collection.relevant_in_file_order(split)
    }
}

/// Documents of a collection.
struct DocumentsOf(Arc<Collection>);

impl Corpus for DocumentsOf {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        self.0.corpus().open()
    }

    fn len_hint(&self) -> Option<u64> {
        self.0.corpus().len_hint()
    }

    fn skipped(&self) -> Skipped {
        self.0.corpus().skipped()
    }
}

/// Data of a task with the queries of a search in place of the test queries.
pub(super) struct SearchedQueries<'a> {
    pub(super) task: &'a TaskData,
    pub(super) queries: &'a [Query],
}

impl SystemData for SearchedQueries<'_> {
    fn name(&self) -> &str {
        self.task.name()
    }

    fn corpus(&self) -> &dyn Corpus {
        self.task.corpus()
    }

    fn ids(&self) -> &DocIds {
        self.task.ids()
    }

    fn corpus_hash(&self) -> &str {
        self.task.corpus_hash()
    }

    fn attributes(&self) -> &BTreeSet<String> {
        self.task.attributes()
    }

    fn collection(&self) -> Option<&Collection> {
        self.task.collection()
    }

    fn queries(&self) -> &[Query] {
        self.queries
    }

    /// The queries of the search, after the queries of the collection that systems may learn from.
    fn all_queries(&self) -> Result<Vec<Query>, SystemError> {
        let mut all = match self.task.training {
            None => Vec::new(),
            Some(_) => self.task.all_queries()?,
        };
        let searched: HashSet<&str> = self.queries.iter().map(|it| it.id.as_str()).collect();
        all.retain(|query| !searched.contains(query.id.as_str()));
        all.extend_from_slice(self.queries);
        Ok(all)
    }

    fn split(&self) -> &str {
        SystemData::split(self.task)
    }

    fn text_of(&self, query: &Query) -> String {
        self.task.text_of(query)
    }
}
