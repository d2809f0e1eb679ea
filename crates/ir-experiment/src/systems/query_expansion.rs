//! Queries of the type `bm25`: syntax, sequential dependence, expansion and feedback.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::models::NamedModel;
use ir_bm25::{
    Searcher, SequentialDependence, StructuredSearcher, SynonymError, SynonymExpansion, Synonyms,
};

use super::bm25::{BM25, BM25F, Bm25System, invalid};
use super::existing_file;
use super::expansion::ExpansionEntry;
use crate::error::SystemError;
use crate::system::{SharedRetriever, SystemContext};

/// Pairs of keys without a combination, and why. The second key is that of the error.
const CONFLICTS: [(&str, &str, &str); 7] = [
    ("syntax", "feedback", WORDS),
    ("syntax", "sdm", WORDS),
    ("syntax", "synonyms", "write #syn or OR in the queries"),
    ("syntax", "expansion", WORDS),
    ("sdm", "synonyms", WINDOWS),
    ("sdm", "expansion", WINDOWS),
    (
        "synonyms",
        "expansion",
        "both add terms to the words of a query",
    ),
];
const WORDS: &str = "it needs queries of words";
const WINDOWS: &str = "phrases and windows are those of the words of a query";

impl Bm25System {
    /// Checks the keys of queries.
    pub(super) fn check_queries(&self, has_feedback: bool) -> Result<(), SystemError> {
        let is_given = |key: &str| match key {
            "feedback" => has_feedback,
            "syntax" => self.syntax.is_some(),
            "sdm" => self.sdm.is_some(),
            "synonyms" => self.synonyms.is_some(),
            _ => self.expansion.is_some(),
        };
        let mut conflicts = CONFLICTS.iter();
        let conflict = conflicts.find(|(first, key, _)| is_given(first) && is_given(key));
        if let Some((first, key, reason)) = conflict {
            let message = format!("expected either {first} or {key}, found both: {reason}");
            return Err(SystemError::parameter(*key, message));
        }
        if self.feedback_collection.is_some() && !has_feedback {
            let message = "expected the key feedback, found none";
            return Err(SystemError::parameter("feedback_collection", message));
        }
        self.expansion
            .as_ref()
            .map_or(Ok(()), ExpansionEntry::check)?;
        if let Some(weights) = self.sdm {
            let is_valid = |weight: &f32| (0.0..=1e9).contains(weight);
            if !(weights[0] > 0.0 && weights.iter().all(is_valid)) {
                let expected = "three numbers from 0 to 1e9, the first above 0";
                let message = format!("expected {expected}, found {weights:?}");
                return Err(SystemError::parameter("sdm", message));
            }
            let named = NamedModel::find(self.model.as_deref().unwrap_or(BM25));
            if named.is_ok_and(|named| named.name == BM25F) && weights[1..] != [0.0; 2] {
                let message = format!("expected a model that scores each field, found {BM25F:?}");
                return Err(SystemError::parameter("sdm", message));
            }
        }
        let Some(weight) = self.synonym_weight else {
            return Ok(());
        };
        if self.synonyms.is_none() {
            let message = "expected the key synonyms, found none";
            return Err(SystemError::parameter("synonym_weight", message));
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            let message = format!("expected a finite number >= 0, found {weight}");
            return Err(SystemError::parameter("synonym_weight", message));
        }
        Ok(())
    }

    /// The retriever of the queries, which searches with `searcher`.
    pub(super) fn retriever(
        &self,
        searcher: Searcher,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedRetriever, SystemError> {
        if let Some(syntax) = self.syntax {
            return Ok(Arc::new(StructuredSearcher::new(searcher, syntax.into())));
        }
        let feedback = self.feedback_of(&searcher, context)?;
        if let Some(weights) = self.sdm {
            let failed = invalid("sdm");
            return Ok(match feedback {
                None => Arc::new(SequentialDependence::new(searcher, weights).map_err(failed)?),
                Some(feedback) => Arc::new(
                    feedback
                        .with_sequential_dependence(weights)
                        .map_err(failed)?,
                ),
            });
        }
        if let Some(path) = &self.synonyms {
            let synonyms = self.synonyms_of(searcher, path, context)?;
            return Ok(match feedback {
                None => Arc::new(synonyms),
                Some(feedback) => Arc::new(feedback.with_synonyms(synonyms)),
            });
        }
        if let Some(expansion) = &self.expansion {
            let words = expansion.open(searcher, self.analyzer, context)?;
            return Ok(match feedback {
                None => Arc::new(words),
                Some(feedback) => Arc::new(feedback.with_nearest_words(words)),
            });
        }
        Ok(match feedback {
            None => Arc::new(searcher),
            Some(feedback) => Arc::new(feedback),
        })
    }

    /// Feedback from the documents of the task or of an external collection.
    fn feedback_of(
        &self,
        searcher: &Searcher,
        context: &mut SystemContext<'_>,
    ) -> Result<Option<Feedback>, SystemError> {
        let Some(model) = self.feedback()? else {
            return Ok(None);
        };
        let source = match &self.feedback_collection {
            None => searcher.clone(),
            Some(name) => {
                let config = self.index_config()?;
                let template = self.template()?;
                let key = "feedback_collection";
                let index = context.index_of_collection(key, name, &config, template.as_ref())?;
                self.searcher(&index)?
            }
        };
        let failed = SystemError::stage("feedback");
        let documents = FeedbackDocuments::stored(source);
        let feedback = documents.and_then(|found| Feedback::new(searcher.clone(), found, model));
        feedback.map(Some).map_err(failed)
    }

    fn synonyms_of(
        &self,
        searcher: Searcher,
        path: &str,
        context: &SystemContext<'_>,
    ) -> Result<SynonymExpansion, SystemError> {
        let path = existing_file(context, "synonyms", path)?;
        let failed = |error: SynonymError| SystemError::parameter("synonyms", error.to_string());
        let file = File::open(&path).map_err(SystemError::stage("opening the synonyms"))?;
        let name = path.display().to_string();
        let synonyms = Synonyms::read(BufReader::new(file), &name).map_err(failed)?;
        let weight = self.synonym_weight.unwrap_or(SynonymExpansion::WEIGHT);
        SynonymExpansion::new(searcher, &synonyms, weight).map_err(failed)
    }
}
