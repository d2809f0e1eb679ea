//! The documents that are searched: ids, years, attributes and the conditions of the systems.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use ir_core::{
    Attributes, ConditionCheck, Corpus, DocFilter, DocIds, DocNum, DocSet, Document, Flow,
    Predicate, YearCheck, Years,
};
use ir_data::Collection;
use ir_studies::datafinder::lexicographic_row_order;
use ir_system::{ContentHash, DocumentOrder, Observer, SourceMap, SpecError};

use crate::data_error::data_error;
use crate::file::TaskEntry;
use crate::suggest::did_you_mean;

/// Documents of a task. Consecutive tasks with the same documents share them.
pub(crate) struct Documents {
    /// Collection as the file names it.
    name: String,
    order: DocumentOrder,
    pub(crate) collection: Arc<Collection>,
    /// Documents in another order than in the collection.
    reordered: Option<Vec<Document>>,
    /// Id and year of each document, in order.
    pub(crate) ids: DocIds,
    pub(crate) years: Vec<Option<i64>>,
    /// Count of the attributes `year` that are no years.
    pub(crate) year_check: YearCheck,
    /// Names of the attributes that some document has.
    pub(crate) attributes: BTreeSet<String>,
    /// Conditions of the systems, with the documents that satisfy them.
    passing: Vec<(Predicate, DocSet)>,
    /// Hash of all documents, in order.
    pub(crate) hash: String,
    /// Year of the first document with an id.
    year_by_id: OnceLock<HashMap<String, Option<i64>>>,
    has_unique_ids: OnceLock<bool>,
}

impl Documents {
    /// Returns `true` if a task has these documents, in this order.
    pub(crate) fn are_of(&self, entry: &TaskEntry, order: DocumentOrder) -> bool {
        entry.qrels.is_none() && self.name == entry.collection && self.order == order
    }

    /// Reads all documents once: ids, years, conditions (with their keys), hash.
    pub(crate) fn read(
        (entry, order): (&TaskEntry, DocumentOrder),
        collection: Arc<Collection>,
        conditions: &[(String, &Predicate)],
        (source, key): (&SourceMap, &str),
        observer: &mut dyn Observer,
    ) -> Result<Self, SpecError> {
        let error = |error: ir_core::CorpusError| data_error(source, key, error.into());
        let reordered = match order {
            DocumentOrder::Collection => None,
            DocumentOrder::LexicographicRow => {
                Some(lexicographic_row_order(collection.corpus()).map_err(error)?)
            }
        };
        let mut documents = Self {
            name: entry.collection.clone(),
            order,
            collection,
            reordered,
            ids: DocIds::new(),
            years: Vec::new(),
            year_check: YearCheck::default(),
            attributes: BTreeSet::new(),
            passing: Vec::new(),
            hash: String::new(),
            year_by_id: OnceLock::new(),
            has_unique_ids: OnceLock::new(),
        };
        let mut hash = ContentHash::default();
        let mut passing: Vec<_> = (conditions.iter())
            .map(|(_, condition)| ((*condition).clone(), DocSet::new()))
            .collect();
        let (mut ids, mut years) = (DocIds::new(), Vec::new());
        let mut year_check = YearCheck::default();
        let tests = conditions.iter();
        let mut checks: Vec<_> = tests
            .map(|(_, condition)| ConditionCheck::new([*condition]))
            .collect();
        let mut names = BTreeSet::new();
        let corpus = documents.corpus();
        let mut reader = corpus.open().map_err(error)?;
        let mut doc = Document::default();
        while reader.read(&mut doc).map_err(error)? {
            hash.text(&doc.id).text(&doc.title).text(&doc.text);
            // Attributes are sorted by name.
            let attributes = serde_json::to_string(&doc.attributes).unwrap_or_default();
            hash.text(&attributes);
            for (name, _) in doc.attributes.iter() {
                if !names.contains(name) {
                    names.insert(name.to_owned());
                }
            }
            years.push(doc.attributes.year());
            year_check.add(&doc.attributes);
            for check in &mut checks {
                check.add(&doc.attributes);
            }
            let pushed = ids.push(&doc.id);
            let number = pushed.map_err(|found| source.error(key, found.to_string()))?;
            for (condition, documents) in &mut passing {
                if condition.matches(&doc.attributes) {
                    documents.insert(number);
                }
            }
            let done = years.len() as u64;
            if done.is_multiple_of(1024)
                && observer.report("reading", done, corpus.len_hint()) == Flow::Stop
            {
                return Err(SpecError::Canceled);
            }
        }
        drop(reader);
        documents.hash = hash.finish();
        documents.passing = passing;
        documents.attributes = names;
        documents.year_check = year_check;
        (documents.ids, documents.years) = (ids, years);
        let hint = |name: &str, known: &BTreeSet<String>| {
            did_you_mean(name, known.iter().map(String::as_str))
        };
        for ((key, _), check) in conditions.iter().zip(&checks) {
            for warning in check.warnings(hint) {
                observer.warning(&format!("{key}: {}: {warning}", entry.name()));
            }
        }
        Ok(documents)
    }

