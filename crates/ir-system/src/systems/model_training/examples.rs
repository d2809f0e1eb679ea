//! Training examples: labeled queries of a split, with hard negatives by BM25.

use std::collections::HashSet;
use std::sync::Arc;

use ir_core::training::mining::MiningQuery;
use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
use ir_core::{DocNum, Flow, Qrels, Query};
use ir_data::training::{DocumentTexts, JudgedTrainingSet, OnInvalidExample};
use ir_data::{DataError, DocTemplate};

use super::teacher::TeacherScores;
use crate::attributes::unknown_query_attribute;
use crate::cache::Stage;
use crate::entries::{MiningEntry, RerankerTrainingEntry, TeacherEntry, TrainingEntry};
use crate::error::{SpecError, SystemError};
use crate::hash::ContentHash;
use crate::observer::StageReport;
use crate::suggest::did_you_mean;
use crate::system::{System, SystemContext};

/// Number of queries that are mined between two progress reports.
const BATCH: usize = 128;

/// Name of the query form that is the query text.
const TEXT: &str = "text";

/// Keys of a table `training` that determine its examples.
#[derive(Debug, Clone, Copy)]
pub(in crate::systems) struct ExampleSource<'a> {
    /// Split of the labeled queries.
    split: &'a str,
    /// Query forms; `None` for the query form of the task.
    forms: Option<&'a [String]>,
    mining: &'a MiningEntry,
    /// Teacher that scores the texts.
    teacher: Option<&'a TeacherEntry>,
    /// If `true`, every document with a title adds an example.
    titles: bool,
    /// If `true`, examples without hard negatives are left out.
    needs_negatives: bool,
}

impl<'a> From<&'a TrainingEntry> for ExampleSource<'a> {
    fn from(entry: &'a TrainingEntry) -> Self {
        Self {
            split: &entry.split,
            forms: entry.queries.as_deref(),
            mining: &entry.mining,
            teacher: None,
            titles: entry.titles,
            needs_negatives: false,
        }
    }
}

impl<'a> From<&'a RerankerTrainingEntry> for ExampleSource<'a> {
    fn from(entry: &'a RerankerTrainingEntry) -> Self {
        Self {
            split: &entry.split,
            forms: entry.queries.as_deref(),
            mining: &entry.mining,
            teacher: entry.teacher.as_ref(),
            titles: false,
            needs_negatives: entry.needs_hard_negatives(),
        }
    }
}

/// Queries of a split, and the forms in which they are used.
pub(in crate::systems) struct SplitQueries {
    queries: Vec<SplitQuery>,
    qrels: Qrels,
    /// Length of the `texts` of each query.
    forms: usize,
}

struct SplitQuery {
    id: String,
    /// Text in each form.
    texts: Vec<String>,
}

