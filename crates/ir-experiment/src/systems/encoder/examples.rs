//! Training examples of an encoder: labeled queries of a split, with hard negatives by BM25.

use std::collections::HashSet;
use std::sync::Arc;

use ir_core::training::mining::MiningQuery;
use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
use ir_core::{Distinct, DocNum, Flow, Qrels, Query, Retriever};
use ir_data::training::{DocumentTexts, JudgedTrainingSet, OnInvalidExample};
use ir_data::{DataError, DocTemplate};

use super::TrainingEntry;
use crate::error::{ExperimentError, SystemError};
use crate::hash::ContentHash;
use crate::suggest::did_you_mean;
use crate::system::SystemContext;

/// Number of queries that are mined between two progress reports.
const BATCH: usize = 128;

/// Name of the query form that is the query text.
const TEXT: &str = "text";

/// Queries of a split, and the forms in which they are used.
pub(super) struct SplitQueries {
    queries: Vec<Query>,
    qrels: Qrels,
    /// Attribute of each form; `None` is the query text.
    forms: Vec<Option<String>>,
}

impl SplitQueries {
    /// Reads the queries of a split. `table` is the key of the table that names split and forms.
    pub(super) fn read(
        context: &SystemContext<'_>,
        table: &str,
        split: &str,
        forms: Option<&[String]>,
    ) -> Result<Self, SystemError> {
        let task = context.task();
        if split == task.test_split() {
            let message =
                format!("expected a split other than that of the test queries, found {split:?}");
            return Err(SystemError::parameter(format!("{table}.split"), message));
        }
        let failed = |error: DataError| match &error {
            DataError::UnknownSplit { split, known, .. } => {
                let hint = did_you_mean(split, known.iter().map(String::as_str));
                SystemError::parameter(format!("{table}.split"), format!("{error}{hint}"))
            }
            _ => SystemError::stage("reading training queries")(error),
        };
        let queries = task.collection().queries(split).map_err(failed)?;
        let qrels = task.collection().qrels(split).map_err(failed)?;
        let forms = match forms {
            None => vec![task.query_form().map(str::to_owned)],
            Some(forms) => {
                let form = |form: &String| (form != TEXT).then(|| form.clone());
                forms.iter().map(form).collect()
            }
        };
        for (n, form) in forms.iter().enumerate() {
            let Some(name) = form else { continue };
            if !queries
                .iter()
                .any(|query| query.attributes.text(name).is_some())
            {
                let message = format!(
                    "expected {TEXT:?} or an attribute of the queries of split {split:?}, found \
                     {name:?}"
                );
                return Err(SystemError::parameter(
                    format!("{table}.queries[{n}]"),
                    message,
                ));
            }
        }
        Ok(Self {
            queries,
            qrels,
            forms,
        })
    }

    /// Texts of all queries in all forms.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().flat_map(|form| {
            let text = move |query| text(query, form.as_deref());
            self.queries.iter().map(text)
        })
    }

    pub(super) fn hash(&self, hash: &mut ContentHash) {
        for text in self.texts() {
            hash.text(text);
        }
        for query in &self.queries {
            hash.text(&query.id);
            for (doc, grade) in self.qrels.get(&query.id).into_iter().flatten() {
                hash.text(doc).number(grade);
            }
        }
    }

    /// Removes validation queries, by id if they are of the same split, and by text.
    pub(super) fn remove_validation(&mut self, context: &SystemContext<'_>, split: &str) {
        let Some(validation) = context.validation else {
            return;
        };
        let queries = validation.set.queries.iter();
        let texts: HashSet<&str> = queries.clone().map(|query| query.text.trim()).collect();
        let ids: HashSet<&str> = queries.map(|query| query.id.as_str()).collect();
        let same_split = validation.split == split;
        let forms = &self.forms;
        self.queries.retain(|query| {
            let mut forms = forms.iter().map(|form| text(query, form.as_deref()));
            let is_validation = same_split && ids.contains(query.id.as_str());
            !is_validation && !forms.any(|text| texts.contains(text.trim()))
        });
    }
}

/// Text of a query in a form.
fn text<'q>(query: &'q Query, form: Option<&str>) -> &'q str {
    match form {
        None => &query.text,
        Some(name) => query.attributes.text(name).unwrap_or_default(),
    }
}

