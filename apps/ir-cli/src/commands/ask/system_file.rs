//! The file of `ir ask --system`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use ir_core::{DocFilter as _, DocSet, Document, Query, Renumbered, Retriever as _};
use ir_data::{Collection, InMemoryJudgedQueries};
use ir_qa::Frame;
use ir_qa::retrieval::AnswerIndex;
use ir_system::{
    FilterName, OpenSystem, Registry, ScoreFormatName, SharedRetriever, SystemEntry, SystemSpec,
};
use toml::Value;

use crate::shared::console::Console;
use crate::shared::search_data::{
    SystemOpener, key_of_root, note_long_documents, warn_of_short_queries,
};
use crate::shared::system_options::{check_any_query, open_system};

/// A system file, which ranks the answers in place of the options.
pub(super) struct AnswerSystem {
    path: PathBuf,
    spec: SystemSpec,
    root: SystemEntry,
}

/// Attributes of an answer besides the metadata of its paper.
const CONTEXT: &str = "context";
const QUESTIONS: &str = "questions";

/// The answer of a frame as a document.
fn document(frame: &Frame) -> Document {
    let title = frame.metadata.text("title").unwrap_or_default();
    let mut document = Document::new(frame.id.as_str())
        .with_title(title)
        .with_text(frame.answer.as_str());
    document.attributes = frame.metadata.clone();
    document.attributes.set(CONTEXT, frame.context.as_str());
    let questions = frame.questions.iter();
    let questions = questions.filter(|question| !question.generated);
    let questions: Vec<&str> = questions.map(|question| question.text.as_str()).collect();
    if !questions.is_empty() {
        document.attributes.set(QUESTIONS, questions);
    }
    document
}

impl AnswerSystem {
    /// Reads and checks a file. Questions have no ids, years and training queries.
    pub(super) fn read(path: &Path, console: &Console) -> Result<Self> {
        let spec = open_system(path)?;
        check_any_query(&spec, path.display())?;
        let (source, registry) = (&spec.source, Registry::default());
        for (n, entry) in spec.systems.iter().enumerate() {
            let parsed = registry.parse(&entry.kind, &entry.parameters)?;
            if parsed.system.uses_training() {
                let message = format!(
                    "expected a system without training queries, which papers lack, found {:?}",
                    entry.kind
                );
                return Err(source.error(&format!("systems[{n}].type"), message).into());
            }
        }
        let root = spec.root().context("expected a system")?.clone();
        if let Some(filter) = root.filter.filter(|filter| *filter != FilterName::None) {
            let found = Value::try_from(filter)?;
            let message = format!("expected none, because questions have no year, found {found}");
            return Err(source.error(&key_of_root(&spec, "filter"), message).into());
        }
        let scores = root.scores.unwrap_or_default();
        if scores != ScoreFormatName::Exact {
            let key = source.located_key(&key_of_root(&spec, "scores"));
            console.log(format_args!(
                "note: {key}: rounds the scores of runs; the scores of answers are exact"
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            root,
            spec,
        })
    }

    /// Number of answers to a question: the hits of the file, or else `default`, at most the
    /// candidates of a reranking.
    pub(super) fn hits(&self, default: usize) -> Result<usize> {
        let most = self.spec.max_hits(&Registry::default())?;
        let default = default.min(most.unwrap_or(usize::MAX));
        Ok(self.root.hits.unwrap_or(default))
    }

    /// Opens the system on the answers of an index, which it indexes as it describes.
    pub(super) fn open<'a>(
        &'a self,
        papers: &Path,
        index: &AnswerIndex,
        questions: &[String],
        console: &'a Console,
    ) -> Result<OpenAnswerSystem<'a>> {
        let documents: Vec<Document> = index.frames().iter().map(document).collect();
        let (name, judged) = (papers.to_string_lossy(), InMemoryJudgedQueries::default());
        let collection = Collection::new(name, documents, judged);
        let numbered = (1_usize..).zip(questions);
        let queries: Vec<Query> = numbered
            .map(|(n, question)| Query::new(n.to_string(), question))
            .collect();
        let opener =
            SystemOpener::on_documents(collection, &queries, None, &self.spec, None, console);
        let mut opener = opener?;
        let system = opener.open(&self.spec)?;
        let passing = opener.filters(&self.spec, index.ids())?.chosen;
        if passing.as_ref().and_then(DocSet::count) == Some(0) {
            let path = self.path.display();
            console.warn(format_args!("no answer passes where of {path}"));
        }
        // The system may order documents in another way, or leave some out.
        let retriever = system.retriever.clone();
        let retriever: SharedRetriever = if retriever.ids() == index.ids() {
            retriever
        } else {
            Arc::new(Renumbered::new(retriever, index.ids().clone()))
        };
        Ok(OpenAnswerSystem {
            file: self,
            retriever,
            passing,
            system,
            console,
            _opener: opener,
        })
    }
}

/// The system of a file, open on the answers of an index.
pub(super) struct OpenAnswerSystem<'a> {
    file: &'a AnswerSystem,
    /// Retriever of the answers by their numbers in the index.
    pub(super) retriever: SharedRetriever,
    /// Answers that satisfy the condition of the file; `None` without a condition.
    pub(super) passing: Option<DocSet>,
    system: OpenSystem,
    console: &'a Console,
    /// Owner of the temporary files that the retriever reads.
    _opener: SystemOpener<'a>,
}

impl OpenAnswerSystem<'_> {
    /// Prints what a reader of the answers should know about the searches.
    pub(super) fn note_searches(&self) {
        let path = self.file.path.display();
        let (feedback, source) = (self.system.feedback.as_ref(), format!("feedback of {path}"));
        warn_of_short_queries(feedback, &source, self.console);
        note_long_documents(&self.system.rerankers, self.console);
    }

    /// Warns that the system explains no score.
    pub(super) fn warn_of_no_explanation(&self) {
        let what = self.system.description.as_deref();
        let what = what.unwrap_or(&self.file.root.kind);
        self.console.warn(format_args!(
            "--explain: {what} does not explain its scores"
        ));
    }
}