impl SplitQueries {
    /// Reads the queries of a split. `table` is the key of the table that names split and forms.
    pub(in crate::systems) fn read(
        context: &SystemContext<'_>,
        table: &str,
        split: &str,
        forms: Option<&[String]>,
    ) -> Result<Self, SystemError> {
        let task = context.data;
        if split == task.split() {
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
        let collection = context.collection_of(&format!("{table}.split"))?;
        let queries = collection.queries(split).map_err(failed)?;
        let qrels = collection.qrels(split).map_err(failed)?;
        for (n, name) in forms.into_iter().flatten().enumerate() {
            if name == TEXT {
                continue;
            }
            if let Some(message) = unknown_query_attribute(&queries, name) {
                let message = message.replacen("expected", &format!("expected {TEXT:?} or"), 1);
                return Err(SystemError::parameter(
                    format!("{table}.queries[{n}]"),
                    message,
                ));
            }
        }
        let texts = |query: &Query| match forms {
            None => vec![task.text_of(query)],
            Some(forms) => forms.iter().map(|form| text(query, form)).collect(),
        };
        let queries: Vec<SplitQuery> = (queries.iter())
            .map(|query| SplitQuery {
                id: query.id.clone(),
                texts: texts(query),
            })
            .collect();
        if forms.is_none() && queries.iter().all(|query| query.texts[0].trim().is_empty()) {
            let message = format!(
                "expected queries with a text in the query form of the task, found none in split \
                 {split:?}"
            );
            return Err(SystemError::parameter(format!("{table}.split"), message));
        }
        Ok(Self {
            queries,
            qrels,
            forms: forms.map_or(1, <[String]>::len),
        })
    }

    pub(in crate::systems) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Texts of all queries in all forms.
    pub(in crate::systems) fn texts(&self) -> impl Iterator<Item = &str> {
        let forms = 0..self.forms;
        forms.flat_map(|form| self.queries.iter().map(move |it| it.texts[form].as_str()))
    }

    pub(in crate::systems) fn hash(&self, hash: &mut ContentHash) {
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
    pub(in crate::systems) fn remove_validation(
        &mut self,
        context: &SystemContext<'_>,
        split: &str,
    ) {
        let Some(validation) = context.validation else {
            return;
        };
        let queries = validation.queries.iter();
        let texts: HashSet<&str> = queries.clone().map(|query| query.text.trim()).collect();
        let ids: HashSet<&str> = queries.map(|query| query.id.as_str()).collect();
        let same_split = validation.split == split;
        self.queries.retain(|query| {
            let is_validation = same_split && ids.contains(query.id.as_str());
            let mut forms = query.texts.iter();
            !is_validation && !forms.any(|text| texts.contains(text.trim()))
        });
    }
}

/// Text of a query in a form: [`TEXT`] or an attribute.
fn text(query: &Query, form: &str) -> String {
    match form {
        TEXT => query.text.clone(),
        name => (query.attributes.text(name).unwrap_or_default()).to_owned(),
    }
}

impl<'a> ExampleSource<'a> {
    /// Labeled queries of the split, without validation queries.
    pub(super) fn labeled(&self, context: &SystemContext<'_>) -> Result<SplitQueries, SystemError> {
        let mut queries = SplitQueries::read(context, "training", self.split, self.forms)?;
        queries.remove_validation(context, self.split);
        context.check_validation(queries.is_empty())?;
        Ok(queries)
    }

    /// Stages of the examples: the index of the mining, and the scores of the teacher of texts with
    /// a template.
    pub(in crate::systems) fn stages(
        &self,
        context: &SystemContext<'_>,
        template: &DocTemplate,
    ) -> Result<Vec<StageReport>, SystemError> {
        let mut stages = Vec::new();
        if self.mining.is_needed() {
            let bm25 = &self.mining.bm25;
            let template = bm25.template()?;
            let index = context.index_stage(&bm25.index_config()?, template.as_ref())?;
            stages.push(context.planned(Stage::Index, &index.0, &index.1));
        }
        if let Some(scores) = self.teacher_scores(context, template)? {
            stages.push(scores.planned(context));
        }
        Ok(stages)
    }

    /// Scores of the texts of the examples with a template; `None` without a teacher.
    fn teacher_scores(
        &self,
        context: &SystemContext<'_>,
        template: &DocTemplate,
    ) -> Result<Option<TeacherScores<'a>>, SystemError> {
        let Some(teacher) = self.teacher else {
            return Ok(None);
        };
        let mining = serde_json::to_string(self.mining);
        let mining = mining.map_err(SystemError::stage("serialization"))?;
        let mut hash = ContentHash::default();
        hash.text(&teacher.content(context)?)
            .text(&template.to_string())
            .text(&mining);
        self.labeled(context)?.hash(&mut hash);
        let scores = TeacherScores::new(context, teacher, self.split, &hash.finish());
        Ok(Some(scores))
    }

    /// Returns the labeled queries of the split with mined hard negatives. The number of
    /// queries and documents that cannot be examples is reported to the observer.
    pub(in crate::systems) fn examples(
        &self,
        context: &mut SystemContext<'_>,
        template: &DocTemplate,
    ) -> Result<Vec<TrainingExample>, SystemError> {
        let failed = |error: DataError| SystemError::stage("reading training examples")(error);
        let labeled = self.labeled(context)?;
        let task = context.data;
        let texts = DocumentTexts::from_corpus(task.corpus(), template).map_err(failed)?;
        let texts = Arc::new(texts);
        let (split, invalid) = (self.split, OnInvalidExample::Skip);
        let collection = context.collection_of("training.split")?;
        let name = collection.name().to_owned();
        let set = JudgedTrainingSet::from_split(collection, split, texts.clone(), invalid);
        let set = set.map_err(failed)?;
        let left_out = collection.left_out_note(split).map_err(failed)?;
        if let Some(note) = left_out {
            context.observer().note(&format!("{name}: {note}"));
        }
        let mut examples = Vec::new();
        for form in 0..labeled.forms {
            // Both are in the order of the split.
            let mut queries = labeled.queries.iter();
            for n in 0..set.len() {
                let example = set
                    .get(n)
                    .map_err(SystemError::stage("reading training examples"))?;
                let is_example = |query: &&SplitQuery| Some(&query.id) == example.query_id.as_ref();
                let mut rest = queries.clone();
                let Some(query) = rest.find(is_example) else {
                    continue;
                };
                queries = rest;
                examples.push(TrainingExample {
                    query: query.texts[form].clone(),
                    ..example
                });
            }
        }
        add_negatives(context, self.mining, &texts, &mut examples)?;
        if self.titles {
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
                "{}: {skipped} training examples or documents of split {split} are left out: \
                 unknown or empty texts",
                task.name()
            );
            context.observer().note(&note);
        }
        let all = examples.len();
        examples.retain(|example| !self.needs_negatives || !example.negatives.is_empty());
        let skipped = all - examples.len();
        if skipped > 0 {
            let note = format!(
                "{}: {skipped} training examples of split {split} are left out: no hard negatives",
                task.name()
            );
            context.observer().note(&note);
        }
        if let Some(scores) = self.teacher_scores(context, template)? {
            scores.add_to(&mut examples, context)?;
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
}

fn corpus_error(error: ir_core::CorpusError) -> SystemError {
    SystemError::stage("reading documents")(error)
}

/// Adds mined hard negatives to each example.
fn add_negatives(
    context: &mut SystemContext<'_>,
    entry: &MiningEntry,
    texts: &DocumentTexts,
    examples: &mut [TrainingExample],
) -> Result<(), SystemError> {
    if !entry.is_needed() {
        return Ok(());
    }
    let mining = entry.config();
    let bm25 = entry.bm25.open(context);
    let bm25 = bm25.map_err(MiningEntry::in_mining)?.retriever;
    let ids = bm25.ids();
    let text_of = |doc: DocNum| texts.get(ids.id(doc)).map(|(_, text)| text);
    let total = examples.len() as u64;
    for (start, batch) in (0..).step_by(BATCH).zip(examples.chunks_mut(BATCH)) {
        if context.observer.report("mining", start, Some(total)) == Flow::Stop {
            return Err(SpecError::Canceled.into());
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
        let mined = mining.mine(&*bm25, &queries, &text_of);
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
