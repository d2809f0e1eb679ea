//! The type `rerank`.

use std::sync::Arc;

use ir_bm25::StoredFields;
use ir_core::CandidateTexts;
use ir_core::fusion::{Reranked, RetrieverScores};

use super::candidate_texts::{candidate_texts, stored_texts};
use crate::entries::{
    RerankSystem, RerankerTrainingEntry, TEACHER_MODEL, TEACHER_SYSTEM, WindowsName,
};
use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::observer::StageReport;
use crate::source::SourceMap;
use crate::system::{
    CandidateModel, OpenReranker, OpenSystem, SharedRetriever, System, SystemContext,
};

impl RerankSystem {
    /// Opens the cross-encoder or late-interaction model of the key `model`, for programs that rank
    /// texts of their own.
    ///
    /// # Errors
    /// Returns [`SystemError::Missing`] if there is no such model, or the program was built without
    /// the feature `dense`, [`SystemError::Stage`] if the folder is neither a cross-encoder with
    /// one label nor a late-interaction model, and [`SystemError::Parameter`] if the model is to be
    /// trained, for `windows` that the model does not have, and for `tokens` that are no token
    /// store of the model.
    pub fn open_model(&self, source: &SourceMap) -> Result<OpenReranker, SystemError> {
        if self.training.is_some() {
            let message = "expected a trained model; a collection with labeled queries trains one";
            return Err(SystemError::parameter("training", message));
        }
        super::reranker::open_model(self, source)
    }

    fn with_texts(
        &self,
        first: SharedRetriever,
        reranker: &OpenReranker,
        texts: Option<Arc<dyn CandidateTexts>>,
    ) -> Result<SharedRetriever, SystemError> {
        let reranker = reranker.reranker.clone();
        let reranked = match texts {
            Some(texts) => Reranked::with_texts(first, reranker, texts, self.depth),
            None => Reranked::new(first, reranker, self.depth),
        };
        Ok(Arc::new(reranked.map_err(SystemError::stage("reranking"))?))
    }

    /// Checks that `windows` is of a late-interaction model.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] for scores of several windows.
    pub(super) fn check_first_window(&self) -> Result<(), SystemError> {
        if self.windows.is_none_or(|it| it == WindowsName::First) {
            return Ok(());
        }
        let message = "expected \"first\" for a late-interaction model, which encodes the start of \
                       a long document";
        Err(SystemError::parameter("windows", message))
    }

    /// Returns the name of the model, or of the second system, for messages.
    #[must_use]
    pub fn label(&self) -> &str {
        let model = self.model.as_deref().or(self.second.as_deref());
        let model = model.unwrap_or_default();
        model
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(model)
    }
}

impl System for RerankSystem {
    fn check(&self) -> Result<(), SystemError> {
        match (&self.second, &self.model) {
            (Some(_), Some(_)) => {
                let reason = "both rank the candidates";
                return Err(SystemError::conflict("second", "model", reason));
            }
            (None, None) => {
                let message = "expected the key second or model, found neither";
                return Err(SystemError::parameter("", message));
            }
            (Some(_), None) => {
                if let Some(key) = self.of_the_model().next() {
                    let message = "expected the key model, found second";
                    return Err(SystemError::parameter(key, message));
                }
            }
            (None, Some(_)) => {}
        }
        let windows = self.windows.unwrap_or(WindowsName::First);
        if self.stride.is_some() && windows == WindowsName::First {
            let message = "expected windows = \"maximum\" or \"mean\"";
            return Err(SystemError::parameter("stride", message));
        }
        if self.training.is_some() && self.tokens.is_some() {
            let reason = "the vectors of a store are of the model before training";
            return Err(SystemError::conflict("training", "tokens", reason));
        }
        let training = self.training.as_ref();
        if training.is_some_and(|it| it.late_interaction) {
            self.check_first_window()?;
        }
        self.template()?;
        training.map_or(Ok(()), RerankerTrainingEntry::check)
    }

    fn index_needs(&self) -> IndexNeeds {
        let store = match self.model {
            Some(_) => StoredFields::Everything,
            None => StoredFields::Nothing,
        };
        IndexNeeds {
            store,
            positions: false,
        }
    }

    fn inputs(&self) -> Vec<(String, String)> {
        let first = ("first".to_owned(), self.first.clone());
        let second = self.second.iter();
        let second = second.map(|name| ("second".to_owned(), name.clone()));
        let teacher = self.training.iter().filter_map(|it| it.teacher.as_ref());
        let teacher = teacher.filter_map(|it| it.system.clone());
        let teacher = teacher.map(|name| (TEACHER_SYSTEM.to_owned(), name));
        let parts = std::iter::once(first).chain(second);
        parts.chain(teacher).collect()
    }

    fn max_hits(&self, _: &dyn Fn(&str) -> Option<usize>) -> Option<usize> {
        Some(self.depth)
    }

    fn files(&self) -> Vec<(String, String)> {
        let teacher = self.training.as_ref().and_then(|it| it.teacher.as_ref());
        let teacher = teacher.map_or(&None, |it| &it.model);
        let files = [
            ("model", &self.model),
            ("tokens", &self.tokens),
            (TEACHER_MODEL, teacher),
        ];
        let given = files.into_iter().filter_map(|(key, path)| {
            let path = path.as_ref()?;
            Some((key.to_owned(), path.clone()))
        });
        given.collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        match self.model {
            None => Ok(String::new()),
            Some(_) => super::reranker::content(self, context),
        }
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        match &self.training {
            None => Ok(Vec::new()),
            Some(training) => super::reranker::stages(self, training, context),
        }
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let first = context.system(&self.first)?;
        let mut rerankers = first.rerankers;
        let mut model = None;
        let retriever: SharedRetriever = match &self.second {
            Some(second) => {
                let second = context.system(second)?;
                rerankers.extend(second.rerankers);
                let scores = RetrieverScores::new(second.retriever);
                let scores = scores.map_err(SystemError::stage("reranking"))?;
                let reranked = Reranked::new(first.retriever, scores, self.depth);
                Arc::new(reranked.map_err(SystemError::stage("reranking"))?)
            }
            None => {
                let data = context.data;
                let texts = match (&self.tokens, data.index()) {
                    (None, _) => Some(candidate_texts(context, "model", self.template()?)?),
                    // Explanations show the texts of tokens.
                    (Some(_), Some(index)) => stored_texts("tokens", index, self.template()?).ok(),
                    (Some(_), None) => None,
                };
                let reranker = super::reranker::shared_model(self, context)?;
                let reranked = self.with_texts(first.retriever, &reranker, texts.clone())?;
                model = Some(CandidateModel {
                    reranker: reranker.clone(),
                    texts,
                });
                rerankers.push(reranker);
                reranked
            }
        };
        let label = self.label();
        let description = first.description;
        let open = OpenSystem {
            description: description.map(|first| format!("{first}, reranked by {label}")),
            feedback: first.feedback,
            query_encoder: first.query_encoder,
            candidate_model: model,
            ..OpenSystem::new(retriever)
        };
        Ok(open.with_rerankers(rerankers))
    }
}