/// Training examples of an entry, with hard negatives.
pub(super) fn examples(
    context: &mut SystemContext<'_>,
    entry: &TrainingEntry,
    template: &DocTemplate,
    labeled: &SplitQueries,
) -> Result<Vec<TrainingExample>, SystemError> {
    let failed = |error: DataError| SystemError::stage("reading training examples")(error);
    let task = context.task;
    let texts = DocumentTexts::from_corpus(task.corpus(), template).map_err(failed)?;
    let texts = Arc::new(texts);
    let (split, invalid) = (&entry.split, OnInvalidExample::Skip);
    let set = JudgedTrainingSet::from_split(task.collection(), split, texts.clone(), invalid);
    let set = set.map_err(failed)?;
    let mut examples = Vec::new();
    for form in &labeled.forms {
        // Both are in the order of the split.
        let mut queries = labeled.queries.iter();
        for n in 0..set.len() {
            let example = set
                .get(n)
                .map_err(SystemError::stage("reading training examples"))?;
            let is_example = |query: &&Query| Some(&query.id) == example.query_id.as_ref();
            let mut rest = queries.clone();
            let Some(query) = rest.find(is_example) else {
                continue;
            };
            queries = rest;
            examples.push(TrainingExample {
                query: text(query, form.as_deref()).to_owned(),
                ..example
            });
        }
    }
    add_negatives(context, entry, &texts, &mut examples)?;
    if entry.titles {
        for doc in task.corpus().docs().map_err(corpus_error)? {
            let doc = doc.map_err(corpus_error)?;
            let positive = TrainingText::new(&doc.text).with_id(&doc.id);
            examples.push(TrainingExample::new(&doc.title).positive(positive));
        }
        // Documents without title or text.
        examples.retain(|example| !example.query.trim().is_empty());
    }
    let all = examples.len();
    examples.retain(|example| example.check().is_ok());
    let skipped = set.skipped().len() + all - examples.len();
    if skipped > 0 {
        let note = format!(
            "{}: {skipped} training examples or documents of split {split} are left out: unknown \
             or empty texts",
            task.name()
        );
        context.observer().note(&note);
    }
    let tests: HashSet<&str> = task
        .queries()
        .iter()
        .map(|query| query.text.trim())
        .collect();
    let repeated = examples
        .iter()
        .filter(|example| tests.contains(example.query.trim()));
    let repeated = repeated.count();
    if repeated > 0 {
        let note = format!(
            "{}: {repeated} training examples are test queries",
            task.name()
        );
        context.observer().note(&note);
    }
    Ok(examples)
}

fn corpus_error(error: ir_core::CorpusError) -> SystemError {
    SystemError::stage("reading documents")(error)
}

/// Adds mined hard negatives to each example.
fn add_negatives(
    context: &mut SystemContext<'_>,
    entry: &TrainingEntry,
    texts: &DocumentTexts,
    examples: &mut [TrainingExample],
) -> Result<(), SystemError> {
    if !entry.mining.is_needed() {
        return Ok(());
    }
    let mining = entry.mining.config();
    let bm25 = &entry.mining.bm25;
    let index = context.index(&bm25.index_config(), bm25.template()?.as_ref())?;
    let searcher = index.searcher(entry.mining.bm25.parameters());
    let bm25 = Distinct(searcher.map_err(SystemError::stage("opening the index"))?);
    let ids = bm25.ids();
    let text_of = |doc: DocNum| texts.get(ids.id(doc)).map(|(_, text)| text);
    let total = examples.len() as u64;
    for (start, batch) in (0..).step_by(BATCH).zip(examples.chunks_mut(BATCH)) {
        if context.observer.report("mining", start, Some(total)) == Flow::Stop {
            return Err(ExperimentError::Canceled.into());
        }
        let positives = batch.iter().map(|example| {
            let ids = example.positives.iter();
            ids.filter_map(|text| text.id.as_deref()).collect()
        });
        let positives: Vec<Vec<&str>> = positives.collect();
        let queries = batch.iter().zip(&positives);
        let queries: Vec<MiningQuery<'_>> = queries
            .map(|(example, positives)| MiningQuery {
                text: &example.query,
                positives,
                within: None,
            })
            .collect();
        let mined = mining.mine(&bm25, &queries, &text_of);
        let mined = mined.map_err(SystemError::stage("mining"))?;
        for (example, mined) in batch.iter_mut().zip(mined) {
            for doc in mined.docs() {
                let id = ids.id(doc);
                let mut known = example.negatives.iter();
                if !known.any(|text| text.id.as_deref() == Some(id)) {
                    let text = TrainingText::new(text_of(doc).unwrap_or_default());
                    example.negatives.push(text.with_id(id));
                }
            }
        }
    }
    Ok(())
}
