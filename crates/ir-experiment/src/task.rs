//! Data of a task: documents, test queries and training queries.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use ir_core::{Corpus, DocIds, Document, Query, YearCheck, Years};
use ir_data::{Collection, ColumnarFormat, InMemoryJudgedQueries, parse_qrels_any, read_qrels_any};
use ir_eval::Rules;
use ir_knn::TrainingQuery;
use ir_system::systems::RUN;
use ir_system::{
    FilterName, Observer, SourceMap, SpecError, SystemData, SystemError, TrainingSet, TrecFile,
    TrecFileError, open_named,
};

use crate::best_record::years_of_records;
use crate::data_error::data_error;
use crate::documents::Documents;
use crate::file::{Experiment, QuerySet, TaskEntry};
use crate::queries::{JudgedSet, QueryText, judged, set_form, warn_of_operators};

/// Data of a task.
pub struct TaskData {
    pub(crate) name: String,
    entry: TaskEntry,
    pub(crate) documents: Arc<Documents>,
    pub(crate) test: JudgedSet,
    pub(crate) training: Option<TrainingSet>,
}

impl std::fmt::Debug for TaskData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskData")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl TaskData {
    /// Opens the collection of a task, and reads and hashes all its documents and queries.
    /// `shared` are the documents of another task, if both tasks have the same documents.
    pub(crate) fn open(
        experiment: &Experiment,
        n: usize,
        shared: Option<Arc<Documents>>,
        observer: &mut dyn Observer,
    ) -> Result<Self, SpecError> {
        let (entry, source) = (&experiment.tasks[n], &experiment.source);
        let at = format!("tasks[{n}]");
        let key = match &entry.qrels {
            Some(_) => format!("{at}.qrels"),
            None => format!("{at}.collection"),
        };
        let collection = match &shared {
            Some(documents) => documents.collection.clone(),
            None => {
                let collection = match &entry.qrels {
                    Some(qrels) => open_qrels(source, &key, entry, qrels, observer)?,
                    None => open_collection(source, &key, &entry.collection)?,
                };
                for note in collection.notes() {
                    observer.note(&format!("{}: {note}", collection.name()));
                }
                Arc::new(collection)
            }
        };
        let test = judged(&collection, &entry.split, QueryText::of_task(entry))
            .map_err(|error| data_error(source, &format!("{at}.split"), error))?;
        QueryText::of_task(entry)
            .check(&test.queries)
            .map_err(|(key, message)| source.error(&format!("{at}.{key}"), message))?;
        let training = match &entry.training {
            None => None,
            Some(set) => Some(training_set(
                source,
                &format!("{at}.training"),
                entry,
                &collection,
                set,
                observer,
            )?),
        };
        let documents = match shared {
            Some(documents) => documents,
            None => {
                let conditions = experiment.conditions();
                let of_the_task = (entry, experiment.document_order(entry));
                let at = (source, key.as_str());
                let read = Documents::read(of_the_task, collection, &conditions, at, observer)?;
                Arc::new(read)
            }
        };
        let data = Self {
            name: entry.name(),
            entry: entry.clone(),
            documents,
            test,
            training,
        };
        data.check_time_filter(experiment, observer);
        warn_of_operators(entry, &data.test.queries, &experiment.systems, observer);
        data.check_training(observer);
        Ok(data)
    }

    /// Warns about training queries that have the text of a test query. Different queries often
    /// have the same attributes, such as keyphrases, which are not compared.
    fn check_training(&self, observer: &mut dyn Observer) {
        if !matches!(QueryText::of_task(&self.entry), QueryText::Text) {
            return;
        }
        let test = self.test.queries.iter().map(|query| query.text.trim());
        let test: HashSet<&str> = test.filter(|text| !text.is_empty()).collect();
        let training = self.training.iter().flat_map(|set| &set.queries);
        let (mut all, mut same) = (0, 0);
        for query in training {
            all += 1;
            same += usize::from(test.contains(query.text.trim()));
        }
        if same > 0 {
            observer.warning(&format!(
                "{}: {same} of the {all} training queries have the text of a test query",
                self.name
            ));
        }
    }

    /// Warns about documents and queries with an invalid year, and about a time filter that no
    /// document or no query has a year for.
    fn check_time_filter(&self, experiment: &Experiment, observer: &mut dyn Observer) {
        let filters = (experiment.systems.iter())
            .filter(|system| self.entry.shows(system) && system.kind != RUN)
            .map(|system| experiment.filter(&self.entry, system));
        if filters.into_iter().all(|filter| filter == FilterName::None) {
            return;
        }
        let documents = &self.documents.year_check;
        let queries = self.test.queries.iter();
        let queries: YearCheck = queries.map(|query| &query.attributes).collect();
        let documents = documents.warnings(["document", "documents"]);
        for warning in documents
            .iter()
            .chain(&queries.warnings(["query", "queries"]))
        {
            observer.warning(&format!("{}: {warning}", self.name));
        }
    }

    /// Returns the year of each document, in the order of the task.
    #[must_use]
    pub fn years(&self) -> Years {
        self.documents.years.iter().copied().collect()
    }

    /// Returns the years of other document numbers. An id has the year of its first document.
    #[must_use]
    pub fn years_of(&self, ids: &DocIds) -> Years {
        self.documents.years_of(ids)
    }

    /// Returns the years of other document numbers. Each number has the year of its own record.
    ///
    /// # Errors
    /// Some records of an id are missing in `ids`, and its records differ in their years.
    pub(crate) fn years_of_records(&self, ids: &DocIds) -> Result<Years, SystemError> {
        let (all, years) = (&self.documents.ids, &self.documents.years);
        let years = years_of_records(all, years, ids);
        years.map_err(|message| SystemError::parameter("filter", message))
    }

    pub(crate) const fn entry(&self) -> &TaskEntry {
        &self.entry
    }

    /// Evaluation rules of the task.
    pub(crate) fn rules(&self, experiment: &Experiment) -> Rules {
        self.entry.rules.unwrap_or(experiment.rules)
    }

    /// Queries of another split of the collection, in the form of the test queries.
    /// `key` names the split in errors.
    pub(crate) fn split(
        &self,
        source: &SourceMap,
        key: &str,
        split: &str,
    ) -> Result<JudgedSet, SpecError> {
        let text = QueryText::of_task(&self.entry);
        let judged = judged(&self.documents.collection, split, text);
        let judged = judged.map_err(|error| data_error(source, key, error))?;
        let checked = text.check(&judged.queries);
        checked.map_err(|(_, message)| source.error(key, message))?;
        Ok(judged)
    }
}