    /// Documents in the order of the task.
    pub(crate) fn corpus(&self) -> &dyn Corpus {
        match &self.reordered {
            None => self.collection.corpus(),
            Some(documents) => documents,
        }
    }

    /// Years of other document numbers. An id has the year of its first document.
    pub(crate) fn years_of(&self, ids: &DocIds) -> Years {
        let by_id = self.year_by_id.get_or_init(|| {
            let mut by_id = HashMap::new();
            for (id, year) in self.ids.iter().zip(&self.years) {
                by_id.entry(id.to_owned()).or_insert(*year);
            }
            by_id
        });
        ids.iter()
            .map(|id| by_id.get(id).copied().flatten())
            .collect()
    }

    /// Years of other document numbers. An id has the year of its last document.
    pub(crate) fn years_of_last(&self, ids: &DocIds) -> Years {
        let years = self.ids.iter().zip(self.years.iter().copied());
        let by_id: HashMap<&str, Option<i64>> = years.collect();
        let years = ids.iter().map(|id| by_id.get(id).copied().flatten());
        years.collect()
    }

    /// Returns `true` if no two documents share an id: then a set of ids has the documents of a
    /// condition.
    pub(crate) fn has_unique_ids(&self) -> bool {
        let check = || self.ids.check_unique().is_ok();
        *self.has_unique_ids.get_or_init(check)
    }

    /// Condition on attributes that is equivalent to a time filter of [`Self::years_of`]; `None` if
    /// ids repeat, or an attribute is no year.
    pub(crate) fn year_condition(&self, limit: Option<i64>) -> Option<Predicate> {
        let condition = match limit {
            Some(limit) => Predicate::AtMost {
                name: Attributes::YEAR.to_owned(),
                limit: limit.into(),
                strict: false,
            },
            None => Predicate::All(Vec::new()),
        };
        (self.year_check.invalid() == 0 && self.has_unique_ids()).then_some(condition)
    }

    /// Documents of other numbers that satisfy a condition of the systems.
    pub(crate) fn passing(&self, condition: &Predicate, ids: &DocIds) -> Option<DocSet> {
        let mut known = self.passing.iter();
        let (_, passing) = known.find(|(known, _)| known == condition)?;
        let numbered = (0..).map(DocNum::new).zip(self.records(ids));
        let kept = numbered.filter(|(_, record)| record.is_some_and(|it| passing.contains(it)));
        Some(kept.map(|(doc, _)| doc).collect())
    }

    /// The document of each of other numbers. Where an id repeats in `ids`, its first number is its
    /// first document, its second number the second, and so on.
    pub(crate) fn records<'a>(
        &'a self,
        ids: &'a DocIds,
    ) -> impl Iterator<Item = Option<DocNum>> + 'a {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        ids.iter().map(move |id| {
            let before = seen.entry(id).or_default();
            let record = self.ids.all(id).nth(*before);
            *before += 1;
            record
        })
    }
}
