//! Queries of the type `bm25`: syntax, sequential dependence, expansion and feedback.

use std::sync::Arc;

use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackError};
use ir_bm25::{
    Searcher, SequentialDependence, StructuredSearcher, SynonymError, SynonymExpansion, Synonyms,
};
use ir_data::terminology::read_concepts;

use super::existing_file::{existing_file, without_texts};
use super::feedback_index;
use crate::entries::Bm25System;
use crate::entries::bm25::invalid;
use crate::error::SystemError;
use crate::system::{SharedRetriever, SystemContext};

impl Bm25System {
    /// Retriever of the queries, which searches with `searcher`, and its feedback.
    pub(super) fn retriever(
        &self,
        searcher: Searcher,
        context: &mut SystemContext<'_>,
    ) -> Result<(SharedRetriever, Option<Feedback>), SystemError> {
        if let Some(syntax) = self.syntax {
            let structured = StructuredSearcher::new(searcher, syntax.into());
            return Ok((Arc::new(structured), None));
        }
        let feedback = self.feedback_of(&searcher, context)?;
        let Some(feedback) = feedback else {
            let retriever: SharedRetriever = if let Some(weights) = self.sdm {
                Arc::new(SequentialDependence::new(searcher, weights).map_err(invalid("sdm"))?)
            } else if let Some(path) = &self.synonyms {
                Arc::new(self.synonyms_of(searcher, path, context)?)
            } else if let Some(expansion) = &self.expansion {
                Arc::new(expansion.open(searcher, &self.indexed_texts()?, context)?)
            } else {
                Arc::new(searcher)
            };
            return Ok((retriever, None));
        };
        let feedback = if let Some(weights) = self.sdm {
            let feedback = feedback.with_sequential_dependence(weights);
            feedback.map_err(invalid("sdm"))?
        } else if let Some(path) = &self.synonyms {
            feedback.with_synonyms(self.synonyms_of(searcher, path, context)?)
        } else if let Some(expansion) = &self.expansion {
            feedback.with_nearest_words(expansion.open(
                searcher,
                &self.indexed_texts()?,
                context,
            )?)
        } else {
            feedback
        };
        Ok((Arc::new(feedback.clone()), Some(feedback)))
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
                let index = feedback_index::open(context, name, &config, template.as_ref())?;
                self.searcher(&index)?
            }
        };
        let failed = |error| match error {
            FeedbackError::NotStored { .. } => without_texts(match self.feedback_collection {
                Some(_) => "feedback_collection",
                None => "feedback",
            }),
            other => SystemError::stage("feedback")(other),
        };
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
        let opening = "opening the synonyms";
        let name = path.display().to_string();
        let concepts = read_concepts(&path).map_err(SystemError::stage(opening))?;
        let synonyms = match concepts {
            Some(concepts) => {
                let concepts = concepts.iter();
                let concepts = concepts.map(|concept| (concept.line, &concept.terms[..]));
                Synonyms::from_concepts(&name, concepts)
            }
            None => {
                let reader = ir_data::open(&path).map_err(SystemError::stage(opening))?;
                Synonyms::read(reader, &name).map_err(failed)?
            }
        };
        let weight = self.synonym_weight.unwrap_or(SynonymExpansion::WEIGHT);
        SynonymExpansion::new(searcher, &synonyms, weight).map_err(failed)
    }
}