impl SystemData for TaskData {
    fn name(&self) -> &str {
        &self.name
    }

    fn corpus(&self) -> &dyn Corpus {
        self.documents.corpus()
    }

    fn ids(&self) -> &DocIds {
        &self.documents.ids
    }

    fn corpus_hash(&self) -> &str {
        &self.documents.hash
    }

    fn attributes(&self) -> &BTreeSet<String> {
        &self.documents.attributes
    }

    fn collection(&self) -> Option<&Collection> {
        Some(&self.documents.collection)
    }

    fn queries(&self) -> &[Query] {
        &self.test.queries
    }

    fn all_queries(&self) -> Result<Vec<Query>, SystemError> {
        let queries = self.documents.collection.all_queries();
        let mut queries = queries.map_err(SystemError::stage("reading queries"))?;
        set_form(&mut queries, QueryText::of_task(&self.entry));
        Ok(queries)
    }

    fn split(&self) -> &str {
        &self.entry.split
    }

    fn text_of(&self, query: &Query) -> String {
        QueryText::of_task(&self.entry).of(query)
    }
}

fn training_set(
    source: &SourceMap,
    at: &str,
    task: &TaskEntry,
    collection: &Collection,
    set: &QuerySet,
    observer: &mut dyn Observer,
) -> Result<TrainingSet, SpecError> {
    let other = set
        .collection
        .as_ref()
        .map(|name| open_collection(source, &format!("{at}.collection"), name));
    let other = other.transpose()?;
    let collection = other.as_ref().unwrap_or(collection);
    let text = match &set.query {
        Some(name) => QueryText::Attribute(name),
        None => QueryText::of_task(task),
    };
    let labeled = judged(collection, &set.split, text)
        .map_err(|error| data_error(source, &format!("{at}.split"), error))?;
    text.check(&labeled.queries).map_err(|(_, message)| {
        let key = if set.query.is_some() {
            "query"
        } else {
            "split"
        };
        source.error(&format!("{at}.{key}"), message)
    })?;
    let left_out = collection.left_out_note(&set.split);
    let left_out = left_out.map_err(|error| data_error(source, &format!("{at}.split"), error))?;
    if let Some(note) = left_out {
        observer.note(&format!("{}: {note}", collection.name()));
    }
    let mut queries = TrainingQuery::from_qrels(&labeled.queries, &labeled.qrels);
    let order = collection.relevant_in_file_order(&set.split);
    let order = order.map_err(|error| data_error(source, &format!("{at}.split"), error))?;
    for query in &mut queries {
        if let Some(listed) = order.get(&query.id) {
            let position = |doc: &String| listed.iter().position(|found| found == doc);
            (query.relevant).sort_by_cached_key(|doc| position(doc).unwrap_or(usize::MAX));
        }
    }
    Ok(TrainingSet::new(queries))
}

/// Collection of the judged queries of a qrels file in any format, without documents and texts.
fn open_qrels(
    source: &SourceMap,
    key: &str,
    entry: &TaskEntry,
    file: &TrecFile,
    observer: &mut dyn Observer,
) -> Result<Collection, SpecError> {
    let path = source.existing_file(key, &file.file);
    let path = path.map_err(|error| match error {
        SystemError::Parameter { message, .. } => source.error(key, message),
        other => source.located(key, other),
    })?;
    let failed = |error: TrecFileError| SpecError::Stage {
        location: source.location(key),
        key: key.to_owned(),
        stage: "reading".to_owned(),
        source: error.into(),
    };
    let name = path.display().to_string();
    let columnar = ColumnarFormat::detect(&path).map_err(|error| failed(error.into()))?;
    let parsed = if columnar.is_some() {
        read_qrels_any(&path, file.header_line())
    } else {
        let bytes = file.read(&path).map_err(failed)?;
        parse_qrels_any(&bytes[..], &name, file.header_line())
    };
    let parsed = parsed.map_err(|error| failed(error.into()))?;
    for warning in &parsed.warnings {
        observer.warning(&warning.to_string());
    }
    let queries = parsed.data.iter().map(|(query, _)| Query::new(query, ""));
    let judged = InMemoryJudgedQueries {
        queries: queries.collect(),
        qrels: [(entry.split.clone(), parsed.data.clone())].into(),
    };
    Ok(Collection::new(name, Vec::<Document>::new(), judged))
}

/// Opens a collection of the catalog by name, or a folder by path.
pub(crate) fn open_collection(
    source: &SourceMap,
    key: &str,
    name: &str,
) -> Result<Collection, SpecError> {
    let opened = open_named(name, || source.resolve(key, name));
    let opened = opened.map_err(|error| source.located(key, error))?;
    opened.map_err(|error| data_error(source, key, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;

    use ir_core::{Flow, Progress, Qrels};
    use ir_data::{DataError, JudgedQueries};

    use super::*;

    /// One training query; another is left out.
    struct OneLeftOut;

    impl JudgedQueries for OneLeftOut {
        fn source(&self) -> String {
            "memory".to_owned()
        }

        fn splits(&self) -> Vec<String> {
            vec!["train".to_owned()]
        }

        fn all_queries(&self) -> Result<Vec<Query>, DataError> {
            Ok(vec![Query::new("q", "tea")])
        }

        fn qrels(&self, _: &str) -> Result<Qrels, DataError> {
            let mut qrels = Qrels::new();
            qrels.insert("q", "d", 1);
            qrels.insert("q", "e", 1);
            Ok(qrels)
        }

        fn left_out(&self, _: &str) -> Result<u64, DataError> {
            Ok(1)
        }

        fn relevant_in_file_order(
            &self,
            _: &str,
        ) -> Result<HashMap<String, Vec<String>>, DataError> {
            Ok([("q".to_owned(), vec!["e".to_owned(), "d".to_owned()])].into())
        }
    }

    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Progress for Notes {
        fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
            Flow::Continue
        }
    }

    impl Observer for Notes {
        fn note(&mut self, note: &str) {
            self.0.push(note.to_owned());
        }
    }

    #[test]
    fn training_queries_that_a_split_leaves_out_are_noted() {
        let collection = Collection::new("c", Vec::<Document>::new(), OneLeftOut);
        let (source, entry) = (SourceMap::default(), TaskEntry::new("c"));
        let set = QuerySet {
            collection: None,
            split: "train".to_owned(),
            query: None,
        };
        let mut notes = Notes::default();
        let training = training_set(&source, "at", &entry, &collection, &set, &mut notes).unwrap();
        assert_eq!(training.queries.len(), 1);
        // The order of the file.
        assert_eq!(training.queries[0].relevant, ["e", "d"]);
        assert_eq!(
            notes.0,
            ["c: 1 query of split train left out: equal to a test query"]
        );
    }
}
